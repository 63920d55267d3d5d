"""What the parsing of a workbook tells, one thing after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from xlbridge.workbook.reading.cells import CellColumn
from xlbridge.workbook.reading.raw_sheet import RawSheet


@dataclass(frozen=True, slots=True)
class WorkbookBegun:
    """The first that is known of a workbook: its template's fingerprint, its hidden sheets."""

    fingerprint: str | None
    hidden: Sequence[str]


@dataclass(frozen=True, slots=True)
class SheetBegun:
    """A sheet of ``width`` columns; its rows follow."""

    name: str
    first_column: int
    width: int
    raw: RawSheet


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The next rows of the sheet that was begun last, column by column."""

    columns: Sequence[CellColumn]


Parsed = WorkbookBegun | SheetBegun | RowsRead
"""One thing that is told."""
