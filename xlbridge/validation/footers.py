"""What stands below the records and would be sent as one more: totals, and notes after a gap."""

import re

import numpy as np
import numpy.typing as npt

from xlbridge.resources.resource import Resource
from xlbridge.validation.columns import TypedRows

_TOTAL = re.compile(
    r"(?:sub|sub-)?tota(?:l|is)(?:\s+(?:geral|d[aeo]s?\s.*|em\s.*|r\$.*))?\s*(?:[:=].*)?",
    re.IGNORECASE,
)
_LAST_ROWS = 3
_MOST_CELLS = 2
_LAST_NOTES = 10


def note_footers(resource: Resource, typed: TypedRows) -> None:
    """Note the texts of the last rows that are hardly a record's."""
    filled = _filled_cells(typed)
    totals = _note_totals(resource, typed, filled)
    _note_notes(typed, filled, totals)


def _filled_cells(typed: TypedRows) -> npt.NDArray[np.intp]:
    """Return how many cells are filled in each of the last rows that are looked at, and in the one
    before them."""
    last = typed.frame.iloc[-_LAST_NOTES - 1 :].notna().to_numpy()
    failed = [problems.failed[-_LAST_NOTES - 1 :] for problems in typed.problems.values()]
    counts: npt.NDArray[np.intp] = (last | np.array(failed).T).sum(axis=1)
    return counts


def _note_totals(
    resource: Resource, typed: TypedRows, filled: npt.NDArray[np.intp]
) -> frozenset[int]:
    """Note the text of each of the last rows that says "total" and has hardly another beside it."""
    names = [column.name for column in resource.columns if column.kind.is_text]
    found = set()
    for position in range(max(0, len(typed.rows) - _LAST_ROWS), len(typed.rows)):
        if filled[position - len(typed.rows)] > _MOST_CELLS:
            continue
        for name in names:
            value = typed.frame[name].iat[position]
            if isinstance(value, str) and _TOTAL.fullmatch(value):
                typed.problems[name].add(position, "row-total")
                found.add(position)
                break
    return frozenset(found)


def _note_notes(typed: TypedRows, filled: npt.NDArray[np.intp], totals: frozenset[int]) -> None:
    """Note the lone text of each row below the first gap among the last rows that have one cell
    each; the records above have more."""
    others = np.flatnonzero(filled != 1)
    if not len(others):
        return
    rows = typed.rows
    first = len(rows) - len(filled) + int(others[-1]) + 1
    gap = next((p for p in range(first, len(rows)) if rows[p] - rows[p - 1] > 1), len(rows))
    for position in range(gap, len(rows)):
        if position not in totals:
            _note_text(typed, position)


def _note_text(typed: TypedRows, position: int) -> None:
    for name, problems in typed.problems.items():
        if isinstance(typed.frame[name].iat[position], str):
            problems.add(position, "row-note")
