"""The cells of a column, grouped by the kind that each has in the file."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.workbook.reading.cells import CellColumn, CellKind

Positions = npt.NDArray[np.intp]


class Cells:
    """The cells of one column in some of Excel's rows; ``position`` counts those rows from zero.

    ``kinds``, ``numbers`` and ``wholes`` have an entry for each: its ``CellKind`` and its content
    as ``CellColumn`` keeps it, read as a double and as a whole number.
    """

    def __init__(self, column: CellColumn, rows: npt.NDArray[np.int64]) -> None:
        """``rows`` are Excel's numbers; those below the column's last row are empty."""
        self._column = column
        self._rows = rows
        places = np.minimum(rows, len(column.kinds)) - 1
        self.kinds = np.frombuffer(column.kinds, dtype=np.uint8)[places]
        self.kinds[rows > len(column.kinds)] = CellKind.EMPTY
        self.wholes = np.frombuffer(column.content, dtype=np.int64)[places]
        self.numbers = self.wholes.view(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int | np.intp) -> Any:
        return self._column.value(int(self._rows[position]) - 1)

    def of_kind(self, kind: CellKind) -> Positions:
        """Return the positions of the cells of that kind."""
        return np.flatnonzero(self.kinds == kind)

    def others(self, *expected: CellKind) -> Iterator[tuple[int, object]]:
        """Yield the filled cells that are neither text nor of an expected kind."""
        mask = self.kinds > CellKind.TEXT
        for kind in expected:
            mask &= self.kinds != kind
        for position in np.flatnonzero(mask):
            yield int(position), self[position]

    def texts(self) -> tuple[Positions, list[str]]:
        """Return the positions and stripped contents of the text cells that are not blank."""
        positions = self.of_kind(CellKind.TEXT)
        stripped = self._stripped[self.wholes[positions]]
        filled = stripped != ""
        return positions[filled], stripped[filled].tolist()

    def set_aside(self, texts: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Empty the cells that hold some of the column's texts, given by their indexes; yield the
        position and text of each."""
        positions = self.of_kind(CellKind.TEXT)
        for position in positions[np.isin(self.wholes[positions], list(texts))].tolist():
            self.kinds[position] = CellKind.EMPTY
            yield position, texts[int(self.wholes[position])]

    def distinct_texts(self) -> tuple[Positions, Positions, list[str]]:
        """Return the positions of the text cells, which text each has, and those texts."""
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
        return _objects(list(map(str.strip, self._column.texts)))


def _objects(texts: list[str]) -> npt.NDArray[np.object_]:
    array: npt.NDArray[np.object_] = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
