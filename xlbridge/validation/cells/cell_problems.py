"""The cells of one column that could not be read, or were read with a remark.

Kept as columns themselves: in a bad sheet there are as many as cells.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from xlbridge.findings import CATALOGUE, FindingKind, Mended, Severity

KINDS: tuple[FindingKind, ...] = tuple(CATALOGUE.values())
"""The kinds of findings; a problem tells its own by the place in here."""

_NUMBERS = {kind.code: number for number, kind in enumerate(KINDS)}
_NO_DETAILS: Mapping[str, object] = {}
_MOST_REMEMBERED = 1 << 16

BoolArray = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Remark:
    """What is said of a problem besides its kind: the ``details`` that the catalogue's texts need,
    and what its cell would hold once it is put right, None where that is not certain."""

    details: Mapping[str, object]
    mended: Mended | None = None


@dataclass(slots=True)
class CellProblems:
    """The problems of one column, in the order in which they were found.

    ``failed`` marks the cells that have no usable value, and that no further rule may judge.
    ``positions``, ``kinds`` and ``said`` have an entry for each problem: the position of its cell,
    its place in ``KINDS``, and the place of what else is said of it in ``remarks``. ``firsts`` has
    the position of a repeated value's first occurrence, by the problem's number.

    Remarks that are equal are kept once; where very many differ, one that comes back is kept again.
    """

    failed: BoolArray
    positions: "array[int]" = field(default_factory=lambda: array("i"))
    kinds: "array[int]" = field(default_factory=lambda: array("H"))
    said: "array[int]" = field(default_factory=lambda: array("I"))
    remarks: list[Remark] = field(default_factory=list)
    firsts: dict[int, int] = field(default_factory=dict)
    _known: dict[object, int] = field(default_factory=dict)

    @classmethod
    def none(cls, size: int) -> "CellProblems":
        """No problem yet, in a column of ``size`` cells."""
        return cls(np.zeros(size, dtype=bool))

    def __len__(self) -> int:
        return len(self.positions)

    def add(
        self,
        position: int,
        code: str,
        details: Mapping[str, object] = _NO_DETAILS,
        mended: Mended | None = None,
    ) -> None:
        """Note a problem; an error without a certain value takes the cell out of further rules."""
        number = _NUMBERS[code]
        if mended is None and KINDS[number].severity is Severity.ERROR:
            self.failed[position] = True
        self.positions.append(position)
        self.kinds.append(number)
        self.said.append(self._place_of(details, mended))

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
        number, count = _NUMBERS[code], len(positions)
        if KINDS[number].severity is Severity.ERROR:
            self.failed[positions] = True
        self.firsts.update(enumerate(firsts, start=len(self)))
        self.positions.frombytes(positions.astype(np.intc).tobytes())
        self.kinds.extend(array("H", [number]) * count)
        if isinstance(details, Mapping):
            self.said.extend(array("I", [self._place_of(details)]) * count)
        else:
            self.said.extend(map(self._place_of, details))

    def keep(self, kept: BoolArray) -> "CellProblems":
        """Return the problems of the cells where ``kept`` is true, counted anew.

        Only what reads several cells knows a first occurrence, and that comes later.
        """
        positions = np.frombuffer(self.positions, dtype=np.intc)
        numbers = np.flatnonzero(kept[positions])
        moved = (np.cumsum(kept) - 1)[positions[numbers]]
        return CellProblems(
            self.failed[kept],
            array("i", moved.astype(np.intc).tobytes()),
            array("H", np.frombuffer(self.kinds, dtype=np.ushort)[numbers].tobytes()),
            array("I", np.frombuffer(self.said, dtype=np.uintc)[numbers].tobytes()),
            self.remarks,
        )

    def _place_of(self, details: Mapping[str, object], mended: Mended | None = None) -> int:
        """Return the place of a remark, which is kept if it is none of those remembered."""
        key = (*details.items(), mended)
        place = self._known.get(key)
        if place is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            place = self._known[key] = len(self.remarks)
            self.remarks.append(Remark(details, mended))
        return place
