"""Excel workbooks: a cover, then one table for each sheet.

Rows are written as XML while others are being fetched: writing cells through xlsxwriter takes
several times as long as the rest of an export. xlsxwriter creates the workbook with styles,
headers, tables and cover, into which they are inserted. Numbers keep their digits. A value that a
cell cannot hold exactly is written as text: a number with too many digits, a date before March
1900.

Source: ECMA-376, Part 1, 18.3.1 (``row``, ``c``, ``v``, ``is``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache, partial
from io import BytesIO
from itertools import count, repeat
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__, titles
from xlbridge.export.formats.base import (
    COMPRESSION_LEVEL,
    LineFormat,
    OutputWriter,
    Table,
    TextTooLong,
    WorksheetRows,
    WriteValue,
    column_widths,
    compressed_member,
    is_on_the_right,
    printed_columns,
    repeated_columns,
    summed_columns,
)
from xlbridge.export.sheets import ExportColumn, Sheet, value_reader
from xlbridge.files import replace_atomically
from xlbridge.i18n import active_language
from xlbridge.report_forms import Report
from xlbridge.resources import Kind
from xlbridge.settings import Headers
from xlbridge.workbook import (
    COVER_SHEET,
    MAX_ROWS,
    MAX_TEXT_LENGTH,
    WorkbookOrigin,
    column_index,
    column_letters,
    escape_text,
    style,
)
from xlbridge.workbook.write import (
    new_workbook,
    print_across_pages,
    write_cover,
)

EXACT_DIGITS = 15
"""Digits of a number that programs read back unchanged, wherever the decimal point is."""

_EPOCH = datetime(1899, 12, 30).toordinal()
FIRST_SAFE_DAY = datetime(1900, 3, 1).toordinal()
"""Excel has a 29 February 1900: programs read earlier serial numbers as different days."""

_DAY = 86_400

_ROW_MARK = "\0"
"""Placeholder of a row's number, which is known only after all rows were fetched."""

_NEEDS_ESCAPING = re.compile("[&<>_\x00-\x1f\x7f\ufffe\uffff]").search
"""Finds characters to escape; texts without any, and without outer spaces, stay unchanged."""

_ESCAPED_IN_ASCII = bytes(c for c in range(128) if _NEEDS_ESCAPING(chr(c)))

_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\n"): "&#10;"}


class CellStyle(StrEnum):
    """Style of a data cell."""

    TEXT = "text"
    LINES = "lines"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    DAY = "day"
    MOMENT = "moment"
    BOOLEAN = "boolean"


StyleIds = Mapping[CellStyle, str]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_WITH_CENTS = re.compile(r"-?(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,2})?").fullmatch
_NUMBER_STYLES = {
    Kind.INTEGER: (CellStyle.INTEGER, _WHOLE),
    Kind.NUMBER: (CellStyle.NUMBER, _WITH_CENTS),
    Kind.MONEY: (CellStyle.MONEY, _WITH_CENTS),
}
"""Style and pattern of common numbers, which need no further check."""


def row_format(styles: StyleIds, summed: Sequence[int] = ()) -> LineFormat:
    """Return the format of a row as one line of XML, without its number."""
    return LineFormat(
        partial(_cell_writer, styles),
        partial(_affixes, styles),
        are_plain=_are_plain,
        numbers=_numbers,
        summed=summed,
        prefix=f'<row r="{_ROW_MARK}">',
        suffix="</row>\n",
    )


_NUMBER_CELL = re.compile(f'<c r="([A-Z]+){_ROW_MARK}" s="[0-9]+"><v>([^<]*)')


def _numbers(cells: str) -> Iterator[tuple[int, str]]:
    for letters, digits in _NUMBER_CELL.findall(cells):
        yield column_index(letters), digits


def _affixes(styles: StyleIds, column: ExportColumn, index: int) -> tuple[str, str]:
    if column.kind is Kind.TEXT:
        return f"{_text_start(_cell_start(index), CellStyle.TEXT, styles)}<t>", "</t></is></c>"
    style, _ = _NUMBER_STYLES[column.kind]
    return f'{_cell_start(index)}{styles[style]}"><v>', "</v></c>"


def _cell_start(index: int) -> str:
    return f'<c r="{column_letters(index)}{_ROW_MARK}" s="'


def _cell_writer(styles: StyleIds, column: ExportColumn, index: int) -> WriteValue:
    start = _cell_start(index)
    read: Callable[[Any], Any] = value_reader(column)
    encode = _text_encoder(start, styles)
    if column.is_list:
        return lambda value: encode("\n".join(read(value)))
    match column.kind:
        case Kind.INTEGER | Kind.NUMBER | Kind.MONEY:
            return _number_writer(column.kind, read, start, styles)
        case Kind.DATE:
            encode_moment = _moment_encoder(start, styles)
            return lambda value: encode_moment(read(value))
        case Kind.BOOLEAN:
            return lambda value: (
                f'{start}{styles[CellStyle.BOOLEAN]}" t="b"><v>{read(value):d}</v></c>'
            )
        case _:
            return lambda value: encode(read(value))


def _are_plain(texts: Sequence[str]) -> bool:
    """Return whether no text has a character to escape, or spaces to keep at its ends."""
    joined = "|".join(texts)
    # Deleting characters from bytes is faster than searching for them in text.
    content = joined.encode("utf-8", "surrogatepass")
    if len(content.translate(None, _ESCAPED_IN_ASCII)) < len(content):
        return False
    if "\ufffe" in joined or "\uffff" in joined:
        return False
    has_spaces = " " in joined or not joined.isascii()
    return not has_spaces or "|".join(map(str.strip, texts)) == joined


def _text_start(start: str, style: CellStyle, styles: StyleIds) -> str:
    return f'{start}{styles[style]}" t="inlineStr"><is>'


def has_exact_cell(digits: str) -> bool:
    """Return whether programs, which read binary floating-point numbers, read these digits."""
    return len(digits) <= EXACT_DIGITS or Decimal(digits) == Decimal(repr(float(digits)))


def require_fitting(text: str) -> None:
    """Raise ``TextTooLong`` if no cell can hold a text."""
    if len(text) > MAX_TEXT_LENGTH // 2:
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if length > MAX_TEXT_LENGTH:
            raise TextTooLong(length, MAX_TEXT_LENGTH)


def _text_encoder(start: str, styles: StyleIds) -> Callable[[str], str]:
    plain, lines = (_text_start(start, s, styles) for s in (CellStyle.TEXT, CellStyle.LINES))

    def encode(text: str) -> str:
        require_fitting(text)
        if not _NEEDS_ESCAPING(text) and text.strip() == text:
            return f"{plain}<t>{text}</t></is></c>"
        content = escape_text(text).translate(_MARKUP)
        start = lines if "\n" in text else plain
        return f'{start}<t xml:space="preserve">{content}</t></is></c>'

    return encode


def _number_writer(
    kind: Kind, read: Callable[[Any], str], start: str, styles: StyleIds
) -> WriteValue:
    style, is_common = _NUMBER_STYLES[kind]
    as_text = _text_encoder(start, styles)
    common, finer = (f'{start}{styles[s]}"><v>' for s in (style, CellStyle.NUMBER))

    def write(value: Any) -> str:
        if isinstance(value, str) and is_common(value):
            return f"{common}{value}</v></c>"
        digits = read(value)
        if not has_exact_cell(digits):
            return as_text(digits)
        more_than_cents = digits.rfind(".", 0, -3) >= 0
        return f"{finer if more_than_cents else common}{digits}</v></c>"

    return write


def _moment_encoder(start: str, styles: StyleIds) -> Callable[[str], str]:
    as_text = _text_encoder(start, styles)
    day_only, with_time = (f'{start}{styles[s]}"><v>' for s in (CellStyle.DAY, CellStyle.MOMENT))

    def encode(text: str) -> str:
        moment = datetime.fromisoformat(text)
        day = moment.toordinal()
        if day < FIRST_SAFE_DAY:
            return as_text(text)
        # Whole seconds: programs round fractions up, possibly to the next day.
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        if seconds:
            # Ten digits, rounded up as some programs cut, take a tenth of the time of a float's.
            share = -(-seconds * 10**10 // _DAY)
            return f"{with_time}{day - _EPOCH}.{share:010}</v></c>"
        return f"{day_only}{day - _EPOCH}</v></c>"

    return encode


def number_rows(lines: Iterable[bytes], first: int) -> bytes:
    """Return rows with their numbers, from ``first`` on."""
    numbers = map(b"%d".__mod__, count(first))
    return b"".join(map(bytes.replace, lines, repeat(_ROW_MARK.encode()), numbers))


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
    origin: WorkbookOrigin, cover: Report, data: Sequence[_Worksheet], headers: Headers
) -> BytesIO:
    """Return a workbook with the cover and, for each data sheet, a header without rows."""
    content = BytesIO()
    with new_workbook(
        content,
        title=origin.export,
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
    resource: str = "",
) -> Iterator[OutputWriter]:
    """Open a workbook; rows beyond ``rows_per_sheet`` go to ``name (2)``, ``name (3)`` and so on.

    Memory does not grow with the rows.
    """
    with replace_atomically(path, shared=True) as temporary:
        origin = WorkbookOrigin(export=sheets[0].name, resource=resource)
        yield _XlsxOutput(temporary, origin, rows_per_sheet, headers)


class _XlsxOutput(OutputWriter):
    def __init__(
        self, path: Path, origin: WorkbookOrigin, rows_per_sheet: int, headers: Headers
    ) -> None:
        self._path = path
        self._origin = origin
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
        origin = replace(self._origin, language=active_language(), system=system)
        without_rows = _workbook_without_rows(origin, cover, data, self._headers)
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
