"""Report as data: a verdict, facts, tables, next steps. Rooms fill it, renderers show it.

Text, page and workbook show the same report, so none of them can say something else than another.
A table has its picture, bars as SVG for reports' pages and the page in the browser, and the chart
of a workbook. Colours of pictures are those of ``base.css``, in both themes and in print; their
text alternative has the title and each bar's label with its numbers.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from xlbridge.i18n import Text, count_text, joined, untranslated

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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


_MOST_BESIDE, _MOST_ABOVE = 24, 56
"""Most characters of a label beside its bar, a longer one makes all stand above; the most there."""
_BARS_OF_PAGE = 36


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of a line: a value for each series, in SVG not negative, and the text beside it.

    An ``alarming`` bar of a single series has the colour of an error.
    """

    label: str
    values: Sequence[float]
    text: str
    alarming: bool = False


_CHART_ROWS, _AROUND_BARS, _AXIS_PARTS = 6, 3, 5
_LONG_LABEL, _ROWS_OF_LONG_LABEL = 40, 2
_SURE_THOUSANDS = 10_000
"""Number from which on programs choose steps of an axis in whole thousands."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart of a table in a workbook, beside its rows: a bar for each of the first lines, the first
    one on top."""

    title: str
    series: Sequence[str]
    bars: Sequence[Bar]

    @property
    def rows(self) -> int:
        """Number of rows beside which the chart is."""
        bars = len(self.bars) * (_ROWS_OF_LONG_LABEL if self.has_long_labels else 1)
        return max(_CHART_ROWS, bars + _AROUND_BARS) + (len(self.series) > 1)

    @property
    def has_long_labels(self) -> bool:
        """True if programs would leave the labels more room than the bars."""
        return max(len(bar.label) for bar in self.bars) > _LONG_LABEL

    @property
    def is_signed(self) -> bool:
        """True if there are bars to both sides; others begin at zero."""
        return any(value < 0 for bar in self.bars for value in bar.values)

    @property
    def in_thousands(self) -> bool:
        """True if numbers on the axis are whole thousands, so that they are shown as such."""
        if self.is_signed:
            return max(abs(value) for bar in self.bars for value in bar.values) >= _SURE_THOUSANDS
        return self.axis_step >= 1000

    @property
    def axis_step(self) -> float:
        """Round distance of at most six whole numbers on the axis, whose labels are wide."""
        part = max(sum(bar.values) for bar in self.bars) / _AXIS_PARTS
        if part <= 1:
            return 1
        power = 10.0 ** math.floor(math.log10(part))
        return float(next(step * power for step in (1, 2, 5, 10) if step * power >= part))


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
        lines = [
            line
            for line in self.lines[: self.drawn]
            if line.tone is not Tone.SUM and any(line.values[at] is not None for at in self.bars)
        ]
        if not lines or max(len(lines), len(self.bars)) < 2:
            return None
        headings = [str(self.headings[column].title) for column in self.bars]
        bars = [
            replace(bar, values=[max(value, 0.0) for value in bar.values])
            for bar in self._first_bars(lines)
        ]
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
    def chart(self) -> Chart | None:
        """Chart of the table in a workbook, where the first lines are those that it draws."""
        if not self.bars or self.body < 2 or self.drawn == 0:
            return None
        most = min(self.body, self.body if self.drawn is None else self.drawn)
        title = f"{self.headings[0].title} · {self.measure}"
        bars = self._first_bars(self.lines[:most])
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

    def _first_bars(self, lines: Sequence[Line]) -> list[Bar]:
        """Return the bars of as many lines as a picture has that fits on a printed page: fewer if
        their labels are above them."""
        bars = [
            Bar(
                value_text(line.values[0]),
                [_amount(value) for value in values],
                self._bar_text(values),
                alarming=line.tone is Tone.OPEN and len(values) == 1,
            )
            for line in lines
            for values in [[line.values[column] for column in self.bars]]
        ]
        most = _BARS_OF_PAGE
        if any(len(bar.label) > _MOST_BESIDE for bar in bars[:most]):
            most //= 2
        return bars[:most]

    def _bar_text(self, values: Sequence[Value]) -> str:
        """Return the text beside a bar: its value, or of several parts the first and the sum, or
        the sum."""
        if len(values) == 1:
            return value_text(values[0])
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


_WIDTH, _HEIGHT, _FONT = 320.0, 20.0, 11.0
"""Width of a picture, height of a line and size of its texts, in the picture's own units."""
_CHARACTER, _LEGEND_CHARACTER = 7.3, 6.6
_WIDEST_LEGEND = 350.0
_LEAST_BARS = 110.0
_GAP, _INSET, _SWATCH = 6.0, 3.0, 10.0


def draw_bars(
    title: str,
    axes: tuple[str, str],
    series: Sequence[str],
    bars: Sequence[Bar],
    *,
    shares: bool,
    more: str = "",
) -> "Element":
    """Return a picture of horizontal bars, with a legend if they have several ``series``.

    Short labels are beside the bars, others above them.

    ``axes`` name what each bar is about, above the labels, and what the bars measure, below them.
    With ``shares`` each bar is as wide as any other and shows the parts of its sum. ``more`` stands
    below the bars for those that are not shown.
    """
    # Imported late, for the sake of commands that write no page.
    from xml.etree.ElementTree import Element

    texts = "; ".join(f"{bar.label} {bar.text}" for bar in bars)
    longest = max(len(bar.label) for bar in bars)
    above = _HEIGHT if longest > _MOST_BESIDE else 0.0
    label = 1.0 if above else longest * _CHARACTER + _GAP
    beside = max(len(bar.text) for bar in bars) * _CHARACTER + _GAP
    wide = max(_WIDTH - label - beside, _LEAST_BARS)
    most = max(max(sum(bar.values) for bar in bars), 1e-9)
    picture = Element("svg", {"class": "bars", "role": "img", "aria-label": f"{title}: {texts}"})
    top, of_legend = _add_legend(picture, series) if len(series) > 1 else (0.0, 0.0)
    of_labels, of_values = axes
    _add_text(picture, 0, top + _HEIGHT / 2, of_labels, "axis")
    top += _HEIGHT
    for number, bar in enumerate(bars):
        middle = top + number * (above + _HEIGHT) + above + _HEIGHT / 2
        row = _add(picture, "g")
        _add(row, "title").text = f"{bar.label}: {bar.text}"
        if above:
            # Closer to its bar than to the one before.
            name = bar.label
            if len(name) > _MOST_ABOVE:
                name = f"{name[: _MOST_ABOVE - 1].rstrip()}…"
            _add_text(row, label, middle - _HEIGHT + _INSET, name)
        else:
            _add_text(row, label - _GAP, middle, bar.label, "label")
        at, whole = label, (sum(bar.values) or 1.0) if shares else most
        for place, value in enumerate(bar.values, 1):
            # A bar of something is seen, however small it is.
            width = max(value / whole * wide, 1.0) if value > 0 else 0.0
            name = "alarming" if bar.alarming else f"series-{place}"
            if width or len(bar.values) == 1:
                _add_box(row, at, middle - _HEIGHT / 2 + _INSET, width, _HEIGHT - 2 * _INSET, name)
            at += width
        _add_text(row, (label + wide if shares else at) + _GAP, middle, bar.text)
    bottom = top + len(bars) * (above + _HEIGHT)
    ends = {"x1": label - 1, "y1": top, "x2": label - 1, "y2": bottom}
    _add(picture, "line", {name: f"{end:g}" for name, end in ends.items()})
    for text, name in ((more, "quiet"), (of_values, "axis")):
        if text:
            _add_text(picture, label, bottom + _HEIGHT / 2, text, name)
            bottom += _HEIGHT
    of_texts = max(len(of_labels) * _CHARACTER, label + len(of_values) * _CHARACTER)
    if above:
        of_texts = max(of_texts, label + min(longest, _MOST_ABOVE) * _CHARACTER)
    width = max(label + wide + beside, of_texts, of_legend)
    picture.set("viewBox", f"0 0 {width:g} {bottom:g}")
    # Texts are as large as those around the picture, however wide it is.
    picture.set("width", f"{width / _FONT:.1f}em")
    return picture


def _add_legend(picture: "Element", series: Sequence[str]) -> tuple[float, float]:
    """Add the names of the series with their colours; return the height and the width that they
    take."""
    at, top, widest = 0.0, 0.0, 0.0
    for place, name in enumerate(series, 1):
        width = _SWATCH + 2 * _GAP + len(name) * _LEGEND_CHARACTER
        if at and at + width > _WIDEST_LEGEND:
            at, top = 0.0, top + _HEIGHT
        _add_box(picture, at, top + _INSET, _SWATCH, _SWATCH, f"series-{place}")
        _add_text(picture, at + _SWATCH + _GAP, top + _INSET + _SWATCH / 2, name)
        at += width
        widest = max(widest, at)
    return top + _HEIGHT + _GAP, widest


def _add(
    parent: "Element", tag: str, attributes: Mapping[str, str] = MappingProxyType({})
) -> "Element":
    element = parent.makeelement(tag, {**attributes})
    parent.append(element)
    return element


def _add_box(parent: "Element", x: float, y: float, width: float, height: float, name: str) -> None:
    numbers = {"x": x, "y": y, "width": width, "height": height}
    _add(parent, "rect", {"class": name} | {key: f"{n:g}" for key, n in numbers.items()})


def _add_text(parent: "Element", x: float, y: float, text: str, name: str = "text") -> None:
    place = {"class": name, "x": f"{x:g}", "y": f"{y:g}", "font-size": f"{_FONT:g}"}
    _add(parent, "text", place).text = text
