"""Payload: a clean workbook made of the validated rows, stored by its content hash.

The analyst's own file is never sent: macros, links, hidden sheets and differences between parsers
stay behind. Rows of child sheets become lists of their records, a column of the frame for each
list: digests, claims and payloads take it as any other, and a record that is sent has its list.
"""

import hashlib
import json
import os
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.files import make_private_folder
from xlbridge.resources import KEY, Resource
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.upload.claims import Digests, claim_digest
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.row_table import MadeItems, RowTable, RowValues, column_values
from xlbridge.upload.results.verdict import ItemPlaces, parse_item_column
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.cells import type_rows
from xlbridge.validation.headers import match_header
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import read_workbook

_PIECE = 10_000
"""Rows whose values are named at once."""

_PARSED_HERE = 128 * 2**10
"""Bytes of a payload up to which parsing it takes this process less than to start one for it."""


def row_digests(resource: Resource, frame: pd.DataFrame) -> Digests:
    """Return a digest of each row's values, whatever the file, its styles and its layout."""
    filled = (str(name) for name in frame if frame[name].notna().any())
    names = sorted(name for name in filled if name != KEY)
    opening = f"[{json.dumps(resource.name)}"

    def digests() -> Iterator[str]:
        for at in range(0, len(frame), _PIECE):
            rows = frame.iloc[at : at + _PIECE]
            for row in zip(*[_named_values(name, rows[name]) for name in names], strict=True):
                yield claim_digest(f"{opening}{''.join(row)}]")

    return Digests(digests())


def _named_values(name: str, column: pd.Series) -> list[str]:
    """Return each value of a column as an item of a JSON list, nothing for an empty cell."""
    opening = f", [{json.dumps(name)}, "
    cells = column_values(column)

    def item(cell: object) -> str:
        if cell is None:
            return ""
        text = list_text(cell) if isinstance(cell, list) else str(cell)
        return f"{opening}{encode_basestring_ascii(text)}]"

    if column.dtype == object and any(isinstance(cell, list) for cell in cells):
        return list(map(item, cells))
    # Most columns have few values; all are of one type.
    items = {cell: item(cell) for cell in set(cells)}
    return [items[cell] for cell in cells]


def sheet_digest(rows: Sequence[str]) -> str:
    """Return the digest of all rows, in whatever order they stand."""
    return hashlib.sha256("".join(sorted(rows)).encode()).hexdigest()


def frame_of_rows(resource: Resource, rows: Sequence[RowValues]) -> pd.DataFrame:
    """Return the typed frame of rows."""
    columns = {c.name: [row.get(c.name) for row in rows] for c in resource.columns}
    frame = pd.DataFrame(columns).astype({c.name: c.dtype for c in resource.columns})
    lists = {
        child.sheet: pd.Series([row.get(child.sheet) for row in rows], dtype=object)
        for child in resource.children
        if any(row.get(child.sheet) for row in rows)
    }
    return frame.assign(**lists) if lists else frame


def store_payload(context: UploadContext, resource: Resource, frame: pd.DataFrame) -> str:
    """Write the payload, safely on the disk, and return its content hash."""
    from xlbridge.workbook.write import write_records  # Here, not above: a plan stores none.

    folder = context.settings.payloads
    make_private_folder(folder)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        children = {one.resource.sheet: one.frame for one in child_rows(resource, frame)}
        write_records(temporary, resource, frame, children)
        content = hashlib.sha256(temporary.read_bytes()).hexdigest()
        temporary.chmod(0o600)
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(context.payload_path(content))
    finally:
        temporary.unlink(missing_ok=True)
    return content


def frame_of_payload(context: UploadContext, resource: Resource, content: str) -> pd.DataFrame:
    """Return the typed rows of a stored payload. Raises as ``UploadContext.load_payload`` does."""
    return frame_with_lists(_typed_payload(context, resource, content))


def _typed_payload(context: UploadContext, resource: Resource, content: str) -> ValidatedSheet:
    """Return the typed main sheet of a stored payload, with its child sheets."""
    payload, limits = context.load_payload(content), WorkbookLimits()
    # What was written here, and is still the same, does no harm.
    trusted = payload if len(payload) <= _PARSED_HERE else None
    path = context.payload_path(content)
    parsed = read_workbook(path, limits, trusted=trusted)
    cells = {one.name: one for one in parsed.sheets}
    main, *children = (
        ValidatedSheet(path, one, one.sheet, frame=typed.frame, rows=typed.rows)
        for one in (resource, *resource.children)
        if one.sheet in cells
        for found in [cells[one.sheet]]
        for typed in [type_rows(one, match_header(found, 0, one), found, ParseOptions())]
    )
    main.children = {child.sheet: child for child in children}
    return main


def sent_rows(context: UploadContext, job: Job, *, with_unsent: bool = False) -> RowTable:
    """Return the rows of a job as they are sent, in order; ``with_unsent`` all of its sheet.

    Lists are made when they are asked for.
    """
    resource = context.catalogue.named(job.spec.resource)
    content = job.spec.planned if with_unsent and job.spec.planned else job.spec.payload
    sheet = _typed_payload(context, resource, content)
    return RowTable.of(sheet.frame, lists=_lists_of(sheet))


def file_hash(path: Path) -> str:
    """Return the hash of an analyst's file, by which it is recognised later."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


ListItem = Mapping[str, Any]
"""Item of a list: its filled columns with their typed values."""


def frame_with_lists(sheet: ValidatedSheet) -> pd.DataFrame:
    """Return the frame of a validated sheet with the lists of its records."""
    return _with_lists(sheet.frame, _lists_of(sheet))


def _lists_of(sheet: ValidatedSheet) -> "Mapping[str, ItemLists]":
    """Return the lists of a sheet's records, by their names."""
    count, children = len(sheet.frame), sheet.children.items()
    return {
        n: ItemLists(child.frame, sheet.parent_positions(child), count) for n, child in children
    }


class ItemLists(MadeItems[list[ListItem] | None]):
    """Lists of the records of a sheet, from the rows of a child sheet; None where one has no item.

    ``parents`` has the position of each row's record, below 0 where it has none. A list is made
    when it is asked for: as dicts the items take many times the memory of their columns.
    """

    def __init__(self, child: pd.DataFrame, parents: npt.NDArray[np.intp], count: int) -> None:
        filled = [name for name in child if name != KEY and child[name].notna().any()]
        self._columns = {str(name): column_values(child[name]) for name in filled}
        self._order = np.argsort(parents, kind="stable")
        self._ends = np.searchsorted(parents[self._order], np.arange(count + 1))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def _made(self, at: int) -> list[ListItem] | None:
        places = self._order[self._ends[at] : self._ends[at + 1]].tolist()
        columns = self._columns.items()
        return [
            {name: values[place] for name, values in columns if values[place] is not None}
            for place in places
        ] or None


def _with_lists(frame: pd.DataFrame, lists: Mapping[str, ItemLists]) -> pd.DataFrame:
    """Return a frame with a column of each list that any record has."""
    columns = {name: list(of_list) for name, of_list in lists.items()}
    filled = {
        name: pd.Series(found, index=frame.index, dtype=object)
        for name, found in columns.items()
        if any(found)
    }
    return frame.assign(**filled) if filled else frame


@dataclass(frozen=True, slots=True)
class ChildRows:
    """Rows of a child sheet: the typed frame with its key, and whose item each row is.

    Of the columns, optional ones without any value are left out. ``places`` has the position of the
    record and the number of the item, from zero.
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
        lists = [items if isinstance(items, list) else () for items in frame[child.sheet]]
        places = [(at, number) for at, items in enumerate(lists) for number in range(len(items))]
        if not places:
            continue
        named = {KEY} | {name for items in lists for item in items for name in item}
        columns = [c for c in child.columns if c.required or c.name in named]
        values: dict[str, list[Any]] = {c.name: [] for c in columns}
        for key, items in zip(keys, lists, strict=True):
            for item in items:
                for name, column in values.items():
                    column.append(key if name == KEY else item.get(name))
        typed = {c.name: pd.Series(values.pop(c.name), dtype=c.dtype) for c in columns}
        yield ChildRows(child, pd.DataFrame(typed), places)


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
    parents = main.parent_positions(child)
    numbers = pd.Series(parents).groupby(parents).cumcount().to_numpy()
    kept = np.flatnonzero(parents >= 0)
    return {child.rows[at]: (int(parents[at]), int(numbers[at])) for at in kept.tolist()}


def item_places(main: ValidatedSheet) -> dict[str, ItemPlaces]:
    """Return where the items of a sheet's records stand, by the names of the lists."""
    found = {}
    for name, child in main.children.items():
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for own, position in zip(child.rows, main.parent_positions(child).tolist(), strict=True):
            if position >= 0:
                rows[main.rows[position]].append(own)
        found[name] = ItemPlaces(child.sheet, child.columns, rows)
    return found


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
