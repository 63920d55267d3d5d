"""Interface of all output formats: lines of rows, tables, the writer."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from time import localtime
from typing import IO, Any, Protocol
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo
from zlib import DEFLATED, MAX_WBITS

from xlbridge.export.sheets import (
    Cell,
    ExportColumn,
    Sheet,
    encode_json,
    value_reader,
)
from xlbridge.report_forms import Report
from xlbridge.resources import Kind
from xlbridge.settings import Headers
from xlbridge.workbook import style

try:
    from isal.isal_zlib import compressobj
except ImportError:  # Not available on every platform; the standard library is slower.
    from zlib import compressobj  # type: ignore[assignment]

WriteValue = Callable[[Any], str]
"""Writes a value of a record that is not null. Raises ``ValueError`` for an unexpected one."""


class TextTooLong(ValueError):
    """Text longer than a cell of the format."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"{length} characters, at most {limit}")
        self.length = length
        self.limit = limit


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Format of a row: ``prefix``, its cells with ``separator`` between them, ``suffix``.

    ``cell_writer`` returns a column's ``WriteValue``, by the column and its index; ``empty_cell``
    its empty cell. ``affixes`` returns the texts before and after a common number, whose digits
    are written unchanged (an integer of at most eight characters, a number with eight digits and
    six decimal places, an amount with twelve and two), None if digits are converted. The same
    goes for texts if ``are_plain``. ``is_risky`` tells which texts a program may evaluate.
    ``summed`` are the indexes of the columns with a sum below them; ``numbers`` returns the digits
    of the numbers in cells, with their columns if these are those of a whole line.
    """

    cell_writer: Callable[[ExportColumn, int], WriteValue]
    affixes: Callable[[ExportColumn, int], tuple[str, str] | None]
    are_plain: Callable[[Sequence[str]], bool] | None = None
    is_risky: Callable[[str], bool] | None = None
    numbers: Callable[[str], Iterable[tuple[int, str]]] = lambda _cells: ()
    summed: Sequence[int] = ()
    empty_cell: Callable[[ExportColumn], str] = lambda _column: ""
    prefix: str = ""
    separator: str = ""
    suffix: str = "\n"


def _json_cell_writer(column: ExportColumn, _index: int) -> WriteValue:
    read = value_reader(column)
    return lambda value: encode_json(read(value))


CELLS_AS_JSON = LineFormat(
    _json_cell_writer,
    affixes=lambda _column, _index: ('"', '"'),
    empty_cell=lambda _column: "null",
    prefix="[",
    separator=",",
    suffix="]\n",
)
"""Format for outputs that need the cells themselves: each line is a JSON list of them."""


def text_of(cell: Cell) -> str | None:
    """Return the cell of a column that was written as text, though some values have its type."""
    return cell if cell is None or isinstance(cell, str) else encode_json(cell)


def cells_of(lines: Iterable[bytes]) -> Iterator[list[Cell]]:
    """Yield the cells of each line in the format ``CELLS_AS_JSON``."""
    return map(json.loads, lines)


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a sheet: their number, the length of each column's longest text, the lines.

    ``lines`` returns them in the writer's ``line_format`` and UTF-8, split at each line feed.
    ``sums`` are those of the columns summed; none if records were replaced.
    """

    sheet: Sheet
    rows: int
    widths: Sequence[int]
    lines: Callable[[], Iterator[bytes]]
    sums: Sequence[Decimal] = ()

    def worksheets(self, form: LineFormat, max_rows: int, max_name: int) -> list["WorksheetRows"]:
        """Divide the table into worksheets of at most ``max_rows`` rows with the header, and a
        totals row if columns are summed; they are called ``name``, ``name (2)`` and so on, in at
        most ``max_name`` characters."""
        room = max_rows - (2 if form.summed else 1)
        every = self.lines()
        found = []
        for number, start in enumerate(range(0, max(self.rows, 1), room), start=1):
            suffix = f" ({number})" if number > 1 else ""
            name = self.sheet.name[: max_name - len(suffix)] + suffix
            rows = min(room, self.rows - start)
            found.append(WorksheetRows(name, self, rows, islice(every, rows), []))
        if form.summed and self.sums and len(found) == 1:
            found[0].sums.extend(self.sums)
        elif form.summed:
            others = self.lines()
            for part in found:
                sums = dict.fromkeys(form.summed, Decimal())
                for line in islice(others, part.rows):
                    for index, digits in form.numbers(line.decode()):
                        if index in sums:
                            sums[index] += Decimal(digits)
                part.sums.extend(sums.values())
        return found


@dataclass(frozen=True, slots=True)
class WorksheetRows:
    """Rows of a table that are in one worksheet: its ``name``, their number, their lines, to be
    read after those before, and their sums."""

    name: str
    table: Table
    rows: int
    lines: Iterator[bytes]
    sums: list[Decimal]

    @property
    def is_hidden(self) -> bool:
        """True if there is nothing to print: no record has a row of the sheet."""
        return not self.rows and bool(self.table.sheet.within) and not self.table.sheet.is_joined

    def blocks(self) -> Iterator[list[bytes]]:
        """Yield the lines, many at a time."""
        while block := list(islice(self.lines, _LINES_AT_ONCE)):
            yield block


_LINES_AT_ONCE = 500
COMPRESSION_LEVEL = 1
"""The XML is so repetitive that better compression would take long and save little."""


def compressed_member(archive: ZipFile, name: str) -> IO[bytes]:
    """Open a large member of an archive for writing."""
    member = ZipInfo(name, date_time=localtime()[:6])
    member.compress_type = ZIP_DEFLATED
    stream = archive.open(member, "w", force_zip64=True)
    # ZipFile offers no other compressor than zlib's, which takes six times as long.
    stream._compressor = compressobj(  # type: ignore[attr-defined]
        COMPRESSION_LEVEL, DEFLATED, -MAX_WBITS
    )
    return stream


def summed_columns(sheet: Sheet, headers: Headers) -> list[int]:
    """Return the indexes of the columns with a sum below them: amounts, in sheets for people."""
    if headers == "names" or sheet.directed:
        return []
    return [
        index
        for index, column in enumerate(sheet.columns)
        if index and column.kind is Kind.MONEY and "unit" not in column.name.casefold()
    ]


_MIN_WIDTH, _MAX_WIDTH = 8, 50
_PADDING = 2
_MIN_KIND_WIDTHS = {Kind.DATE: 10, Kind.MONEY: 12, Kind.NUMBER: 10}
_MOMENT_WIDTH = 16
_MOST_REPEATED, _MOST_OF_ONE = 36, 70
WIDEST_COLUMN = _MAX_WIDTH + style.FILTER_BUTTON_WIDTH
"""Maximum width of a column, in characters."""


def is_on_the_right(column: ExportColumn) -> bool:
    """Return whether the cells of a column are right-aligned in a workbook."""
    return (column.kind.is_number or column.kind is Kind.DATE) and not column.is_list


def column_widths(table: Table, titles: Sequence[str]) -> list[int]:
    """Return the widths of the columns of a workbook's sheet, in characters.

    Titles wrap as in ``style.heading_width``.
    """
    widths = []
    for column, longest, title in zip(table.sheet.columns, table.widths, titles, strict=True):
        least = _MIN_KIND_WIDTHS.get(column.kind, _MIN_WIDTH)
        if column.kind is Kind.DATE:
            longest = min(longest, _MOMENT_WIDTH)
        content = max(least, longest) + _PADDING
        widths.append(min(max(content, style.heading_width(title)), WIDEST_COLUMN))
    return widths


def printed_columns(sheet: Sheet, widths: Sequence[int]) -> int:
    """Return the number of columns to print: all, unless they are too many for a page that is as
    wide as the leading ones, or, if the sheet has none of these, for two pages.

    The last columns of a joined sheet, those of the child, are what it is for.
    """
    if style.fits_page(widths) or sheet.is_joined:
        return len(widths)
    if not sheet.leading:
        return style.columns_on_two_pages(widths, repeated_columns(sheet, widths))
    fitting = (n for n in range(sheet.leading, 1, -1) if style.fits_page(widths[:n]))
    return next(fitting, 1)


def repeated_columns(sheet: Sheet, widths: Sequence[int]) -> range:
    """Return the columns to repeat on each of several printed pages of the same rows: the last
    ones of the key, if narrow."""
    key = [index for index, column in enumerate(sheet.columns) if column.name in sheet.key]
    if sheet.leading or style.fits_page(widths) or not key or widths[key[-1]] > _MOST_OF_ONE:
        return range(0)
    first = key[-1]
    while first > key[0] and sum(widths[first - 1 : key[-1] + 1]) <= _MOST_REPEATED:
        first -= 1
    return range(first, key[-1] + 1)


class OutputWriter(Protocol):
    """Sheets being written."""

    def line_format(self, sheet: Sheet) -> LineFormat:
        """Return the format of a sheet's lines."""

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        """Write the tables, and the report of the export if the format has a cover.

        A workbook carries the ``system`` whose records it has.
        """


OpenOutput = Callable[[Path, Sequence[Sheet]], AbstractContextManager[OutputWriter]]
"""Opens an output for sheets. Its files are written when the context ends; none on an exception."""


def sheet_paths(path: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files of a format with one sheet per file.

    ``pedidos.csv`` holds the records, ``pedidos.parcelas.csv`` the sheet ``parcelas``.
    """
    return [
        path if sheet == sheets[0] else path.with_name(f"{path.stem}.{sheet.name}{path.suffix}")
        for sheet in sheets
    ]
