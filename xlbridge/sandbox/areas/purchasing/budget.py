"""Spending limits: their handlers and rules. Source: the spec, Purchasing (planejamento)."""

from sqlalchemy import Connection, and_, delete, insert, select, update

from xlbridge.sandbox.areas.financial.rules import category_problems
from xlbridge.sandbox.areas.purchasing.tables import spending_limits
from xlbridge.sandbox.areas.registry.codes import CodeLookup, Numbers
from xlbridge.sandbox.areas.registry.tables import branches, categories, cost_centres, projects
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.problems import (
    Problem,
    RequestError,
    amount_problems,
    first_found,
    require_no_problems,
)
from xlbridge.wire.budget import (
    SPENDING_LIMIT_CREATE,
    SPENDING_LIMIT_DELETE,
    SPENDING_LIMIT_LIST,
    SPENDING_LIMIT_UPDATE,
    SpendingLimit,
    SpendingLimitChange,
    SpendingLimitInput,
    SpendingLimitKey,
    SpendingLimitQuery,
)


@handles(SPENDING_LIMIT_LIST)
def list_spending_limits(call: Call) -> list[SpendingLimit]:
    query = call.query_as(SpendingLimitQuery)
    _require_known_codes(call, query)
    found = select(spending_limits).order_by(spending_limits.c.idPlanejamento)
    for name, value in query.model_dump(exclude_none=True).items():
        found = found.where(spending_limits.c[name] == value)
    return call.read(SpendingLimit, found)


@handles(SPENDING_LIMIT_CREATE)
def create_spending_limit(call: Call) -> SpendingLimit:
    wanted = call.body_as(SpendingLimitInput)
    _require_valid_limit(call, wanted)
    numbers = Numbers(call.connection)
    limit = SpendingLimit(idPlanejamento=numbers.next("spending_limit"), **wanted.model_dump())
    numbers.write()
    call.connection.execute(insert(spending_limits), limit.model_dump())
    return limit


@handles(SPENDING_LIMIT_UPDATE)
def update_spending_limit(call: Call) -> SpendingLimit:
    wanted = call.body_as(SpendingLimitChange)
    _existing_limit(call, wanted.idPlanejamento)
    _require_valid_limit(call, wanted, replaces=wanted.idPlanejamento)
    this = spending_limits.c.idPlanejamento == wanted.idPlanejamento
    call.connection.execute(update(spending_limits).where(this).values(wanted.model_dump()))
    return SpendingLimit(**wanted.model_dump())


@handles(SPENDING_LIMIT_DELETE)
def delete_spending_limit(call: Call) -> SpendingLimit:
    limit = _existing_limit(call, call.query_as(SpendingLimitKey).idPlanejamento)
    this = spending_limits.c.idPlanejamento == limit.idPlanejamento
    call.connection.execute(delete(spending_limits).where(this))
    return limit


def _require_known_codes(call: Call, query: SpendingLimitQuery) -> None:
    known = CodeLookup(call.connection)
    unknown = _code_problems(known, query) + known.problems(
        "codigoDoItemDeLancamento",
        categories,
        query.codigoDoItemDeLancamento,
        "Item de lançamento",
    )
    if unknown:
        raise RequestError(404, unknown)


def _existing_limit(call: Call, number: int) -> SpendingLimit:
    this = select(spending_limits).where(spending_limits.c.idPlanejamento == number)
    found = call.read(SpendingLimit, this)
    return first_found(found, "idPlanejamento", "Planejamento não encontrado.")


def _require_valid_limit(
    call: Call, wanted: SpendingLimitInput, replaces: int | None = None
) -> None:
    require_no_problems(_limit_problems(call.connection, wanted, replaces))


_LIMIT_KEY = SpendingLimitInput.model_fields.keys() - {"valorLimite"}


def _code_problems(
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


def _limit_problems(
    connection: Connection, data: SpendingLimitInput, replaces: int | None = None
) -> list[Problem]:
    """Return the rules that a limit breaks, new or replacing another."""
    known = CodeLookup(connection)
    return [
        *_code_problems(known, data),
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
