"""Stock balances: each the sum of its movements. Source: the spec, Stock balance row."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from xlbridge.sandbox.tables.stock import movements

CENTS = Decimal("0.01")
_UNIT_COST = Decimal("0.000001")

_PLACE = (
    movements.c.codigoDaFilial,
    movements.c.codigoDoAlmoxarifado,
    movements.c.idProd,
    movements.c.numeroDeSerie,
    movements.c.codigoDoProjeto,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a balance lies and what of: stock is kept apart by serial number and by project."""

    branch: int
    warehouse: int
    product: int
    serial: str | None = None
    project: int | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    """How much there is, and what it cost in all, in reais."""

    quantity: Decimal = Decimal(0)
    value: Decimal = Decimal(0)

    @property
    def unit_cost(self) -> Decimal:
        """What one unit cost on average; 0 where there is none."""
        return unit_value(self.quantity, self.value)

    def part(self, quantity: Decimal) -> dict[str, Decimal]:
        """What a part of it is worth at average cost, as the columns of a movement."""
        return valued(self.unit_cost, self.cost_of(quantity))

    def cost_of(self, quantity: Decimal) -> Decimal:
        """What a part costs, to the cent; the last part takes what rounding left over."""
        if quantity == self.quantity:
            return self.value
        return to_cents(self.value * quantity / self.quantity)


def valued(unit_cost: Decimal, value: Decimal) -> dict[str, Decimal]:
    """Return what a movement is worth, as the columns of its table."""
    return {"valorUnitario": unit_cost, "valorTotal": value}


def to_cents(value: Decimal) -> Decimal:
    """Round an amount to the cent, half up."""
    return value.quantize(CENTS, ROUND_HALF_UP)


def unit_value(quantity: Decimal, value: Decimal) -> Decimal:
    """What one unit is worth, to six places; 0 where there is none."""
    if not quantity:
        return Decimal(0)
    return (value / quantity).quantize(_UNIT_COST, ROUND_HALF_UP)


def shown(quantity: Decimal) -> str:
    """Write a quantity for a message, without needless zeros."""
    return f"{quantity.normalize():f}"


def summed(amount: ColumnElement[Decimal]) -> ColumnElement[Decimal]:
    """Add up an amount over movements: what comes in less what goes out."""
    return func.sum(case((movements.c.inward, amount), else_=-amount))


def balance_sums() -> Select[Any]:
    """Select every balance that was ever moved, one for each place."""
    return (
        select(
            *_PLACE,
            summed(movements.c.quantidade).label("quantity"),
            summed(movements.c.valorTotal).label("value"),
        )
        .where(movements.c.idProd.is_not(None))
        .group_by(*_PLACE)
    )


def balances_of(
    connection: Connection, *conditions: ColumnElement[bool]
) -> Iterator[tuple[Place, Balance]]:
    """Yield the balances whose movements meet conditions; common stock before kept apart."""
    ordered = (
        balance_sums()
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
        yield Place(*row[: len(_PLACE)]), Balance(row.quantity, row.value)


def balance_at(connection: Connection, place: Place) -> Balance:
    """Return the balance of a place."""
    conditions = [
        column.is_not_distinct_from(value)
        for column, value in zip(_PLACE, astuple(place), strict=True)
    ]
    return next((balance for _, balance in balances_of(connection, *conditions)), Balance())


def product_balance(connection: Connection, product: int) -> Balance:
    """Return the balance of a product in all places together."""
    found = balances_of(connection, movements.c.idProd == product)
    parts = [balance for _, balance in found]
    quantity = sum((part.quantity for part in parts), Decimal(0))
    return Balance(quantity, sum((part.value for part in parts), Decimal(0)))
