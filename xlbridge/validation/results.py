"""Results of validating files: validated sheets, refused files, skipped sheets."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.errors import WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.cells.column_cells import BoolArray, Positions
from xlbridge.validation.cells.text import display
from xlbridge.validation.finding_columns import by_column_and_kind, count_errors, row_numbers
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import CellColumn


@dataclass(frozen=True, slots=True)
class UnfixedCell:
    """A cell that was not fixed although its value was understood, and the reason."""

    finding: Finding
    reason: Text


@dataclass(frozen=True, slots=True)
class FixedCopy:
    """A fixed copy: the former findings of the fixed cells, which have the new values as their
    ``corrected`` ones, and the cells that were left."""

    file: Path
    fixed: list[Finding]
    left: list[UnfixedCell] = field(default_factory=list)


@dataclass(slots=True)
class ValidatedSheet:
    """A validated sheet.

    ``resource``: None only if the workbook is empty and nothing identifies the resource;
    ``frame``: typed columns of the resource, with missing values for empty and unusable cells;
    ``rows``: Excel's row numbers of the frame's rows; ``columns``: zero-based positions in the
    sheet of the columns that are present; ``numbers``: columns of the system's own number of each
    row, if the sheet has them; ``source_cells``: original cells of columns that hold codes or that
    a mapping converts; ``findings``: first those of the layout, then those of cells by row and
    column; ``non_records``: Excel's numbers of the rows that are not records (totals, notes,
    struck-through rows, repeated headers), with the code of the error that each has; their cells
    are not validated, and they are not sent; ``fixes``: the fixed copy, whose remaining findings
    these are; ``read_as``: how a .csv file was read; ``limits``: limits of reading.

    For a mapped sheet, ``headers`` are its own headers by column name, ``constants`` the columns
    that the mapping fills, which are not in ``columns``.

    ``children`` are the validated sheets of the records' lists, by the lists' names;
    ``emptied_lists`` names those whose sheets are blank, if records have the system's own number:
    such a sheet was exported, and its rows were deleted.
    """

    file: Path
    resource: Resource | None
    sheet: str
    header_row: int | None = None
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    rows: Sequence[int] = field(default_factory=list, repr=False)
    columns: dict[str, int] = field(default_factory=dict)
    source_cells: Mapping[str, CellColumn] = field(default_factory=dict, repr=False)
    findings: Sequence[Finding] = field(default_factory=list, repr=False)
    non_records: Mapping[int, str] = field(default_factory=dict)
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    fixes: FixedCopy | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    constants: Collection[str] = ()
    read_as: Text | None = None
    limits: WorkbookLimits = field(default_factory=WorkbookLimits, repr=False)
    children: Mapping[str, "ValidatedSheet"] = field(default_factory=dict, repr=False)
    emptied_lists: Sequence[str] = ()

    @property
    def resource_name(self) -> str | None:
        """Name of the resource, None if the workbook is empty and nothing identifies it."""
        return self.resource.name if self.resource else None

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return count_errors(self.findings)

    def error_findings(self) -> Iterator[Finding]:
        """Yield the findings that stop an upload, in their order."""
        if self.errors == 0:
            return iter(())  # There may be a warning for each cell.
        return (finding for finding in self.findings if finding.kind.severity is Severity.ERROR)

    @property
    def warnings(self) -> int:
        """Number of findings that do not stop an upload."""
        return len(self.findings) - self.errors

    @property
    def ok(self) -> bool:
        """True if the sheet and its child sheets may be uploaded."""
        return self.errors == 0 and all(child.ok for child in self.children.values())

    @property
    def with_children(self) -> "tuple[ValidatedSheet, ...]":
        """The sheet, and its child sheets after it."""
        return (self, *self.children.values())

    @property
    def readable(self) -> bool:
        """True if the layout has no error, so that all cells could be read."""
        header = self.header_row
        if header is None:
            return False
        # Findings of the layout come first.
        layout = takewhile(lambda finding: (finding.row or 0) <= header, self.findings)
        return all(finding.kind.severity is not Severity.ERROR for finding in layout)

    def finding(
        self, code: str, column: str, position: int, details: Mapping[str, object]
    ) -> Finding:
        """Return a finding of the cell of a column in the row at ``position`` of ``frame``."""
        row, index = self.rows[position], self.columns.get(column)
        source = self.source_cells.get(column)
        value: Any = self.frame[column].iat[position] if source is None else source.value(row - 1)
        return Finding(
            CATALOGUE[code],
            row=row,
            column=column,
            cell=None if index is None else cell_address(row, index),
            value=None if pd.isna(value) else display(value),
            details=details,
            numeric=isinstance(value, float),
            header=self.headers.get(column),
        )

    def rows_in_error(self, columns: Collection[str] | None = None) -> BoolArray:
        """Return a mask of the rows with an error in one of the ``columns``, or in any."""
        rows = {
            row
            for group in by_column_and_kind(self.findings)
            if group[0].kind.severity is Severity.ERROR
            and (columns is None or group[0].column in columns)
            for row in row_numbers(group)
        }
        return np.isin(self.rows, list(rows))

    @property
    def non_record_mask(self) -> BoolArray:
        """Mask of the rows that are not records."""
        return np.isin(self.rows, list(self.non_records))

    def parent_positions(self, child: "ValidatedSheet") -> Positions:
        """Return the position of the record of each row of a child sheet, -1 if it has none."""
        if KEY not in self.frame or KEY not in child.frame:
            return np.full(len(child.rows), -1, dtype=np.intp)
        keys = self.frame[KEY][~self.non_record_mask].dropna().drop_duplicates()
        indexes = pd.Index(keys).get_indexer(child.frame[KEY])
        # A key that is not found has the index -1, the last element.
        return np.asarray(np.append(keys.index, -1)[indexes], dtype=np.intp)

    @property
    def has_stray_rows(self) -> bool:
        """True if a child sheet has erroneous rows without a record: some record must be
        incomplete without them."""
        for child in self.children.values():
            wrong = child.rows_in_error() & ~child.non_record_mask
            if wrong.any() and (self.parent_positions(child)[wrong] < 0).any():
                return True
        return False

    def add(self, found: Iterable[Finding]) -> None:
        """Add findings of cells in order of row and column."""
        found = list(found)
        if not found:
            return
        header = self.header_row or 0

        def position(finding: Finding) -> tuple[int, int]:
            row = finding.row or 0
            return (row, self.columns.get(finding.column or "", -1)) if row > header else (0, 0)

        self.findings = sorted([*self.findings, *found], key=position)


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that could not be validated at all, and the reason."""

    file: Path
    refusal: XlbridgeError

    @property
    def code(self) -> str:
        """Stable code of the reason: the refused workbook's, else ``unusable``."""
        return self.refusal.code if isinstance(self.refusal, WorkbookRefused) else "unusable"


@dataclass(frozen=True, slots=True)
class SkippedSheet:
    """A sheet that fits no resource."""

    file: Path
    sheet: str

    @property
    def note(self) -> Text:
        """Message that the sheet was skipped."""
        return Text(
            pt="planilha {sheet} não conferida: não serve para nenhum recurso",
            en="sheet {sheet} not checked: it fits no resource",
        ).format(sheet=self.sheet)


ValidationResult = ValidatedSheet | RefusedFile | SkippedSheet


def is_ok(item: ValidationResult) -> bool:
    """Return whether a result has no errors."""
    return isinstance(item, SkippedSheet) or (isinstance(item, ValidatedSheet) and item.ok)
