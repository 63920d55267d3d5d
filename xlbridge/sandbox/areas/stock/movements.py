"""Stock movements, the balances that they sum up to, and the rules of entries.

Source: the spec, Stock balance row, Stock entry (entrada).
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, insert, select

from xlbridge.sandbox.amounts import (
    PRICE_PLACES,
    QUANTITY_PLACES,
    STOCK_LIMIT,
    amount_problems,
    round_half_up,
)
from xlbridge.sandbox.areas.registry.codes import CodeLookup, next_number
from xlbridge.sandbox.areas.registry.tables import warehouses
from xlbridge.sandbox.areas.stock.tables import movements
from xlbridge.sandbox.problems import Problem, invalid, require_no_problems
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
    """Key of a balance: stock is kept separately by serial number and project."""

    branch: int
    warehouse: int
    product: int
    serial: str | None = None
    project: int | None = None

    def movement_columns(self) -> dict[str, Any]:
        """Return the columns of a movement of this balance."""
        names = (column.name for column in _BALANCE_KEY_COLUMNS)
        return dict(zip(names, astuple(self), strict=True))


@dataclass(frozen=True, slots=True)
class Balance:
    """Quantity in stock, and its total cost in reais."""

    quantity: Decimal = Decimal(0)
    value: Decimal = Decimal(0)

    @property
    def unit_cost(self) -> Decimal:
        """Average cost of one unit; 0 without stock."""
        return unit_value(self.quantity, self.value)

    def value_columns_of(self, quantity: Decimal) -> dict[str, Decimal]:
        """Return the value of part of the balance at average cost, as columns of a movement."""
        return value_columns(self.unit_cost, self.cost_of(quantity))

    def cost_of(self, quantity: Decimal) -> Decimal:
        """Return the cost of part of the balance; the last part gets the rounding difference."""
        if quantity == self.quantity:
            return self.value
        return round_half_up(self.value * quantity / self.quantity)


def value_columns(unit_cost: Decimal, value: Decimal) -> dict[str, Decimal]:
    """Return the value of a movement as columns of its table."""
    return {"valorUnitario": unit_cost, "valorTotal": value}


def unit_value(quantity: Decimal, value: Decimal) -> Decimal:
    """Return the value of one unit, to six places; 0 without stock."""
    if not quantity:
        return Decimal(0)
    return (value / quantity).quantize(_UNIT_COST_STEP, ROUND_HALF_UP)


def format_quantity(quantity: Decimal) -> str:
    """Format a quantity for a message, without trailing zeros."""
    return f"{quantity.normalize():f}"


def net_sum(amount: ColumnElement[Decimal]) -> ColumnElement[Decimal]:
    """Sum an amount over movements: entries less outputs."""
    return func.sum(case((movements.c.inward, amount), else_=-amount))


def has_happened(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a movement counts: entries dated after today do not yet.

    Movements recorded on their own date or later always count, as the demo has dates of its own.
    """
    tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (movements.c.moved < tomorrow) | (movements.c.moved <= movements.c.ultimaAtualizacao)


def balance_sums(now: datetime) -> Select[Any]:
    """Select every balance with movements."""
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
    """Yield the balances of movements that meet all conditions; unassigned stock first."""
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
    """Return the total balance of a product."""
    balances = balances_of(connection, now, movements.c.idProd == product)
    parts = [balance for _, balance in balances]
    quantity = sum((part.quantity for part in parts), Decimal(0))
    return Balance(quantity, sum((part.value for part in parts), Decimal(0)))


def movement_problems(
    lookup: CodeLookup, data: StockEntryInput | StockOutputInput
) -> list[Problem]:
    """Return the problems common to all movements: quantity, branch, warehouse, product."""
    return [
        *amount_problems("quantidade", data.quantidade, QUANTITY_PLACES, STOCK_LIMIT),
        *lookup.field_problems(data, "codigoDaFilial"),
        *lookup.warehouse_problems(data.codigoDaFilial, data.codigoDoAlmoxarifado),
        *lookup.field_problems(data, "idProd", "codigoDoProjeto"),
    ]


def default_warehouse(connection: Connection, branch: int) -> int:
    """Return the default warehouse of a branch: its first.

    Raises ``RequestError`` (400) if the branch has none.
    """
    first = select(func.min(warehouses.c.code)).where(warehouses.c.branch == branch)
    code = connection.scalar(first)
    if code is None:
        raise invalid(("codigoDoAlmoxarifado", f"A filial {branch} não tem almoxarifado."))
    return int(code)


def record_movement(
    connection: Connection, row: dict[str, Any], *, inward: bool, now: datetime
) -> int:
    """Insert a movement and return its number; ``row`` has the columns without defaults."""
    number = next_number(connection, "stock_entry" if inward else "stock_output")
    defaults = {
        "inward": inward,
        "number": number,
        "moved": now,
        "reversed": False,
        "adjustment": False,
        "ultimaAtualizacao": now,
    }
    connection.execute(insert(movements), defaults | row)
    return number


def register_entry(connection: Connection, data: StockEntryInput, now: datetime) -> int:
    """Record an entry, and return its number. Raises ``RequestError`` (400) with its problems."""
    require_no_problems(
        [
            *movement_problems(CodeLookup(connection), data),
            *amount_problems("valorUnitario", data.valorUnitario, PRICE_PLACES, STOCK_LIMIT),
        ]
    )
    warehouse = data.codigoDoAlmoxarifado
    if warehouse is None:
        warehouse = default_warehouse(connection, data.codigoDaFilial)
    unit_cost = _unit_cost(connection, now, data, warehouse)
    value = round_half_up(data.quantidade * unit_cost)
    require_no_problems(amount_problems("valorUnitario", value, limit=STOCK_LIMIT))
    row = data.model_dump(exclude={"dataDaEntrada"}) | value_columns(unit_cost, value)
    row |= {"codigoDoAlmoxarifado": warehouse, "moved": data.dataDaEntrada}
    return record_movement(connection, row, inward=True, now=now)


def average_cost(connection: Connection, now: datetime, balance_key: BalanceKey) -> Decimal:
    """Return the average unit cost of a balance, or of the product if the balance is empty.

    It is 0 for a product without stock.
    """
    balance = balance_at(connection, now, balance_key)
    return balance.unit_cost or product_balance(connection, now, balance_key.product).unit_cost


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
