"""Excel workbooks: a cover, then one table for each sheet, with exact numbers and safe texts.

xlsxwriter creates the workbook with styles, headers, tables and cover; the data rows, written as
XML by ``xlsx_rows``, are inserted into it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__
from xlbridge.export.formats.base import CoverSummary, OutputWriter, Table
from xlbridge.export.formats.compressed_rows import COMPRESSION_LEVEL, CompressedRows, TableRows
from xlbridge.export.formats.xlsx_rows import CellStyle, StyleIds, row_format
from xlbridge.export.lines import LineFormat
from xlbridge.export.sheets import ExportColumn, Sheet
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.workbook import (
    COVER_SHEET,
    COVER_TIME_LABEL,
    MAX_ROWS,
    WorkbookMark,
    cell_address,
    style,
)
from xlbridge.workbook.write import new_workbook, print_across_pages

_TABLE_STYLE = "Table Style Light 9"
_MIN_WIDTH, _MAX_WIDTH = 8, 50
_FILTER_BUTTON_WIDTH = 4
_PAPER_A4 = 9
_MIN_KIND_WIDTHS = {Kind.DATE: 13, Kind.MONEY: 12, Kind.NUMBER: 10}
_FIRST_STYLE_COLUMN = 40
"""First of the empty columns of the cover that bring the data's styles into the file."""

_COVER_STYLES = re.compile(rb'<col min="(\d+)" max="\d+" width="[^"]*" style="(\d+)"')
_DATE_FORMATS = {
    CellStyle.DAY: style.NUMBER_FORMATS[Kind.DATE],
    CellStyle.MOMENT: f"{style.NUMBER_FORMATS[Kind.DATE]} hh:mm",
}
_STYLE_KINDS = {
    CellStyle.TEXT: Kind.TEXT,
    CellStyle.LINES: Kind.TEXT,
    CellStyle.INTEGER: Kind.INTEGER,
    CellStyle.NUMBER: Kind.NUMBER,
    CellStyle.MONEY: Kind.MONEY,
    CellStyle.BOOLEAN: Kind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class DataSheet:
    """Worksheet with data. ``widths`` are the lengths of the columns' longest texts; ``key`` names
    the columns that identify a row's record."""

    name: str
    columns: Sequence[ExportColumn]
    widths: Sequence[int]
    rows: int
    key: Sequence[str]


@cache
def style_ids() -> StyleIds:
    """Return the number of each style in the workbooks of ``workbook_without_rows``."""
    content = BytesIO()
    with new_workbook(content) as book:
        _add_styles(book, book.add_worksheet())
    return _styles_in(content)


def workbook_without_rows(
    listing: str, summary: CoverSummary, data: Sequence[DataSheet]
) -> BytesIO:
    """Return a workbook with the cover and, for each data sheet, a header without rows."""
    content = BytesIO()
    with new_workbook(
        content,
        title=listing,
        author=f"xlbridge {__version__}",
        created=datetime.now(UTC),
        signature=(WorkbookMark.EXPORTED.text, listing),
    ) as book:
        cover: Worksheet = book.add_worksheet(str(COVER_SHEET))
        _add_styles(book, cover)
        header = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for number, sheet in enumerate(data, start=1):
            _add_data_sheet(book, sheet, number, header)
        _fill_cover(book, cover, summary)
    if _styles_in(content) != style_ids():
        raise AssertionError("the styles' numbers differ from those in the rows")
    return content


def _add_styles(book: xlsxwriter.Workbook, cover: Worksheet) -> None:
    number_formats: Mapping[CellStyle, str] = {
        **{cell: style.NUMBER_FORMATS[kind] for cell, kind in _STYLE_KINDS.items()},
        **_DATE_FORMATS,
    }
    for index, cell in enumerate(CellStyle, start=_FIRST_STYLE_COLUMN):
        wraps = cell is CellStyle.LINES
        form = {"num_format": number_formats[cell], "valign": "top", "text_wrap": wraps}
        cover.set_column(index, index, None, book.add_format(form))


def _styles_in(content: BytesIO) -> dict[CellStyle, str]:
    with ZipFile(content) as archive:
        found = dict(_COVER_STYLES.findall(archive.read("xl/worksheets/sheet1.xml")))
    first = _FIRST_STYLE_COLUMN + 1
    return {
        style: found[b"%d" % column].decode() for column, style in enumerate(CellStyle, start=first)
    }


def _add_data_sheet(
    book: xlsxwriter.Workbook, sheet: DataSheet, number: int, header: Format
) -> None:
    worksheet: Worksheet = book.add_worksheet(sheet.name)
    worksheet.freeze_panes(1, 0)
    widths = list(map(_width, sheet.columns, sheet.widths))
    for index, width in enumerate(widths):
        worksheet.set_column(index, index, width)
    worksheet.add_table(
        0,
        0,
        1,  # corrected by _with_range, as xlsxwriter stores data for each row
        len(sheet.columns) - 1,
        {
            "name": f"tabela_{number}_{re.sub(r'[^A-Za-z0-9]', '_', sheet.name)}",
            "style": _TABLE_STYLE,
            "columns": [{"header": c.name, "header_format": header} for c in sheet.columns],
        },
    )
    _set_up_printing(worksheet, sheet, widths)
    worksheet.ignore_errors({"number_stored_as_text": f"A2:XFD{sheet.rows + 1}"})


def _width(column: ExportColumn, longest: int) -> int:
    least = _MIN_KIND_WIDTHS.get(column.kind, _MIN_WIDTH)
    return min(max(least, longest, len(column.name)), _MAX_WIDTH) + _FILTER_BUTTON_WIDTH


def _set_up_printing(worksheet: Worksheet, sheet: DataSheet, widths: Sequence[int]) -> None:
    """Print across several pages in a readable size, with header and key on each."""
    indexes = [index for index, column in enumerate(sheet.columns) if column.name in sheet.key]
    key = (indexes[0], indexes[-1]) if indexes else None
    print_across_pages(worksheet, sheet.name, widths, key, translated=True)
    worksheet.repeat_rows(0)


class _CoverWriter:
    """Writes the cover, line by line."""

    def __init__(self, book: xlsxwriter.Workbook, sheet: Worksheet) -> None:
        self._sheet = sheet
        self._row = 0
        self._title = book.add_format({"bold": True, "font_size": 16, "font_color": style.STRONG})
        self._heading = book.add_format({"bold": True, "font_color": style.STRONG, "bottom": 1})
        self._number_heading = book.add_format(
            {"bold": True, "font_color": style.STRONG, "bottom": 1, "align": "right"}
        )
        self._label = book.add_format({"font_color": style.QUIET, "valign": "top"})
        self._text = book.add_format({"text_wrap": True, "valign": "top"})
        self._integer = book.add_format({"num_format": "#,##0", "align": "left"})
        self._moment = book.add_format(
            {"num_format": _DATE_FORMATS[CellStyle.MOMENT], "align": "left"}
        )
        self._count = book.add_format({"num_format": "#,##0"})
        self._money = book.add_format({"num_format": style.NUMBER_FORMATS[Kind.MONEY]})

    def title(self, text: Text) -> None:
        self._sheet.write_string(0, 0, str(text), self._title)
        self._row = 2

    def heading(self, text: object, *number_headings: object) -> None:
        self._row += 1
        self._sheet.write_string(self._row, 0, str(text), self._heading)
        for column, heading in enumerate(number_headings, start=1):
            self._sheet.write_string(self._row, column, str(heading), self._number_heading)
        self._row += 1

    def line(self, label: object, value: Any) -> None:
        self._sheet.write_string(self._row, 0, str(label), self._label)
        if isinstance(value, datetime):
            self._sheet.write_datetime(self._row, 1, value, self._moment)
        elif isinstance(value, int):
            self._sheet.write_number(self._row, 1, value, self._integer)
        else:
            self._sheet.write_string(self._row, 1, str(value), self._text)
        self._row += 1

    def total(self, label: str, rows: int, amount: Any = None) -> None:
        self._sheet.write_string(self._row, 0, label, self._label)
        self._sheet.write_number(self._row, 1, rows, self._count)
        if amount is not None:
            self._sheet.write_number(self._row, 2, amount, self._money)
        self._row += 1


def _fill_cover(book: xlsxwriter.Workbook, sheet: Worksheet, summary: CoverSummary) -> None:
    cover = _CoverWriter(book, sheet)
    cover.title(summary.title)
    cover.line(COVER_TIME_LABEL, summary.exported_at.replace(microsecond=0))
    yes, no = Text(pt="sim", en="yes"), Text(pt="NÃO", en="NO")
    cover.line(Text(pt="Completo", en="Complete"), yes if summary.complete else no)
    cover.line(Text(pt="Registros", en="Records"), summary.records)
    for remark in summary.remarks:
        cover.line("", remark)
    if summary.filters:
        cover.heading(Text(pt="Filtros", en="Filters"), "")
    for name, value in summary.filters:
        cover.line(name, value)
    cover.heading(Text(pt="Planilha", en="Sheet"), Text(pt="Linhas", en="Rows"))
    for name, count in summary.sheets.items():
        cover.total(name, count)
    for table in summary.totals:
        cover.heading(table.title, Text(pt="Linhas", en="Rows"), summary.amount)
        for total in table.totals:
            # As on closing proofs; a label of an amount without a date is a dash.
            year, hyphen, month = total.label.partition("-")
            label = f"{month}/{year}" if table.by_month and hyphen else total.label
            cover.total(label, total.rows, total.amount)
        rows = sum(total.rows for total in table.totals)
        cover.total(str(Text(pt="Total", en="Total")), rows, sum(t.amount for t in table.totals))
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 2, 24)
    sheet.hide_gridlines(2)
    sheet.set_paper(_PAPER_A4)
    sheet.fit_to_pages(1, 0)


_MAX_NAME_LENGTH = 31
_MAX_SIZE_IN_MEMORY = 2**18
_DATA_MEMBER = re.compile(r"xl/(worksheets/sheet(?P<sheet>\d+)|tables/table(?P<table>\d+))\.xml")
_TABLE_RANGE = re.compile(rb' ref="A1:[A-Z]+[12]"')
_END_OF_ROWS = b"</sheetData>"


@contextmanager
def open_xlsx(
    path: Path, sheets: Sequence[Sheet], rows_per_sheet: int = MAX_ROWS
) -> Iterator[OutputWriter]:
    """Open a workbook; rows beyond ``rows_per_sheet`` go to ``name (2)``, ``name (3)`` and so on.

    Memory does not grow with the rows.
    """
    with replace_atomically(path, shared=True) as temporary, ExitStack() as opened:

        def new_file() -> IO[bytes]:
            return opened.enter_context(
                SpooledTemporaryFile(_MAX_SIZE_IN_MEMORY, dir=str(path.parent))
            )

        output = _XlsxOutput(temporary, sheets, lambda: TableRows(rows_per_sheet - 1, new_file))
        # Entered last, so that the thread ends before its files are closed.
        opened.enter_context(closing(output))
        yield output


class _XlsxOutput(OutputWriter):
    def __init__(
        self, path: Path, sheets: Sequence[Sheet], new_rows: Callable[[], TableRows]
    ) -> None:
        self._path = path
        self._listing = sheets[0].name
        self._new_rows = new_rows
        self._rows = [new_rows() for _ in sheets]
        self._executor = ThreadPoolExecutor(1)

    def line_format(self, sheet: Sheet) -> LineFormat:
        return row_format(style_ids())

    def add_lines(self, sheet: int, lines: Path) -> None:
        self._rows[sheet].add_file(lines, self._executor)

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        parts = [
            part
            for rows, table in zip(self._rows, tables, strict=True)
            for part in _worksheets(table, self._final_rows(rows, table))
        ]
        data = [sheet for sheet, _ in parts]
        with (
            ZipFile(workbook_without_rows(self._listing, summary, data)) as frame,
            self._path.open("wb") as output,
            ZipFile(output, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as archive,
        ):
            for name in frame.namelist():
                content = frame.read(name)
                match = _DATA_MEMBER.fullmatch(name)
                if match is None or match["sheet"] == "1":
                    archive.writestr(name, content)
                elif match["table"]:
                    archive.writestr(name, _with_range(content, data[int(match["table"]) - 1]))
                else:
                    sheet, rows = parts[int(match["sheet"]) - 2]
                    before, after = _with_range(content, sheet).split(_END_OF_ROWS)
                    rows.write(archive, output, name, before, _END_OF_ROWS + after)

    def _final_rows(self, rows: TableRows, table: Table) -> TableRows:
        """Return a table's rows: those already compressed, unless some were replaced since."""
        if rows.files and rows.files == table.files:
            rows.wait()
            return rows
        final = self._new_rows()
        final.add(table.blocks)
        return final


def _worksheets(table: Table, rows: TableRows) -> Iterator[tuple[DataSheet, CompressedRows]]:
    for number, part in enumerate(rows.sheets, start=1):
        suffix = f" ({number})" if number > 1 else ""
        name = table.sheet.name[: _MAX_NAME_LENGTH - len(suffix)] + suffix
        sheet = DataSheet(name, table.sheet.columns, table.widths, part.rows, table.sheet.key)
        yield sheet, part


def _with_range(content: bytes, sheet: DataSheet) -> bytes:
    corner = cell_address(max(sheet.rows, 1) + 1, len(sheet.columns) - 1)
    return _TABLE_RANGE.sub(b' ref="A1:%s"' % corner.encode(), content)
