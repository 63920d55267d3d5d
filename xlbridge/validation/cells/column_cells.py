"""Cells of one column by their types in the file, and the problems found in them.

Both are stored as arrays: a bad sheet has as many problems as cells.
"""

import copy
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import CorrectedValue, FindingKind, Severity
from xlbridge.settings import NumberStyle
from xlbridge.workbook.read import CellColumn, CellKind

BoolArray = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class SheetOrder:
    """Order of day and month in the text dates of a sheet: the Brazilian one if ``native``, as
    ``column`` proves."""

    native: bool
    column: str


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Distinct ``values`` of a column as texts.

    ``positions``: positions of the cells that have one of them; ``indexes``: the index of each
    one's value.
    """

    values: Sequence[str]
    positions: Positions
    indexes: Positions

    def cells_with(self, indexes: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the position and value index of each cell with one of the given values."""
        is_wanted = np.zeros(len(self.values), dtype=bool)
        is_wanted[list(indexes)] = True
        found = is_wanted[self.indexes]
        yield from zip(self.positions[found].tolist(), self.indexes[found].tolist(), strict=True)


_FEW_TEXTS = 16
"""Factor by which a column has more texts than the cells whose texts are sorted, not counted."""


class ColumnCells:
    """Cells of one column in the given rows; a ``position`` counts those rows from zero.

    ``kinds``, ``numbers`` and ``wholes`` have one entry for each cell: its ``CellKind``, and its
    content as stored by ``CellColumn``, as a double and as an integer. ``sheet_style`` returns the
    style on which the text numbers of the whole sheet agree, None if they do not; ``sheet_dates``
    the order of day and month that the text dates of another column prove.
    """

    def __init__(
        self,
        column: CellColumn,
        rows: npt.NDArray[np.integer],
        sheet_style: Callable[[], NumberStyle | None] = lambda: None,
        sheet_dates: Callable[[], "SheetOrder | None"] = lambda: None,
    ) -> None:
        """``rows`` are Excel's numbers; those below the column's last row are empty."""
        self.source = column
        self.sheet_style = sheet_style
        self.sheet_dates = sheet_dates
        self._rows = rows
        indexes: slice | Positions = np.minimum(rows, len(column.kinds)) - 1
        below = rows > len(column.kinds)
        if len(rows) and not below[-1] and (np.diff(rows) == 1).all():
            # A slice avoids a copy of the content, which is only read.
            indexes = slice(int(rows[0]) - 1, int(rows[-1]))
        self.kinds = np.frombuffer(column.kinds, dtype=np.uint8)[indexes].copy()
        self.kinds[below] = CellKind.EMPTY
        self.wholes = np.frombuffer(column.content, dtype=np.int64)[indexes]
        self.numbers = self.wholes.view(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int | np.intp) -> Any:
        return self.source.value(int(self._rows[position]) - 1)

    def of_kind(self, kind: CellKind) -> Positions:
        """Return the positions of the cells of a kind."""
        return np.flatnonzero(self.kinds == kind)

    def others(self, *expected: CellKind) -> Positions:
        """Return the positions of the filled cells that are neither text nor of an expected
        kind."""
        return np.flatnonzero((self.kinds > CellKind.TEXT) & ~np.isin(self.kinds, expected))

    def texts(self) -> tuple[Positions, list[str]]:
        """Return the positions and stripped contents of the text cells that are not blank."""
        found = self.distinct_texts
        stripped = np.array(self.stripped_texts, dtype=object)[found.indexes]
        filled = stripped != ""
        return found.positions[filled], stripped[filled].tolist()

    def clear_texts(self, texts: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Empty the cells with the given texts, whose keys are the column's text indexes; yield
        the position and text of each."""
        if not texts:
            return
        positions = self.of_kind(CellKind.TEXT)
        for position in positions[np.isin(self.wholes[positions], list(texts))].tolist():
            self.kinds[position] = CellKind.EMPTY
            yield position, texts[int(self.wholes[position])]

    @cached_property
    def text_indexes(self) -> Positions:
        """Index of each distinct text in the column's ``texts``."""
        wholes = self.wholes[self.of_kind(CellKind.TEXT)]
        if _FEW_TEXTS * len(wholes) < len(self.source.texts):
            return np.unique(wholes).astype(np.intp)
        used = np.zeros(len(self.source.texts), dtype=bool)
        used[wholes] = True
        return np.flatnonzero(used)

    @cached_property
    def text_cells(self) -> tuple[Positions, Positions]:
        """Positions of the text cells, and the number of each one's distinct text."""
        positions, indexes = self.of_kind(CellKind.TEXT), self.text_indexes
        numbers = np.empty(len(self.source.texts), np.intp)
        numbers[indexes] = np.arange(len(indexes))
        return positions, numbers[self.wholes[positions]]

    @cached_property
    def distinct_texts(self) -> ColumnValues:
        """Distinct texts, and the text cells."""
        texts = list(map(self.source.texts.__getitem__, self.text_indexes.tolist()))
        return ColumnValues(texts, *self.text_cells)

    @cached_property
    def stripped_texts(self) -> list[str]:
        """Distinct texts without spaces at their ends."""
        return list(map(str.strip, self.distinct_texts.values))


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
