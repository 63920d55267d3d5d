"""Cells of one column by the type that each has in the file, and the problems found in them.

Both are kept as arrays: in a bad sheet there are as many problems as cells.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import CorrectedValue, FindingKind, Severity
from xlbridge.workbook.read import CellColumn, CellKind

CellPositions = npt.NDArray[np.intp]


class ColumnCells:
    """The cells of one column in some of Excel's rows; ``position`` counts those rows from zero.

    ``kinds``, ``numbers`` and ``wholes`` have an entry for each: its ``CellKind`` and its content
    as ``CellColumn`` keeps it, read as a double and as a whole number.
    """

    def __init__(self, column: CellColumn, rows: npt.NDArray[np.int64]) -> None:
        """``rows`` are Excel's numbers; those below the column's last row are empty."""
        self._column = column
        self._rows = rows
        places: slice | Positions = np.minimum(rows, len(column.kinds)) - 1
        below = rows > len(column.kinds)
        if len(rows) and not below[-1] and (np.diff(rows) == 1).all():
            # Rows without a gap need no copy of what is only read.
            places = slice(int(rows[0]) - 1, int(rows[-1]))
        self.kinds = np.frombuffer(column.kinds, dtype=np.uint8)[places].copy()
        self.kinds[below] = CellKind.EMPTY
        self.wholes = np.frombuffer(column.content, dtype=np.int64)[places]
        self.numbers = self.wholes.view(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int | np.intp) -> Any:
        return self._column.value(int(self._rows[position]) - 1)

    def of_kind(self, kind: CellKind) -> CellPositions:
        """Return the positions of the cells of that kind."""
        return np.flatnonzero(self.kinds == kind)

    def others(self, *expected: CellKind) -> Iterator[tuple[int, object]]:
        """Yield the filled cells that are neither text nor of an expected kind."""
        mask = self.kinds > CellKind.TEXT
        for kind in expected:
            mask &= self.kinds != kind
        for position in np.flatnonzero(mask):
            yield int(position), self[position]

    def texts(self) -> tuple[CellPositions, list[str]]:
        """Return the positions and stripped contents of the text cells that are not blank."""
        positions = self.of_kind(CellKind.TEXT)
        stripped = self._stripped[self.wholes[positions]]
        filled = stripped != ""
        return positions[filled], stripped[filled].tolist()

    def set_aside(self, texts: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Empty the cells that hold some of the column's texts, given by their indexes; yield the
        position and text of each."""
        if not texts:
            return
        positions = self.of_kind(CellKind.TEXT)
        for position in positions[np.isin(self.wholes[positions], list(texts))].tolist():
            self.kinds[position] = CellKind.EMPTY
            yield position, texts[int(self.wholes[position])]

    @cached_property
    def distinct_texts(self) -> tuple[CellPositions, CellPositions, list[str]]:
        """The positions of the text cells, which text each has, and those texts."""
        positions = self.of_kind(CellKind.TEXT)
        used = np.zeros(len(self._column.texts), dtype=bool)
        used[self.wholes[positions]] = True
        numbers = np.cumsum(used) - 1
        return (
            positions,
            numbers[self.wholes[positions]],
            list(compress(self._column.texts, used.tolist())),
        )

    @cached_property
    def _stripped(self) -> npt.NDArray[np.object_]:
        return np.array(list(map(str.strip, self._column.texts)), dtype=object)


FINDING_KINDS: tuple[FindingKind, ...] = tuple(CATALOGUE[code] for code in sorted(CATALOGUE))
"""The kinds of findings; a problem tells its own by the place in here.

They are sorted, as processes that exchange problems may have declared their rules in another order.
"""

_KIND_NUMBERS = {kind.code: number for number, kind in enumerate(FINDING_KINDS)}
_NO_DETAILS: Mapping[str, object] = {}
_MOST_CACHED = 1 << 16

BoolArray = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ProblemDetails:
    """Description of a problem besides its kind: the ``details`` that the catalogue's texts need,
    and what its cell would hold once it is put right, None where that is not certain."""

    details: Mapping[str, object]
    corrected: CorrectedValue | None = None


def _kept(numbers: "array[int]", kept: BoolArray) -> "array[int]":
    left = np.frombuffer(numbers, dtype=numbers.typecode)[kept]
    return array(numbers.typecode, left.tobytes())


@dataclass(slots=True)
class CellProblems:
    """The problems of one column, in the order in which they were found.

    ``failed`` marks the cells that have no usable value, and that no further rule may check.
    ``positions``, ``kinds`` and ``said`` have an entry for each problem: the position of its cell,
    its place in ``FINDING_KINDS``, and the place of what else is said of it in ``remarks``.
    ``firsts`` has the position of a repeated value's first occurrence, by the problem's number.

    Remarks that are equal are kept once; where very many differ, one that comes back is kept again.
    """

    failed: BoolArray
    positions: "array[int]" = field(default_factory=lambda: array("i"))
    kinds: "array[int]" = field(default_factory=lambda: array("H"))
    said: "array[int]" = field(default_factory=lambda: array("I"))
    remarks: list[ProblemDetails] = field(default_factory=list)
    firsts: dict[int, int] = field(default_factory=dict)
    _known: dict[object, int] = field(default_factory=dict)

    @classmethod
    def none(cls, size: int) -> "CellProblems":
        """No problem yet, in a column of ``size`` cells."""
        return cls(np.zeros(size, dtype=bool))

    def __len__(self) -> int:
        return len(self.positions)

    def copy(self) -> "CellProblems":
        """Return the same problems, to which others can be added."""
        return CellProblems(
            self.failed.copy(),
            self.positions[:],
            self.kinds[:],
            self.said[:],
            self.remarks[:],
            dict(self.firsts),
            dict(self._known),
        )

    def add(
        self,
        position: int,
        code: str,
        details: Mapping[str, object] = _NO_DETAILS,
        corrected: CorrectedValue | None = None,
    ) -> None:
        """Note a problem; an error without a certain value takes the cell out of further rules."""
        number = _KIND_NUMBERS[code]
        if corrected is None and FINDING_KINDS[number].severity is Severity.ERROR:
            self.failed[position] = True
        self.positions.append(position)
        self.kinds.append(number)
        self.said.append(self._place_of(details, corrected))

    def add_all(
        self,
        positions: Positions,
        code: str,
        details: Mapping[str, object] | Sequence[Mapping[str, object]] = _NO_DETAILS,
        firsts: Sequence[int] = (),
    ) -> None:
        """Note one problem of several cells; ``details`` are of all, or those of each.

        ``firsts`` are the first occurrences of repeated values, one for each cell.
        """
        number, count = _KIND_NUMBERS[code], len(positions)
        if FINDING_KINDS[number].severity is Severity.ERROR:
            self.failed[positions] = True
        self.firsts.update(enumerate(firsts, start=len(self)))
        self.positions.frombytes(positions.astype(np.intc).tobytes())
        self.kinds.extend(array("H", [number]) * count)
        if isinstance(details, Mapping):
            self.said.extend(array("I", [self._place_of(details)]) * count)
        else:
            self.said.extend(map(self._place_of, details))

    def finding_codes(self) -> list[str]:
        """Return the code of each problem."""
        return [FINDING_KINDS[number].code for number in self.kinds]

    def drop_corrections(self) -> None:
        """Forget what the cells would hold once they are put right: others would have to change."""
        self.remarks = [ProblemDetails(remark.details) for remark in self.remarks]
        self._known.clear()

    def positions_of(self, code: str) -> Positions:
        """Return the positions of the cells that have a problem of a kind."""
        positions = np.frombuffer(self.positions, dtype=np.intc).astype(np.intp)
        found: Positions = positions[np.frombuffer(self.kinds, np.ushort) == _KIND_NUMBERS[code]]
        return found

    def clear(self, positions: Positions) -> None:
        """Drop the problems of some cells, and take the cells out of further rules."""
        self.failed[positions] = True
        self._leave(~np.isin(np.frombuffer(self.positions, dtype=np.intc), positions))

    def drop(self, *codes: str) -> None:
        """Drop the problems of some kinds; none of them may be an error."""
        numbers = [_KIND_NUMBERS[code] for code in codes]
        self._leave(~np.isin(np.frombuffer(self.kinds, dtype=np.ushort), numbers))

    def keep(self, kept: BoolArray) -> "CellProblems":
        """Return the problems of the cells where ``kept`` is true, counted anew."""
        left = self.copy()
        left._leave(kept[np.frombuffer(self.positions, dtype=np.intc)])
        moved = (np.cumsum(kept) - 1)[np.frombuffer(left.positions, dtype=np.intc)]
        left.failed, left.positions = self.failed[kept], array("i", moved.astype(np.intc).tobytes())
        return left

    def _leave(self, kept: BoolArray) -> None:
        """Drop all other problems. Only what reads several cells knows a first occurrence, and that
        comes later."""
        if not kept.all():
            self.positions = _kept(self.positions, kept)
            self.kinds = _kept(self.kinds, kept)
            self.said = _kept(self.said, kept)

    def _place_of(
        self, details: Mapping[str, object], corrected: CorrectedValue | None = None
    ) -> int:
        """Return the place of a remark, which is kept if it is none of those remembered."""
        key = (*details.items(), corrected)
        place = self._known.get(key)
        if place is None:
            if len(self._known) >= _MOST_CACHED:
                self._known.clear()
            place = self._known[key] = len(self.remarks)
            self.remarks.append(ProblemDetails(details, corrected))
        return place
