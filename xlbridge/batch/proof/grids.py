"""Tables of a proof as its workbook and its page both show them, and the values in their cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from xlbridge.i18n import Text
from xlbridge.resources import Kind

Value = str | int | Decimal | date | Text | None
"""Content of a cell: an ``int`` counts, a ``Decimal`` is money, None is nothing."""


class Tone(StrEnum):
    """Role of a line: plain, open, head of the lines below, or their sum."""

    PLAIN = "plain"
    OPEN = "open"
    HEAD = "head"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Heading:
    """A column.

    ``alarming`` means that anything but nothing is open; ``digest`` that its values are long and
    meant for a machine, ``path`` that they are long without a blank, ``words`` that they are texts
    even where all are missing. ``width`` is how many digits are likely.
    """

    title: Text
    width: int = 12
    alarming: bool = False
    digest: bool = False
    path: bool = False
    words: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a line, one for each heading."""

    values: tuple[Value, ...]
    tone: Tone = Tone.PLAIN


def is_number(value: Value) -> bool:
    """Return whether a value is a count or an amount."""
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

    def is_numeric(self, column: int) -> bool:
        """Return whether a column has numbers, or nothing beside columns that have."""
        values = [line.values[column] for line in self.lines]
        if self.headings[column].words:
            return False
        if any(map(is_number, values)):
            return True
        return column > 0 and all(value is None for value in values) and self.is_numeric(column - 1)


_YES_NO = {"True": Text(pt="sim", en="yes"), "False": Text(pt="não", en="no")}


def typed_value(kind: Kind, plain: str | None) -> Value:
    """Return a ``comparable_value`` as money or a day where it is one."""
    if plain is None:
        return None
    try:
        if kind is Kind.MONEY:
            return Decimal(plain)
        if kind is Kind.DATE:
            return date.fromisoformat(plain)
    except (InvalidOperation, ValueError):
        return plain
    if kind is Kind.NUMBER:
        return Text(pt=plain.replace(".", ","), en=plain)
    return _YES_NO.get(plain, plain) if kind is Kind.BOOLEAN else plain


def month_text(plain: str | None) -> str | None:
    """Return the month of an ISO date as people write it."""
    return None if plain is None else f"{plain[5:7]}/{plain[:4]}"


def value_text(value: Value) -> str:
    """Return a value as text in the active language; nothing is a dash."""
    match value:
        case None:
            return "–"
        case bool() | str() | Text():
            return str(value)
        case int():
            return str(grouped_number(value))
        case Decimal():
            return str(grouped_amount(value))
        case date():
            return value.strftime("%d/%m/%Y")


def grouped_number(number: int) -> Text:
    """Return a count as each language groups its digits."""
    return _in_both_languages(f"{number:,}")


def grouped_amount(amount: Decimal) -> Text:
    """Return an amount of money as each language writes it."""
    return _in_both_languages(f"{amount:,.2f}")


def _in_both_languages(number: str) -> Text:
    return Text(pt=number.translate(str.maketrans(",.", ".,")), en=number)
