"""Excel workbooks: a cover, then one table for each sheet; exact numbers, safe texts."""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from itertools import count as counting
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from xlbridge.export.books.book import Book
from xlbridge.export.books.xlsx_frame import DataSheet, frame, style_ids
from xlbridge.export.books.xlsx_rows import SheetRows
from xlbridge.export.columns import Row
from xlbridge.export.listing import Sheet
from xlbridge.export.summary import Summary
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.atomic import replacing

EXCEL_ROWS = 1_048_576
_LONGEST_NAME = 31
_FAST = 1
"""The rows' XML is so repetitive that better compression costs much time and saves little."""

_CHUNK = 2**18
_OF_DATA = re.compile(r"xl/(worksheets/sheet(?P<sheet>\d+)|tables/table(?P<table>\d+))\.xml")
_RANGE = re.compile(rb' ref="A1:[A-Z]+[12]"')
_END_OF_ROWS = b"</sheetData>"


@contextmanager
def open_xlsx(
    path: Path, sheets: Sequence[Sheet], rows_per_sheet: int = EXCEL_ROWS
) -> Iterator[Book]:
    """Open a workbook. A sheet that outgrows ``rows_per_sheet`` goes on in ``name (2)``.

    Memory does not grow with the rows: they wait in temporary files.
    """
    with (
        replacing(path) as temporary,
        TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder,
    ):
        yield _XlsxBook(temporary, Path(folder), sheets[0].name, rows_per_sheet)


class _XlsxBook:
    def __init__(self, path: Path, folder: Path, listing: str, rows_per_sheet: int) -> None:
        self._path = path
        self._folder = folder
        self._listing = listing
        self._most = rows_per_sheet - 1
        self._written: list[DataSheet] = []

    def write(self, sheet: Sheet, rows: Iterable[Row]) -> int:
        waiting, count = iter(rows), 0
        for part in counting(1):
            written = self._write_part(sheet, part, islice(waiting, self._most))
            self._written.append(written)
            count += written.rows
            following = next(waiting, None)
            if following is None:
                return count
            waiting = chain((following,), waiting)
        raise AssertionError("the loop ends by returning")

    def finish(self, summary: Summary) -> None:
        with (
            ZipFile(frame(self._listing, summary, self._written)) as made,
            ZipFile(self._path, "w", ZIP_DEFLATED, compresslevel=_FAST) as archive,
        ):
            for name in made.namelist():
                content = made.read(name)
                with archive.open(name, "w", force_zip64=True) as member:
                    self._copy(name, content, member)

    def _write_part(self, sheet: Sheet, part: int, rows: Iterable[Row]) -> DataSheet:
        suffix = "" if part == 1 else f" ({part})"
        path = self._rows_file(len(self._written))
        with path.open("w", encoding="utf-8", errors="replace", buffering=_CHUNK) as stream:
            out = SheetRows(stream, sheet, style_ids())
            out.write(rows)
        name = sheet.name[: _LONGEST_NAME - len(suffix)] + suffix
        return DataSheet(name, sheet.columns, out.widths, out.rows)

    def _copy(self, name: str, content: bytes, member: IO[bytes]) -> None:
        """Copy a part of the frame; into a data sheet go its rows, into its table their range."""
        match = _OF_DATA.fullmatch(name)
        if match is None or match["sheet"] == "1":
            member.write(content)
            return
        index = int(match["table"] or int(match["sheet"]) - 1) - 1
        sheet = self._written[index]
        corner = cell_address(max(sheet.rows, 1) + 1, len(sheet.columns) - 1)
        content = _RANGE.sub(b' ref="A1:%s"' % corner.encode(), content)
        if match["table"]:
            member.write(content)
            return
        before, after = content.split(_END_OF_ROWS)
        member.write(before)
        with self._rows_file(index).open("rb") as rows:
            shutil.copyfileobj(rows, member, _CHUNK)
        member.write(_END_OF_ROWS + after)

    def _rows_file(self, index: int) -> Path:
        return self._folder / f"rows-{index}.xml"
