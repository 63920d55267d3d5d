"""Totals that stand below the records, where they would be sent as one more."""

import re

import numpy as np

from xlbridge.resources.resource import Resource
from xlbridge.validation.columns import TypedRows

_TOTAL = re.compile(
    r"(?:sub|sub-)?tota(?:l|is)(?:\s+(?:geral|d[aeo]s?\s.*|em\s.*|r\$.*))?\s*(?:[:=].*)?",
    re.IGNORECASE,
)
_LAST_ROWS = 3
_MOST_CELLS = 2


def note_totals(resource: Resource, typed: TypedRows) -> None:
    """Note the text of each of the last rows that says "total" and has hardly another beside it."""
    names = [column.name for column in resource.columns if column.kind.is_text]
    for position in range(max(0, len(typed.rows) - _LAST_ROWS), len(typed.rows)):
        row = typed.frame.iloc[position]
        failed = [problems.failed[position] for problems in typed.problems.values()]
        if np.count_nonzero(row.notna().to_numpy() | np.array(failed)) > _MOST_CELLS:
            continue
        for name in names:
            value = row[name]
            if isinstance(value, str) and _TOTAL.fullmatch(value):
                typed.problems[name].add(position, "row-total")
                break
