"""Problems of cells and findings of a sheet, stored as columns: a bad sheet has as many as cells.

A ``Finding`` is only created when it is read. Findings of the layout come first.
"""

import copy
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import CorrectedValue, Finding, FindingKind, Severity
from xlbridge.validation.cells.contents import BoolArray, Positions, display
from xlbridge.workbook import column_letters
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

Integers = npt.NDArray[np.integer]

FINDING_KINDS: tuple[FindingKind, ...] = tuple(CATALOGUE[code] for code in sorted(CATALOGUE))
"""Kinds of findings by the index that problems store; sorted, so that processes agree on it."""

_KIND_NUMBERS = {kind.code: number for number, kind in enumerate(FINDING_KINDS)}
_NO_DETAILS: Mapping[str, object] = {}
_MAX_KNOWN = 1 << 16


@dataclass(frozen=True, slots=True)
class ProblemDetails:
    """Details of a problem for the catalogue's texts, and the corrected value of its cell, None if
    that is not certain."""

    details: Mapping[str, object]
    corrected: CorrectedValue | None = None


def _select(numbers: "array[int]", kept: BoolArray) -> "array[int]":
    selected = np.frombuffer(numbers, dtype=numbers.typecode)[kept]
    return array(numbers.typecode, selected.tobytes())


@dataclass(slots=True)
class CellProblems:
    """Problems of one column, in the order in which they were found.

    ``failed`` marks the cells without a usable value, which no further rule checks. ``positions``,
    ``kinds`` and ``details`` have one entry for each problem: the position of its cell, and its
    indexes into ``FINDING_KINDS`` and ``remarks``. ``firsts`` has the position of a repeated
    value's first occurrence, by the problem's number. ``accepted`` are the codes of findings that
    a person accepts here: they are kept apart at the end, and no such cell has failed.

    Equal remarks are stored once, unless very many different ones come between them.
    """

    failed: BoolArray
    positions: "array[int]" = field(default_factory=lambda: array("i"))
    kinds: "array[int]" = field(default_factory=lambda: array("H"))
    details: "array[int]" = field(default_factory=lambda: array("I"))
    remarks: list[ProblemDetails] = field(default_factory=list)
    firsts: dict[int, int] = field(default_factory=dict)
    accepted: frozenset[str] = frozenset()
    _known: dict[object, int] = field(default_factory=dict)

    @classmethod
    def none(cls, size: int, accepted: frozenset[str] = frozenset()) -> "CellProblems":
        """Create an empty list of problems for a column of ``size`` cells."""
        return cls(np.zeros(size, dtype=bool), accepted=accepted)

    def stops(self, code: str) -> bool:
        """Return whether a finding makes the value of a cell unusable."""
        is_error = FINDING_KINDS[_KIND_NUMBERS[code]].severity is Severity.ERROR
        return is_error and code not in self.accepted

    def __len__(self) -> int:
        return len(self.positions)

    def copy(self) -> "CellProblems":
        """Return a copy to which other problems can be added."""
        return CellProblems(*(copy.copy(getattr(self, part.name)) for part in fields(self)))

    def add(
        self,
        position: int,
        code: str,
        details: Mapping[str, object] = _NO_DETAILS,
        corrected: CorrectedValue | None = None,
    ) -> None:
        """Add a problem; an error without a certain correction excludes the cell from rules."""
        number = _KIND_NUMBERS[code]
        if corrected is None and self.stops(code):
            self.failed[position] = True
        self.positions.append(position)
        self.kinds.append(number)
        self.details.append(self._remark_index(details, corrected))

    def add_all(
        self,
        positions: Positions,
        code: str,
        details: Mapping[str, object] | Sequence[Mapping[str, object]] = _NO_DETAILS,
        firsts: Sequence[int] = (),
    ) -> None:
        """Add the same problem to several cells; ``details`` are common, or one for each cell.

        ``firsts`` are the first occurrences of repeated values, one for each cell.
        """
        number, count = _KIND_NUMBERS[code], len(positions)
        if self.stops(code):
            self.failed[positions] = True
        self.firsts.update(enumerate(firsts, start=len(self)))
        self.positions.frombytes(positions.astype(np.intc).tobytes())
        self.kinds.extend(array("H", [number]) * count)
        if isinstance(details, Mapping):
            self.details.extend(array("I", [self._remark_index(details)]) * count)
        else:
            self.details.extend(map(self._remark_index, details))

    def finding_codes(self) -> list[str]:
        """Return the code of each problem."""
        return [FINDING_KINDS[number].code for number in self.kinds]

    def drop_corrections(self) -> None:
        """Drop all corrections, as other cells would have to change with these."""
        self.remarks = [ProblemDetails(remark.details) for remark in self.remarks]
        self._known.clear()

    def positions_of(self, code: str) -> Positions:
        """Return the positions of the cells with a problem of a kind."""
        positions = np.frombuffer(self.positions, dtype=np.intc).astype(np.intp)
        found: Positions = positions[np.frombuffer(self.kinds, np.ushort) == _KIND_NUMBERS[code]]
        return found

    def details_at(self, position: int, code: str) -> Mapping[str, object]:
        """Return the details of the problem of a kind that a cell has."""
        at = zip(self.positions, self.kinds, self.details, strict=True)
        wanted = position, _KIND_NUMBERS[code]
        return next(self.remarks[detail].details for p, k, detail in at if (p, k) == wanted)

    def with_cells(self, positions: Positions, cells: "CellProblems") -> "CellProblems":
        """Return the problems with those of ``cells``, one for each position, in place of the cells
        there; no value has been found to be repeated yet."""
        whole = self.copy()
        whole.failed[positions] = cells.failed
        if len(whole):
            whole._keep_problems(~np.isin(np.frombuffer(whole.positions, np.intc), positions))
        whole.positions.extend(positions[list(cells.positions)].tolist())
        whole.kinds.extend(cells.kinds)
        remarks = (cells.remarks[at] for at in cells.details)
        whole.details.extend(whole._remark_index(it.details, it.corrected) for it in remarks)
        return whole

    def clear(self, positions: Positions) -> None:
        """Drop the problems of some cells, and exclude the cells from further rules."""
        self.failed[positions] = True
        self._keep_problems(~np.isin(np.frombuffer(self.positions, dtype=np.intc), positions))

    def drop(self, *codes: str) -> None:
        """Drop the problems of some kinds, none of which stops a cell."""
        numbers = [_KIND_NUMBERS[code] for code in codes]
        self._keep_problems(~np.isin(np.frombuffer(self.kinds, dtype=np.ushort), numbers))

    def of_rows(self, kept: BoolArray) -> "CellProblems":
        """Return the problems of the rows marked by ``kept``, with positions among those rows."""
        left = self.copy()
        left._keep_problems(kept[np.frombuffer(self.positions, dtype=np.intc)])
        moved = (np.cumsum(kept) - 1)[np.frombuffer(left.positions, dtype=np.intc)]
        left.failed, left.positions = self.failed[kept], array("i", moved.astype(np.intc).tobytes())
        return left

    def _keep_problems(self, kept: BoolArray) -> None:
        # ``firsts`` needs no change: repeated values are detected after all rows were dropped.
        if not kept.all():
            self.positions = _select(self.positions, kept)
            self.kinds = _select(self.kinds, kept)
            self.details = _select(self.details, kept)

    def _remark_index(
        self, details: Mapping[str, object], corrected: CorrectedValue | None = None
    ) -> int:
        key = (*details.items(), corrected)
        index = self._known.get(key)
        if index is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            index = self._known[key] = len(self.remarks)
            self.remarks.append(ProblemDetails(details, corrected))
        return index


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
    position in that column, ``cell_rows`` Excel's number of its row.
    """

    def __init__(
        self,
        layout: Sequence[Finding],
        columns: Sequence[FindingColumn],
        owners: Integers,
        positions: Integers,
        cell_rows: Integers,
    ) -> None:
        self.layout, self.columns, self.cell_rows = layout, columns, cell_rows
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
        positions = order - np.cumsum([0, *sizes], dtype=np.intc)[owners]
        return cls(layout, columns, owners, positions.astype(np.uint32), rows[order])

    @classmethod
    def joined(cls, layout: Sequence[Finding], parts: "Sequence[SheetFindings]") -> "SheetFindings":
        """Return the findings of cells of several parts, by row, after ``layout``."""
        offsets = np.cumsum([0, *(len(part.columns) for part in parts)])
        owners = [part._owners + offset for part, offset in zip(parts, offsets, strict=False)]
        rows = np.concatenate([part.cell_rows for part in parts])
        order = np.argsort(rows, kind="stable")
        return cls(
            layout,
            [column for part in parts for column in part.columns],
            np.concatenate(owners)[order],
            np.concatenate([part._positions for part in parts])[order],
            rows[order],
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
        if key == 0:
            return self._first
        return self._at(key)

    @cached_property
    def _first(self) -> Finding:
        return self._at(0)

    def _at(self, key: int) -> Finding:
        index = range(len(self))[key] - len(self.layout)
        if index < 0:
            return self.layout[index]
        column = self.columns[int(self._owners[index])]
        return next(column.findings(self._positions[index : index + 1]))

    def __iter__(self) -> Iterator[Finding]:
        yield from self.layout
        for begin in range(0, len(self._owners), _CHUNK):
            indexes = slice(begin, begin + _CHUNK)
            owners, positions = self._owners[indexes], self._positions[indexes]
            by_owner = {
                owner: self.columns[owner].findings(positions[owners == owner])
                for owner in np.unique(owners).tolist()
            }
            for owner in owners.tolist():
                yield next(by_owner[owner])

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
        return SheetFindings(layout, self.columns, owners, positions, self.cell_rows[indexes])


def sheet_findings(
    layout: Sequence[Finding],
    cells: SheetCells,
    rows: Integers,
    problems: Mapping[str, CellProblems],
    columns: Mapping[str, int],
    headers: Mapping[str, str],
    *,
    are_cells_kept: bool,
) -> SheetFindings:
    """Return the findings of the layout and of all cells; if ``are_cells_kept`` anyway, these are
    not copied.

    ``rows`` are Excel's numbers of the data rows. ``problems`` has one entry for each column of the
    resource, and for those of the system's own numbers. ``columns`` has the zero-based position in
    the sheet of each column that is present; findings of the others have a row and no cell.
    ``headers`` are the sheet's own names of columns.
    """
    absent = {name: len(columns) + index for index, name in enumerate(problems)}
    names = [name for name in problems if len(problems[name])]
    names.sort(key=lambda name: columns.get(name, absent[name]))
    found = []
    for name in names:
        of_column, index = problems[name], columns.get(name)
        found_rows = rows[np.frombuffer(of_column.positions, dtype=np.intc)]
        column = CellColumn() if index is None else cells.columns[index - cells.first_column]
        # Rows below the column's last cell, which have formulas without a result, cannot be copied.
        most = max(2 * len(found_rows), int(found_rows.max()))
        has_all_cells = are_cells_kept or most > len(column.kinds)
        found.append(
            FindingColumn(
                name,
                letters=None if index is None else column_letters(index),
                rows=found_rows,
                kinds=np.frombuffer(of_column.kinds, dtype=np.ushort),
                details=np.frombuffer(of_column.details, dtype=np.uintc),
                remarks=of_column.remarks,
                # A copy, so that the whole column can be freed.
                cells=column if has_all_cells else column.select((found_rows - 1).tolist()),
                firsts={number: int(rows[first]) for number, first in of_column.firsts.items()},
                has_all_cells=has_all_cells,
                header=headers.get(name),
            )
        )
    return SheetFindings.of(layout, found)


def count_errors(findings: Sequence[Finding]) -> int:
    """Count the findings that stop an upload."""
    listed, cells = split_findings(findings)
    return sum(finding.kind.severity is Severity.ERROR for finding in listed) + cells.cell_errors


def count_corrected(findings: Sequence[Finding]) -> int:
    """Count the findings with a certain correction."""
    listed, cells = split_findings(findings)
    count = sum(finding.corrected is not None for finding in listed)
    for column, positions, _ in cells.by_column():
        certain = np.array([remark.corrected is not None for remark in column.remarks])
        count += int(certain[column.details[positions]].sum())
    return count


def row_numbers(findings: Sequence[Finding]) -> Sequence[int]:
    """Return Excel's row number of each finding, zero for a finding of the whole sheet."""
    listed, cells = split_findings(findings)
    return [*(finding.row or 0 for finding in listed), *cells.cell_rows.tolist()]


def select_rows(
    findings: Sequence[Finding], rows: Collection[int], *, invert: bool = False
) -> SheetFindings:
    """Return the findings of some rows, by Excel's numbers, or with ``invert`` all others."""
    listed, cells = split_findings(findings)
    found = np.flatnonzero(np.isin(cells.cell_rows, list(rows), invert=invert))
    return cells.cells_at(found, [one for one in listed if (one.row in rows) is not invert])


def details_of(findings: Sequence[Finding]) -> Iterator[Mapping[str, object]]:
    """Yield the details of findings, distinct ones for the cells of a column; a repeated value has
    none."""
    listed, cells = split_findings(findings)
    yield from (finding.details for finding in listed)
    for column, positions, _ in cells.by_column():
        for detail in np.unique(column.details[positions]).tolist():
            yield column.remarks[detail].details


def by_column_and_kind(findings: Sequence[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield the findings of one kind in one column, group by group."""
    listed, cells = split_findings(findings)
    groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for finding in listed:
        groups[finding.column, finding.kind.code].append(finding)
    yield from groups.values()
    for column, positions, indexes in cells.by_column():
        kinds = column.kinds[positions]
        for kind in np.unique(kinds):
            yield cells.cells_at(indexes[kinds == kind])


_NO_CELLS = SheetFindings.of((), ())


def split_findings(findings: Sequence[Finding]) -> tuple[Sequence[Finding], SheetFindings]:
    """Return the findings that are stored one by one, and the object with those of cells."""
    if isinstance(findings, SheetFindings):
        return findings.layout, findings
    return findings, _NO_CELLS


def without_repeated(findings: Sequence[Finding], reported: Sequence[Finding]) -> SheetFindings:
    """Return the findings of a list in the rows of its main sheet, without those of the layout that
    are already ``reported`` or say that it has no rows."""
    layout, cells = split_findings(findings)
    kept = [f for f in layout if f not in reported and f.kind.code != "sheet-empty"]
    return cells.cells_at(np.arange(len(findings) - len(layout)), kept)
