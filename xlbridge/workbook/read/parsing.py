"""Parser: from an .xlsx archive to its cells, and which small files are safe to parse.

Runs only where memory and time are limited, or on files that are known to be safe.
"""

import io
import re
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

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.cells import CellEncoder, RawSheet
from xlbridge.workbook.read.exact_scan import scan_exactly
from xlbridge.workbook.read.messages import ParserMessage, RowsRead, SheetStarted, WorkbookStarted
from xlbridge.workbook.read.package import Package
from xlbridge.workbook.read.refusals import (
    cells_too_far_apart,
    duration_too_long,
    hostile,
    text_too_long,
    too_large,
    unreadable,
)
from xlbridge.workbook.read.shared_texts import SharedTexts
from xlbridge.workbook.read.sheet_scan import ERROR_CELL, scan_in_background
from xlbridge.workbook.signature import starts_like_ours

_KNOWN_ERRORS = (b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!")
_SHEETS_FOLDER = "xl/worksheets/"


def with_known_errors(archive: zipfile.ZipFile, part: str) -> bytes | None:
    """Return a workbook for the parser in which a sheet's unknown errors are ``#N/A``.

    The scan of the raw XML names the error of each cell. The workbook has no other sheet than
    that of ``part``; None where the sheet has no such error.
    """
    sheet = archive.read(part)
    # What looks like a cell in a comment is none.
    with_known_errors = sheet if b"<!" in sheet else ERROR_CELL.sub(_known_error, sheet)
    if with_known_errors == sheet:
        return None
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for entry in archive.infolist():
            if entry.filename == part:
                copy.writestr(entry.filename, with_known_errors)
            elif _is_needed_part(entry.filename.lower()):
                copy.writestr(entry.filename, archive.read(entry))
    return stream.getvalue()


def _known_error(found: re.Match[bytes]) -> bytes:
    known = found[3] in _KNOWN_ERRORS or not found[3].startswith(b"#")
    return found[1] + (found[3] if known else b"#N/A")


def _is_needed_part(name: str) -> bool:
    return name.endswith((".xml", ".rels")) and not name.startswith(_SHEETS_FOLDER)


_ROWS_AT_ONCE = 4096
_PANIC_MODULE = "pyo3_runtime"
_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")


def parse_workbook(
    workbook: BinaryIO, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield what the workbook holds: one sheet, or all visible ones that may hold data.

    Raises ``UsageError`` when there is no such sheet, ``WorkbookRefused`` when the content cannot
    be read or exceeds the limits.
    """
    with zipfile.ZipFile(workbook) as archive:
        package = Package(archive)
        yield WorkbookStarted(package.fingerprint(), package.hidden_sheets())
        formats = package.number_formats()
        with _refuse_on_failure():
            # The parser keeps a copy.
            workbook.seek(0)
            book = CalamineWorkbook.from_filelike(workbook)
            budget, shared = _Budget(limits), SharedTexts(package)
            if len(book.sheets_metadata) > limits.entries:
                raise hostile(Text(pt="planilhas demais", en="too many sheets"))
            for name in _chosen_sheets(book, package, sheet):
                budget.check_shared(name, shared)
                with scan_in_background(package, name, formats) as scanned:
                    content = _open_sheet(book, archive, package, name)
                    if sheet is not None or not starts_like_ours(name, _first_texts(content)):
                        yield from _parse_sheet(content, scanned, budget)


@contextmanager
def _refuse_on_failure() -> Iterator[None]:
    """Let whatever the parser fails with become a ``WorkbookRefused``."""
    try:
        yield
    except CalamineError as error:
        raise unreadable() from error
    except OverflowError as error:
        raise duration_too_long() from error
    except BaseException as error:
        # The parser's panics are no ``Exception``, and their class has no name to import it by.
        if type(error).__module__ == _PANIC_MODULE:
            raise unreadable() from error
        raise


def _open_sheet(
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


def _chosen_sheets(book: CalamineWorkbook, package: Package, sheet: str | None) -> list[str]:
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


def _parse_sheet(
    content: CalamineSheet, scanned: Callable[[], RawSheet], budget: "_Budget"
) -> Iterator[ParserMessage]:
    _top, left = content.start or (0, 0)
    bottom, right = content.end or (-1, -1)
    budget.take_cells((bottom + 1) * (right - left + 1))
    width = right - left + 1
    yield SheetStarted(content.name, left, width, scanned())
    rows = content.iter_rows() if width else iter(())
    encoders = [CellEncoder() for _ in range(width)]
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        columns = [
            encoder.encode(values)
            for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
        ]
        budget.check_texts(content.name, encoders)
        yield RowsRead(columns)
    budget.end_sheet(encoders)


class _Budget:
    """Budget of cells and text that all sheets of a workbook share."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._letters = 0

    def take_cells(self, cells: int) -> None:
        self._cells += cells
        if self._cells > self._limits.cells:
            raise cells_too_far_apart()

    def check_texts(self, sheet: str, encoders: Sequence[CellEncoder]) -> None:
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        rows = max(encoder.filled for encoder in encoders)
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + _text_length(encoders) > most:
            raise too_large(_CELL_TEXT, most)

    def check_shared(self, sheet: str, shared: SharedTexts) -> None:
        left = self._limits.text_size - self._letters
        most = shared.letters_beyond(sheet, left, self._limits.text_per_row)
        if most is not None:
            raise too_large(_CELL_TEXT, most + self._letters)

    def end_sheet(self, encoders: Sequence[CellEncoder]) -> None:
        self._letters += _text_length(encoders)


def _text_length(encoders: Sequence[CellEncoder]) -> int:
    return sum(encoder.letters for encoder in encoders)


_MAX_SAFE_CELLS = 1_000_000
_MAX_SAFE_TEXT = 64 * 2**20


def is_safe_to_parse(content: bytes) -> bool:
    """Tell whether every sheet's cells are in order and near one another, and all in them bounded.

    ``content`` is an .xlsx archive that passed the gate and is small when unpacked. Raises
    ``WorkbookRefused`` when it is no workbook at all.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        package = Package(archive)
        try:
            return all(_is_safe_sheet(package, sheet) for sheet in package.sheets)
        except WorkbookRefused:
            return False


def _is_safe_sheet(package: Package, sheet: str) -> bool:
    scan = scan_exactly(package.sheet_pieces(sheet), {})
    near = scan.last_row * (scan.last_column + 1) <= _MAX_SAFE_CELLS
    return (
        scan.in_order
        and scan.dates_parse
        and near
        and scan.cells * package.shared_size() <= _MAX_SAFE_TEXT
    )
