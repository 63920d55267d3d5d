"""Excel workbooks: a cover, then one table for each sheet; exact numbers, safe texts.

xlsxwriter makes styles, headers, tables, widths and the cover; the data rows are written as XML
by ``xlsx_rows`` and put into its file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from itertools import chain, islice
from math import ceil
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__
from xlbridge.export.formats.base import CoverSummary, OutputWriter, Table
from xlbridge.export.formats.xlsx_rows import CellStyle, StyleIds, number_rows, row_format
from xlbridge.export.lines import LineFormat
from xlbridge.export.sheets import ExportColumn, Sheet
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.workbook import (
    COVER_MOMENT,
    COVER_SHEET,
    EXPORT_PROPERTY,
    MAX_ROWS,
    NUMBER_FORMATS,
    QUIET,
    STRONG,
    cell_address,
)
from xlbridge.workbook.write import (
    PAGE_OF,
    PAGE_WIDTH,
    new_workbook,
    print_across_pages,
    write_plain_text,
)

_TABLE_STYLE = "Table Style Light 9"
_MIN_WIDTH, _MAX_WIDTH = 8, 50
_FILTER_BUTTON_WIDTH = 4
_PAPER_A4 = 9
_MAX_KEY_WIDTH = PAGE_WIDTH // 2
"""A key that takes more of a page is not printed on each."""

_USUAL_WIDTHS = {Kind.DATE: 13, Kind.MONEY: 12, Kind.NUMBER: 10}
_FIRST_STYLE_COLUMN = 40
"""On the cover, far to the right, columns carry the data's styles: so they are in the file."""

_COVER_STYLES = re.compile(rb'<col min="(\d+)" max="\d+" width="[^"]*" style="(\d+)"')
_DATE_FORMATS = {
    CellStyle.DAY: NUMBER_FORMATS[Kind.DATE],
    CellStyle.MOMENT: f"{NUMBER_FORMATS[Kind.DATE]} hh:mm",
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
    """One worksheet that holds data: its name, columns, their longest texts, how many rows.

    ``key`` names the columns that say which record a row is of.
    """

    name: str
    columns: Sequence[ExportColumn]
    widths: Sequence[int]
    rows: int
    key: Sequence[str]


@cache
def style_ids() -> StyleIds:
    """Return the number that each style has in the workbooks that ``frame`` makes."""
    content = BytesIO()
    with new_workbook(content) as book:
        _add_styles(book, book.add_worksheet())
    return _styles_in(content)


def workbook_without_rows(
    listing: str, summary: CoverSummary, data: Sequence[DataSheet]
) -> BytesIO:
    """Return a workbook with the cover and, for each data sheet, its header over no rows."""
    content = BytesIO()
    with new_workbook(
        content,
        title=listing,
        author=f"xlbridge {__version__}",
        created=datetime.now(UTC),
        signature=(EXPORT_PROPERTY, listing),
    ) as book:
        cover: Worksheet = book.add_worksheet(str(COVER_SHEET))
        _add_styles(book, cover)
        header = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for number, sheet in enumerate(data, start=1):
            _add_data_sheet(book, sheet, number, header)
        _fill_cover(book, cover, summary)
    if _styles_in(content) != style_ids():
        raise AssertionError("the styles are numbered otherwise than the rows were written with")
    return content


def _add_styles(book: xlsxwriter.Workbook, cover: Worksheet) -> None:
    forms: Mapping[CellStyle, str] = {
        **{style: NUMBER_FORMATS[kind] for style, kind in _STYLE_KINDS.items()},
        **_DATE_FORMATS,
    }
    for index, style in enumerate(CellStyle, start=_FIRST_STYLE_COLUMN):
        form = {"num_format": forms[style], "valign": "top", "text_wrap": style is CellStyle.LINES}
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
        1,  # xlsxwriter keeps something for each row; the rows' file tells how many there are
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
    usual = _USUAL_WIDTHS.get(column.kind, _MIN_WIDTH)
    return min(max(usual, longest, len(column.name)), _MAX_WIDTH) + _FILTER_BUTTON_WIDTH


def _set_up_printing(worksheet: Worksheet, sheet: DataSheet, widths: Sequence[int]) -> None:
    """Print as many pages wide as can be read, with header and key on each."""
    places = [place for place, column in enumerate(sheet.columns) if column.name in sheet.key]
    repeated = sum(widths[places[0] : places[-1] + 1]) if places else 0
    if 0 < repeated <= _MAX_KEY_WIDTH:
        worksheet.repeat_columns(places[0], places[-1])
    else:
        repeated = 0
    pages = ceil((sum(widths) - repeated) / (PAGE_WIDTH - repeated))
    print_across_pages(worksheet, sheet.name, pages, str(PAGE_OF))
    worksheet.repeat_rows(0)


class _CoverWriter:
    """Writes the cover, line by line."""

    def __init__(self, book: xlsxwriter.Workbook, sheet: Worksheet) -> None:
        self._sheet = sheet
        self._row = 0
        self._title = book.add_format({"bold": True, "font_size": 16, "font_color": STRONG})
        self._head = book.add_format({"bold": True, "font_color": STRONG, "bottom": 1})
        self._figure_head = book.add_format(
            {"bold": True, "font_color": STRONG, "bottom": 1, "align": "right"}
        )
        self._label = book.add_format({"font_color": QUIET, "valign": "top"})
        self._text = book.add_format({"text_wrap": True, "valign": "top"})
        self._kinds = {
            int: book.add_format({"num_format": "#,##0", "align": "left"}),
            datetime: book.add_format(
                {"num_format": _DATE_FORMATS[CellStyle.MOMENT], "align": "left"}
            ),
        }
        self._count = book.add_format({"num_format": "#,##0"})
        self._money = book.add_format({"num_format": NUMBER_FORMATS[Kind.MONEY]})

    def title(self, text: Text) -> None:
        self._sheet.write_string(0, 0, str(text), self._title)
        self._row = 2

    def heading(self, text: object, *figures: object) -> None:
        """Write what stands over labels and, to the right, over figures."""
        self._row += 1
        self._sheet.write_string(self._row, 0, str(text), self._head)
        for column, figure in enumerate(figures, start=1):
            self._sheet.write_string(self._row, column, str(figure), self._figure_head)
        self._row += 1

    def line(self, label: object, value: Any) -> None:
        self._sheet.write_string(self._row, 0, str(label), self._label)
        if isinstance(value, datetime):
            self._sheet.write_datetime(self._row, 1, value, self._kinds[datetime])
        elif isinstance(value, int):
            self._sheet.write_number(self._row, 1, value, self._kinds[int])
        else:
            write_plain_text(self._sheet, self._row, 1, str(value), self._text)
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
    cover.line(COVER_MOMENT, summary.at.replace(microsecond=0))
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
            cover.total(total.label, total.rows, total.amount)
        rows = sum(total.rows for total in table.totals)
        cover.total(str(Text(pt="Total", en="Total")), rows, sum(t.amount for t in table.totals))
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 2, 24)
    sheet.hide_gridlines(2)
    sheet.set_paper(_PAPER_A4)
    sheet.fit_to_pages(1, 0)


_MAX_NAME_LENGTH = 31
_COMPRESSION_LEVEL = 1
"""The rows' XML is so repetitive that better compression costs much time and saves little."""

_ROWS_PER_BATCH = 500
_DATA_MEMBER = re.compile(r"xl/(worksheets/sheet(?P<sheet>\d+)|tables/table(?P<table>\d+))\.xml")
_TABLE_RANGE = re.compile(rb' ref="A1:[A-Z]+[12]"')
_END_OF_ROWS = b"</sheetData>"


@contextmanager
def open_xlsx(
    path: Path, sheets: Sequence[Sheet], rows_per_sheet: int = MAX_ROWS
) -> Iterator[OutputWriter]:
    """Open a workbook. A sheet that outgrows ``rows_per_sheet`` goes on in ``name (2)``.

    Memory does not grow with the rows.
    """
    with replace_atomically(path, shared=True) as temporary:
        yield _XlsxOutput(temporary, sheets[0].name, rows_per_sheet)


class _XlsxOutput:
    def __init__(self, path: Path, listing: str, rows_per_sheet: int) -> None:
        self._path = path
        self._listing = listing
        self._most = rows_per_sheet - 1

    def form(self, sheet: Sheet) -> LineFormat:
        return row_format(style_ids())

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        parts = [part for table in tables for part in self._parts(table)]
        with (
            ZipFile(
                workbook_without_rows(self._listing, summary, [sheet for sheet, _ in parts])
            ) as made,
            ZipFile(self._path, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION_LEVEL) as archive,
        ):
            for name in made.namelist():
                content = made.read(name)
                match = _DATA_MEMBER.fullmatch(name)
                with archive.open(name, "w", force_zip64=True) as member:
                    if match is None or match["sheet"] == "1":
                        member.write(content)
                    elif match["table"]:
                        sheet, _ = parts[int(match["table"]) - 1]
                        member.write(_with_range(content, sheet))
                    else:
                        _write_sheet(member, content, *parts[int(match["sheet"]) - 2])

    def _parts(self, table: Table) -> Iterator[tuple[DataSheet, Iterator[bytes]]]:
        """Yield the worksheets that a table fills, each with its lines."""
        lines = chain.from_iterable(block.splitlines() for block in table.blocks)
        for part in range(max(1, ceil(table.rows / self._most))):
            rows = min(self._most, table.rows - part * self._most)
            suffix = f" ({part + 1})" if part else ""
            name = table.sheet.name[: _MAX_NAME_LENGTH - len(suffix)] + suffix
            sheet = DataSheet(name, table.sheet.columns, table.widths, rows, table.sheet.key)
            yield sheet, islice(lines, rows)


def _with_range(content: bytes, sheet: DataSheet) -> bytes:
    corner = cell_address(max(sheet.rows, 1) + 1, len(sheet.columns) - 1)
    return _TABLE_RANGE.sub(b' ref="A1:%s"' % corner.encode(), content)


def _write_sheet(
    member: IO[bytes], content: bytes, sheet: DataSheet, lines: Iterator[bytes]
) -> None:
    before, after = _with_range(content, sheet).split(_END_OF_ROWS)
    member.write(before)
    number = 2
    # Compressing leaves other threads to run: meanwhile the next rows get their numbers.
    with ThreadPoolExecutor(1) as beside:
        written: Future[int] | None = None
        while batch := list(islice(lines, _ROWS_PER_BATCH)):
            rows = number_rows(batch, number)
            number += len(batch)
            if written is not None:
                written.result()
            written = beside.submit(member.write, rows)
        if written is not None:
            written.result()
    member.write(_END_OF_ROWS + after)
