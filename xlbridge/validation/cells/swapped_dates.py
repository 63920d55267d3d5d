"""Columns in which a program took days for months: what it could read so became dates, the rest
stayed text.

That happens when a text file is opened with another order of day and month than it was written
in. Dates whose day is up to 12 are read, and are other days then; the others are no dates in that
order.
"""

import numpy as np
import numpy.typing as npt

from xlbridge.validation.cells.cell_problems import CellProblems
from xlbridge.validation.cells.cell_types import Cells
from xlbridge.validation.cells.text_values import date_meanings, evidence

_FEWEST = 3
"""So many of both kinds do not come together by chance."""
_MONTHS = 12


def note_swapped(cells: Cells, days: npt.NDArray[np.datetime64], problems: CellProblems) -> bool:
    """Say of the first date of a column that day and month seem to be swapped, and return whether
    they do: all ``days`` are up to 12, and those of all texts, which have one order, are above."""
    positions = np.flatnonzero(~np.isnat(days))
    if len(positions) < _FEWEST or _largest_day(days[positions]) > _MONTHS:
        return False
    _, texts = cells.texts()
    meanings = [meaning for meaning in map(date_meanings, texts) if meaning is not None]
    order, _ = evidence(meanings)
    in_order = sum((m.native is None) != (m.foreign is None) for m in meanings)
    if order is None or in_order < max(_FEWEST, len(meanings)):
        return False
    problems.add(int(positions[0]), "dates-swapped", {"dates": len(positions), "texts": in_order})
    return True


def _largest_day(days: npt.NDArray[np.datetime64]) -> int:
    whole = days.astype("datetime64[D]")
    return int((whole - whole.astype("datetime64[M]")).astype(int).max()) + 1
