"""Parser of a file of any kind that is read, and which small files are safe to parse.

Runs only where memory and time are limited, or on files that are known to be safe.
"""

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

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
from xlbridge.workbook.formats.number_formats import scaling_styles
from xlbridge.workbook.read.archive import FileKind, WorkbookArchive, kind_of_archive
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.chunked_parsing import (
    QuickScan,
    UnusualSheet,
    parse_in_chunks,
    with_known_errors,
)
from xlbridge.workbook.read.exact_scan import scan_exactly
from xlbridge.workbook.read.messages import (
    ParserMessage,
    SheetEnded,
    SheetStarted,
    WorkbookStarted,
)
from xlbridge.workbook.read.package import Package, packed
from xlbridge.workbook.read.refusals import (
    damaged,
    duration_too_long,
    too_many_sheets,
    unreadable,
)
from xlbridge.workbook.read.sheet_encoder import Budget, SharedTexts, SheetEncoder
from xlbridge.workbook.signature import (
    INSTRUCTIONS_SHEET,
    LISTS_SHEET,
    is_name_of_ours,
    starts_like_ours,
)

if TYPE_CHECKING:
    from xlbridge.workbook.read.ods_scan import OdsScan
    from xlbridge.workbook.read.xls_scan import XlsScan
    from xlbridge.workbook.read.xlsb_scan import XlsbScan

_MAX_EXACT_SIZE = 1 << 16
"""Size in bytes up to which the exact scan takes less time than to set up the quick one."""

_PANIC_MODULE = "pyo3_runtime"


def parse_workbook(
    archive: WorkbookArchive, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield what the workbook holds: one sheet, or all visible ones that may hold data.

    Raises ``UsageError`` when there is no such sheet, ``WorkbookRefused`` when the content cannot
    be read or exceeds the limits.
    """
    package = Package(archive)
    yield WorkbookStarted(package.fingerprint(), package.hidden_sheets())
    with refuse_on_failure():
        outline = CalamineWorkbook.from_filelike(packed(package.parser_parts()))
        if len(outline.sheets_metadata) > limits.entries:
            raise too_many_sheets()
        parser = _WorkbookParser(archive, package, Budget(limits))
        for name in _chosen_sheets(outline, package, sheet):
            yield from parser.parse(name, may_be_ours=sheet is None)
    archive.unpack()


class _WorkbookParser:
    """Parser of the sheets of one workbook, each in chunks or else as a whole."""

    def __init__(self, archive: WorkbookArchive, package: Package, budget: Budget) -> None:
        self._archive = archive
        self._package = package
        self._budget = budget
        self._shared_texts: list[str] = []
        self._formats = package.number_formats()
        self._scaling = scaling_styles(self._formats)

    def parse(self, sheet: str, *, may_be_ours: bool) -> Iterator[ParserMessage]:
        """Yield a sheet; nothing where it may be one that xlbridge adds, and begins like it."""
        is_large = self._package.size(self._package.sheet_part(sheet)) > _MAX_EXACT_SIZE
        if is_large and not (may_be_ours and is_name_of_ours(sheet)):
            with suppress(UnusualSheet):
                scan = QuickScan(self._scaling)
                yield SheetStarted(sheet)
                texts = self._shared_texts
                yield from parse_in_chunks(self._package, sheet, scan, self._budget, texts)
                yield SheetEnded(self._with_facts(scan.raw, sheet))
                return
        letters, rows = self._shared.letters_in(self._package.sheet_pieces(sheet))
        if letters:
            self._budget.check_letters(letters, rows)
        content = self._open_whole(sheet)
        if not may_be_ours or not starts_like_ours_at(content):
            yield from parse_sheet(content, partial(self._scanned, sheet), self._budget)

    def _scanned(self, sheet: str) -> RawSheet:
        pieces = self._package.sheet_pieces(sheet)
        scan = scan_exactly(pieces, self._scaling, sheet, self._shared.struck)
        return self._with_facts(scan.raw, sheet)

    def _with_facts(self, raw: RawSheet, sheet: str) -> RawSheet:
        """Return the facts of a sheet with those that other parts tell."""
        package = self._package
        raw.counts_from_1904 = package.counts_from_1904()
        raw.part, raw.formats = package.sheet_part(sheet) or "", dict(self._formats)
        raw.struck = package.struck_styles()
        raw.layout.totals_rows = package.totals_rows(sheet)
        return raw

    def _open_whole(self, sheet: str) -> CalamineSheet:
        """Open a sheet; where the parser does not know an error in it, as ``#N/A``."""
        try:
            return self._book.get_sheet_by_name(sheet)
        except CalamineError:
            package = self._package
            content = b"".join(package.sheet_pieces(sheet))
            readable = with_known_errors(content)
            if readable == content:
                raise
        parts = {**package.parser_parts(), package.sheet_part(sheet) or "": readable}
        if package.shared_part is not None:
            parts[package.shared_part] = b"".join(package.shared_pieces())
        return CalamineWorkbook.from_filelike(packed(parts)).get_sheet_by_name(sheet)

    @cached_property
    def _shared(self) -> SharedTexts:
        return SharedTexts.of(b"".join(self._package.shared_pieces()))

    @cached_property
    def _book(self) -> CalamineWorkbook:
        # The parser unpacks what it likes by itself.
        self._archive.unpack()
        return CalamineWorkbook.from_filelike(BytesIO(self._archive.content))


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
    content: CalamineSheet, scanned: Callable[[], RawSheet], budget: Budget
) -> Iterator[ParserMessage]:
    """Yield a sheet and its rows; ``scanned`` returns the facts that its values do not show."""
    encoder = SheetEncoder(content.name, budget)
    yield SheetStarted(content.name)
    left = 0
    rows: Iterator[list[Any]] = iter(())
    if content.start is not None and content.end is not None:
        left = content.start[1]
        encoder.reserve(content.end[0], left, content.end[1])
        rows = content.iter_rows()
    raw = scanned()
    if raw.booleans:
        rows = _with_values(rows, left, raw.booleans)
    yield from encoder.encode(0, left, rows)
    encoder.end()
    yield SheetEnded(raw)


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


def is_safe_to_parse(archive: WorkbookArchive) -> bool:
    """Tell whether every sheet's cells are in order and near one another, and all in them bounded.

    ``archive`` is that of an .xlsx workbook, was unpacked, and is small. Raises ``WorkbookRefused``
    when it is no workbook at all.
    """
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
        and scan.cells * package.size(package.shared_part) <= _MAX_SAFE_TEXT
    )


def open_scan(
    kind: FileKind, content: bytes, limits: WorkbookLimits
) -> "XlsScan | XlsbScan | OdsScan":
    """Return the facts of a file that is no .xlsx, which its parser does not tell."""
    # Each is imported late: most files are of none of these kinds.
    if kind is FileKind.XLS:
        from xlbridge.workbook.read.xls_scan import XlsScan

        return XlsScan(content)
    if kind is FileKind.XLSB:
        from xlbridge.workbook.read.xlsb_scan import XlsbScan

        return XlsbScan(content)
    from xlbridge.workbook.read.ods_scan import OdsScan

    return OdsScan(content, limits.cells)


def parse_file(
    content: bytes, kind: FileKind | None, name: str, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield what a file holds: one sheet, or all visible ones that may hold data.

    ``kind`` is None for a zip archive, which tells its own; ``name`` is that of the file without
    its extension. Raises as ``parse_workbook`` does.
    """
    if kind is FileKind.CSV:
        from xlbridge.workbook.read.csv_file import parse_csv

        return parse_csv(content, name, sheet, limits)
    if kind is FileKind.XLS:
        return _parse_other(content, kind, sheet, limits)
    archive = WorkbookArchive(content, limits)
    kind = kind_of_archive(archive)
    if kind in {FileKind.XLSB, FileKind.ODS}:
        archive.unpack()
        return _parse_other(content, kind, sheet, limits)
    return parse_workbook(archive, sheet, limits)


_DAMAGE = (OSError, ValueError, LookupError, EOFError, zlib.error, BadZipFile)
"""Exceptions that reading a damaged file fails with."""


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Let what reading a damaged file fails with become a ``WorkbookRefused``."""
    try:
        yield
    except struct.error as error:
        raise damaged() from error
    except _DAMAGE as error:
        raise unreadable() from error


def _parse_other(
    content: bytes, kind: FileKind, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    with refuse_on_failure(), refuse_damage():
        scan = open_scan(kind, content, limits)
        book = CalamineWorkbook.from_filelike(BytesIO(content))
        if len(book.sheets_metadata) > limits.entries:
            raise too_many_sheets()
        names = [s.name for s in book.sheets_metadata if s.typ == SheetTypeEnum.WorkSheet]
        if len(set(names)) != len(names):
            # Which of the two a name stands for differs from reader to reader.
            raise unreadable()
        hidden = [s.name for s in book.sheets_metadata if s.visible != SheetVisibleEnum.Visible]
        own = {LISTS_SHEET} if INSTRUCTIONS_SHEET in names else set[str]()
        yield WorkbookStarted(scan.fingerprint, [name for name in hidden if name not in own])
        if sheet is not None:
            require_sheet(sheet, names)
        budget = Budget(limits)
        for one in [name for name in names if name not in hidden] if sheet is None else [sheet]:
            rows = book.get_sheet_by_name(one)
            if sheet is not None or not starts_like_ours_at(rows):
                yield from parse_sheet(rows, partial(scan.sheet, one), budget)
