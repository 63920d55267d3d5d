"""Remarks on rows beside their findings: why the system refused them, what the plan does."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import Text
from xlbridge.ui.shown_findings import told_mark
from xlbridge.upload import ItemCells, PlannedRow
from xlbridge.validation import ValidatedSheet
from xlbridge.workbook import CellPosition, column_index

Refusals = Mapping[str, Mapping[CellPosition, str]]
"""Reasons for which the system refuses cells, by their sheets."""

_DIFFERS = Text(pt="no sistema: {theirs}", en="in the system: {theirs}")


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """Action of a row in the plan: why it is that, and by column what differs from the record."""

    action: str
    message: str
    differences: Mapping[str, str]

    @classmethod
    def of(cls, row: PlannedRow) -> "PlannedAction":
        """Return the action of a planned row."""
        told = {
            name: str(_DIFFERS.format(theirs=one.theirs if one.theirs is not None else "–"))
            for name, one in row.differences.items()
        }
        return cls(row.action.value, str(row.text or ""), told)


class RowRemarks:
    """Remarks on the rows of a sheet and of its records' lists."""

    def __init__(self) -> None:
        self.planned: dict[int, PlannedAction] = {}
        """The rows of the chosen sheet that the last plan does not create."""
        self._refused: dict[str, dict[int, dict[int, str]]] = {}

    def refuse(self, reasons: Refusals) -> None:
        """Take the reasons for which the system refuses cells, in place of earlier ones."""
        self._refused = {}
        for sheet, cells in reasons.items():
            for (row, column), text in cells.items():
                self._refused.setdefault(sheet, {}).setdefault(row, {})[column] = text

    def edited(self, sheet: str, places: Iterable[CellPosition]) -> None:
        """Drop what no longer goes for cells that were edited: their refusals, and the plan."""
        self.planned = {}
        rows = self._refused.get(sheet, {})
        for row, column in places:
            rows.get(row, {}).pop(column, None)
            if not rows.get(row, True):
                del rows[row]

    def refused(self, sheet: str) -> Iterator[CellPosition]:
        """Yield the refused cells of a sheet, row by row."""
        for row, cells in sorted(self._refused.get(sheet, {}).items()):
            yield from ((row, column) for column in sorted(cells))

    @property
    def refused_sheets(self) -> list[str]:
        """The sheets with refused cells."""
        return [sheet for sheet, rows in self._refused.items() if rows]

    def count(self, sheet: str) -> int:
        """Return the number of refused cells of a sheet."""
        return sum(map(len, self._refused.get(sheet, {}).values()))

    def records(self) -> list[tuple[str, int, int, str]]:
        """Return the refusals as plain data, to be kept: sheet, row, column and reason."""
        return [
            (sheet, row, column, text)
            for sheet, rows in self._refused.items()
            for row, cells in rows.items()
            for column, text in cells.items()
        ]

    def marks(self, sheet: str, row: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the refusals of a row's cells as the grid shows them, with their columns."""
        for column, text in self._refused.get(sheet, {}).get(row, {}).items():
            yield column, told_mark("refused", text)

    def planned_marks(
        self, row: int, columns: Mapping[str, int], first: int
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield what the plan says of a row of the chosen sheet, with the columns of its cells."""
        plan = self.planned.get(row)
        if plan is not None:
            for name, text in (plan.differences or {"": plan.message}).items():
                yield columns.get(name, first), told_mark("planned", text)


def kept_refusals(sheet: str, kept: Iterable[Sequence[Any]]) -> Refusals:
    """Return refusals as they were kept; those without a sheet are of the chosen one."""
    found: defaultdict[str, dict[CellPosition, str]] = defaultdict(dict)
    for *of_sheet, row, column, text in kept:
        found[of_sheet[0] if of_sheet else sheet][row, column] = text
    return found


def refusals(sheet: ValidatedSheet, rejected: Iterable[Mapping[str, Any]]) -> Refusals:
    """Return the reasons of rejected rows by their cells: the row's first where none is named; an
    item's in the sheet of its list."""
    items = ItemCells(sheet)
    reasons: defaultdict[str, defaultdict[CellPosition, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rejected:
        item = items.find(row["row"], row["column"] or "")
        if item is not None:
            child, place = item
            reasons[child][place].append(row["message"])
        else:
            own = row["cell"] if row["cell"] and "!" not in row["cell"] else "A"
            column = column_index(own.rstrip("0123456789"))
            reasons[sheet.sheet][row["row"], column].append(row["message"])
    return {
        name: {place: " · ".join(texts) for place, texts in cells.items()}
        for name, cells in reasons.items()
    }
