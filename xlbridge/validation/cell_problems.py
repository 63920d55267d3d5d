"""The cells of one column that could not be read, or were read with a remark."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from xlbridge.findings import CATALOGUE, Mended, Severity

_NO_DETAILS: Mapping[str, object] = MappingProxyType({})

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class CellProblem:
    """A finding in the making: the position in the column, and what the catalogue needs.

    ``first_position`` is that of a repeated value's first occurrence; ``mended`` what the cell
    would hold once it is put right, None where that is not certain.
    """

    position: int
    code: str
    details: Mapping[str, object]
    first_position: int | None = None
    mended: Mended | None = None


@dataclass(slots=True)
class CellProblems:
    """The problems of one column.

    ``failed`` marks the cells that have no usable value, and that no further rule may judge.
    """

    failed: BoolArray
    items: list[CellProblem] = field(default_factory=list)

    @classmethod
    def none(cls, size: int) -> "CellProblems":
        """No problem yet, in a column of ``size`` cells."""
        return cls(np.zeros(size, dtype=bool))

    def add(
        self,
        position: int,
        code: str,
        details: Mapping[str, object] = _NO_DETAILS,
        first_position: int | None = None,
        mended: Mended | None = None,
    ) -> None:
        """Note a problem; an error without a certain value takes the cell out of further rules."""
        self.items.append(CellProblem(position, code, details, first_position, mended))
        if mended is None and CATALOGUE[code].severity is Severity.ERROR:
            self.failed[position] = True

    def keep(self, kept: BoolArray) -> "CellProblems":
        """Return the problems of the cells where ``kept`` is true, counted anew."""
        moved = np.cumsum(kept) - 1
        items = [
            replace(item, position=int(moved[item.position]))
            for item in self.items
            if kept[item.position]
        ]
        return CellProblems(self.failed[kept], items)
