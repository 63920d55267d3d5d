"""Report as data: a verdict, facts, tables, next steps. Rooms fill it, renderers show it.

Text, page and workbook show the same report, so none of them can say something else than another.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from xlbridge.i18n import Text, count_text, joined, untranslated

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from xlbridge.report_forms.pictures import Chart

Value = str | int | Decimal | date | Text | None
"""Content of a cell: ``int`` is a count, ``Decimal`` money, None an empty cell."""


class Grade(StrEnum):
    """Grade of a verdict: nothing left, something uncertain, something open."""

    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"


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
    """The values of a line, one for each heading.

    In text a line is the sentence ``text``, and the lines ``below`` follow. Without a sentence the
    first value is the line, and the others follow with their headings.
    """

    values: tuple[Value, ...] = ()
    tone: Tone = Tone.PLAIN
    text: Text | str | None = None
    below: Sequence[Text | str] = ()


_NOTHING = Text(pt="Nada.", en="Nothing.")
_AS_JSON = untranslated("--format json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table. Those of one ``sheet`` share a sheet of the workbook and a section of the page.

    ``none`` is the text of an empty table; text leaves such a table out. Without ``title`` the
    sheet's name is the title, and in text there is none. Text shows at most ``most`` lines, and
    a table that is ``aligned`` in columns below its headings. ``omitted`` counts the lines that
    ``cut`` has left out. On pages the columns ``bars`` are a picture too: a bar for each line, with
    a part for each column, or with ``shares`` its share of the line; only for the first ``drawn``
    lines, if that is not None. A table that people fill in
    ``by_hand`` has high lines; each of its columns takes that many of a sheet's.
    """

    sheet: Text
    headings: tuple[Heading, ...] = ()
    lines: Sequence[Line]
    none: Text = _NOTHING
    title: Text | None = None
    about: Text | None = None
    most: int | None = None
    aligned: bool = False
    omitted: int = 0
    bars: Sequence[int] = ()
    shares: bool = False
    drawn: int | None = None
    by_hand: Sequence[int] = ()

    @property
    def picture(self) -> "Element | None":
        """Picture of the lines with values, as SVG; None if there is nothing to compare."""
        # Imported late, for the sake of commands that write no page.
        from xlbridge.report_forms.pictures import Bar, draw_bars, first_bars

        lines = [
            line
            for line in self.lines[: self.drawn]
            if line.tone is not Tone.SUM and any(line.values[at] is not None for at in self.bars)
        ]
        if not lines or max(len(lines), len(self.bars)) < 2:
            return None
        headings = [str(self.headings[column].title) for column in self.bars]
        bars = [
            Bar(
                value_text(line.values[0]),
                [max(_amount(value), 0.0) for value in values],
                value_text(line.values[self.bars[0]])
                if len(values) == 1
                else self._parts_text(values),
                alarming=line.tone is Tone.OPEN and len(values) == 1,
            )
            for line in lines
            for values in [[line.values[column] for column in self.bars]]
        ]
        bars = first_bars(bars)
        left = len(lines) - len(bars) + self.omitted
        return draw_bars(
            str(self.title or self.sheet),
            (str(self.headings[0].title), str(self.measure)),
            headings,
            bars,
            shares=self.shares,
            more=str(more_text(left)) if left else "",
        )

    @property
    def chart(self) -> "Chart | None":
        """Chart of the table in a workbook, where the first lines are those that it draws."""
        from xlbridge.report_forms.pictures import Bar, Chart, first_bars

        if not self.bars or self.body < 2 or self.drawn == 0:
            return None
        most = min(self.body, self.body if self.drawn is None else self.drawn)
        title = f"{self.headings[0].title} · {self.measure}"
        bars = [
            Bar(
                value_text(line.values[0]),
                [_amount(line.values[column]) for column in self.bars],
                "",
                alarming=line.tone is Tone.OPEN and len(self.bars) == 1,
            )
            for line in self.lines[:most]
        ]
        bars = first_bars(bars)
        if left := most - len(bars):
            title += f" ({more_text(left)})"
        series = [str(self.headings[column].title) for column in self.bars]
        return Chart(title, series, bars)

    @property
    def measure(self) -> Text:
        """What the bars measure: the column, or of several the sum that follows them."""
        following = self.headings[self.bars[-1] + 1 :]
        several = following[0].title if following else self.sheet
        what = several if len(self.bars) > 1 else self.headings[self.bars[0]].title
        values = (line.values[column] for line in self.lines for column in self.bars)
        is_money = any(isinstance(value, Decimal) for value in values)
        if self.shares:
            return _SHARE.format(what=what)
        # Titles of amounts say their unit: titles.in_reais.
        return what if is_money else _NUMBER.format(what=what.changed(str.lower))

    def _parts_text(self, values: Sequence[Value]) -> str:
        """Return the text beside a bar of several parts: the first one and the sum, or that."""
        numbers = [value for value in values if isinstance(value, int | Decimal)]
        whole = value_text(sum(numbers, type(numbers[0])(0)) if numbers else None)
        return f"{value_text(values[0])} / {whole}" if self.shares else whole

    @property
    def body(self) -> int:
        """Number of lines that are not sums, without the omitted ones."""
        return sum(line.tone is not Tone.SUM for line in self.lines)

    @property
    def has_open_lines(self) -> bool:
        """True if lines are open; a shortened table shows these first."""
        return any(line.tone in (Tone.OPEN, Tone.HEAD) for line in self.lines)

    def cut(self, most: int | None) -> "Table":
        """Return the table with at most ``most`` lines, all if None, in their order.

        Sums are always kept, and open lines are preferred to others.
        """
        if most is None or self.body <= most:
            return self
        preferred, rest = list[int](), list[int]()
        for number, line in enumerate(self.lines):
            if line.tone is not Tone.SUM:
                (rest if line.tone is Tone.PLAIN else preferred).append(number)
        kept = {*[*preferred, *rest][:most]}
        lines = [
            line
            for number, line in enumerate(self.lines)
            if line.tone is Tone.SUM or number in kept
        ]
        return replace(self, lines=lines, omitted=self.body - len(kept))

    def is_numeric(self, column: int) -> bool:
        """Return whether a column has numbers, or is empty and next to one that has."""
        values = [line.values[column] for line in self.lines]
        if self.headings[column].words:
            return False
        if any(isinstance(value, int | Decimal) for value in values):
            return True
        return column > 0 and all(value is None for value in values) and self.is_numeric(column - 1)


_SHARE = Text(pt="{what} (%)", en="{what} (%)")
_NUMBER = Text(pt="Número de {what}", en="Number of {what}")


def _amount(value: Value) -> float:
    return float(value) if isinstance(value, int | Decimal) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Content of a report. Text, unlike page and workbook, needs no ``title``.

    ``remarks`` and ``problems``, which are open, explain the verdict. ``complete`` names the form
    that has all lines of the tables that a page shortens; None if it shows them all.
    """

    title: Text | None = None
    verdict: Text | None = None
    grade: Grade = Grade.GOOD
    remarks: Sequence[Text] = ()
    problems: Sequence[Text] = ()
    facts: Sequence[tuple[Text, Value]] = ()
    tables: Sequence[Table] = ()
    next_steps: Sequence[Text] = ()
    complete: Text | None = _AS_JSON


Reason = TypeVar("Reason", bound=Hashable)
Item = TypeVar("Item")


def group_by_reason(items: Iterable[tuple[Reason, Item]]) -> dict[Reason, list[Item]]:
    """Return the items of each reason, equal reasons once, in the order of the first items."""
    groups: dict[Reason, list[Item]] = {}
    for reason, item in items:
        groups.setdefault(reason, []).append(item)
    return groups


def list_first(
    items: Sequence[object], most: int, count: int | None = None, separator: str = ", "
) -> Text:
    """Return the first items as a text that ends with the number of the others.

    ``count`` is the number of all items if ``items`` are only the first of them.
    """
    texts = [item if isinstance(item, Text) else untranslated(str(item)) for item in items[:most]]
    shown = joined(texts, separator)
    more = (len(items) if count is None else count) - len(texts)
    if more <= 0:
        return shown
    return joined([shown, more_text(more)], " ") if texts else more_text(more)


def more_text(count: int) -> Text:
    """Return the note that stands for omitted lines or items."""
    return Text(pt="… e mais {n}", en="… and {n} more").format(n=count_text(count))


def value_text(value: Value) -> str:
    """Return a value as text in the active language, a dash for None."""
    match value:
        case None:
            return "–"
        case bool() | str() | Text():
            return str(value)
        case int() | Decimal():
            return str(grouped_number(value))
        case date():
            return value.strftime("%d/%m/%Y")


def grouped_number(number: int | Decimal) -> Text:
    """Return a count or an amount of money with grouped digits, in each language's format."""
    grouped = f"{number:,}" if isinstance(number, int) else f"{number:,.2f}"
    return Text(pt=grouped.translate(str.maketrans(",.", ".,")), en=grouped)
