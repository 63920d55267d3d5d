"""What the control totals of a resource's rows are sums of, and by what."""

from collections.abc import Sequence
from dataclasses import dataclass

from xlbridge.resources.column import Column, Kind


@dataclass(frozen=True, slots=True)
class ControlTotals:
    """The rows' ``amount`` is added up by each of the columns ``by``; without one rows are counted.

    By a date means by its month and by its day.
    """

    amount: str | None
    by: tuple[str, ...]


def usual_totals(columns: Sequence[Column]) -> ControlTotals:
    """Return the control totals of a resource that declares none.

    The first column of money, by every date and every column that refers to a registry.
    """
    money = (column.name for column in columns if column.kind is Kind.MONEY)
    return ControlTotals(
        amount=next(money, None),
        by=tuple(c.name for c in columns if c.kind is Kind.DATE or c.references is not None),
    )
