"""What stands among or below the records and would be sent as one more: totals, and notes."""

import re

import numpy as np
import numpy.typing as npt

from xlbridge.resources.resource import Resource
from xlbridge.validation.cells.cell_problems import Positions
from xlbridge.validation.columns import TypedRows

_COUNTED = r"(?:clientes|registros|linhas|itens)\b"
_OF = r"(?:d[aeo]s?|em|por)\s"
_TOTAL = re.compile(
    # "Total Distribuidora" is a company's name; "Subtotal", whatever follows, is none.
    rf"sub-?\s?tota(?:l|is)\b.*"
    rf"|(?:grand\s+)?tota(?:l|is)(?:\s+(?:gera(?:l|is)|parcia(?:l|is)|{_OF}.*|{_COUNTED}.*|r\$.*))?"
    rf"\s*(?:[:=].*|(?:[–-]\s*)?\(?\d[\d.,]*\)?(?:\s+{_COUNTED})?)?"
    rf"|(?:qtde?\b\.?|quantidade|n[uú]mero|contagem)(?:\s+(?:total|geral|{_OF}[^:=]*))?\s*[:=].*"
    rf"|contagem\s+(?:geral|{_OF}.*)",
    re.IGNORECASE,
)
_MOST_CELLS = 2
_LAST_NOTES = 10


def note_no_records(resource: Resource, typed: TypedRows) -> None:
    """Note the texts that are hardly a record's: totals anywhere, notes in the last rows."""
    totals = _note_totals(resource, typed)
    _note_notes(typed, _filled_cells(typed), totals)


def _filled_cells(typed: TypedRows) -> npt.NDArray[np.intp]:
    """Return how many cells are filled in each of the last rows that are looked at, and in the one
    before them."""
    last = typed.frame.iloc[-_LAST_NOTES - 1 :].notna().to_numpy()
    failed = [problems.failed[-_LAST_NOTES - 1 :] for problems in typed.problems.values()]
    counts: npt.NDArray[np.intp] = (last | np.array(failed).T).sum(axis=1)
    return counts


def _note_totals(resource: Resource, typed: TypedRows) -> frozenset[int]:
    """Note the text of each row that says "total" and has hardly another beside it."""
    names = [column.name for column in resource.columns if column.kind.is_text]
    rows = _sparse_rows(typed)
    found: set[int] = set()
    for name in names if len(rows) else ():
        for position, text in zip(rows.tolist(), typed.frame[name].iloc[rows], strict=True):
            if position not in found and isinstance(text, str) and _TOTAL.fullmatch(text):
                typed.problems[name].add(position, "row-total")
                found.add(position)
    return frozenset(found)


def _sparse_rows(typed: TypedRows) -> Positions:
    """Return the rows that have hardly a cell filled."""
    rows = np.arange(len(typed.rows))
    filled = np.zeros(len(rows), dtype=np.intp)
    for name, problems in typed.problems.items():
        filled += typed.frame[name].notna().to_numpy()[rows] | problems.failed[rows]
        sparse = filled <= _MOST_CELLS
        rows, filled = rows[sparse], filled[sparse]
        if not len(rows):
            break
    return rows


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
