"""Tables of a proof as the workbook and the page both show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from xlbridge.i18n import Text

Value = str | int | Decimal | date | Text | None
"""What a cell holds: an ``int`` counts, a ``Decimal`` is money, None is nothing."""


class Tone(StrEnum):
    """How a line is to be read: as any other, as open, as the head of those below, as their sum."""

    PLAIN = "plain"
    OPEN = "open"
    HEAD = "head"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Heading:
    """A column.

    ``alarming`` means that anything but nothing is open; ``digest`` that its values are long and
    meant for a machine, ``path`` that they are long without a blank. ``width`` is how many digits
    are likely.
    """

    title: Text
    width: int = 12
    alarming: bool = False
    digest: bool = False
    path: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a line, one for each heading."""

    values: tuple[Value, ...]
    tone: Tone = Tone.PLAIN


def is_number(value: Value) -> bool:
    """Whether a value counts or is money."""
    return isinstance(value, int | Decimal)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. Those of one ``sheet`` share a sheet of the workbook, and a part of the page.

    ``none`` is said where there are no lines. ``title`` is None where the sheet's says it all.
    """

    sheet: Text
    headings: tuple[Heading, ...]
    lines: Sequence[Line]
    none: Text
    title: Text | None = None
    about: Text | None = None

    def has_numbers(self, place: int) -> bool:
        """Whether a column has numbers."""
        return any(is_number(line.values[place]) for line in self.lines)
