"""Excel workbooks: a cover, then one table for each sheet; or the import workbook of a resource.

Numbers are exact, texts safe. xlsxwriter creates the workbook with styles, headers, tables and
cover; the data rows, written as XML by ``xlsx_rows``, are inserted into it. An import workbook is
filled through xlsxwriter, cell by cell.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__, titles
from xlbridge.errors import UsageError
from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    COMPRESSION_LEVEL,
    LineFormat,
    OutputWriter,
    Table,
    WorksheetRows,
    cells_of,
    column_widths,
    compressed_member,
    is_on_the_right,
    printed_columns,
    repeated_columns,
    summed_columns,
    text_of,
)
from xlbridge.export.formats.xlsx_rows import (
    EXACT_DIGITS,
    FIRST_SAFE_DAY,
    CellStyle,
    StyleIds,
    number_rows,
    row_format,
)
from xlbridge.export.sheets import ExportColumn, Sheet, naive_moment, value_reader
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, active_language
from xlbridge.report_forms import Report
from xlbridge.resources import Kind, Resource
from xlbridge.resources.names import number_title
from xlbridge.settings import Headers
from xlbridge.workbook import (
    COVER_SHEET,
    MAX_ROWS,
    MAX_TEXT_LENGTH,
    WorkbookOrigin,
    cell_address,
    style,
)
from xlbridge.workbook.write import (
    FilledRows,
    cell_format,
    new_workbook,
    print_across_pages,
    template_sheets,
    write_cover,
)

_TABLE_STYLE = "Table Style Light 9"
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


_LEFT_STYLES = (CellStyle.TEXT, CellStyle.LINES, CellStyle.BOOLEAN)


@dataclass(frozen=True, slots=True)
class _Worksheet:
    """Worksheet with some or all rows of a table; ``number`` counts those of the workbook."""

    part: WorksheetRows
    number: int

    @property
    def last_row(self) -> int:
        """Excel's number of the last row of data; a table has at least one."""
        return max(self.part.rows, 1) + 1

    def with_range(self, content: bytes) -> bytes:
        """Return a part of the workbook with the range of all rows."""

        def corrected(found: re.Match[bytes]) -> bytes:
            row = self.last_row + (found["row"] == b"%d" % _TOTALS_ROW)
            return b' ref="A1:%s%d"' % (found["column"], row)

        return _TABLE_RANGE.sub(corrected, content)

    def around_rows(self, content: bytes) -> tuple[bytes, bytes]:
        """Return what a worksheet has before and after the rows of data."""
        before, after = self.with_range(content).split(_END_OF_ROWS)
        before, mark, totals = before.partition(b'<row r="%d"' % _TOTALS_ROW)
        totals = _SUMMED_COLUMN.sub(self._formula, mark + totals)
        sums = iter(self.part.sums)
        totals = _NO_SUM.sub(lambda _zero: b"</f><v>%s</v>" % f"{next(sums):f}".encode(), totals)
        totals = _AT_TOTALS_ROW.sub(rb'r="\g<1>%d"' % (self.last_row + 1), totals)
        return before, totals + _END_OF_ROWS + after

    @property
    def table_name(self) -> str:
        """Name of the table, for formulas."""
        return f"tabela_{self.number}_{re.sub(r'[^A-Za-z0-9]', '_', self.part.name)}"

    def _formula(self, found: re.Match[bytes]) -> bytes:
        """Return the sum of a column with the table's name, which LibreOffice needs."""
        column = found["title"].decode()
        if not re.fullmatch(r"[\w ]+", column):
            column = f"[{column}]"
        return f"SUBTOTAL(109,{self.table_name}[{column}])".encode()


@cache
def style_ids() -> StyleIds:
    """Return the number of each style in the workbooks of an export."""
    content = BytesIO()
    with new_workbook(content) as book:
        _add_styles(book, book.add_worksheet())
    return _styles_in(content)


def _workbook_without_rows(
    listing: str, cover: Report, system: str, data: Sequence[_Worksheet], headers: Headers
) -> BytesIO:
    """Return a workbook with the cover and, for each data sheet, a header without rows."""
    content = BytesIO()
    origin = WorkbookOrigin(export=listing, language=active_language(), system=system)
    with new_workbook(
        content,
        title=listing,
        author=f"xlbridge {__version__}",
        created=datetime.now(UTC),
        carried=origin.properties(),
    ) as book:
        sheet: Worksheet = book.add_worksheet(str(COVER_SHEET))
        _add_styles(book, sheet)
        for part in data:
            _add_data_sheet(book, part, headers, f"{part.part.name} · {cover.title}")
        write_cover(book, sheet, cover)
    if _styles_in(content) != style_ids():
        raise AssertionError("the styles' numbers differ from those in the rows")
    return content


def _add_styles(book: xlsxwriter.Workbook, cover: Worksheet) -> None:
    number_formats: Mapping[CellStyle, str] = {
        **{cell: style.NUMBER_FORMATS[kind] for cell, kind in _STYLE_KINDS.items()},
        **_DATE_FORMATS,
        # Excel shows booleans in its own words, other programs these.
        CellStyle.BOOLEAN: f'"{titles.YES}";"{titles.YES}";"{titles.NO}"',
    }
    for index, cell in enumerate(CellStyle, start=_FIRST_STYLE_COLUMN):
        wraps = cell is CellStyle.LINES
        form = {"num_format": number_formats[cell], "valign": "top", "text_wrap": wraps}
        if cell in _LEFT_STYLES:
            form |= style.BESIDE_NUMBERS
        cover.set_column(index, index, None, book.add_format(form))


def _styles_in(content: BytesIO) -> dict[CellStyle, str]:
    with ZipFile(content) as archive:
        found = dict(_COVER_STYLES.findall(archive.read("xl/worksheets/sheet1.xml")))
    first = _FIRST_STYLE_COLUMN + 1
    return {
        style: found[b"%d" % column].decode() for column, style in enumerate(CellStyle, start=first)
    }


def _add_data_sheet(
    book: xlsxwriter.Workbook, data: _Worksheet, headers: Headers, footer: str
) -> None:
    table = data.part.table
    sheet = table.sheet
    worksheet: Worksheet = book.add_worksheet(data.part.name)
    worksheet.freeze_panes(1, 0)
    if data.part.is_hidden:
        worksheet.hide()
    titled = headers == "titles"
    texts = [column.title if titled else column.name for column in sheet.columns]
    widths = column_widths(table, texts)
    for index, (column, width) in enumerate(zip(sheet.columns, widths, strict=True)):
        worksheet.set_column(index, index, width)
        if titled:
            worksheet.write_comment(0, index, column.name)
    lines = style.heading_lines(texts, widths)
    worksheet.set_row(0, lines * style.LINE_HEIGHT if titled else None)
    # Programs that know no styles of tables show these colours.
    colours = {"bg_color": style.SOFT, "font_color": style.STRONG}
    heading = {"bold": True, "text_wrap": True, "valign": "top", **colours}
    over_texts = book.add_format({**heading, **style.BESIDE_NUMBERS})
    over_others = book.add_format({**heading, "align": "right"})
    columns: list[dict[str, Any]] = [
        {
            "header": text,
            "header_format": over_others if is_on_the_right(column) else over_texts,
        }
        for text, column in zip(texts, sheet.columns, strict=True)
    ]
    summed = summed_columns(sheet, headers)
    for index in summed:
        money = style.NUMBER_FORMATS[Kind.MONEY]
        amount = book.add_format({"num_format": money, "bold": True, "top": 1})
        columns[index] |= {"total_function": "sum", "format": amount}
    if summed:
        columns[0] |= {"total_string": str(titles.TOTAL)}
    worksheet.add_table(
        0,
        0,
        # corrected by with_range, as xlsxwriter stores data for each row
        _TOTALS_ROW - 1 if summed else 1,
        len(sheet.columns) - 1,
        {
            "name": data.table_name,
            "style": _TABLE_STYLE,
            "columns": columns,
            "total_row": bool(summed),
        },
    )
    # Print in a readable size, with the header on each page.
    printed = printed_columns(sheet, widths)
    print_across_pages(worksheet, footer, widths[:printed], repeated_columns(sheet, widths))
    if printed < len(widths):
        rows = data.last_row if summed else data.last_row - 1
        worksheet.print_area(0, 0, rows, printed - 1)
    worksheet.repeat_rows(0)
    worksheet.ignore_errors({"number_stored_as_text": f"A2:XFD{data.part.rows + 1}"})


_MAX_NAME_LENGTH = 31
_FIRST_ROW = 2
_DATA_MEMBER = re.compile(r"xl/(worksheets/sheet(?P<sheet>\d+)|tables/table(?P<table>\d+))\.xml")
_TOTALS_ROW = 3
"""Excel's number of the totals row in a table without data."""
_TABLE_RANGE = re.compile(rb' ref="A1:(?P<column>[A-Z]+)(?P<row>[123])"')
_SUMMED_COLUMN = re.compile(rb"SUBTOTAL\(109,\[(?P<title>[^<]*)\]\)")
_NO_SUM = re.compile(rb"</f><v>0</v>")
_AT_TOTALS_ROW = re.compile(rb'\br="([A-Z]*)%d"' % _TOTALS_ROW)
_END_OF_ROWS = b"</sheetData>"


@contextmanager
def open_xlsx(
    path: Path,
    sheets: Sequence[Sheet],
    rows_per_sheet: int = MAX_ROWS,
    headers: Headers = "names",
) -> Iterator[OutputWriter]:
    """Open a workbook; rows beyond ``rows_per_sheet`` go to ``name (2)``, ``name (3)`` and so on.

    Memory does not grow with the rows.
    """
    with replace_atomically(path, shared=True) as temporary:
        yield _XlsxOutput(temporary, sheets[0].name, rows_per_sheet, headers)


class _XlsxOutput(OutputWriter):
    def __init__(self, path: Path, listing: str, rows_per_sheet: int, headers: Headers) -> None:
        self._path = path
        self._listing = listing
        self._rows_per_sheet = rows_per_sheet
        self._headers = headers

    def line_format(self, sheet: Sheet) -> LineFormat:
        return row_format(style_ids(), summed_columns(sheet, self._headers))

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        parts = [
            part
            for table in tables
            for part in table.worksheets(
                self.line_format(table.sheet), self._rows_per_sheet, _MAX_NAME_LENGTH
            )
        ]
        data = list(map(_Worksheet, parts, count(1)))
        without_rows = _workbook_without_rows(self._listing, cover, system, data, self._headers)
        with (
            ZipFile(without_rows) as frame,
            ZipFile(self._path, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL) as archive,
        ):
            for name in frame.namelist():
                content = frame.read(name)
                match = _DATA_MEMBER.fullmatch(name)
                if match is None or match["sheet"] == "1":
                    archive.writestr(name, content)
                elif match["table"]:
                    archive.writestr(name, data[int(match["table"]) - 1].with_range(content))
                else:
                    sheet = data[int(match["sheet"]) - 2]
                    before, after = sheet.around_rows(content)
                    with (
                        compressed_member(archive, name) as member,
                        ThreadPoolExecutor(1) as threads,
                    ):
                        member.write(before)
                        first, written = _FIRST_ROW, threads.submit(int)
                        for lines in sheet.part.blocks():
                            content = number_rows(lines, first)
                            first += len(lines)
                            # Compression, without the GIL, takes as long as numbering.
                            written.result()
                            written = threads.submit(member.write, content)
                        written.result()
                        member.write(after)


_NUMBER_WIDTH = 24
_DO_NOT_EDIT = Text(
    pt="Preenchida pelo sistema; não edite. Diz de que registro é a linha, e não é enviada.\n"
    "Nome no sistema: {name}",
    en="Filled in by the system; do not edit. It says which record the row is, and is not sent.\n"
    "Name in the system: {name}",
)

_WriteCell = Callable[[int, int, Any, Format], int]


@contextmanager
def open_template(
    resource: Resource, headers: Headers, path: Path, sheets: Sequence[Sheet]
) -> Iterator[OutputWriter]:
    """Open the import workbook of a resource: its template, with instructions and checks."""
    main, *lists = sheets
    numbers = [
        (
            str(number_title(column.name)) if headers == "titles" else column.name,
            _NUMBER_WIDTH,
            str(_DO_NOT_EDIT.format(name=column.name)),
        )
        for column in main.columns[len(resource.columns) :]
    ]
    filled = dict[str, FilledRows]()
    with template_sheets(
        path, resource, after=numbers, headers=headers, shared=True, filled=filled
    ) as (book, worksheets):
        plain = book.add_format()
        children = {child.sheet: child for child in resource.children}
        writers = []
        for sheet, declared in (main, resource), *((s, children[s.name]) for s in lists):
            formats = [cell_format(book, column) for column in declared.sheet_columns]
            formats += [plain] * (len(sheet.columns) - len(formats))
            worksheet = worksheets[declared.sheet]
            cell_writers = [_either_writer(worksheet, column) for column in sheet.columns]
            writers.append(list(zip(cell_writers, formats, strict=True)))
        yield _TemplateOutput(book, [resource.sheet, *(s.name for s in lists)], writers, filled)


class _TemplateOutput(OutputWriter):
    def __init__(
        self,
        book: xlsxwriter.Workbook,
        names: Sequence[str],
        writers: Sequence[Sequence[tuple[_WriteCell, Format]]],
        filled: dict[str, FilledRows],
    ) -> None:
        self._book = book
        self._names = names
        self._writers = writers
        self._filled = filled

    def line_format(self, sheet: Sheet) -> LineFormat:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        if system:
            self._book.set_custom_property(WorkbookOrigin.SYSTEM_PROPERTY, system)
        for table, name, writers in zip(tables, self._names, self._writers, strict=True):
            if table.rows >= MAX_ROWS:
                raise UsageError(
                    Text(
                        pt="Há registros demais para uma planilha de importação.",
                        en="There are too many records for one import sheet.",
                    )
                )
            filled = self._filled[name] = FilledRows(table.rows)
            for number, row in enumerate(cells_of(table.lines()), start=1):
                for index, (cell, (write, cell_style)) in enumerate(zip(row, writers, strict=True)):
                    if cell is not None and write(number, index, cell, cell_style) < 0:
                        raise UsageError(
                            _TOO_LONG.format(
                                cell=cell_address(number + 1, index),
                                field=table.sheet.columns[index].name,
                                limit=MAX_TEXT_LENGTH,
                            )
                        )
                    if cell is not None:
                        filled.add(index, cell)


_TOO_LONG = Text(
    pt="{cell}, campo {field}: o texto tem mais de {limit} caracteres, o máximo de uma célula.",
    en="{cell}, field {field}: the text has more than {limit} characters, the maximum of a cell.",
)


def _either_writer(sheet: Worksheet, column: ExportColumn) -> _WriteCell:
    """Return what writes a cell: one that is not of the column's type as text."""
    write, read = _template_cell_writer(sheet, column), value_reader(column)

    def write_either(row: int, index: int, cell: Any, cell_style: Format) -> int:
        with suppress(ValueError):
            if read(cell) == cell:
                return write(row, index, cell, cell_style)
        return int(sheet.write_string(row, index, text_of(cell) or "", cell_style))

    return write_either


def _template_cell_writer(sheet: Worksheet, column: ExportColumn) -> _WriteCell:
    def write_day(row: int, index: int, text: str, date_format: Format) -> int:
        # A date without time, which import sheets do not have; before March 1900 as text.
        day = naive_moment(text).replace(hour=0, minute=0, second=0, microsecond=0)
        if day.toordinal() < FIRST_SAFE_DAY:
            return int(sheet.write_string(row, index, text, date_format))
        return int(sheet.write_datetime(row, index, day, date_format))

    match column.kind:
        case Kind.BOOLEAN:
            return sheet.write_boolean
        case Kind.INTEGER:
            return lambda row, index, cell, _format: _write_number(sheet, row, index, cell, None)
        case Kind.NUMBER | Kind.MONEY:
            return partial(_write_number, sheet)
        case Kind.DATE:
            return write_day
        case _:
            return sheet.write_string


def _write_number(
    sheet: Worksheet, row: int, index: int, digits: str, number_format: Format | None
) -> int:
    """Write a number, as text if the cell would hold another one."""
    number, exact = float(digits), Decimal(digits)
    # Binary numbers hold any fifteen digits exactly; xlsxwriter writes sixteen.
    if len(exact.as_tuple().digits) > EXACT_DIGITS and Decimal(f"{number:.16G}") != exact:
        return int(sheet.write_string(row, index, digits))
    return int(sheet.write_number(row, index, number, number_format))
