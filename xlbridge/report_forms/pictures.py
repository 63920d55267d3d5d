"""Pictures of tables: bars as SVG, for pages of reports and for the page in the browser, and what
charts of workbooks draw.

Colours are those of ``base.css``, in both themes and in print. The text alternative has the title
and each bar's label with its numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

_WIDTH, _HEIGHT, _FONT = 320.0, 20.0, 11.0
"""Width of a picture, height of a line and size of its texts, in the picture's own units."""
_CHARACTER, _LEGEND_CHARACTER = 7.3, 6.6
_WIDEST_LEGEND = 350.0
_LEAST_BARS = 110.0
_MOST_BESIDE, _MOST_ABOVE = 24, 56
"""Most characters of a label beside its bar, a longer one makes all stand above; the most there."""
_BARS_OF_PAGE = 36
_GAP, _INSET, _SWATCH = 6.0, 3.0, 10.0


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of a line: a value for each series, in SVG not negative, and the text beside it.

    An ``alarming`` bar of a single series has the colour of an error.
    """

    label: str
    values: Sequence[float]
    text: str
    alarming: bool = False


def first_bars(bars: list[Bar]) -> list[Bar]:
    """Return as many of the bars as a picture has that fits on a printed page: fewer if their
    labels are above them."""
    most = _BARS_OF_PAGE
    if any(len(bar.label) > _MOST_BESIDE for bar in bars[:most]):
        most //= 2
    return bars[:most]


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


def draw_bars(
    title: str,
    axes: tuple[str, str],
    series: Sequence[str],
    bars: Sequence[Bar],
    *,
    shares: bool,
    more: str = "",
) -> Element:
    """Return a picture of horizontal bars, with a legend if they have several ``series``.

    Short labels are beside the bars, others above them.

    ``axes`` name what each bar is about, above the labels, and what the bars measure, below them.
    With ``shares`` each bar is as wide as any other and shows the parts of its sum. ``more`` stands
    below the bars for those that are not shown.
    """
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
        row = SubElement(picture, "g")
        SubElement(row, "title").text = f"{bar.label}: {bar.text}"
        if above:
            # Closer to its bar than to the one before.
            _add_text(row, label, middle - _HEIGHT + _INSET, _shortened(bar.label))
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
    SubElement(picture, "line", {name: f"{end:g}" for name, end in ends.items()})
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


def _add_legend(picture: Element, series: Sequence[str]) -> tuple[float, float]:
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


def _add_box(parent: Element, x: float, y: float, width: float, height: float, name: str) -> None:
    numbers = {"x": x, "y": y, "width": width, "height": height}
    SubElement(parent, "rect", {"class": name} | {key: f"{n:g}" for key, n in numbers.items()})


def _add_text(parent: Element, x: float, y: float, text: str, name: str = "text") -> None:
    place = {"class": name, "x": f"{x:g}", "y": f"{y:g}", "font-size": f"{_FONT:g}"}
    SubElement(parent, "text", place).text = text


def _shortened(label: str) -> str:
    return label if len(label) <= _MOST_ABOVE else f"{label[: _MOST_ABOVE - 1].rstrip()}…"
