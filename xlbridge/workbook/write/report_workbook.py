"""Reports as workbooks: a cover with the verdict, and a sheet with each table in full."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Heading, Report, Table, Tone, Value, value_text
from xlbridge.resources import Kind
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_TEXT_LENGTH
from xlbridge.workbook.write.new_workbook import Formats, new_workbook, print_across_pages

MAX_LINES = 1_000_000
"""Maximum number of lines of a table on a sheet, just below Excel's limit."""

_LABEL_WIDTH, _TEXT_WIDTH = 26, 96
_BOLD_WIDTH = 1.25
_INDENT = 2
_MIN_PARAGRAPH_WIDTH, _PARAGRAPH_PADDING = 60, 5
_OPEN, _OPEN_BACKGROUND = "9C0006", "FFE3E6"
_GRADE_FORMATS: dict[Grade, dict[str, Any]] = {
    Grade.GOOD: {"font_color": "1C6B3A", "bg_color": "E0F3E7"},
    Grade.WARNING: {"font_color": "7A5C00", "bg_color": "FFF3CC"},
    Grade.ERROR: {"font_color": _OPEN, "bg_color": _OPEN_BACKGROUND},
}
_TONE_FORMATS: dict[Tone, dict[str, Any]] = {
    Tone.PLAIN: {},
    Tone.OPEN: {"bg_color": _OPEN_BACKGROUND},
    Tone.HEAD: {"bold": True, "bg_color": style.SOFT},
    Tone.SUM: {"bold": True, "top": 2},
}
_HEADING = {
    "bold": True,
    "text_wrap": True,
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
    the first sheet.

    A table of more than ``max_lines`` continues on another sheet. Texts are never written as
    formulas. The same report produces the same bytes. Raises ``UsageError`` if the file cannot be
    written.
    """
    title = _clean(report.title)
    with new_workbook(path, title=title, carried=dict([signature])) as book:
        font = {"font_name": style.FONT, "font_size": style.FONT_SIZE}
        styles = Formats(book, **font, valign="top")
        _write_cover(book.add_worksheet(str(cover)), styles, report)
        for name, group in groupby(report.tables, key=lambda table: table.sheet):
            tables = list(group)
            parts = [tables]
            if len(tables) == 1 and len(tables[0].lines) > max_lines:
                starts = range(0, len(tables[0].lines), max_lines)
                lines = (tables[0].lines[start : start + max_lines] for start in starts)
                parts = [[replace(tables[0], lines=some)] for some in lines]
            for number, part in enumerate(parts, start=1):
                sheet = book.add_worksheet(str(name) if number == 1 else f"{name} {number}")
                _write_tables(sheet, styles, part)


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
            properties |= {
                "num_format": style.NUMBER_FORMATS[Kind.DATE],
                "align": "left",
                "indent": 1,
            }
        case _:
            properties |= {"text_wrap": True, "align": "left", "indent": 1}
    return styles.format(**properties)


class _SheetWriter:
    """Writer of a sheet from top to bottom, in rows high enough for wrapped texts, which Excel does
    not fit itself."""

    def __init__(self, sheet: Worksheet, title: str, widths: Sequence[int]) -> None:
        self.row = 0
        self.sheet = sheet
        self._widths = widths
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.hide_gridlines(2)
        print_across_pages(sheet, title, translated=True)

    def line(
        self, values: Sequence[Value], forms: Sequence[Format], letter_width: float = 1.0
    ) -> None:
        """Write the cells of the next row."""
        lines = 1
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
                    if form.text_wrap:
                        length = (len(str(value)) + _INDENT) * letter_width
                        lines = max(lines, math.ceil(length / self._widths[column]))
        if lines > 1:
            self.sheet.set_row(self.row, min(lines * style.LINE_HEIGHT, style.MAX_ROW_HEIGHT))
        self.row += 1

    def paragraph(self, value: object, form: Format, padding: int = 0) -> None:
        """Write a wrapped text across all columns."""
        lines = math.ceil(len(str(value)) / max(sum(self._widths), _MIN_PARAGRAPH_WIDTH))
        height = min(lines * style.LINE_HEIGHT + padding, style.MAX_ROW_HEIGHT)
        if lines > 1 or padding:
            self.sheet.set_row(self.row, height)
        self.sheet.merge_range(self.row, 0, self.row, max(len(self._widths) - 1, 1), "", form)
        self.sheet.write_string(self.row, 0, _clean(value), form)
        self.row += 1


def _write_cover(sheet: Worksheet, styles: Formats, report: Report) -> None:
    title = _clean(report.title)
    writer = _SheetWriter(sheet, title, (_LABEL_WIDTH, _TEXT_WIDTH))
    heading = styles.format(bold=True, font_size=16, font_color=style.STRONG)
    writer.line([title], [heading])
    writer.row += 1
    properties = _GRADE_FORMATS[report.grade]
    headline = styles.format(**properties, bold=True, text_wrap=True, font_size=12)
    writer.paragraph(report.verdict, headline)
    wrapped = {"text_wrap": True, "indent": 1, "align": "left"}
    plain = styles.format(bg_color=properties["bg_color"], **wrapped)
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
        writer.line([str(fact), str(value_text(value))], [label, text])


def _write_tables(sheet: Worksheet, styles: Formats, tables: Sequence[Table]) -> None:
    columns = range(max(len(table.headings) for table in tables))
    widths = [max(t.headings[c].width for t in tables if c < len(t.headings)) for c in columns]
    writer = _SheetWriter(sheet, str(tables[0].sheet), widths)
    title = styles.format(bold=True, font_size=13, font_color=style.STRONG, text_wrap=True)
    about = styles.format(font_color=style.QUIET, text_wrap=True)
    nothing = styles.format(italic=True, font_color=style.QUIET, text_wrap=True)
    for table in tables:
        writer.paragraph(table.title or table.sheet, title, _PARAGRAPH_PADDING)
        if table.about is not None:
            writer.paragraph(table.about, about, _PARAGRAPH_PADDING)
        if table.lines:
            headings = [str(heading.title) for heading in table.headings]
            text, number = ({"align": "left", "indent": 1}, {"align": "right"})
            forms = [
                styles.format(**_HEADING, **(number if table.is_numeric(column) else text))
                for column in range(len(headings))
            ]
            writer.line(headings, forms, _BOLD_WIDTH)
            if len(tables) == 1:
                sheet.freeze_panes(writer.row, 0)
                sheet.repeat_rows(writer.row - 1)
                last = writer.row + table.body - 1
                sheet.autofilter(writer.row - 1, 0, last, len(headings) - 1)
            for line in table.lines:
                cells = zip(table.headings, line.values, strict=True)
                forms = [_cell_format(styles, *cell, line.tone) for cell in cells]
                writer.line(line.values, forms)
        else:
            writer.paragraph(table.none, nothing, _PARAGRAPH_PADDING)
        writer.row += 1
    sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{writer.row + 1}"})


def _clean(value: object) -> str:
    """Return a text up to Excel's limit, with ``?`` for bytes of file names that are not text."""
    return str(value)[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()
