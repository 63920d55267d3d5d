"""Rows of child sheets as lists of their records: a column of the frame for each list.

Digests, claims and payloads take such a column as any other; a record that is sent has its list.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from xlbridge.resources import KEY, Resource
from xlbridge.upload.lookup.row_lookup import rows_of
from xlbridge.validation import ValidatedSheet, parents_of, positions_of_keys
from xlbridge.workbook import CellPosition

if TYPE_CHECKING:
    from xlbridge.validation.cross_sheet import IntArray

ListItem = Mapping[str, Any]
"""Item of a list: its filled columns with their typed values."""


def frame_with_lists(sheet: ValidatedSheet) -> pd.DataFrame:
    """Return the frame of a validated sheet with the lists of its records."""
    children = {
        name: (child.frame, parents_of(sheet, child)) for name, child in sheet.children.items()
    }
    return _with_lists(sheet.frame, children)


def join_lists(frame: pd.DataFrame, children: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the frame of a main sheet with the lists that the frames of child sheets hold."""
    joined = {
        name: (child, positions_of_keys(frame[KEY], child[KEY])) for name, child in children.items()
    }
    return _with_lists(frame, joined)


def _with_lists(
    frame: pd.DataFrame, children: "Mapping[str, tuple[pd.DataFrame, IntArray]]"
) -> pd.DataFrame:
    """Return a frame with a column of each list, None where a record has no item of it."""
    lists = {}
    for name, (child, parents) in children.items():
        filled = [column for column in child if column != KEY and child[column].notna().any()]
        found: list[list[ListItem] | None] = [None] * len(frame)
        for parent, row in zip(parents.tolist(), rows_of(child[filled]), strict=True):
            if parent < 0:
                continue
            items = found[parent]
            if items is None:
                items = found[parent] = []
            items.append({column: value for column, value in row.items() if value is not None})
        if any(items is not None for items in found):
            lists[name] = pd.Series(found, index=frame.index, dtype=object)
    return frame.assign(**lists) if lists else frame


@dataclass(frozen=True, slots=True)
class ChildRows:
    """Rows of a child sheet: the typed frame with its key, and whose item each row is.

    ``places`` has the position of the record and the number of the item, from zero.
    """

    resource: Resource
    frame: pd.DataFrame
    places: Sequence[tuple[int, int]]


def child_rows(resource: Resource, frame: pd.DataFrame) -> Iterator[ChildRows]:
    """Yield the rows of each child sheet that the lists of a frame become."""
    for child in resource.children:
        if child.sheet not in frame:
            continue
        keys = frame[KEY].tolist()
        places, rows = [], []
        for position, items in enumerate(frame[child.sheet]):
            for number, item in enumerate(items if isinstance(items, list) else ()):
                places.append((position, number))
                rows.append({KEY: keys[position], **item})
        if rows:
            columns = {c.name: [row.get(c.name) for row in rows] for c in child.columns}
            dtypes = {c.name: c.dtype for c in child.columns}
            yield ChildRows(child, pd.DataFrame(columns).astype(dtypes), places)


def has_lists(resource: Resource, frame: pd.DataFrame) -> bool:
    """Tell whether a frame has the lists of any record."""
    return any(child.sheet in frame for child in resource.children)


def list_text(items: Sequence[ListItem]) -> str:
    """Return the items of a list as one text, the same for the same values."""
    return json.dumps(items, sort_keys=True, default=str)


def record_positions(main: ValidatedSheet, child: ValidatedSheet) -> dict[int, tuple[int, int]]:
    """Return, by the row of a child sheet, its record's position and the number of the item.

    Rows that belong to no record are not in it.
    """
    parents = parents_of(main, child)
    numbers = pd.Series(parents).groupby(parents).cumcount().to_numpy()
    kept = np.flatnonzero(parents >= 0)
    return {child.rows[at]: (int(parents[at]), int(numbers[at])) for at in kept.tolist()}


class ItemCells:
    """Cells of the items of a sheet's records, as rejections name their columns."""

    def __init__(self, main: ValidatedSheet) -> None:
        self._main = main
        self._rows: dict[str, dict[tuple[int, int], int]] = {}

    def find(self, row: int | None, column: str) -> tuple[str, CellPosition] | None:
        """Return the sheet and the cell of an item's column in the record of a row of the main
        sheet, None where the column is none of an item that is there."""
        item = parse_item_column(column)
        child = None if item is None else self._main.children.get(item[0])
        if item is None or child is None or row not in self._main.rows:
            return None
        name, number, of_item = item
        if name not in self._rows:
            places = record_positions(self._main, child)
            self._rows[name] = {place: own for own, place in places.items()}
        own = self._rows[name].get((self._main.rows.index(row), number))
        if own is None:
            return None
        first = min(child.columns.values(), default=0)
        return child.sheet, (own, child.columns.get(of_item, first))


def item_column(sheet: str, number: int, column: str) -> str:
    """Return how an item's column is named among those of its record, as the interface does."""
    return f"{sheet}.{number}.{column}"


def parse_item_column(name: str) -> tuple[str, int, str] | None:
    """Return the list, the number and the column that ``item_column`` named; None for no such."""
    sheet, _, rest = name.partition(".")
    number, _, column = rest.partition(".")
    return (sheet, int(number), column) if column and number.isdecimal() else None
