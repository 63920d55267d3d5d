"""Colours, fonts and number formats of the workbooks that xlbridge writes."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from xlbridge.report_forms import Grade
from xlbridge.resources import Kind
from xlbridge.resources.findings import Severity
from xlbridge.titles import REQUIRED_MARK

NUMBER_FORMATS: Mapping[Kind, str] = {
    **{kind: "@" for kind in Kind if kind.is_text},
    Kind.INTEGER: "0",
    Kind.NUMBER: "#,##0.00####",
    Kind.MONEY: "#,##0.00",
    Kind.DATE: "dd/mm/yyyy",
    Kind.BOOLEAN: "General",
}
"""Number formats by kind. Text is ``@``, so that typed leading zeros are kept."""

TIME_FORMATS: Mapping[type, str] = {
    dt.datetime: f"{NUMBER_FORMATS[Kind.DATE]} hh:mm:ss",
    dt.date: NUMBER_FORMATS[Kind.DATE],
    dt.time: "hh:mm:ss",
    dt.timedelta: "[h]:mm:ss",
}
"""Number formats of dates and times, by the type of the value."""

FONT = "Calibri"
FONT_SIZE = 11
LINE_HEIGHT = 15
MAX_ROW_HEIGHT = 409  # Excel's limit

PRINT_SCALE = 65
_CERTAIN_WIDTH, READABLE_WIDTH, DENSE_WIDTH = 160, 225, 265
"""Characters across A4 in landscape: those that fit in ``PRINT_SCALE``, the most that are readable,
and the most of a sheet whose rows are rather kept on one page."""
_BESIDE_CELL = 5 / 7
"""Characters that a column is wider than its cells."""


def _printed_width(widths: Sequence[int]) -> float:
    return sum(widths) + _BESIDE_CELL * len(widths)


def fits_page(widths: Sequence[int]) -> bool:
    """Return whether columns are readable on one page of A4 in landscape."""
    return _printed_width(widths) <= READABLE_WIDTH


def columns_on_two_pages(widths: Sequence[int], repeated: range, most: int = READABLE_WIDTH) -> int:
    """Return the number of columns that are readable on two pages of A4 in landscape, of which some
    are ``repeated`` on the second. ``most`` are the characters across one page."""
    across = 2 * most - _printed_width(widths[repeated.start : repeated.stop])
    return max(n for n in range(len(widths) + 1) if _printed_width(widths[:n]) <= across)


def pages_to_fit(
    widths: Sequence[int], repeated: range = range(0), most: int = READABLE_WIDTH
) -> int:
    """Return the number of pages across which a sheet is made to fit, one without ``widths``; 0 if
    it is printed in ``PRINT_SCALE``, as most are. ``most`` are the characters across one page."""
    width = _printed_width(widths)
    if not widths or _CERTAIN_WIDTH < width <= most:
        return 1
    on_both = width + _printed_width(widths[repeated.start : repeated.stop])
    return 2 if 2 * _CERTAIN_WIDTH < on_both <= 2 * most else 0


FILTER_BUTTON_WIDTH = 3
_MOST_HEADING_LINES = 3


def heading_width(title: str) -> int:
    """Return the width of a column's heading in three lines, with the button of a filter."""
    title = _glued(title)
    width = max(map(len, title.split(" ")))
    while len(wrap(title, width)) > _MOST_HEADING_LINES:
        width += 1
    return width + FILTER_BUTTON_WIDTH


def heading_lines(titles: Sequence[str], widths: Sequence[int]) -> int:
    """Return the number of lines that the longest title takes in its column."""
    columns = zip(titles, widths, strict=True)
    return wrapped_lines((_glued(title), width - FILTER_BUTTON_WIDTH) for title, width in columns)


def wrapped_lines(texts: Iterable[tuple[str, int]]) -> int:
    """Return the most lines that one of some texts takes in a cell as wide as is given with it."""
    return max((len(wrap(text, width)) for text, width in texts if len(text) > width), default=1)


def _glued(title: str) -> str:
    """Return a title whose mark of required columns stays with its last word."""
    return title.replace(REQUIRED_MARK, f"\N{NO-BREAK SPACE}{REQUIRED_MARK.strip()}")


BESIDE_NUMBERS: Mapping[str, Any] = {"align": "left", "indent": 1}
"""Format of texts that keeps them apart from the numbers on their left."""

STRONG = "1F4E78"
"""Headers of required columns, and titles."""

SOFT = "DDEBF7"
"""Headers of optional columns."""

REMARK = "FFF2CC"
"""Headers of columns that xlbridge adds."""

QUIET = "595959"
"""Secondary text."""

RULE = "BFBFBF"
"""Borders."""

CHART_COLOURS = (STRONG, "D98324", "B9DFC2", "7A5C9E")
"""Colours of a chart's series, which also differ in lightness, for print without colours."""

GRADE_COLOURS: Mapping[Grade, tuple[str, str]] = {
    Grade.GOOD: ("1C6B3A", "E0F3E7"),
    Grade.WARNING: ("7A5C00", "FFF3CC"),
    Grade.ERROR: ("9C0006", "FFE3E6"),
}
"""Colours of a verdict: of its text and of the ground."""

SEVERITY_FILLS: Mapping[Severity, str] = {Severity.ERROR: "FFC7CE", Severity.WARNING: "FFEB9C"}
SEVERITY_FONTS: Mapping[Severity, str] = {Severity.ERROR: "9C0006", Severity.WARNING: "7F6000"}
ROW_FILLS: Mapping[Severity, str] = {Severity.ERROR: "FFF0F1", Severity.WARNING: "FFFAE6"}
ROW_FONTS: Mapping[Severity, str] = dict.fromkeys(Severity, "262626")
"""Colours of rows in which cells are coloured."""
