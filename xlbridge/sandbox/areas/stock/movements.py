"""Stock movements, the balances that they add up to, and the rules of entries.

Source: the spec, Stock balance row, Stock entry (entrada).
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, insert, select

from xlbridge.sandbox.areas.financial.rules import round_half_up
from xlbridge.sandbox.areas.registry.codes import CodeLookup, Numbers
from xlbridge.sandbox.areas.registry.tables import warehouses
from xlbridge.sandbox.areas.stock.tables import movements
from xlbridge.sandbox.problems import Problem, invalid
from xlbridge.wire.stock import StockEntryInput, StockOutputInput

_UNIT_COST_STEP = Decimal("0.000001")

_BALANCE_KEY_COLUMNS = (
    movements.c.codigoDaFilial,
    movements.c.codigoDoAlmoxarifado,
    movements.c.idProd,
    movements.c.numeroDeSerie,
    movements.c.codigoDoProjeto,
)


@dataclass(frozen=True, slots=True)
class BalanceKey:
    """Key of a balance: stock is separate by serial number and by project."""

    branch: int
    warehouse: int
    product: int
    serial: str | None = None
    project: int | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    """Quantity in stock, and its total cost in reais."""

    quantity: Decimal = Decimal(0)
    value: Decimal = Decimal(0)

    @property
    def unit_cost(self) -> Decimal:
        """Average cost of one unit; 0 without stock."""
        return unit_value(self.quantity, self.value)

    def part(self, quantity: Decimal) -> dict[str, Decimal]:
        """Return the value of a part at average cost, as the columns of a movement."""
        return value_columns(self.unit_cost, self.cost_of(quantity))

    def cost_of(self, quantity: Decimal) -> Decimal:
        """Return the cost of a part, to the cent; the last part takes the rounding difference."""
        if quantity == self.quantity:
            return self.value
        return round_half_up(self.value * quantity / self.quantity)


def value_columns(unit_cost: Decimal, value: Decimal) -> dict[str, Decimal]:
    """Return what a movement is worth, as the columns of its table."""
    return {"valorUnitario": unit_cost, "valorTotal": value}


def unit_value(quantity: Decimal, value: Decimal) -> Decimal:
    """Value of one unit, to six places; 0 without stock."""
    if not quantity:
        return Decimal(0)
    return (value / quantity).quantize(_UNIT_COST_STEP, ROUND_HALF_UP)


def format_quantity(quantity: Decimal) -> str:
    """Write a quantity for a message, without needless zeros."""
    return f"{quantity.normalize():f}"


def net_sum(amount: ColumnElement[Decimal]) -> ColumnElement[Decimal]:
    """Add up an amount over movements: what comes in less what goes out."""
    return func.sum(case((movements.c.inward, amount), else_=-amount))


def has_happened(now: datetime) -> ColumnElement[bool]:
    """Return whether a movement counts: an entry that is dated after today does not yet.

    What was recorded on its own date or later counts whatever the clock says, as in the demo, which
    has a calendar of its own.
    """
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (movements.c.moved < tomorrow) | (movements.c.moved <= movements.c.ultimaAtualizacao)


def balance_sums(now: datetime) -> Select[Any]:
    """Select every balance that has had a movement."""
    return (
        select(
            *_BALANCE_KEY_COLUMNS,
            net_sum(movements.c.quantidade).label("quantity"),
            net_sum(movements.c.valorTotal).label("value"),
        )
        .where(movements.c.idProd.is_not(None), has_happened(now))
        .group_by(*_BALANCE_KEY_COLUMNS)
    )


def balances_of(
    connection: Connection, now: datetime, *conditions: ColumnElement[bool]
) -> Iterator[tuple[BalanceKey, Balance]]:
    """Yield the balances whose movements meet conditions; unassigned stock first."""
    ordered = (
        balance_sums(now)
        .where(*conditions)
        .order_by(
            movements.c.idProd,
            movements.c.codigoDaFilial,
            movements.c.codigoDoAlmoxarifado,
            movements.c.codigoDoProjeto.nulls_first(),
            movements.c.numeroDeSerie.nulls_first(),
        )
    )
    for row in connection.execute(ordered):
        yield BalanceKey(*row[: len(_BALANCE_KEY_COLUMNS)]), Balance(row.quantity, row.value)


def balance_at(connection: Connection, now: datetime, balance_key: BalanceKey) -> Balance:
    """Return the balance of a key."""
    conditions = [
        column.is_not_distinct_from(value)
        for column, value in zip(_BALANCE_KEY_COLUMNS, astuple(balance_key), strict=True)
    ]
    return next((balance for _, balance in balances_of(connection, now, *conditions)), Balance())


def product_balance(connection: Connection, now: datetime, product: int) -> Balance:
    """Return the balance of a product in all places together."""
    found = balances_of(connection, now, movements.c.idProd == product)
    parts = [balance for _, balance in found]
    quantity = sum((part.quantity for part in parts), Decimal(0))
    return Balance(quantity, sum((part.value for part in parts), Decimal(0)))


QUANTITY_PLACES, COST_PLACES = 4, 6

_LIMIT = Decimal(10) ** 9


def movement_problems(
    lookup: CodeLookup, data: StockEntryInput | StockOutputInput
) -> list[Problem]:
    """Return the rules that any movement breaks: quantity, warehouse, product."""
    return [
        *measure_problems("quantidade", data.quantidade, QUANTITY_PLACES),
        *lookup.field_problems(data, "codigoDaFilial"),
        *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
        *lookup.field_problems(data, "idProd", "codigoDoProjeto"),
    ]


def measure_problems(key: str, measure: Decimal | None, places: int) -> list[Problem]:
    """Return the problem of a quantity or unit cost that is too large or too fine."""
    if measure is None:
        return []
    if measure >= _LIMIT:
        return [(key, "Valor fora do intervalo permitido.")]
    if measure != round(measure, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


def default_warehouse(connection: Connection, branch: int) -> int:
    """Return the warehouse that a branch's movements concern unless they name one.

    Raises ``RequestError`` (400) where the branch has none.
    """
    of_branch = select(warehouses.c.code).where(warehouses.c.branch == branch)
    code = connection.scalar(of_branch.order_by(warehouses.c.code).limit(1))
    if code is None:
        raise invalid(("codigoDoAlmoxarifado", f"A filial {branch} não tem almoxarifado."))
    return int(code)


def record_movement(
    connection: Connection, row: dict[str, Any], *, inward: bool, now: datetime
) -> int:
    """Write one movement, and return its number.

    ``row`` has the columns that are particular to it.
    """
    numbers = Numbers(connection)
    number = numbers.next("stock_entry" if inward else "stock_output")
    numbers.write()
    common = {
        "inward": inward,
        "number": number,
        "moved": now,
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": now,
    }
    connection.execute(insert(movements), common | row)
    return number


def register_entry(connection: Connection, data: StockEntryInput, now: datetime) -> int:
    """Record an entry, and return its number.

    Raises ``RequestError`` (400) with every rule that it breaks.
    """
    problems = [
        *movement_problems(CodeLookup(connection), data),
        *measure_problems("valorUnitario", data.valorUnitario, COST_PLACES),
    ]
    if problems:
        raise invalid(*problems)
    warehouse = data.codigoDoAlmoxarifado
    if warehouse is None:
        warehouse = default_warehouse(connection, data.codigoDaFilial)
    unit_cost = _unit_cost(connection, now, data, warehouse)
    value = round_half_up(data.quantidade * unit_cost)
    if value >= _LIMIT:
        raise invalid(("valorUnitario", "Valor fora do intervalo permitido."))
    row = data.model_dump(exclude={"dataDaEntrada"}) | value_columns(unit_cost, value)
    row |= {"codigoDoAlmoxarifado": warehouse, "moved": data.dataDaEntrada}
    return record_movement(connection, row, inward=True, now=now)


def average_cost(connection: Connection, now: datetime, balance_key: BalanceKey) -> Decimal:
    """Return the average unit cost of a balance; without stock there, that of the product.

    The result is 0 for a product without stock.
    """
    here = balance_at(connection, now, balance_key)
    return here.unit_cost or product_balance(connection, now, balance_key.product).unit_cost


def _unit_cost(
    connection: Connection, now: datetime, data: StockEntryInput, warehouse: int
) -> Decimal:
    if data.idProd is None:
        return data.valorUnitario or Decimal(0)
    if data.valorUnitario is not None:
        return data.valorUnitario
    balance_key = BalanceKey(
        data.codigoDaFilial, warehouse, data.idProd, data.numeroDeSerie, data.codigoDoProjeto
    )
    return average_cost(connection, now, balance_key)
