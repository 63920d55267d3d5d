"""Reais and cents, and rates: rounding, shares, and parts that add up."""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal

from xlbridge.sandbox.answers import Problem

_CENTS = Decimal("0.01")


def cents(amount: Decimal) -> Decimal:
    """Return an amount rounded to cents."""
    return amount.quantize(_CENTS)


def percent_of(amount: Decimal, percent: Decimal) -> Decimal:
    """Return so many per cent of an amount, in cents."""
    return cents(amount * percent / 100)


def equal_parts(amount: Decimal, count: int) -> list[Decimal]:
    """Return equal parts, in cents; the last one takes what division leaves over."""
    return proportional_parts(amount, [Decimal(1)] * count)


def proportional_parts(amount: Decimal, weights: Sequence[Decimal]) -> list[Decimal]:
    """Return parts in proportion to weights, in cents; the last one takes what is left over.

    The others are rounded down, so that nothing is ever left under.
    """
    whole = sum(weights)
    parts = [
        (amount * weight / whole).quantize(_CENTS, rounding=ROUND_DOWN) for weight in weights[:-1]
    ]
    return [*parts, amount - sum(parts)]


def rate_problems(key: str, rate: Decimal | None) -> list[Problem]:
    """Return the problem of a rate that is not from 0 to 100 per cent."""
    if rate is None or 0 <= rate <= 100:
        return []
    return [(key, "Percentual fora do intervalo de 0 a 100.")]
