"""From an .xlsx archive to its cells: everything that understands what a file says.

Runs only where memory and time are limited, or on files that are known to be harmless.
"""

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.limits import WorkbookLimits
from xlbridge.workbook.reading.cells import CellEncoder
from xlbridge.workbook.reading.package import Package
from xlbridge.workbook.reading.parsed import Parsed, RowsRead, SheetBegun, WorkbookBegun
from xlbridge.workbook.reading.raw_scan import scanned_meanwhile
from xlbridge.workbook.reading.raw_sheet import RawSheet
from xlbridge.workbook.reading.refusals import (
    cells_too_far,
    hostile,
    no_such_time,
    text_too_long,
    too_large,
    unreadable,
)
from xlbridge.workbook.reading.unknown_errors import with_known_errors
from xlbridge.workbook.signature import opens_as_ours

_ROWS_AT_ONCE = 4096
_PANICS = "pyo3_runtime"
_TEXTS = Text(pt="o texto das células", en="the cells' text")


def parse(workbook: BinaryIO, sheet: str | None, limits: WorkbookLimits) -> Iterator[Parsed]:
    """Yield what the workbook holds: one sheet, or all visible ones that may hold data.

    Raises ``UsageError`` when there is no such sheet, ``WorkbookRefused`` when the content cannot
    be read or exceeds the limits.
    """
    with zipfile.ZipFile(workbook) as archive:
        package = Package(archive)
        yield WorkbookBegun(package.fingerprint(), package.hidden_sheets())
        formats = package.number_formats()
        with _refusing():
            # The parser keeps a copy.
            workbook.seek(0)
            book = CalamineWorkbook.from_filelike(workbook)
            budget = _Budget(limits)
            if len(book.sheets_metadata) > limits.entries:
                raise hostile(Text(pt="planilhas demais", en="too many sheets"))
            for name in _chosen(book, package, sheet):
                with scanned_meanwhile(package, name, formats) as scanned:
                    content = _opened(book, archive, package, name)
                    if sheet is not None or not opens_as_ours(name, _first_texts(content)):
                        yield from _sheet(content, scanned, budget)


@contextmanager
def _refusing() -> Iterator[None]:
    """Let whatever the parser fails with become a ``WorkbookRefused``."""
    try:
        yield
    except CalamineError as error:
        raise unreadable() from error
    except OverflowError as error:
        raise no_such_time() from error
    except BaseException as error:
        # The parser's panics are no ``Exception``, and their class has no name to import it by.
        if type(error).__module__ == _PANICS:
            raise unreadable() from error
        raise


def _opened(
    book: CalamineWorkbook, archive: zipfile.ZipFile, package: Package, name: str
) -> CalamineSheet:
    try:
        return book.get_sheet_by_name(name)
    except CalamineError:
        part = package.sheet_part(name)
        readable = None if part is None else with_known_errors(archive, part)
        if readable is None:
            raise
    return CalamineWorkbook.from_filelike(io.BytesIO(readable)).get_sheet_by_name(name)


def _first_texts(content: CalamineSheet) -> Iterator[object]:
    yield from (row[0] for row in islice(content.iter_rows(), 2) if row)


def _chosen(book: CalamineWorkbook, package: Package, sheet: str | None) -> list[str]:
    worksheets = [s for s in book.sheets_metadata if s.typ == SheetTypeEnum.WorkSheet]
    if sheet is None:
        own = package.own_sheets()
        return [
            s.name
            for s in worksheets
            if s.visible == SheetVisibleEnum.Visible and s.name not in own
        ]
    if all(sheet != s.name for s in worksheets):
        raise UsageError(
            Text(
                pt="Não há planilha {sheet!r}. Há: {names}.",
                en="There is no sheet {sheet!r}. There are: {names}.",
            ).format(sheet=sheet, names=", ".join(s.name for s in worksheets))
        )
    return [sheet]


def _sheet(
    content: CalamineSheet, scanned: Callable[[], RawSheet], budget: "_Budget"
) -> Iterator[Parsed]:
    _top, left = content.start or (0, 0)
    bottom, right = content.end or (-1, -1)
    budget.take_cells((bottom + 1) * (right - left + 1))
    width = right - left + 1
    yield SheetBegun(content.name, left, width, scanned())
    rows = content.iter_rows() if width else iter(())
    encoders = [CellEncoder() for _ in range(width)]
    while stretch := list(islice(rows, _ROWS_AT_ONCE)):
        columns = [
            encoder.encode(values)
            for encoder, values in zip(encoders, zip(*stretch, strict=True), strict=True)
        ]
        budget.check_texts(content.name, encoders)
        yield RowsRead(columns)
    budget.end_sheet(encoders)


class _Budget:
    """What all sheets of a workbook may hold together."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._letters = 0

    def take_cells(self, cells: int) -> None:
        self._cells += cells
        if self._cells > self._limits.cells:
            raise cells_too_far()

    def check_texts(self, sheet: str, encoders: Sequence[CellEncoder]) -> None:
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        rows = max(encoder.filled for encoder in encoders)
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + _letters(encoders) > most:
            raise too_large(_TEXTS, most)

    def end_sheet(self, encoders: Sequence[CellEncoder]) -> None:
        self._letters += _letters(encoders)


def _letters(encoders: Sequence[CellEncoder]) -> int:
    return sum(encoder.letters for encoder in encoders)
