"""Reports as workbooks: a cover with the verdict, and a sheet with each table in full.

An export has such a cover, too, with its tables on it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import Text
from xlbridge.report_forms import (
    Grade,
    Heading,
    Report,
    Table,
    Tone,
    Value,
    value_text,
)
from xlbridge.resources import Kind
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_TEXT_LENGTH
from xlbridge.workbook.write.new_workbook import (
    Formats,
    new_workbook,
    page_height,
    print_across_pages,
)

MAX_LINES = 1_000_000
"""Maximum number of lines of a table on a sheet, just below Excel's limit."""

_LABEL_WIDTH, _TEXT_WIDTH = 26, 96
_TITLE_WIDTH = 1.7
"""Width of a letter of a title, in characters."""
_INDENT = 1
_BLANK_HEIGHT = 30
"""Height of a line to sign on."""
_MIN_WIDTH, _PADDING = 60, 5
_LITTLE_LONGER = 1.4
"""Length of a cover, in pages, up to which it is made to fit one."""
_OPEN, _OPEN_BACKGROUND = style.GRADE_COLOURS[Grade.ERROR]
_TONE_FORMATS: dict[Tone, dict[str, Any]] = {
    Tone.PLAIN: {},
    Tone.OPEN: {"bg_color": _OPEN_BACKGROUND},
    Tone.HEAD: {"bold": True, "bg_color": style.SOFT},
    Tone.SUM: {"bold": True, "top": 2},
}
_HEADING = {
    "bold": True,
    "text_wrap": True,
    "valign": "vcenter",
    "bg_color": style.STRONG,
    "font_color": "FFFFFF",
    "border": 1,
    "border_color": style.RULE,
}


def write_report(
    report: Report,
    path: Path,
    *,
    cover: Text,
    signature: tuple[str, str],
    max_lines: int = MAX_LINES,
) -> None:
    """Write a report as a workbook in the active language, atomically; ``cover`` is the name of
    the first sheet, which also has the tables of that name.

    A table of more than ``max_lines`` continues on another sheet. Texts are never written as
    formulas. The same report produces the same bytes. Raises ``UsageError`` if the file cannot be
    written.
    """
    title = _clean(report.title)
    with new_workbook(path, title=title, carried=dict([signature])) as book:
        styles = _formats(book)
        on_cover = [table for table in report.tables if str(table.sheet) == str(cover)]
        write_cover(book, book.add_worksheet(str(cover)), report, on_cover)
        others = [table for table in report.tables if table not in on_cover]
        for name, group in groupby(others, key=lambda table: table.sheet):
            tables = list(group)
            parts = [tables]
            if len(tables) == 1 and len(tables[0].lines) > max_lines:
                starts = range(0, len(tables[0].lines), max_lines)
                lines = (tables[0].lines[start : start + max_lines] for start in starts)
                parts = [[replace(tables[0], lines=some)] for some in lines]
            for number, part in enumerate(parts, start=1):
                sheet = book.add_worksheet(str(name) if number == 1 else f"{name} {number}")
                _write_tables(book, sheet, styles, part)


_ROW_PIXELS, _CHART_WIDTH, _CHART_MARGIN = 20, 640, 20
_ABOVE_BARS, _BELOW_BARS = 72, 8
_ROW_HEIGHT = 15
"""Height of a row that has none of its own, in points."""
_CHART_COLUMN = 105
"""Width of the column on which charts are: a page as wide as that holds some forty rows."""
_AXIS_NUMBERS = Text(
    pt='[>=1000000]#,##0.0,," mi";[>=1000]#,##0," mil";#,##0',
    en='[>=1000000]#,##0.0,,"M";[>=1000]#,##0,"k";#,##0',
)
_SIGNED_AXIS_NUMBERS = Text(
    pt='[>=1000]#,##0," mil";[<=-1000]-#,##0," mil";#,##0',
    en='[>=1000]#,##0,"k";[<=-1000]-#,##0,"k";#,##0',
)
"""Formats of axes; a format has at most two conditions."""
_ALARMING_PATTERN = "wide_upward_diagonal"


def _formats(book: xlsxwriter.Workbook) -> Formats:
    return Formats(book, font_name=style.FONT, font_size=style.FONT_SIZE, valign="top")


def _cell_format(styles: Formats, heading: Heading, value: Value, tone: Tone) -> Format:
    properties = dict(_TONE_FORMATS[tone])
    if heading.alarming and value:
        properties |= {"font_color": _OPEN, "bold": True}
    if heading.digest:
        properties |= {"font_size": 9, "font_name": "Consolas"}
    match value:
        case Decimal():
            properties["num_format"] = style.NUMBER_FORMATS[Kind.MONEY]
        case int():
            properties["num_format"] = "#,##0"
        case date():
            properties |= {"num_format": style.NUMBER_FORMATS[Kind.DATE], **style.BESIDE_NUMBERS}
        case _:
            properties |= {"text_wrap": True, **style.BESIDE_NUMBERS}
    return styles.format(**properties)


class _SheetWriter:
    """Writer of a sheet from top to bottom, in rows high enough for wrapped texts, which Excel does
    not fit itself."""

    def __init__(
        self,
        book: xlsxwriter.Workbook,
        sheet: Worksheet,
        styles: Formats,
        title: str,
        widths: Sequence[int],
        *,
        beside: int = 0,
    ) -> None:
        self.row = 0
        self.sheet, self._styles, self._book = sheet, styles, book
        self._widths = widths
        self._heights = dict[int, float]()
        self._breaks = list[int]()
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.hide_gridlines(2)
        print_across_pages(sheet, title)
        self._page_height = page_height(widths, beside)

    def line(self, values: Sequence[Value], forms: Sequence[Format]) -> None:
        """Write the cells of the next row."""
        for column, (value, form) in enumerate(zip(values, forms, strict=True)):
            cell = self.row, column
            match value:
                case None:
                    self.sheet.write_blank(*cell, None, form)
                case int() | Decimal():
                    self.sheet.write_number(*cell, float(value), form)
                case date():
                    day = datetime(value.year, value.month, value.day)
                    self.sheet.write_datetime(*cell, day, form)
                case _:
                    self.sheet.write_string(*cell, _clean(value), form)
        lines = self._lines_of(values)
        if lines > 1:
            self._set_height(lines * style.LINE_HEIGHT)
        self.row += 1

    def _lines_of(self, values: Sequence[Value]) -> int:
        """Return how many lines the texts of a row take."""
        return style.wrapped_lines(
            (_clean(value), max(width - _INDENT, 1))
            for value, width in zip(values, self._widths, strict=False)
            if isinstance(value, str | Text)
        )

    def keep_together(self, table: Table) -> None:
        """Begin a page if a table that fits a page, or else its picture, would not fit this one.

        The title of the table comes next.
        """
        least = _BLANK_HEIGHT if table.by_hand else _ROW_HEIGHT
        heading = self._lines_of([one.title for one in table.headings])
        beside = table.chart.rows * _ROW_HEIGHT if table.chart else 0
        height = max(beside, heading * style.LINE_HEIGHT + least)
        if len(table.lines) * least < self._page_height:
            heights = (
                max(self._lines_of(line.values) * style.LINE_HEIGHT, least) for line in table.lines
            )
            height = max(height, heading * style.LINE_HEIGHT + sum(heights))
        # Where programs break pages by themselves is not certain: only own breaks count.
        rows = range(self._breaks[-1] if self._breaks else 0, self.row)
        used = sum(self._heights.get(row, _ROW_HEIGHT) for row in rows)
        texts = (table.title, table.about)
        around = sum(style.LINE_HEIGHT + _PADDING for text in texts if text is not None)
        if used and used + height + around > self._page_height:
            self._breaks.append(self.row)
            self.sheet.set_h_pagebreaks(self._breaks)

    def fit_one_page(self) -> None:
        """Print the sheet on one page, if it is at most a little longer than that."""
        height = sum(self._heights.get(row, _ROW_HEIGHT) for row in range(self.row))
        if height <= _LITTLE_LONGER * self._page_height:
            self.sheet.set_h_pagebreaks([])
            self.sheet.fit_to_pages(1, 1)

    def _set_height(self, height: float) -> None:
        self._heights[self.row] = min(height, style.MAX_ROW_HEIGHT)
        self.sheet.set_row(self.row, self._heights[self.row])

    def paragraph(
        self,
        value: object,
        form: Format,
        *,
        first: int = 0,
        padding: int = 0,
        letter_width: float = 1.0,
    ) -> None:
        """Write a wrapped text across all columns from ``first`` on."""
        width = sum(self._widths[first:]) if first else max(sum(self._widths), _MIN_WIDTH)
        lines = math.ceil(len(str(value)) * letter_width / width)
        if lines > 1 or padding:
            self._set_height(math.ceil(lines * letter_width) * style.LINE_HEIGHT + padding)
        last = max(len(self._widths) - 1, 1)
        if first < last:
            self.sheet.merge_range(self.row, first, self.row, last, "", form)
        self.sheet.write_string(self.row, first, _clean(value), form)
        self.row += 1

    def table(self, table: Table) -> None:
        """Write the headings and the lines of a table, and go to the row after the next one."""
        text, number = (style.BESIDE_NUMBERS, {"align": "right"})
        forms = [
            self._styles.format(**_HEADING, **(number if table.is_numeric(column) else text))
            for column in range(len(table.headings))
        ]
        top = self.row
        if table.by_hand:
            self._add_blanks(table, forms)
            return
        self.line([str(heading.title) for heading in table.headings], forms)
        for line in table.lines:
            cells = zip(table.headings, line.values, strict=True)
            self.line(line.values, [_cell_format(self._styles, *c, line.tone) for c in cells])
        self.row = max(self.row, self._add_chart(table, top)) + 1

    def _add_blanks(self, table: Table, heading_forms: Sequence[Format]) -> None:
        """Write a table to be filled in by hand, in wide cells and high rows."""
        blank = self._styles.format(bottom=1, text_wrap=True, align="left", indent=1)
        titles = [heading.title for heading in table.headings]
        for texts in (titles, *(line.values for line in table.lines)):
            first = 0
            cells = zip(texts, table.by_hand, heading_forms, strict=True)
            for text, columns, form in cells:
                written = form if texts is titles else blank
                if columns > 1:
                    self.sheet.merge_range(
                        self.row, first, self.row, first + columns - 1, "", written
                    )
                self.sheet.write_string(self.row, first, _clean(text or ""), written)
                first += columns
            if texts is not titles:
                self._set_height(_BLANK_HEIGHT)
            self.row += 1
        self.row += 1

    def _add_chart(self, table: Table, top: int) -> int:
        """Add the chart of a table beside it; return the row below it."""
        if (drawn := table.chart) is None:
            return self.row
        chart: Any = self._book.add_chart({"type": "bar", "subtype": "stacked"})
        last = top + len(drawn.bars)
        # A pattern is told apart without colours, too.
        alarming = {
            "pattern": {
                "pattern": _ALARMING_PATTERN, "fg_color": f"#{_OPEN}", "bg_color": "#FFFFFF"
            },
            "border": {"color": f"#{_OPEN}"},
        }  # fmt: skip
        points = [alarming if bar.alarming else None for bar in drawn.bars]
        series = zip(table.bars, drawn.series, cycle(style.CHART_COLOURS), strict=False)
        for column, heading, colour in series:
            name = self.sheet.name
            chart.add_series(
                {
                    "name": heading,
                    "categories": [name, top + 1, 0, last, 0],
                    "values": [name, top + 1, column, last, column],
                    "fill": {"color": f"#{colour}"},
                    "points": points,
                    "gap": 50,
                }
            )
        font = {"name": style.FONT, "size": 9, "color": f"#{style.QUIET}"}
        chart.set_title({"name": drawn.title, "name_font": {**font, "size": 11}})
        legend = {"position": "bottom", "font": font}
        chart.set_legend(legend if len(drawn.series) > 1 else {"none": True})
        # The first line on top.
        line = {"color": f"#{style.RULE}"}
        chart.set_y_axis(
            {
                "reverse": True, "num_font": font, "line": line, "interval_unit": 1,
                "label_position": "low",
            }
        )  # fmt: skip
        grid = {"visible": True, "line": {"color": f"#{style.RULE}", "width": 0.5}}
        # Bars that do not begin at zero would exaggerate differences.
        bounds = {} if drawn.is_signed else {"min": 0, "major_unit": drawn.axis_step}
        form = "#,##0"
        if drawn.in_thousands:
            form = str(_SIGNED_AXIS_NUMBERS if drawn.is_signed else _AXIS_NUMBERS)
        chart.set_x_axis({"num_font": font, "major_gridlines": grid, "num_format": form, **bounds})
        height = drawn.rows * _ROW_PIXELS
        chart.set_size({"width": _CHART_WIDTH, "height": height})
        if drawn.has_long_labels:
            share = (height - _ABOVE_BARS - _BELOW_BARS) / height
            area = {"x": 0.45, "y": _ABOVE_BARS / height, "width": 0.52, "height": share}
            chart.set_plotarea({"layout": area})
        chart.set_chartarea({"border": {"none": True}})
        at = {
            "x_offset": _CHART_MARGIN,
            "object_position": 1,
            "description": drawn.title,
        }
        self.sheet.insert_chart(top, len(table.headings), chart, at)
        return top + drawn.rows + 1


def _widths(tables: Sequence[Table]) -> list[int]:
    """Return the widths of the columns that tables below each other share."""
    columns = range(max((len(table.headings) for table in tables), default=0))
    return [max(t.headings[c].width for t in tables if c < len(t.headings)) for c in columns]


def write_cover(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    report: Report,
    tables: Sequence[Table] | None = None,
) -> None:
    """Write a report to one sheet of a workbook: the verdict with its explanations, the facts, and
    below them all ``tables``, by default those of the report."""
    styles = _formats(book)
    tables = report.tables if tables is None else tables
    title, widths = _clean(report.title), _widths(tables) or [_LABEL_WIDTH]
    least = _CHART_COLUMN if any(table.bars for table in tables) else 0
    widths.append(max(_LABEL_WIDTH + _TEXT_WIDTH - sum(widths), least))
    writer = _SheetWriter(book, sheet, styles, title, widths)
    heading = styles.format(bold=True, font_size=16, font_color=style.STRONG, text_wrap=True)
    writer.paragraph(title, heading, padding=_PADDING, letter_width=_TITLE_WIDTH)
    writer.row += 1
    font, ground = style.GRADE_COLOURS[report.grade]
    properties = {"font_color": font, "bg_color": ground}
    headline = styles.format(**properties, bold=True, text_wrap=True, font_size=12)
    writer.paragraph(report.verdict, headline, padding=_PADDING)
    wrapped = {"text_wrap": True, **style.BESIDE_NUMBERS}
    plain = styles.format(bg_color=ground, **wrapped)
    coloured = styles.format(**properties, **wrapped)
    for remark in report.remarks:
        writer.paragraph(remark, plain)
    for problem in report.problems:
        writer.paragraph(f"• {problem}", coloured)
    for step in report.next_steps:
        writer.paragraph(step, plain)
    writer.row += 1
    label, text = styles.format(font_color=style.QUIET), styles.format(text_wrap=True)
    for fact, value in report.facts:
        sheet.write_string(writer.row, 0, _clean(fact), label)
        writer.paragraph(value_text(value), text, first=1)
    writer.row += 1
    titled = styles.format(bold=True, font_size=13, font_color=style.STRONG, text_wrap=True)
    for table in tables:
        writer.keep_together(table)
        if table.title is not None:
            writer.paragraph(table.title, titled, padding=_PADDING)
        writer.table(table)
    writer.fit_one_page()


def _write_tables(
    book: xlsxwriter.Workbook, sheet: Worksheet, styles: Formats, tables: Sequence[Table]
) -> None:
    beside = _CHART_MARGIN + _CHART_WIDTH if any(table.chart for table in tables) else 0
    name, widths = str(tables[0].sheet), _widths(tables)
    writer = _SheetWriter(book, sheet, styles, name, widths, beside=beside)
    title = styles.format(bold=True, font_size=13, font_color=style.STRONG, text_wrap=True)
    about = styles.format(font_color=style.QUIET, text_wrap=True)
    nothing = styles.format(italic=True, font_color=style.QUIET, text_wrap=True)
    for table in tables:
        writer.keep_together(table)
        writer.paragraph(table.title or table.sheet, title, padding=_PADDING)
        if table.about is not None:
            writer.paragraph(table.about, about, padding=_PADDING)
        if table.lines:
            writer.table(table)
        else:
            writer.paragraph(table.none, nothing, padding=_PADDING)
            writer.row += 1
    if len(tables) == 1 and table.lines:
        first = writer.row - len(table.lines) - 1
        sheet.freeze_panes(first, 0)
        sheet.repeat_rows(first - 1)
        sheet.autofilter(first - 1, 0, first + table.body - 1, len(table.headings) - 1)
    sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{writer.row + 1}"})


def _clean(value: object) -> str:
    """Return a text up to Excel's limit, with ``?`` for bytes of file names that are not text."""
    return str(value)[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()
