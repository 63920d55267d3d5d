"""Amounts of money, quantities and rates: rounding, splitting, and the values that are valid."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from xlbridge.sandbox.problems import Problem
from xlbridge.wire.purchasing import PurchaseOrderItemInput
from xlbridge.wire.sales import ProductInvoiceItemInput

PRICE_PLACES = 6
"""Decimal places of a unit price: two would misprice large quantities of cheap products."""

QUANTITY_PLACES = 4

STOCK_LIMIT = Decimal(10) ** 9
"""Limit of quantities, unit costs and values of stock."""

_AMOUNT_LIMIT = Decimal(10) ** 12
_CENTS = Decimal("0.01")


def round_half_even(amount: Decimal) -> Decimal:
    """Round to cents, half to even: amounts of documents."""
    return amount.quantize(_CENTS, ROUND_HALF_EVEN)


def round_half_up(amount: Decimal) -> Decimal:
    """Round to cents, half up: values of stock."""
    return amount.quantize(_CENTS, ROUND_HALF_UP)


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """Return a percentage of an amount, rounded to cents."""
    return round_half_even(amount * percent / 100)


def item_total(item: ProductInvoiceItemInput | PurchaseOrderItemInput) -> Decimal:
    """Return the total of an item: quantity times unit price, rounded to cents."""
    return round_half_even(item.quantidade * item.valorUnitario)


def equal_parts(amount: Decimal, count: int) -> list[Decimal]:
    """Split an amount into equal parts in cents; the last one gets the remainder."""
    return proportional_parts(amount, [Decimal(1)] * count)


def proportional_parts(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Split an amount in proportion to weights, in cents; the last part gets the remainder.

    The others are rounded down, so that the remainder is never negative.
    """
    total = sum(weights)
    parts = [
        (amount * weight / total).quantize(_CENTS, rounding=ROUND_DOWN) for weight in weights[:-1]
    ]
    return [*parts, amount - sum(parts)]


def amount_problems(
    key: str, amount: Decimal | None, places: int = 2, limit: Decimal = _AMOUNT_LIMIT
) -> list[Problem]:
    """Return the problem of an amount that is negative, too large or has too many ``places``."""
    if amount is None:
        return []
    if not 0 <= amount < limit:
        return [(key, "Valor fora do intervalo permitido.")]
    if amount != round(amount, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


def rate_problems(key: str, rate: Decimal | None) -> list[Problem]:
    """Return the problem of a rate outside 0 to 100 per cent."""
    if rate is None or 0 <= rate <= 100:
        return []
    return [(key, "Percentual fora do intervalo de 0 a 100.")]
