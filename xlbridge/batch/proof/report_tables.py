"""Tables of a report, for its workbook and its page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from itertools import groupby

from xlbridge.i18n import Text
from xlbridge.resources import Kind

Value = str | int | Decimal | date | Text | None
"""Content of a cell: ``int`` is a count, ``Decimal`` money, None an empty cell."""


class Tone(StrEnum):
    """Role of a line: plain, open, head of the lines below, or their sum."""

    PLAIN = "plain"
    OPEN = "open"
    HEAD = "head"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a column; ``width`` is in digits.

    A non-zero value of an ``alarming`` column is open. Values of a ``digest`` or ``path`` column
    are long and have no spaces; a ``words`` column is text even if it is empty.
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
class ReportTable:
    """A table. Those of one ``sheet`` share a sheet of the workbook and a section of the page.

    ``none`` is the text of an empty table. Without ``title`` the sheet's name is the title.
    """

    sheet: Text
    headings: tuple[Heading, ...]
    lines: Sequence[Line]
    none: Text
    title: Text | None = None
    about: Text | None = None

    def is_numeric(self, column: int) -> bool:
        """Return whether a column has numbers, or is empty and next to one that has."""
        values = [line.values[column] for line in self.lines]
        if self.headings[column].words:
            return False
        if any(map(is_number, values)):
            return True
        return column > 0 and all(value is None for value in values) and self.is_numeric(column - 1)


_YES_NO = {"True": Text(pt="sim", en="yes"), "False": Text(pt="não", en="no")}


def typed_value(kind: Kind, plain: str | None) -> Value:
    """Return a ``comparable_value`` converted to its kind."""
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


def value_text(value: Value) -> str:
    """Return a value as text in the active language, a dash for None."""
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
    """Return a count with grouped digits in each language's format."""
    return _localized(f"{number:,}")


def grouped_amount(amount: Decimal) -> Text:
    """Return an amount of money in each language's format."""
    return _localized(f"{amount:,.2f}")


def _localized(number: str) -> Text:
    return Text(pt=number.translate(str.maketrans(",.", ".,")), en=number)


MAX_LINES_OF_PAGE = 200
"""Maximum number of lines of a table on a page."""

_OPEN_FIRST = Text(pt=", primeiro as que não conferem", en=", those that do not agree first")


def page_sections(
    tables: Iterable[ReportTable], cut: Text
) -> "list[tuple[Text, list[_PageTable]]]":
    """Return the tables of each section of a page; ``cut`` is the note below shortened ones."""
    return [
        (sheet, [_page_table(source, cut) for source in section])
        for sheet, section in groupby(tables, key=lambda source: source.sheet)
    ]


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of the page: its label on narrow screens, its text, its CSS classes."""

    label: Text
    text: str
    classes: str


@dataclass(frozen=True, slots=True)
class _PageTable:
    """A table on the page: the lines shown, and a note if lines are omitted."""

    source: ReportTable
    lines: Sequence[Line]
    cut: Text | None

    def cells(self, line: Line) -> list[_Cell]:
        """Return the cells of a line."""
        return [
            _Cell(
                heading.title,
                "" if value is None else value_text(value),
                _cell_classes(heading, value),
            )
            for heading, value in zip(self.source.headings, line.values, strict=True)
        ]


def _page_table(source: ReportTable, cut: Text) -> _PageTable:
    lines, open_first = _shown_lines(source.lines)
    body = sum(line.tone is not Tone.SUM for line in source.lines)
    shown = sum(line.tone is not Tone.SUM for line in lines)
    if shown == body:
        return _PageTable(source, lines, None)
    first = _OPEN_FIRST if open_first else ""
    note = cut.format(n=grouped_number(shown), all=grouped_number(body), first=first)
    return _PageTable(source, lines, note)


def _cell_classes(heading: Heading, value: Value) -> str:
    classes = {
        "number": is_number(value),
        "alarm": heading.alarming and bool(value),
        "digest": heading.digest,
        "path": heading.path,
        "zero": value == 0,
        "empty": value is None,
    }
    return " ".join(name for name, applies in classes.items() if applies)


def _shown_lines(lines: Sequence[Line]) -> tuple[list[Line], bool]:
    """Return the lines to show, in order, and whether any are open.

    Sums are always shown, and open lines are preferred to others.
    """
    body = [number for number, line in enumerate(lines) if line.tone is not Tone.SUM]
    preferred = [number for number in body if lines[number].tone in (Tone.OPEN, Tone.HEAD)]
    rest = [number for number in body if lines[number].tone is Tone.PLAIN]
    shown = {*[*preferred, *rest][:MAX_LINES_OF_PAGE]}
    return [
        line for number, line in enumerate(lines) if line.tone is Tone.SUM or number in shown
    ], bool(preferred)
