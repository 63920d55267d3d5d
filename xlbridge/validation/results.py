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
from xlbridge.resources.findings import CorrectedValue, Finding, Severity
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.cells.column_cells import BoolArray, Positions
from xlbridge.validation.cells.text import display
from xlbridge.validation.finding_columns import by_column_and_kind, count_errors, row_numbers
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import CellColumn


@dataclass(frozen=True, slots=True)
class FixedCell:
    """One fixed cell: the finding that it had, and what it holds now."""

    finding: Finding
    new: CorrectedValue


@dataclass(frozen=True, slots=True)
class UnfixedCell:
    """One cell whose value was understood and that stays as it is all the same, and why."""

    finding: Finding
    reason: Text


@dataclass(frozen=True, slots=True)
class FixedCopy:
    """A fixed copy, every change that was made in it, and what was left."""

    file: Path
    changes: list[FixedCell]
    left: list[UnfixedCell] = field(default_factory=list)


@dataclass(slots=True)
class ValidatedSheet:
    """A validated sheet.

    ``frame`` has one typed column for each of the resource's, missing where a cell is empty or
    unusable; ``rows`` gives Excel's row number of each of its rows, ``columns`` the zero-based
    position in the sheet of each column that is there; ``numbers`` has the columns of the system's
    own number of each row, where the sheet carries it; ``own`` the cells as they are of those that
    hold codes, or whose values a mapping converts. ``findings`` are those of the layout, then
    those of the cells ordered by row and column. ``resource`` is None only where the workbook is
    empty and nothing tells what it is for. ``not_records`` are Excel's numbers of the rows that are
    no records (totals, notes, struck-through rows, repeated headers), each with the code of its one
    finding, an error; no cell of such a row is judged, and it is not sent. ``fixes`` tells of the
    copy in which what is certain was fixed: then the findings are those that are left. ``read_as``
    says how a .csv file was read, which no other file needs; ``limits`` are those of the reading.

    Of a mapped sheet ``headers`` are its own headers by the names of columns, ``constants`` the
    columns whose values the mapping gives, which are not in ``columns``.

    ``children`` are the validated sheets of a record's lists, by the names of the lists; a main
    sheet is right only where they are.
    """

    file: Path
    resource: Resource | None
    sheet: str
    header_row: int | None = None
    frame: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    rows: Sequence[int] = field(default_factory=list, repr=False)
    columns: dict[str, int] = field(default_factory=dict)
    own: Mapping[str, CellColumn] = field(default_factory=dict, repr=False)
    findings: Sequence[Finding] = field(default_factory=list, repr=False)
    not_records: Mapping[int, str] = field(default_factory=dict)
    numbers: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    fixes: FixedCopy | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    constants: Collection[str] = ()
    read_as: Text | None = None
    limits: WorkbookLimits = field(default_factory=WorkbookLimits, repr=False)
    children: Mapping[str, "ValidatedSheet"] = field(default_factory=dict, repr=False)

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return count_errors(self.findings)

    def error_findings(self) -> Iterator[Finding]:
        """Yield the findings that stop an upload, in their order."""
        if self.errors == 0:
            return iter(())  # Of warnings there may be one for each cell.
        return (finding for finding in self.findings if finding.kind.severity is Severity.ERROR)

    @property
    def warnings(self) -> int:
        """Number of findings that are only worth a look."""
        return len(self.findings) - self.errors

    @property
    def ok(self) -> bool:
        """Return whether the sheet may be uploaded, with its child sheets."""
        return self.errors == 0 and all(child.ok for child in self.children.values())

    @property
    def with_children(self) -> "tuple[ValidatedSheet, ...]":
        """The sheet, and its child sheets after it."""
        return (self, *self.children.values())

    @property
    def readable(self) -> bool:
        """Return whether the layout has no error, so that all cells could be read."""
        header = self.header_row
        if header is None:
            return False
        # Those of the layout come first: the others need not be looked at.
        layout = takewhile(lambda finding: (finding.row or 0) <= header, self.findings)
        return all(finding.kind.severity is not Severity.ERROR for finding in layout)

    def finding(
        self, code: str, column: str, position: int, details: Mapping[str, object]
    ) -> Finding:
        """Return a finding of the cell of a column in the row at ``position`` of ``frame``."""
        row, place = self.rows[position], self.columns.get(column)
        own = self.own.get(column)
        value: Any = self.frame[column].iat[position] if own is None else own.value(row - 1)
        return Finding(
            CATALOGUE[code],
            row=row,
            column=column,
            cell=None if place is None else cell_address(row, place),
            value=None if pd.isna(value) else display(value),
            details=details,
            numeric=isinstance(value, float),
            header=self.headers.get(column),
        )

    def rows_in_error(self, columns: Collection[str] | None = None) -> BoolArray:
        """Mark the rows that have an error, in one of the ``columns`` or in any."""
        return self._marked(
            row
            for group in by_column_and_kind(self.findings)
            if group[0].kind.severity is Severity.ERROR
            and (columns is None or group[0].column in columns)
            for row in row_numbers(group)
        )

    @property
    def no_records(self) -> BoolArray:
        """Marks of the rows that are no records."""
        return self._marked(self.not_records)

    def _marked(self, rows: Iterable[int]) -> BoolArray:
        """Mark the rows that have one of Excel's numbers."""
        wanted = set(rows)
        if not wanted:
            return np.zeros(len(self.rows), dtype=bool)
        return np.isin(self.rows, list(wanted))

    def parents_of(self, child: "ValidatedSheet") -> Positions:
        """Return the position of the record of each row of a child sheet, -1 where it has none."""
        if KEY not in self.frame or KEY not in child.frame:
            return np.full(len(child.rows), -1, dtype=np.intp)
        keys = self.frame[KEY]
        keys = keys.mask(self.no_records) if self.not_records else keys
        return positions_of_keys(keys, child.frame[KEY])

    @property
    def has_stray_rows(self) -> bool:
        """True where a child sheet has rows with errors that belong to no record: without them some
        record would not be whole."""
        for child in self.children.values():
            wrong = child.rows_in_error() & ~child.no_records
            if wrong.any() and (self.parents_of(child)[wrong] < 0).any():
                return True
        return False

    def list_hashes(self, key: str) -> pd.Series:
        """Return a number for each record that stands for its lists' rows; ``key`` salts it."""
        hashes = np.zeros(len(self.rows), dtype=np.uint64)
        for child in self.children.values():
            parents = self.parents_of(child)
            rows = child.frame.drop(columns=KEY, errors="ignore")
            own = pd.util.hash_pandas_object(rows, index=False, hash_key=key).to_numpy()
            np.add.at(hashes, parents[parents >= 0], own[parents >= 0])
        return pd.Series(hashes)

    def add(self, found: Iterable[Finding]) -> None:
        """Add findings of cells, each at its place: by row, then by column."""
        found = list(found)
        if not found:
            return
        header = self.header_row or 0
        layout = [f for f in self.findings if (f.row or 0) <= header]
        cells = [f for f in self.findings if (f.row or 0) > header]
        cells = sorted(
            [*cells, *found], key=lambda f: (f.row, self.columns.get(f.column or "", -1))
        )
        self.findings = [*layout, *cells]


def positions_of_keys(keys: pd.Series, wanted: pd.Series) -> Positions:
    """Return the position of the first of ``keys`` that equals each of those that are wanted, -1
    where none does or the wanted one is missing."""
    numbers, distinct = pd.factorize(pd.concat([keys, wanted], ignore_index=True))
    own = numbers[: len(keys)]
    # What is missing has the number -1, and so the last place. Of equal keys the first is kept,
    # which is written last.
    firsts = np.full(len(distinct) + 1, -1, dtype=np.intp)
    there = np.flatnonzero(own >= 0)[::-1]
    firsts[own[there]] = keys.index.to_numpy()[there]
    positions: Positions = firsts[numbers[len(keys) :]]
    return positions


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that could not be validated at all, and why."""

    file: Path
    refusal: XlbridgeError

    @property
    def code(self) -> str:
        """The stable code of why: the refused workbook's own, else ``unusable``."""
        return self.refusal.code if isinstance(self.refusal, WorkbookRefused) else "unusable"


@dataclass(frozen=True, slots=True)
class SkippedSheet:
    """A sheet that was looked at and is for no resource."""

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
    """Return whether nothing stands against a result."""
    return isinstance(item, SkippedSheet) or (isinstance(item, ValidatedSheet) and item.ok)
