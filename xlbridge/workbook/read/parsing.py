"""Parser: from an .xlsx archive to its cells, and which small files are safe to parse.

Runs only where memory and time are limited, or on files that are known to be safe.
"""

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType
from typing import Any, BinaryIO

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
from xlbridge.workbook.address import CellPosition
from xlbridge.workbook.read.budget import Budget
from xlbridge.workbook.read.cells import CellEncoder, RawSheet
from xlbridge.workbook.read.exact_scan import scan_exactly
from xlbridge.workbook.read.messages import ParserMessage, RowsRead, SheetStarted, WorkbookStarted
from xlbridge.workbook.read.package import Package
from xlbridge.workbook.read.refusals import (
    duration_too_long,
    too_many_sheets,
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
_NOTHING: Mapping[CellPosition, object] = MappingProxyType({})
_PANIC_MODULE = "pyo3_runtime"


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
        with refuse_on_failure():
            # The parser keeps a copy.
            workbook.seek(0)
            book = CalamineWorkbook.from_filelike(workbook)
            budget, shared = Budget(limits), SharedTexts(package)
            if len(book.sheets_metadata) > limits.entries:
                raise too_many_sheets()
            for name in _chosen_sheets(book, package, sheet):
                budget.check_shared(name, shared)
                with scan_in_background(package, name, formats) as scanned:
                    content = _open_sheet(book, archive, package, name)
                    if sheet is not None or not starts_like_ours_at(content):
                        yield from parse_sheet(content, scanned, budget)


@contextmanager
def refuse_on_failure() -> Iterator[None]:
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


def starts_like_ours_at(content: CalamineSheet) -> bool:
    """Return whether a sheet is named and begins like one that xlbridge adds."""
    first_texts = (row[0] for row in islice(content.iter_rows(), 2) if row)
    return starts_like_ours(content.name, first_texts)


def _chosen_sheets(book: CalamineWorkbook, package: Package, sheet: str | None) -> list[str]:
    worksheets = [s for s in book.sheets_metadata if s.typ == SheetTypeEnum.WorkSheet]
    if sheet is None:
        own = package.own_sheets()
        return [
            s.name
            for s in worksheets
            if s.visible == SheetVisibleEnum.Visible and s.name not in own
        ]
    require_sheet(sheet, [s.name for s in worksheets])
    return [sheet]


def require_sheet(sheet: str, names: Sequence[str]) -> None:
    """Raise ``UsageError`` when a sheet is not among the names of the data sheets."""
    if sheet not in names:
        raise UsageError(
            Text(
                pt="Não há planilha {sheet!r}. Há: {names}.",
                en="There is no sheet {sheet!r}. There are: {names}.",
            ).format(sheet=sheet, names=", ".join(names))
        )


def parse_sheet(
    content: CalamineSheet,
    scanned: Callable[[], RawSheet],
    budget: Budget,
    replaced: Mapping[CellPosition, object] = _NOTHING,
) -> Iterator[ParserMessage]:
    """Yield a sheet and its rows; ``scanned`` waits for the facts that its values do not show.

    ``replaced`` gives the values of cells that the parser takes for something else.
    """
    _top, left = content.start or (0, 0)
    bottom, right = content.end or (-1, -1)
    budget.take_cells((bottom + 1) * (right - left + 1))
    width = right - left + 1
    yield SheetStarted(content.name, left, width, scanned())
    rows = content.iter_rows() if width else iter(())
    encoders = [CellEncoder() for _ in range(width)]
    if replaced:
        rows = _with_values(rows, left, replaced)
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        columns = [
            encoder.encode(values)
            for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
        ]
        budget.check_texts(content.name, encoders)
        yield RowsRead(columns)
    budget.end_sheet(encoders)


def _with_values(
    rows: Iterator[list[Any]], left: int, replaced: Mapping[CellPosition, object]
) -> Iterator[list[Any]]:
    by_row: defaultdict[int, list[tuple[int, object]]] = defaultdict(list)
    for (row, column), value in replaced.items():
        by_row[row].append((column - left, value))
    for number, values in enumerate(rows, start=1):
        for place, value in by_row.get(number, ()):
            values[place] = value
        yield values


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
