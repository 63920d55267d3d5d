"""The findings of a sheet, stored as columns; a ``Finding`` is made when it is looked at.

In a bad sheet there are as many findings as cells. Findings of the layout come first.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import overload

import numpy as np
import numpy.typing as npt

from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.cells.column_cells import (
    FINDING_KINDS,
    CellProblems,
    ProblemDetails,
)
from xlbridge.validation.cells.text import display
from xlbridge.workbook import column_letters
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

Numbers = npt.NDArray[np.integer]
_CHUNK = 4096
_NONE = np.empty(0, dtype=np.intc)
_IS_ERROR = np.array([kind.severity is Severity.ERROR for kind in FINDING_KINDS])


@dataclass(frozen=True, slots=True)
class FindingColumn:
    """The findings of one column of a sheet, an entry of each for each.

    ``letters`` are those of the column, None where the sheet lacks it. ``rows`` are Excel's
    numbers, ``kinds`` places in ``FINDING_KINDS``, ``said`` places in ``remarks``, ``cells`` the
    content of the cells. ``firsts`` has the row of a repeated value's first occurrence. ``whole``
    tells that ``cells`` are all cells of the column instead, as most of them have findings.
    ``header`` is the sheet's own name of the column, None where it is ``name``.
    """

    name: str
    letters: str | None
    rows: Numbers
    kinds: Numbers
    said: Numbers
    remarks: Sequence[ProblemDetails]
    cells: CellColumn
    firsts: Mapping[int, int]
    whole: bool
    header: str | None = None

    def findings(self, numbers: Numbers) -> Iterator[Finding]:
        """Yield some of them."""
        columns = numbers, self.rows[numbers], self.kinds[numbers], self.said[numbers]
        for number, row, kind, said in zip(*(each.tolist() for each in columns), strict=True):
            remark = self.remarks[said]
            details = remark.details
            if number in self.firsts:
                details = {"first": f"{self.letters}{self.firsts[number]}"}
            place = row - 1 if self.whole else number
            yield Finding(
                FINDING_KINDS[kind],
                row=row,
                column=self.name,
                cell=None if self.letters is None else f"{self.letters}{row}",
                value=self._value(place, details),
                details=details,
                corrected=remark.corrected,
                numeric=self.cells.kind(place) is CellKind.NUMBER,
                header=self.header,
            )

    def _value(self, place: int, details: Mapping[str, object]) -> str | None:
        if self.letters is None:
            return None
        if "error" in details:
            return str(details["error"])
        value = self.cells.value(place)
        return None if value == "" else display(value)


class CellFindings(Sequence[Finding]):
    """The findings of a sheet's cells, ordered by row, then by column; all of them or some.

    They are kept as columns, and a ``Finding`` is made whenever one is looked at: in a bad sheet
    there are as many as cells. ``which`` has the column of each, ``numbers`` its place there.
    """

    def __init__(
        self,
        columns: Sequence[FindingColumn] = (),
        which: Numbers = _NONE,
        numbers: Numbers = _NONE,
    ) -> None:
        self._columns, self._which, self._numbers = columns, which, numbers

    @classmethod
    def of(cls, columns: Sequence[FindingColumn]) -> "CellFindings":
        """Put all findings of columns in order; the columns stand in theirs."""
        sizes = [len(column.rows) for column in columns]
        which = np.repeat(np.arange(len(columns), dtype=np.uint16), sizes)
        rows = np.concatenate([np.empty(0, dtype=np.intc), *(column.rows for column in columns)])
        # Stable: of one row they stay in the order of the columns, of one cell as they were found.
        order = np.argsort(rows, kind="stable")
        which = which[order]
        order -= np.cumsum([0, *sizes], dtype=np.intc)[which]
        return cls(columns, which, order.astype(np.uint32))

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return list(self._at(key).made())
        return next(self._at(np.array([key])).made())

    def __iter__(self) -> Iterator[Finding]:
        for begin in range(0, len(self), _CHUNK):
            yield from self._at(slice(begin, begin + _CHUNK)).made()

    def made(self) -> Iterator[Finding]:
        """Yield them, all of whose places are in memory at once."""
        by_column = {
            which: self._columns[which].findings(self._numbers[self._which == which])
            for which in np.unique(self._which).tolist()
        }
        for which in self._which.tolist():
            yield next(by_column[which])

    @cached_property
    def errors(self) -> int:
        """Number of those that stop an upload."""
        return sum(int(_IS_ERROR[column.kinds[own]].sum()) for column, own, _ in self._by_column())

    @property
    def corrected(self) -> int:
        """Number of those that have a certain correction."""
        count = 0
        for column, own, _ in self._by_column():
            certain = np.array([remark.corrected is not None for remark in column.remarks])
            count += int(certain[column.said[own]].sum())
        return count

    def details(self) -> Iterator[Mapping[str, object]]:
        """Yield the details of those of each column, each once; a repeated value has none."""
        for column, own, _ in self._by_column():
            for said in np.unique(column.said[own]).tolist():
                yield column.remarks[said].details

    def rows(self) -> list[int]:
        """Return Excel's numbers of their rows."""
        rows = np.empty(len(self), dtype=np.intc)
        for column, own, places in self._by_column():
            rows[places] = column.rows[own]
        found: list[int] = rows.tolist()
        return found

    def alike(self) -> "Iterator[CellFindings]":
        """Yield those of each column that are of one kind, in their order."""
        for column, own, places in self._by_column():
            kinds = column.kinds[own]
            for kind in np.unique(kinds):
                yield self._at(places[kinds == kind])

    def _at(self, places: slice | Numbers) -> "CellFindings":
        return CellFindings(self._columns, self._which[places], self._numbers[places])

    def _by_column(self) -> Iterator[tuple[FindingColumn, Numbers, Numbers]]:
        """Yield each column with the places there of its findings, and their places here."""
        for which, column in enumerate(self._columns):
            places = np.flatnonzero(self._which == which)
            yield column, self._numbers[places], places


def findings_of_cells(
    rows: Sequence[int],
    problems: Mapping[str, CellProblems],
    columns: Mapping[str, int],
    cells: SheetCells,
    headers: Mapping[str, str],
) -> CellFindings:
    """Return the findings of all cells.

    ``rows`` are Excel's numbers of the rows that ``problems`` count from zero, with an entry for
    each column of the resource in its order. ``columns`` gives the zero-based position in the sheet
    of each column that is there; a finding of a column that is not there has a row and no cell.
    ``headers`` are the sheet's own names of columns where they are not the resource's.
    """
    numbers = np.array(rows, dtype=np.intc)
    absent = {name: len(columns) + place for place, name in enumerate(problems)}
    names = [name for name in problems if len(problems[name])]
    names.sort(key=lambda name: columns.get(name, absent[name]))
    return CellFindings.of(
        [
            _finding_column(
                name, numbers, problems[name], columns.get(name), cells, headers.get(name)
            )
            for name in names
        ]
    )


def _finding_column(
    name: str,
    rows: Numbers,
    problems: CellProblems,
    place: int | None,
    cells: SheetCells,
    header: str | None,
) -> FindingColumn:
    there = rows[np.frombuffer(problems.positions, dtype=np.intc)]
    column = CellColumn() if place is None else cells.columns[place - cells.first_column]
    whole = 2 * len(there) > len(column.kinds)
    return FindingColumn(
        name,
        letters=None if place is None else column_letters(place),
        rows=there,
        kinds=np.frombuffer(problems.kinds, dtype=np.ushort),
        said=np.frombuffer(problems.said, dtype=np.uintc),
        remarks=problems.remarks,
        cells=column if whole else _cells_at(column, there - 1),
        firsts={number: int(rows[first]) for number, first in problems.firsts.items()},
        whole=whole,
        header=header,
    )


def _cells_at(column: CellColumn, places: Numbers) -> CellColumn:
    """Return the cells at some places, so that the others need not be kept."""
    kinds = np.zeros(len(places), dtype=np.uint8)
    content = np.zeros(len(places), dtype=np.int64)
    inside = places < len(column.kinds)
    kinds[inside] = np.frombuffer(column.kinds, dtype=np.uint8)[places[inside]]
    content[inside] = np.frombuffer(column.content, dtype=np.int64)[places[inside]]
    is_text = kinds == CellKind.TEXT
    used, content[is_text] = np.unique(content[is_text], return_inverse=True)
    texts = [column.texts[number] for number in used.tolist()]
    return CellColumn(bytearray(kinds), bytearray(content.view(np.uint8)), texts)


class SheetFindings(Sequence[Finding]):
    """Reads as a list, and equals one with the same findings."""

    def __init__(self, layout: Sequence[Finding], cells: CellFindings) -> None:
        self.layout = layout
        self.cells = cells

    def __len__(self) -> int:
        return len(self.layout) + len(self.cells)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return [self[place] for place in range(*key.indices(len(self)))]
        place = range(len(self))[key]
        ahead = len(self.layout)
        return self.layout[place] if place < ahead else self.cells[place - ahead]

    def __iter__(self) -> Iterator[Finding]:
        return chain(self.layout, self.cells)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | SheetFindings):
            return NotImplemented
        return len(self) == len(other) and all(map(Finding.__eq__, self, other))

    def __hash__(self) -> int:
        raise TypeError


def count_errors(findings: Sequence[Finding]) -> int:
    """Return how many findings stop an upload."""
    listed, cells = _parts(findings)
    return sum(finding.kind.severity is Severity.ERROR for finding in listed) + cells.errors


def count_corrected(findings: Sequence[Finding]) -> int:
    """Return how many findings have a certain correction."""
    listed, cells = _parts(findings)
    return sum(finding.corrected is not None for finding in listed) + cells.corrected


def row_numbers(findings: Sequence[Finding]) -> Sequence[int]:
    """Return Excel's number of each finding's row, zero for one of the whole sheet."""
    listed, cells = _parts(findings)
    return [*(finding.row or 0 for finding in listed), *cells.rows()]


def details_of(findings: Sequence[Finding]) -> Iterator[Mapping[str, object]]:
    """Yield the details of findings, those of a column's cells that have the same once."""
    listed, cells = _parts(findings)
    yield from (finding.details for finding in listed)
    yield from cells.details()


def by_column_and_kind(findings: Sequence[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield those of each column that are of one kind, in their order."""
    listed, cells = _parts(findings)
    groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for finding in listed:
        groups[finding.column, finding.kind.code].append(finding)
    yield from groups.values()
    yield from cells.alike()


def _parts(findings: Sequence[Finding]) -> tuple[Sequence[Finding], CellFindings]:
    """Return the findings that are kept one by one, and those that are kept as columns."""
    if isinstance(findings, SheetFindings):
        return findings.layout, findings.cells
    return ((), findings) if isinstance(findings, CellFindings) else (findings, CellFindings())
