"""The rules of budget planning. Source: the spec, Purchasing (planejamento)."""

from sqlalchemy import Connection, and_, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems, category_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.tables.purchasing import spending_limits
from xlbridge.sandbox.tables.registries import branches, cost_centres, projects
from xlbridge.wire.budget import SpendingLimitInput, SpendingLimitQuery

_KEY = SpendingLimitInput.model_fields.keys() - {"valorLimite"}


def place_problems(known: Known, data: SpendingLimitInput | SpendingLimitQuery) -> list[Problem]:
    """Return the codes of a limit, or of a filter, that are not registered."""
    return [
        *known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
        *known.complaint(
            "codigoDoCentroDeCusto", cost_centres, data.codigoDoCentroDeCusto, "Centro de custo"
        ),
        *known.complaint("codigoDoProjeto", projects, data.codigoDoProjeto, "Projeto"),
    ]


def limit_problems(
    connection: Connection, data: SpendingLimitInput, replaces: int | None = None
) -> list[Problem]:
    """Return the rules that a limit breaks, a new one or one that takes another's place."""
    known = Known(connection)
    return [
        *place_problems(known, data),
        *category_problems(
            known, "codigoDoItemDeLancamento", data.codigoDoItemDeLancamento, revenue=False
        ),
        *amount_problems("valorLimite", data.valorLimite),
        *_duplicate(connection, data, replaces),
    ]


def _duplicate(
    connection: Connection, data: SpendingLimitInput, replaces: int | None
) -> list[Problem]:
    key = data.model_dump(include=set(_KEY))
    same = and_(*(spending_limits.c[name].is_not_distinct_from(key[name]) for name in key))
    other = connection.scalar(select(spending_limits.c.idPlanejamento).where(same))
    if other in (None, replaces):
        return []
    return [("mes", f"O planejamento {other} já tem o limite deste mês e lugar.")]
