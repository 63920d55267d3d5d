"""The findings of a sheet, stored as columns; a ``Finding`` is made when it is looked at.

In a bad sheet there are as many findings as cells. Findings of the layout come first.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.resources.findings import Finding, Severity
from xlbridge.validation.cells.column_cells import (
    FINDING_KINDS,
    BoolArray,
    CellProblems,
    Positions,
    ProblemDetails,
)
from xlbridge.validation.text import display
from xlbridge.workbook import column_letters
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

if TYPE_CHECKING:
    from xlbridge.validation.results import ValidatedSheet

Numbers = npt.NDArray[np.integer]
_CHUNK = 4096
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
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

    def finding(self, number: int) -> Finding:
        """Return one of them."""
        row, remark = int(self.rows[number]), self.remarks[self.said[number]]
        details = remark.details
        if number in self.firsts:
            details = {"first": f"{self.letters}{self.firsts[number]}"}
        place = row - 1 if self.whole else number
        return Finding(
            FINDING_KINDS[self.kinds[number]],
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
    """The findings of a sheet's cells, ordered by row, then by column.

    They are kept as columns, and a ``Finding`` is made whenever one is looked at: in a bad sheet
    there are as many as cells.
    """

    def __init__(self, columns: Sequence[FindingColumn]) -> None:
        """``columns`` stand in their order in the sheet."""
        self._columns = columns
        sizes = [len(column.rows) for column in columns]
        which = np.repeat(np.arange(len(columns), dtype=np.uint16), sizes)
        rows = np.concatenate([np.empty(0, dtype=np.intc), *(column.rows for column in columns)])
        # Stable: of one row they stay in the order of the columns, of one cell as they were found.
        order = np.argsort(rows, kind="stable")
        self._which = which[order]
        starts = np.cumsum([0, *sizes], dtype=np.intc)
        order -= starts[self._which]
        self._numbers = order.astype(np.uint32)

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return list(self.made(key))
        column: FindingColumn = self._columns[self._which[key]]
        return column.finding(int(self._numbers[key]))

    def __iter__(self) -> Iterator[Finding]:
        for begin in range(0, len(self), _CHUNK):
            yield from self.made(slice(begin, begin + _CHUNK))

    @property
    def errors(self) -> int:
        """Number of findings that stop an upload."""
        return sum(int(_IS_ERROR[column.kinds].sum()) for column in self._columns)

    def alike(self) -> Iterator[Sequence[Finding]]:
        """Yield those of each column that are of one kind, in their order."""
        for which, column in enumerate(self._columns):
            places = np.flatnonzero(self._which == which)
            kinds = column.kinds[self._numbers[places]]
            for kind in np.unique(kinds):
                yield FindingSelection(self, places[kinds == kind])

    def rows(self, places: Numbers) -> list[int]:
        """Return Excel's numbers of the rows of the findings at some places."""
        rows = np.empty(len(places), dtype=np.intc)
        whiches, numbers = self._which[places], self._numbers[places]
        for which in np.unique(whiches):
            of_column = whiches == which
            rows[of_column] = self._columns[which].rows[numbers[of_column]]
        found: list[int] = rows.tolist()
        return found

    def corrected(self, places: Numbers) -> int:
        """Return how many of the findings at some places have a certain correction."""
        count, whiches, numbers = 0, self._which[places], self._numbers[places]
        for which in np.unique(whiches):
            column = self._columns[which]
            certain = np.array([remark.corrected is not None for remark in column.remarks])
            count += int(certain[column.said[numbers[whiches == which]]].sum())
        return count

    def made(self, places: slice | Numbers) -> Iterator[Finding]:
        """Yield the findings at some places, counted from zero."""
        whiches, numbers = self._which[places].tolist(), self._numbers[places].tolist()
        for which, number in zip(whiches, numbers, strict=True):
            yield self._columns[which].finding(number)


class FindingSelection(Sequence[Finding]):
    """Selection of the findings of a sheet's cells, made when they are looked at."""

    def __init__(self, findings: CellFindings, places: Numbers) -> None:
        self._findings = findings
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, key: int) -> Finding: ...
    @overload
    def __getitem__(self, key: slice) -> list[Finding]: ...
    def __getitem__(self, key: int | slice) -> Finding | list[Finding]:
        if isinstance(key, slice):
            return list(self._findings.made(self._places[key]))
        return self._findings[int(self._places[key])]

    def rows(self) -> list[int]:
        """Return Excel's numbers of their rows."""
        return self._findings.rows(self._places)

    def corrected(self) -> int:
        """Return how many of them have a certain correction."""
        return self._findings.corrected(self._places)


def findings_of_cells(
    rows: Sequence[int],
    problems: Mapping[str, CellProblems],
    columns: Mapping[str, int],
    cells: SheetCells,
    headers: Mapping[str, str] = _NO_HEADERS,
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
    return CellFindings(
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
    if isinstance(findings, SheetFindings):
        return count_errors(findings.layout) + findings.cells.errors
    return sum(finding.kind.severity is Severity.ERROR for finding in findings)


def count_corrected(findings: Sequence[Finding]) -> int:
    """Return how many findings have a certain correction."""
    if isinstance(findings, FindingSelection):
        return findings.corrected()
    return sum(finding.corrected is not None for finding in findings)


def row_numbers(findings: Sequence[Finding]) -> Sequence[int]:
    """Return Excel's numbers of the rows that findings are in."""
    if isinstance(findings, FindingSelection):
        return findings.rows()
    if isinstance(findings, SheetFindings):
        ahead = [finding.row or 0 for finding in findings.layout]
        return ahead + findings.cells.rows(np.arange(len(findings.cells)))
    return [finding.row for finding in findings if finding.row is not None]


def by_column_and_kind(findings: Sequence[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield those of each column that are of one kind, in their order."""
    if isinstance(findings, SheetFindings):
        yield from by_column_and_kind(findings.layout)
        yield from findings.cells.alike()
        return
    groups: defaultdict[tuple[str | None, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.column, finding.kind.code].append(finding)
    yield from groups.values()


def rows_in_error(sheet: "ValidatedSheet", columns: Collection[str] | None = None) -> BoolArray:
    """Mark the rows that have an error, in one of the ``columns`` or in any."""
    rows = {
        row
        for group in by_column_and_kind(sheet.findings)
        if _is_error_in(group[0], columns)
        for row in row_numbers(group)
    }
    return marked_rows(sheet, rows)


def marked_rows(sheet: "ValidatedSheet", rows: Collection[int]) -> BoolArray:
    """Mark the rows of a sheet that have one of Excel's numbers ``rows``."""
    if not rows:
        return np.zeros(len(sheet.rows), dtype=bool)
    return np.isin(sheet.rows, list(rows))


def _is_error_in(finding: Finding, columns: Collection[str] | None) -> bool:
    is_error = finding.kind.severity is Severity.ERROR
    return is_error and (columns is None or finding.column in columns)


def first_occurrences(keys: pd.DataFrame) -> Positions:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    firsts: Positions = first[group]
    return firsts
