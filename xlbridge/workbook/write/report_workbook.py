"""Reports as workbooks: a cover with the verdict, and a sheet with each table in full."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Heading, Report, Table, Tone, Value, value_text
from xlbridge.resources import Kind
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_TEXT_LENGTH
from xlbridge.workbook.write.new_workbook import new_workbook, print_across_pages

MAX_LINES = 1_000_000
"""Maximum number of lines of a table on a sheet, just below Excel's limit."""

_LABEL_WIDTH, _TEXT_WIDTH = 26, 96
_LINE_HEIGHT = 15
_MAX_ROW_HEIGHT = 409  # Excel's limit
_BOLD_WIDTH = 1.25
_INDENT = 2
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
    with new_workbook(path, title=title, signature=signature) as book:
        styles = _Styles(book)
        _write_cover(book.add_worksheet(str(cover)), styles, report)
        for name, tables in _sheets(report.tables, max_lines):
            _SheetWriter(book.add_worksheet(name), styles, tables).write()


def _sheets(all_tables: Sequence[Table], max_lines: int) -> Iterator[tuple[str, list[Table]]]:
    """Yield the name and the tables of each sheet."""
    for sheet, group in groupby(all_tables, key=lambda table: table.sheet):
        tables = list(group)
        if len(tables) > 1 or len(tables[0].lines) <= max_lines:
            yield str(sheet), tables
            continue
        (table,) = tables
        for number, start in enumerate(range(0, len(table.lines), max_lines), start=1):
            part = replace(table, lines=table.lines[start : start + max_lines])
            yield str(sheet) if number == 1 else f"{sheet} {number}", [part]


class _Styles:
    """Formats of a workbook, each created once."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._book = book
        self._formats: dict[tuple[tuple[str, Any], ...], Format] = {}

    def format(self, **properties: Any) -> Format:
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            font = {"font_name": style.FONT, "font_size": style.FONT_SIZE, "valign": "top"}
            self._formats[key] = self._book.add_format(font | properties)
        return self._formats[key]

    def cell_format(self, heading: Heading, value: Value, tone: Tone) -> Format:
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
        return self.format(**properties)


class _SheetWriter:
    """Writer of the tables of one sheet, from top to bottom."""

    def __init__(self, sheet: Worksheet, styles: _Styles, tables: Sequence[Table]) -> None:
        self._sheet = sheet
        self._styles = styles
        self._tables = tables
        columns = max(len(table.headings) for table in tables)
        self._widths = [
            max(table.headings[column].width for table in tables if column < len(table.headings))
            for column in range(columns)
        ]
        self._row = 0

    def write(self) -> None:
        for column, width in enumerate(self._widths):
            self._sheet.set_column(column, column, width)
        self._sheet.hide_gridlines(2)
        print_across_pages(self._sheet, str(self._tables[0].sheet), translated=True)
        for table in self._tables:
            self._write_table(table)
        self._sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{self._row + 1}"})

    def _write_table(self, table: Table) -> None:
        title = table.title or table.sheet
        self._write_paragraph(
            str(title), {"bold": True, "font_size": 13, "font_color": style.STRONG}
        )
        if table.about is not None:
            self._write_paragraph(str(table.about), {"font_color": style.QUIET})
        if not table.lines:
            self._write_paragraph(str(table.none), {"italic": True, "font_color": style.QUIET})
            self._row += 1
            return
        self._write_headings(table)
        if len(self._tables) == 1:
            self._sheet.freeze_panes(self._row, 0)
            self._sheet.repeat_rows(self._row - 1)
            last = self._row + table.body - 1
            self._sheet.autofilter(self._row - 1, 0, last, len(table.headings) - 1)
        for line in table.lines:
            self._fit_height([str(v) if isinstance(v, str | Text) else "" for v in line.values])
            for column, (heading, value) in enumerate(
                zip(table.headings, line.values, strict=True)
            ):
                cell = self._row, column
                form = self._styles.cell_format(heading, value, line.tone)
                match value:
                    case None:
                        self._sheet.write_blank(*cell, None, form)
                    case int() | Decimal():
                        self._sheet.write_number(*cell, float(value), form)
                    case date():
                        day = datetime(value.year, value.month, value.day)
                        self._sheet.write_datetime(*cell, day, form)
                    case _:
                        _write_text(self._sheet, *cell, value, form)
            self._row += 1
        self._row += 1

    def _write_paragraph(self, text: str, properties: dict[str, Any]) -> None:
        """Write a wrapped text across all columns."""
        width = max(sum(self._widths), 60)
        form = self._styles.format(**properties, text_wrap=True)
        lines = math.ceil(len(text) / width)
        self._sheet.set_row(self._row, lines * _LINE_HEIGHT + 5)
        self._sheet.merge_range(self._row, 0, self._row, max(len(self._widths) - 1, 1), "", form)
        _write_text(self._sheet, self._row, 0, text, form)
        self._row += 1

    def _write_headings(self, table: Table) -> None:
        properties = {
            "bold": True,
            "text_wrap": True,
            "bg_color": style.STRONG,
            "font_color": "FFFFFF",
            "border": 1,
            "border_color": style.RULE,
        }
        self._fit_height([str(heading.title) for heading in table.headings], _BOLD_WIDTH)
        for column, heading in enumerate(table.headings):
            numeric = table.is_numeric(column)
            alignment = {"align": "right"} if numeric else {"align": "left", "indent": 1}
            form = self._styles.format(**properties, **alignment)
            self._sheet.write_string(self._row, column, str(heading.title), form)
        self._row += 1

    def _fit_height(self, texts: Sequence[str], letter_width: float = 1.0) -> None:
        """Make the next row high enough for wrapped texts, which Excel does not do itself."""
        lines = max(
            (
                math.ceil((len(text) + _INDENT) * letter_width / width)
                for text, width in zip(texts, self._widths, strict=False)
            ),
            default=1,
        )
        if lines > 1:
            self._sheet.set_row(self._row, min(lines * _LINE_HEIGHT, _MAX_ROW_HEIGHT))


def _write_cover(sheet: Worksheet, styles: _Styles, report: Report) -> None:
    sheet.set_column(0, 0, _LABEL_WIDTH)
    sheet.set_column(1, 1, _TEXT_WIDTH)
    sheet.hide_gridlines(2)
    name = _clean(report.title)
    print_across_pages(sheet, name, translated=True)
    _write_text(sheet, 0, 0, name, styles.format(bold=True, font_size=16, font_color=style.STRONG))
    properties = _GRADE_FORMATS[report.grade]
    headline = styles.format(**properties, bold=True, text_wrap=True, font_size=12)
    _write_across(sheet, 2, report.verdict, headline)
    wrapped = {"text_wrap": True, "indent": 1, "align": "left"}
    plain = styles.format(bg_color=properties["bg_color"], **wrapped)
    colored = styles.format(**properties, **wrapped)
    lines = [(str(line), plain) for line in report.remarks]
    lines += [(f"• {problem}", colored) for problem in report.problems]
    lines += [(str(step), plain) for step in report.next_steps]
    for row, (line, form) in enumerate(lines, start=3):
        _write_across(sheet, row, line, form)
    label, text = styles.format(font_color=style.QUIET), styles.format(text_wrap=True)
    for row, (fact, value) in enumerate(report.facts, start=4 + len(lines)):
        content = value_text(value)
        _fit_row(sheet, row, content, _TEXT_WIDTH)
        _write_text(sheet, row, 0, fact, label)
        _write_text(sheet, row, 1, content, text)


def _write_across(sheet: Worksheet, row: int, value: object, form: Format) -> None:
    _fit_row(sheet, row, value, _LABEL_WIDTH + _TEXT_WIDTH)
    sheet.merge_range(row, 0, row, 1, "", form)
    _write_text(sheet, row, 0, value, form)


def _fit_row(sheet: Worksheet, row: int, value: object, width: int) -> None:
    lines = math.ceil(len(str(value)) / width)
    if lines > 1:
        sheet.set_row(row, min(lines * _LINE_HEIGHT, _MAX_ROW_HEIGHT))


def _write_text(sheet: Worksheet, row: int, column: int, value: object, form: Format) -> None:
    sheet.write_string(row, column, _clean(value), form)


def _clean(value: object) -> str:
    """Return a text up to Excel's limit, with ``?`` for bytes of file names that are not text."""
    return str(value)[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()
