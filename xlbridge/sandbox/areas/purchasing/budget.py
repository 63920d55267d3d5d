"""Rules of spending limits. Source: the spec, Purchasing (planejamento)."""

from sqlalchemy import Connection, and_, select

from xlbridge.sandbox.areas.financial.rules import category_problems
from xlbridge.sandbox.areas.purchasing.tables import spending_limits
from xlbridge.sandbox.areas.registry.codes import CodeLookup
from xlbridge.sandbox.areas.registry.tables import branches, cost_centres, projects
from xlbridge.sandbox.problems import Problem, amount_problems
from xlbridge.wire.budget import SpendingLimitInput, SpendingLimitQuery

_LIMIT_KEY = SpendingLimitInput.model_fields.keys() - {"valorLimite"}


def limit_code_problems(
    known: CodeLookup, data: SpendingLimitInput | SpendingLimitQuery
) -> list[Problem]:
    """Return the codes of a limit, or of a filter, that are not registered."""
    return [
        *known.problems("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
        *known.problems(
            "codigoDoCentroDeCusto", cost_centres, data.codigoDoCentroDeCusto, "Centro de custo"
        ),
        *known.problems("codigoDoProjeto", projects, data.codigoDoProjeto, "Projeto"),
    ]


def spending_limit_problems(
    connection: Connection, data: SpendingLimitInput, replaces: int | None = None
) -> list[Problem]:
    """Return the rules that a limit breaks, new or replacing another."""
    known = CodeLookup(connection)
    return [
        *limit_code_problems(known, data),
        *category_problems(
            known, "codigoDoItemDeLancamento", data.codigoDoItemDeLancamento, revenue=False
        ),
        *amount_problems("valorLimite", data.valorLimite),
        *_duplicate_limit_problems(connection, data, replaces),
    ]


def _duplicate_limit_problems(
    connection: Connection, data: SpendingLimitInput, replaces: int | None
) -> list[Problem]:
    key = data.model_dump(include=set(_LIMIT_KEY))
    same = and_(*(spending_limits.c[name].is_not_distinct_from(key[name]) for name in key))
    other = connection.scalar(select(spending_limits.c.idPlanejamento).where(same))
    if other in (None, replaces):
        return []
    return [("mes", f"O planejamento {other} já tem o limite deste mês e lugar.")]
