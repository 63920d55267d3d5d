"""Budget planning. Source: the spec, Purchasing (planejamento)."""

from sqlalchemy import delete, insert, select, update

from xlbridge.sandbox.answers import RequestError, not_found
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.business.spending_limits import limit_problems, place_problems
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.purchasing import spending_limits
from xlbridge.sandbox.tables.registries import categories
from xlbridge.wire.budget import (
    SpendingLimit,
    SpendingLimitChange,
    SpendingLimitId,
    SpendingLimitInput,
    SpendingLimitQuery,
)
from xlbridge.wire.operations.purchasing import (
    SPENDING_LIMIT_CREATE,
    SPENDING_LIMIT_DELETE,
    SPENDING_LIMIT_LIST,
    SPENDING_LIMIT_UPDATE,
)


@handles(SPENDING_LIMIT_LIST)
def list_limits(call: Call) -> list[SpendingLimit]:
    query = call.queried(SpendingLimitQuery)
    _must_exist(call, query)
    found = select(spending_limits).order_by(spending_limits.c.idPlanejamento)
    for name, value in query.model_dump(exclude_none=True).items():
        found = found.where(spending_limits.c[name] == value)
    return call.read(SpendingLimit, found)


@handles(SPENDING_LIMIT_CREATE)
def create(call: Call) -> SpendingLimit:
    wanted = call.sent(SpendingLimitInput)
    _refuse(call, wanted)
    numbers = Numbers(call.connection)
    limit = SpendingLimit(idPlanejamento=numbers.next("spending_limit"), **wanted.model_dump())
    numbers.write()
    call.connection.execute(insert(spending_limits), limit.model_dump())
    return limit


@handles(SPENDING_LIMIT_UPDATE)
def change(call: Call) -> SpendingLimit:
    wanted = call.sent(SpendingLimitChange)
    _existing(call, wanted.idPlanejamento)
    _refuse(call, wanted, replaces=wanted.idPlanejamento)
    this = spending_limits.c.idPlanejamento == wanted.idPlanejamento
    call.connection.execute(update(spending_limits).where(this).values(wanted.model_dump()))
    return SpendingLimit(**wanted.model_dump())


@handles(SPENDING_LIMIT_DELETE)
def remove(call: Call) -> SpendingLimit:
    limit = _existing(call, call.queried(SpendingLimitId).idPlanejamento)
    this = spending_limits.c.idPlanejamento == limit.idPlanejamento
    call.connection.execute(delete(spending_limits).where(this))
    return limit


def _must_exist(call: Call, query: SpendingLimitQuery) -> None:
    known = Known(call.connection)
    unknown = place_problems(known, query) + known.complaint(
        "codigoDoItemDeLancamento",
        categories,
        query.codigoDoItemDeLancamento,
        "Item de lançamento",
    )
    if unknown:
        raise RequestError(404, unknown)


def _existing(call: Call, number: int) -> SpendingLimit:
    this = select(spending_limits).where(spending_limits.c.idPlanejamento == number)
    found = call.read(SpendingLimit, this)
    if not found:
        raise not_found("idPlanejamento", "Planejamento não encontrado.")
    return found[0]


def _refuse(call: Call, wanted: SpendingLimitInput, replaces: int | None = None) -> None:
    problems = limit_problems(call.connection, wanted, replaces)
    if problems:
        raise RequestError(400, problems)
