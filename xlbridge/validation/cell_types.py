"""The cells of a column, grouped by the type that each has in the file."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.object_]
TypeIds = npt.NDArray[np.int64]
"""The identity of each cell's type."""


def as_cells(values: Sequence[object]) -> tuple[Cells, TypeIds]:
    """Return the values as an array, and the types of them."""
    cells: Cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells, np.fromiter(map(id, map(type, values)), dtype=np.int64, count=len(values))


def of_type(types: TypeIds, *wanted: type) -> npt.NDArray[np.intp]:
    mask = types == id(wanted[0])
    for other in wanted[1:]:
        mask = mask | (types == id(other))
    return np.flatnonzero(mask)


def texts_of(cells: Cells, types: TypeIds) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Return the positions and stripped contents of the text cells that are not blank."""
    positions = of_type(types, str)
    positions = positions[cells[positions] != ""]
    stripped = list(map(str.strip, cells[positions]))
    if all(stripped):
        return positions, stripped
    filled = np.fromiter(map(bool, stripped), dtype=bool, count=len(stripped))
    return positions[filled], [text for text in stripped if text]


def others(cells: Cells, types: TypeIds, *expected: type) -> Iterator[tuple[int, object]]:
    """Yield the cells that are neither text nor of an expected type."""
    mask = types != id(str)
    for kind in expected:
        mask &= types != id(kind)
    for position in np.flatnonzero(mask):
        yield int(position), cells[position]
