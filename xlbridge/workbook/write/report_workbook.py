"""Reports as workbooks: a cover with the verdict, and a sheet with each table in full.

An export has such a cover, too, with its tables on it.
"""

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

from xlbridge.i18n import Text, untranslated
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
    with new_workbook(path, title=title, carried=dict([signature])) as book:
        styles = _Styles(book)
        _CoverWriter(book.add_worksheet(str(cover)), styles, report, tables=()).write()
        for name, tables in _sheets(report.tables, max_lines):
            _SheetWriter(book.add_worksheet(name), styles, tables).write()


def write_cover(book: xlsxwriter.Workbook, sheet: Worksheet, report: Report) -> None:
    """Write a report to one sheet of a workbook: the cover with all tables below."""
    _CoverWriter(sheet, _Styles(book), report, report.tables).write()


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
        columns = max((len(table.headings) for table in tables), default=0)
        self._widths = [
            max(table.headings[column].width for table in tables if column < len(table.headings))
            for column in range(columns)
        ]
        self._row = 0

    def write(self) -> None:
        self._prepare(str(self._tables[0].sheet))
        for table in self._tables:
            self._write_paragraph(
                str(table.title or table.sheet),
                {"bold": True, "font_size": 13, "font_color": style.STRONG},
            )
            if table.about is not None:
                self._write_paragraph(str(table.about), {"font_color": style.QUIET})
            if table.lines:
                self._write_table(table)
            else:
                self._write_paragraph(str(table.none), {"italic": True, "font_color": style.QUIET})
                self._row += 1
        if len(self._tables) == 1 and table.lines:
            first = self._row - len(table.lines) - 1
            self._sheet.freeze_panes(first, 0)
            self._sheet.repeat_rows(first - 1)
            self._sheet.autofilter(first - 1, 0, first + table.body - 1, len(table.headings) - 1)
        self._sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{self._row + 1}"})

    def _prepare(self, title: str) -> None:
        for column, width in enumerate(self._widths):
            self._sheet.set_column(column, column, width)
        self._sheet.hide_gridlines(2)
        print_across_pages(self._sheet, title, translated=True)

    def _write_table(self, table: Table) -> None:
        self._write_headings(table)
        for line in table.lines:
            self._fit_height([str(v) if isinstance(v, str | Text) else "" for v in line.values])
            for column, (heading, value) in enumerate(
                zip(table.headings, line.values, strict=True)
            ):
                form = self._styles.cell_format(heading, value, line.tone)
                _write_value(self._sheet, self._row, column, value, form)
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


def _write_value(sheet: Worksheet, row: int, column: int, value: Value, form: Format) -> None:
    match value:
        case None:
            sheet.write_blank(row, column, None, form)
        case int() | Decimal():
            sheet.write_number(row, column, float(value), form)
        case date():
            sheet.write_datetime(row, column, datetime(value.year, value.month, value.day), form)
        case _:
            _write_text(sheet, row, column, value, form)


class _CoverWriter(_SheetWriter):
    """Writer of a cover: the verdict with its explanations, the facts, and tables if any."""

    def __init__(
        self, sheet: Worksheet, styles: _Styles, report: Report, tables: Sequence[Table]
    ) -> None:
        super().__init__(sheet, styles, tables)
        self._report = report
        self._widths = self._widths or [_LABEL_WIDTH]
        self._widths.append(_LABEL_WIDTH + _TEXT_WIDTH - sum(self._widths))

    def write(self) -> None:
        report, form = self._report, self._styles.format
        title = _clean(report.title)
        self._prepare(title)
        _write_text(
            self._sheet, 0, 0, title, form(bold=True, font_size=16, font_color=style.STRONG)
        )
        self._row = 2
        properties = _GRADE_FORMATS[report.grade]
        self._write_across(
            0, report.verdict, form(**properties, bold=True, text_wrap=True, font_size=12)
        )
        wrapped = {"text_wrap": True, "indent": 1, "align": "left"}
        plain = form(bg_color=properties["bg_color"], **wrapped)
        lines = [(line, plain) for line in report.remarks]
        colored = form(**properties, **wrapped)
        lines += [(untranslated("• {problem}").format(problem=p), colored) for p in report.problems]
        lines += [(step, plain) for step in report.next_steps]
        for line, line_format in lines:
            self._write_across(0, line, line_format)
        self._row += 1
        for fact, value in report.facts:
            _write_text(self._sheet, self._row, 0, fact, form(font_color=style.QUIET))
            self._write_across(1, value_text(value), form(text_wrap=True))
        self._row += 1
        for table in self._tables:
            self._write_table(table)

    def _write_across(self, first: int, value: object, form: Format) -> None:
        """Write a text across the columns from ``first`` on, and go to the next row."""
        last = len(self._widths) - 1
        lines = math.ceil(len(str(value)) / sum(self._widths[first:]))
        if lines > 1:
            self._sheet.set_row(self._row, min(lines * _LINE_HEIGHT, _MAX_ROW_HEIGHT))
        if first < last:
            self._sheet.merge_range(self._row, first, self._row, last, "", form)
        _write_text(self._sheet, self._row, first, value, form)
        self._row += 1


def _write_text(sheet: Worksheet, row: int, column: int, value: object, form: Format) -> None:
    sheet.write_string(row, column, _clean(value), form)


def _clean(value: object) -> str:
    """Return a text up to Excel's limit, with ``?`` for bytes of file names that are not text."""
    return str(value)[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()
