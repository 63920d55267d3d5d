"""Results of validating files: findings, validated sheets, refused files, skipped sheets.

The findings of a sheet are stored as columns, as a bad sheet has as many as cells: a ``Finding`` is
only created when it is read. Findings of the layout come first."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.errors import WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.record_rows import record_row
from xlbridge.resources import KEY, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import WorkbookLimits
from xlbridge.validation.cells.column_cells import (
    FINDING_KINDS,
    BoolArray,
    CellProblems,
    Positions,
    ProblemDetails,
)
from xlbridge.validation.cells.text import display
from xlbridge.workbook import cell_address, column_letters
from xlbridge.workbook.read import CellColumn, CellKind

if TYPE_CHECKING:
    from xlbridge.validation.cells.typed_rows import TypedRows


Integers = npt.NDArray[np.integer]
_CHUNK = 4096
_IS_ERROR = np.array([kind.severity is Severity.ERROR for kind in FINDING_KINDS])


@dataclass(frozen=True, slots=True)
class FindingColumn:
    """Findings of one column of a sheet: ``rows``, ``kinds`` and ``details`` have one entry each.

    ``letters``: the column's letters, None if the sheet lacks it; ``rows``: Excel's row numbers;
    ``kinds``: indexes into ``FINDING_KINDS``; ``details``: indexes into ``remarks``; ``firsts``:
    row of a repeated value's first occurrence, by the finding's position. ``cells`` has one cell
    for each finding or, if ``has_all_cells``, every cell of the column. ``header`` is the sheet's
    own name of the column, None if it is ``name``.
    """

    name: str
    letters: str | None
    rows: Integers
    kinds: Integers
    details: Integers
    remarks: Sequence[ProblemDetails]
    cells: CellColumn
    firsts: Mapping[int, int]
    has_all_cells: bool
    header: str | None = None

    def findings(self, positions: Integers) -> Iterator[Finding]:
        """Yield the findings at the given positions."""
        rows, letters = self.rows[positions], self.letters
        cells = rows - 1 if self.has_all_cells else positions
        columns = positions, rows, self.kinds[positions], self.details[positions], cells
        lists = [column.tolist() for column in columns]
        values = self.cells.values(lists[-1])
        for position, row, kind, detail, index, value in zip(*lists, values, strict=True):
            remark = self.remarks[detail]
            details = remark.details
            if position in self.firsts:
                details = {"first": f"{letters}{self.firsts[position]}"}
            shown = None if value == "" else display(value)
            if "error" in details:
                shown = str(details["error"])
            yield Finding(
                FINDING_KINDS[kind],
                row,
                self.name,
                cell=None if letters is None else f"{letters}{row}",
                value=None if letters is None else shown,
                details=details,
                corrected=remark.corrected,
                numeric=self.cells.kind(index) is CellKind.NUMBER,
                header=self.header,
            )


class SheetFindings(Sequence[Finding]):
    """Findings of a sheet, or a part of them: those of the layout, then those of cells by row, then
    by column. Compares equal to a list of the same findings.

    ``owners`` has the index in ``columns`` of each cell finding's column, ``positions`` its
    position in that column.
    """

    def __init__(
        self,
        layout: Sequence[Finding],
        columns: Sequence[FindingColumn],
        owners: Integers,
        positions: Integers,
    ) -> None:
        self.layout, self.columns = layout, columns
        self._owners, self._positions = owners, positions

    @classmethod
    def of(cls, layout: Sequence[Finding], columns: Sequence[FindingColumn]) -> "SheetFindings":
        """Sort the findings of columns, which are in the order of the sheet."""
        sizes = [len(column.rows) for column in columns]
        owners = np.repeat(np.arange(len(columns), dtype=np.uint16), sizes)
        rows = np.concatenate([np.empty(0, dtype=np.intc), *(column.rows for column in columns)])
        # A stable sort keeps the order of columns within a row, of detection within a cell.
        order = np.argsort(rows, kind="stable")
        owners = owners[order]
        order -= np.cumsum([0, *sizes], dtype=np.intc)[owners]
        return cls(layout, columns, owners, order.astype(np.uint32))

    @classmethod
    def joined(cls, layout: Sequence[Finding], parts: "Sequence[SheetFindings]") -> "SheetFindings":
        """Return the findings of cells of several parts, by row, after ``layout``."""
        offsets = np.cumsum([0, *(len(part.columns) for part in parts)])
        owners = [part._owners + offset for part, offset in zip(parts, offsets, strict=False)]
        rows = np.concatenate([row_numbers(part)[len(part.layout) :] for part in parts])
        order = np.argsort(rows, kind="stable")
        return cls(
            layout,
            [column for part in parts for column in part.columns],
            np.concatenate(owners)[order],
            np.concatenate([part._positions for part in parts])[order],
        )

    def __len__(self) -> int:
        return len(self.layout) + len(self._owners)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(len(self)))]
        index = range(len(self))[key] - len(self.layout)
        if index < 0:
            return self.layout[index]
        column = self.columns[int(self._owners[index])]
        return next(column.findings(self._positions[index : index + 1]))

    def __iter__(self) -> Iterator[Finding]:
        yield from self.layout
        for begin in range(0, len(self._owners), _CHUNK):
            yield from self._of_cells(slice(begin, begin + _CHUNK))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | SheetFindings):
            return NotImplemented
        return len(self) == len(other) and all(map(Finding.__eq__, self, other))

    @cached_property
    def cell_errors(self) -> int:
        """Number of findings of cells that stop an upload."""
        return sum(int(_IS_ERROR[column.kinds[at]].sum()) for column, at, _ in self.by_column())

    def by_column(self) -> Iterator[tuple[FindingColumn, Integers, Integers]]:
        """Yield each column with findings, their positions there, and their indexes among the
        findings of cells here."""
        for owner in np.flatnonzero(np.bincount(self._owners)).tolist():
            indexes = np.flatnonzero(self._owners == owner)
            yield self.columns[owner], self._positions[indexes], indexes

    def cells_at(self, indexes: Integers, layout: Sequence[Finding] = ()) -> "SheetFindings":
        """Return the findings of cells at the given indexes among them, after ``layout``."""
        owners, positions = self._owners[indexes], self._positions[indexes]
        return SheetFindings(layout, self.columns, owners, positions)

    def _of_cells(self, indexes: slice) -> Iterator[Finding]:
        owners, positions = self._owners[indexes], self._positions[indexes]
        by_owner = {
            owner: self.columns[owner].findings(positions[owners == owner])
            for owner in np.unique(owners).tolist()
        }
        for owner in owners.tolist():
            yield next(by_owner[owner])


def sheet_findings(
    layout: Sequence[Finding],
    typed: "TypedRows",
    problems: Mapping[str, CellProblems],
    columns: Mapping[str, int],
) -> SheetFindings:
    """Return the findings of the layout and of all cells.

    ``problems`` has one entry for each column of the resource, and for those of the system's own
    numbers. ``columns`` has the zero-based position in the sheet of each column that is present;
    findings of the others have a row and no cell.
    """
    absent = {name: len(columns) + index for index, name in enumerate(problems)}
    names = [name for name in problems if len(problems[name])]
    names.sort(key=lambda name: columns.get(name, absent[name]))
    rows = np.array(typed.rows, dtype=np.intc)
    return SheetFindings.of(
        layout,
        [_finding_column(name, typed, rows, problems[name], columns.get(name)) for name in names],
    )


def _finding_column(
    name: str, typed: "TypedRows", rows: Integers, problems: CellProblems, index: int | None
) -> FindingColumn:
    found_rows = rows[np.frombuffer(problems.positions, dtype=np.intc)]
    cells = typed.cells
    column = CellColumn() if index is None else cells.columns[index - cells.first_column]
    # Rows below the column's last cell, which have formulas without a result, cannot be copied.
    has_all_cells = max(2 * len(found_rows), int(found_rows.max())) > len(column.kinds)
    return FindingColumn(
        name,
        letters=None if index is None else column_letters(index),
        rows=found_rows,
        kinds=np.frombuffer(problems.kinds, dtype=np.ushort),
        details=np.frombuffer(problems.details, dtype=np.uintc),
        remarks=problems.remarks,
        # A copy, so that the whole column can be freed.
        cells=column if has_all_cells else column.select((found_rows - 1).tolist()),
        firsts={number: int(rows[first]) for number, first in problems.firsts.items()},
        has_all_cells=has_all_cells,
        header=typed.header.names.get(name),
    )


def count_errors(findings: Sequence[Finding]) -> int:
    """Count the findings that stop an upload."""
    listed, cells = _parts(findings)
    return sum(finding.kind.severity is Severity.ERROR for finding in listed) + cells.cell_errors


def count_corrected(findings: Sequence[Finding]) -> int:
    """Count the findings with a certain correction."""
    listed, cells = _parts(findings)
    count = sum(finding.corrected is not None for finding in listed)
    for column, positions, _ in cells.by_column():
        certain = np.array([remark.corrected is not None for remark in column.remarks])
        count += int(certain[column.details[positions]].sum())
    return count


def row_numbers(findings: Sequence[Finding]) -> Sequence[int]:
    """Return Excel's row number of each finding, zero for a finding of the whole sheet."""
    listed, cells = _parts(findings)
    rows = np.array([finding.row or 0 for finding in listed], dtype=np.intc)
    of_cells = np.empty(len(findings) - len(listed), dtype=np.intc)
    for column, positions, indexes in cells.by_column():
        of_cells[indexes] = column.rows[positions]
    numbers: list[int] = np.concatenate([rows, of_cells]).tolist()
    return numbers


def details_of(findings: Sequence[Finding]) -> Iterator[Mapping[str, object]]:
    """Yield the details of findings, distinct ones for the cells of a column; a repeated value has
    none."""
    listed, cells = _parts(findings)
    yield from (finding.details for finding in listed)
    for column, positions, _ in cells.by_column():
        for detail in np.unique(column.details[positions]).tolist():
            yield column.remarks[detail].details


def by_column_and_kind(findings: Sequence[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield the findings of one kind in one column, group by group."""
    listed, cells = _parts(findings)
    groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for finding in listed:
        groups[finding.column, finding.kind.code].append(finding)
    yield from groups.values()
    for column, positions, indexes in cells.by_column():
        kinds = column.kinds[positions]
        for kind in np.unique(kinds):
            yield cells.cells_at(indexes[kinds == kind])


_NO_CELLS = SheetFindings.of((), ())


def _parts(findings: Sequence[Finding]) -> tuple[Sequence[Finding], SheetFindings]:
    """Return the findings that are stored one by one, and the object with those of cells."""
    if isinstance(findings, SheetFindings):
        return findings.layout, findings
    return findings, _NO_CELLS


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


@dataclass(frozen=True, slots=True)
class ItemBlock:
    """Columns and headers of one of the items that are side by side in the rows of a list."""

    columns: Mapping[str, int]
    headers: Mapping[str, str]


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

    ``accepted`` has the number of cells, by code and column, whose finding a person accepted by one
    of ``accepted_texts``; these are remembered under ``acceptance_key``.

    ``children`` are the validated sheets of the records' lists, by the lists' names;
    ``emptied_lists`` names those whose sheets are blank, if records have the system's own number:
    such a sheet was exported, and its rows were deleted. In a mapped sheet, lists may be in the
    rows of their main sheet; ``blocks`` are the items side by side in a row of such a list, and
    ``block_numbers`` tells which of them each row of the frame is. The records of a main sheet may
    be side by side, too.
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
    accepted: Mapping[tuple[str, str | None], int] = field(default_factory=dict)
    accepted_texts: Sequence[str] = ()
    acceptance_key: str = ""
    children: Mapping[str, "ValidatedSheet"] = field(default_factory=dict, repr=False)
    emptied_lists: Sequence[str] = ()
    blocks: Sequence[ItemBlock] = ()
    block_numbers: Sequence[int] = ()

    @property
    def resource_name(self) -> str | None:
        """Name of the resource, None if the workbook is empty and nothing identifies it."""
        return self.resource.name if self.resource else None

    @property
    def record_rows(self) -> Sequence[int]:
        """Numbers of the records: their rows, unless several of them share one."""
        if not self.blocks:
            return self.rows
        return list(map(record_row, self.rows, self.block_numbers))

    @property
    def record_columns(self) -> Mapping[str, int]:
        """Positions of the columns; those of the second and later records of a row, where they
        differ, are called ``number.column``."""
        own = {
            f"{number + 1}.{name}": at
            for number, block in enumerate(self.blocks)
            for name, at in block.columns.items()
            if self.columns.get(name) != at
        }
        return {**self.columns, **own}

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return count_errors(self.findings)

    def without_rows(self, rows: Collection[int]) -> "ValidatedSheet":
        """Return the sheet without the findings of some rows, by Excel's numbers."""
        if not rows:
            return self
        listed, cells = _parts(self.findings)
        numbers = row_numbers(self.findings)[len(listed) :]
        kept = np.flatnonzero(~np.isin(numbers, list(rows)))
        layout = [finding for finding in listed if finding.row not in rows]
        return replace(self, findings=cells.cells_at(kept, layout))

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
    def with_lists(self) -> "ValidatedSheet":
        """The sheet with the rows, columns and findings of the lists that are in its own rows;
        these columns are called ``list.number.column``, by the number of the items side by side."""
        lists = {name: part for name, part in self.children.items() if part.sheet == self.sheet}
        if not lists and not self.blocks:
            return self
        columns, headers = dict(self.columns), dict(self.headers)
        findings, paths = list[Finding](), dict[tuple[str, str | None, str], str]()
        main = self.resource_name or ""
        own = {name.partition(".")[2] for name in self.record_columns.keys() - self.columns.keys()}
        for name in own:
            del columns[name]
        for name, part in {**lists, **({main: self} if self.blocks else {})}.items():
            for number, block in enumerate(part.blocks or [ItemBlock(part.columns, part.headers)]):
                for column, index in block.columns.items():
                    if column in own if part is self else column != KEY:
                        path = f"{name}.{number + 1}.{column}"
                        columns[path], headers[path] = index, block.headers.get(column, column)
                        paths[name, column_letters(index), column] = path
        for name, part in {main: self, **lists}.items():
            for finding in part.findings:
                letters, column = (finding.cell or "").rstrip("0123456789"), finding.column or ""
                found = paths.get((name, letters, column), finding.column)
                findings.append(replace(finding, column=found))
        non_records = {
            row: code for part in lists.values() for row, code in part.non_records.items()
        }
        whole = replace(
            self,
            findings=[],
            columns=columns,
            headers=headers,
            rows=sorted({row for part in (self, *lists.values()) for row in part.rows}),
            non_records={**non_records, **self.non_records},
            children={name: part for name, part in self.children.items() if name not in lists},
            blocks=(),
            block_numbers=(),
        )
        whole.add(findings)
        return whole

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
        row, block = self.rows[position], self.block_at(position)
        index = block.columns.get(column)
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
            header=block.headers.get(column),
        )

    def block_at(self, position: int) -> ItemBlock:
        """Return the columns and headers of the row at ``position`` of ``frame``."""
        if self.blocks:
            return self.blocks[self.block_numbers[position]]
        return ItemBlock(self.columns, self.headers)

    def position_of(self, finding: Finding) -> int | None:
        """Return the position in ``frame`` of the row that a finding is about, None without one."""
        if finding.row is None:
            return None
        for at in range(bisect_left(self.rows, finding.row), len(self.rows)):
            index = self.block_at(at).columns.get(finding.column or "")
            if self.rows[at] != finding.row:
                break
            if index is None or finding.cell in {None, cell_address(finding.row, index)}:
                return at
        return None

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


def without_repeated(findings: Sequence[Finding], reported: Sequence[Finding]) -> SheetFindings:
    """Return the findings of a list in the rows of its main sheet, without those of the layout that
    are already ``reported`` or say that it has no rows."""
    layout, cells = _parts(findings)
    kept = [f for f in layout if f not in reported and f.kind.code != "sheet-empty"]
    return cells.cells_at(np.arange(len(findings) - len(layout)), kept)


def join_records(sheets: Sequence[ValidatedSheet]) -> ValidatedSheet:
    """Return the records that are side by side in the rows of a sheet as one sheet; each of the
    ``sheets`` has one record of each row. Findings of cells that they share are reported once."""
    first = sheets[0]
    if len(sheets) == 1 or not any(sheet.rows for sheet in sheets):
        return first
    joined, seen, reported = [], np.empty(0, dtype=np.intc), list[Finding]()
    for sheet in sheets:
        _, cells = _parts(findings := without_repeated(sheet.findings, reported))
        own = {name for name, at in sheet.columns.items() if first.columns.get(name) != at}
        kept = np.ones(len(findings) - len(cells.layout), dtype=bool)
        for column, positions, indexes in cells.by_column():
            if column.name not in own:
                kept[indexes] = ~np.isin(column.rows[positions], seen)
        findings = cells.cells_at(np.flatnonzero(kept), cells.layout)
        seen = np.union1d(seen, sheet.rows)
        reported += cells.layout
        joined.append(replace(sheet, findings=findings))
    shared = {
        name: cells
        for name, cells in first.source_cells.items()
        if all(sheet.columns.get(name) == first.columns.get(name) for sheet in sheets)
    }
    return replace(join_blocks(joined), source_cells=shared, numbers=pd.DataFrame())


def join_blocks(sheets: Sequence[ValidatedSheet]) -> ValidatedSheet:
    """Return the items of several blocks as the rows of one list, in the order of the sheet's rows;
    each of the ``sheets`` has those of one block."""
    if len(sheets) == 1:
        return sheets[0]
    numbers = np.repeat(np.arange(len(sheets)), [len(sheet.rows) for sheet in sheets])
    rows = np.concatenate([np.array(sheet.rows, dtype=np.intc) for sheet in sheets])
    order = np.lexsort((numbers, rows))
    layouts, cells = zip(*(_parts(sheet.findings) for sheet in sheets), strict=True)
    return replace(
        sheets[0],
        frame=pd.concat([sheet.frame for sheet in sheets]).iloc[order].reset_index(drop=True),
        rows=rows[order].tolist(),
        source_cells={},
        non_records={row: code for sheet in sheets for row, code in sheet.non_records.items()},
        findings=SheetFindings.joined([one for layout in layouts for one in layout], cells),
        blocks=[ItemBlock(sheet.columns, sheet.headers) for sheet in sheets],
        block_numbers=numbers[order].tolist(),
    )


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
