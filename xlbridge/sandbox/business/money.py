"""Reais and cents: rounding, shares, and parts that add up."""

from decimal import Decimal

_CENTS = Decimal("0.01")


def cents(amount: Decimal) -> Decimal:
    """Return an amount rounded to cents."""
    return amount.quantize(_CENTS)


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """Return so many per cent of an amount, in cents."""
    return cents(amount * percent / 100)


def equal_parts(amount: Decimal, count: int) -> list[Decimal]:
    """Return equal parts, in cents; the last one takes what division leaves over."""
    part = cents(amount / count)
    return [part] * (count - 1) + [amount - part * (count - 1)]
