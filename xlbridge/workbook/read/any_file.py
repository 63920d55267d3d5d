"""Parser of a file of any kind that is read: .xlsx and .xlsm, .xls, .xlsb, .ods and .csv.

Runs only where memory and time are limited, or on files that are known to be safe.
"""

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import BinaryIO, Protocol
from zipfile import BadZipFile

from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import CellPosition
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.file_kind import FileKind, kind_of_archive
from xlbridge.workbook.read.messages import ParserMessage, WorkbookStarted
from xlbridge.workbook.read.parsing import (
    parse_sheet,
    parse_workbook,
    refuse_on_failure,
    require_sheet,
    starts_like_ours_at,
)
from xlbridge.workbook.read.refusals import too_many_sheets, unreadable
from xlbridge.workbook.read.sheet_encoder import Budget
from xlbridge.workbook.signature import INSTRUCTIONS_SHEET, LISTS_SHEET


class _Scan(Protocol):
    """Facts of a workbook that its parser does not tell."""

    fingerprint: str | None

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""

    def booleans(self, name: str) -> Mapping[CellPosition, bool]:
        """Return the cells of a sheet that show a boolean and store a number."""


# Each is imported late: most files are of none of these kinds.


def _scan_xls(stream: BinaryIO, _: WorkbookLimits) -> _Scan:
    from xlbridge.workbook.read.xls_scan import XlsScan

    return XlsScan(stream.read())


def _scan_xlsb(stream: BinaryIO, _: WorkbookLimits) -> _Scan:
    from xlbridge.workbook.read.xlsb_scan import XlsbScan

    return XlsbScan(stream)


def _scan_ods(stream: BinaryIO, limits: WorkbookLimits) -> _Scan:
    from xlbridge.workbook.read.ods_scan import OdsScan

    return OdsScan(stream, limits.cells)


SCANS: Mapping[FileKind, Callable[[BinaryIO, WorkbookLimits], _Scan]] = {
    FileKind.XLS: _scan_xls,
    FileKind.XLSB: _scan_xlsb,
    FileKind.ODS: _scan_ods,
}
"""Scans of the kinds whose facts are read beside their parser."""


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
    if kind in SCANS:
        archive.unpack()
        return _parse_other(content, kind, sheet, limits)
    return parse_workbook(archive, sheet, limits)


_DAMAGE = (OSError, ValueError, LookupError, EOFError, struct.error, zlib.error, BadZipFile)
"""Exceptions that reading a damaged file fails with."""


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Let what reading a damaged file fails with become a ``WorkbookRefused``."""
    try:
        yield
    except _DAMAGE as error:
        raise unreadable() from error


def _parse_other(
    content: bytes, kind: FileKind, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    with refuse_on_failure(), refuse_damage():
        scan = SCANS[kind](BytesIO(content), limits)
        book = CalamineWorkbook.from_filelike(BytesIO(content))
        if len(book.sheets_metadata) > limits.entries:
            raise too_many_sheets()
        names = [s.name for s in book.sheets_metadata if s.typ == SheetTypeEnum.WorkSheet]
        if len(set(names)) != len(names):
            # Which of the two a name stands for differs from reader to reader.
            raise unreadable()
        hidden = [s.name for s in book.sheets_metadata if s.visible != SheetVisibleEnum.Visible]
        yield WorkbookStarted(scan.fingerprint, _hidden_data(names, hidden))
        if sheet is not None:
            require_sheet(sheet, names)
        budget = Budget(limits)
        for one in [name for name in names if name not in hidden] if sheet is None else [sheet]:
            rows = book.get_sheet_by_name(one)
            if sheet is not None or not starts_like_ours_at(rows):
                yield from parse_sheet(rows, partial(scan.sheet, one), budget, scan.booleans(one))


def _hidden_data(names: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Return the hidden sheets without the lists of a template."""
    own = {LISTS_SHEET} if INSTRUCTIONS_SHEET in names else set[str]()
    return [name for name in hidden if name not in own]
