"""Excel workbooks: a cover, then one table for each sheet; exact numbers, safe texts."""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from math import ceil
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from xlbridge.export.books.book import Book, Table
from xlbridge.export.books.xlsx_frame import DataSheet, frame, style_ids
from xlbridge.export.books.xlsx_rows import numbered, row_form
from xlbridge.export.lines import LineForm
from xlbridge.export.sheet import Sheet
from xlbridge.export.summary import Summary
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.atomic import replacing

EXCEL_ROWS = 1_048_576
_LONGEST_NAME = 31
_FAST = 1
"""The rows' XML is so repetitive that better compression costs much time and saves little."""

_ROWS_AT_ONCE = 500
_OF_DATA = re.compile(r"xl/(worksheets/sheet(?P<sheet>\d+)|tables/table(?P<table>\d+))\.xml")
_RANGE = re.compile(rb' ref="A1:[A-Z]+[12]"')
_END_OF_ROWS = b"</sheetData>"


@contextmanager
def open_xlsx(
    path: Path, sheets: Sequence[Sheet], rows_per_sheet: int = EXCEL_ROWS
) -> Iterator[Book]:
    """Open a workbook. A sheet that outgrows ``rows_per_sheet`` goes on in ``name (2)``.

    Memory does not grow with the rows.
    """
    with replacing(path) as temporary:
        yield _XlsxBook(temporary, sheets[0].name, rows_per_sheet)


class _XlsxBook:
    def __init__(self, path: Path, listing: str, rows_per_sheet: int) -> None:
        self._path = path
        self._listing = listing
        self._most = rows_per_sheet - 1

    def form(self, sheet: Sheet) -> LineForm:
        return row_form(style_ids())

    def write(self, tables: Sequence[Table], summary: Summary) -> None:
        parts = [part for table in tables for part in self._parts(table)]
        with (
            ZipFile(frame(self._listing, summary, [sheet for sheet, _ in parts])) as made,
            ZipFile(self._path, "w", ZIP_DEFLATED, compresslevel=_FAST) as archive,
        ):
            for name in made.namelist():
                content = made.read(name)
                match = _OF_DATA.fullmatch(name)
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
            name = table.sheet.name[: _LONGEST_NAME - len(suffix)] + suffix
            sheet = DataSheet(name, table.sheet.columns, table.widths, rows, table.sheet.key)
            yield sheet, islice(lines, rows)


def _with_range(content: bytes, sheet: DataSheet) -> bytes:
    corner = cell_address(max(sheet.rows, 1) + 1, len(sheet.columns) - 1)
    return _RANGE.sub(b' ref="A1:%s"' % corner.encode(), content)


def _write_sheet(
    member: IO[bytes], content: bytes, sheet: DataSheet, lines: Iterator[bytes]
) -> None:
    before, after = _with_range(content, sheet).split(_END_OF_ROWS)
    member.write(before)
    number = 2
    # Compressing leaves other threads to run: meanwhile the next rows get their numbers.
    with ThreadPoolExecutor(1) as beside:
        written: Future[int] | None = None
        while batch := list(islice(lines, _ROWS_AT_ONCE)):
            rows = numbered(batch, number)
            number += len(batch)
            if written is not None:
                written.result()
            written = beside.submit(member.write, rows)
        if written is not None:
            written.result()
    member.write(_END_OF_ROWS + after)
