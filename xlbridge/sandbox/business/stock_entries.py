"""The rules of stock entries. Source: the spec, Stock entry (entrada)."""

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Connection

from xlbridge.sandbox.answers import invalid
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.stock_balances import (
    Place,
    balance_at,
    product_balance,
    to_cents,
    valued,
)
from xlbridge.sandbox.business.stock_movements import (
    COST_PLACES,
    first_warehouse,
    measure_problems,
    movement_problems,
    record_movement,
)
from xlbridge.wire.stock import StockEntryInput

_TOO_MUCH = Decimal(10) ** 9


def register_entry(connection: Connection, data: StockEntryInput, now: datetime) -> int:
    """Record an entry, and return its number.

    Raises ``RequestError`` (400) with every rule that it breaks.
    """
    problems = [
        *movement_problems(Known(connection), data),
        *measure_problems("valorUnitario", data.valorUnitario, COST_PLACES),
    ]
    if problems:
        raise invalid(*problems)
    warehouse = data.codigoDoAlmoxarifado
    if warehouse is None:
        warehouse = first_warehouse(connection, data.codigoDaFilial)
    unit_cost = _unit_cost(connection, data, warehouse)
    value = to_cents(data.quantidade * unit_cost)
    if value >= _TOO_MUCH:
        raise invalid(("valorUnitario", "Valor fora do intervalo permitido."))
    row = data.model_dump(exclude={"dataDaEntrada"}) | valued(unit_cost, value)
    row |= {"codigoDoAlmoxarifado": warehouse, "moved": data.dataDaEntrada}
    return record_movement(connection, row, inward=True, now=now)


def usual_cost(connection: Connection, place: Place) -> Decimal:
    """Return what a unit costs on average in a place; where it has none, anywhere.

    0 for a product of which there is none.
    """
    here = balance_at(connection, place)
    return here.unit_cost or product_balance(connection, place.product).unit_cost


def _unit_cost(connection: Connection, data: StockEntryInput, warehouse: int) -> Decimal:
    if data.idProd is None:
        return data.valorUnitario or Decimal(0)
    if data.valorUnitario is not None:
        return data.valorUnitario
    place = Place(
        data.codigoDaFilial, warehouse, data.idProd, data.numeroDeSerie, data.codigoDoProjeto
    )
    return usual_cost(connection, place)
