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

from xlbridge.errors import LocalFailure
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.settings import WorkbookLimits
from xlbridge.upload.claims import Digests, claim_digest
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import ItemPlaces, Job
from xlbridge.upload.lookup.row_table import RowValues, column_values, rows_of
from xlbridge.upload.results.verdict import parse_item_column
from xlbridge.validation import ParseOptions, ValidatedSheet, positions_of_keys, type_rows
from xlbridge.validation.headers import match_header
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import read_workbook
from xlbridge.workbook.write import write_records

_PIECE = 10_000
"""Rows whose values are named at once."""


def row_digests(resource: Resource, frame: pd.DataFrame) -> Digests:
    """Return a digest of each row's values, whatever the file, its styles and its layout."""
    names = sorted(name for name in frame.columns if name != KEY)
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

    if any(isinstance(cell, list) for cell in cells):
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


def store_payload(folder: Path, resource: Resource, frame: pd.DataFrame) -> str:
    """Write the payload to ``folder``, safely on the disk, and return its content hash."""
    make_private_folder(folder)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        children = {one.resource.sheet: one.frame for one in child_rows(resource, frame)}
        write_records(temporary, resource, frame, children)
        content = hashlib.sha256(temporary.read_bytes()).hexdigest()
        temporary.chmod(0o600)
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(payload_path(folder, content))
    finally:
        temporary.unlink(missing_ok=True)
    return content


def load_payload(folder: Path, content: str) -> bytes:
    """Return a stored payload. Raises ``LocalFailure`` when it is gone or no longer the same."""
    path = payload_path(folder, content)
    payload = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(payload).hexdigest() != content:
        raise LocalFailure(
            Text(
                pt="O arquivo guardado deste envio sumiu ou mudou: {path}",
                en="The stored file of this upload is gone or has changed: {path}",
            ).format(path=path)
        )
    return payload


def sent_frame(context: UploadContext, job: Job) -> pd.DataFrame:
    """Return the typed rows of a job as they are sent, read from its stored payload.

    Raises ``LocalFailure`` when the payload is gone or no longer the same.
    """
    return frame_of_payload(context, context.catalogue.named(job.spec.resource), job.spec.payload)


def frame_of_payload(context: UploadContext, resource: Resource, content: str) -> pd.DataFrame:
    """Return the typed rows of a stored payload. Raises as ``load_payload`` does."""
    load_payload(context.settings.payloads, content)
    path = payload_path(context.settings.payloads, content)
    sheets = read_workbook(path, WorkbookLimits()).sheets
    cells = {one.name: one for one in sheets}
    frame, *lists = (
        type_rows(
            one, match_header(cells[one.sheet], 0, one), cells[one.sheet], ParseOptions()
        ).frame
        for one in (resource, *resource.children)
        if one.sheet in cells
    )
    names = (child.sheet for child in resource.children if child.sheet in cells)
    return join_lists(frame, dict(zip(names, lists, strict=True))) if lists else frame


def sent_rows(context: UploadContext, job: Job) -> list[RowValues]:
    """Return the rows of a job as they are sent, in order."""
    return rows_of(sent_frame(context, job))


def planned_rows(context: UploadContext, job: Job) -> list[RowValues]:
    """Return all rows of a job's sheet, in order, those that are not sent too."""
    resource = context.catalogue.named(job.spec.resource)
    return rows_of(frame_of_payload(context, resource, job.spec.planned or job.spec.payload))


def file_hash(path: Path) -> str:
    """Return the hash of an analyst's file, by which it is recognised later."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def payload_path(folder: Path, content: str) -> Path:
    """Return where the payload of that content hash is stored."""
    return folder / f"{content}.xlsx"


ListItem = Mapping[str, Any]
"""Item of a list: its filled columns with their typed values."""


def frame_with_lists(sheet: ValidatedSheet) -> pd.DataFrame:
    """Return the frame of a validated sheet with the lists of its records."""
    children = {
        name: (child.frame, sheet.parents_of(child)) for name, child in sheet.children.items()
    }
    return _with_lists(sheet.frame, children)


def join_lists(frame: pd.DataFrame, children: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the frame of a main sheet with the lists that the frames of child sheets hold."""
    joined = {
        name: (child, positions_of_keys(frame[KEY], child[KEY])) for name, child in children.items()
    }
    return _with_lists(frame, joined)


def _with_lists(
    frame: pd.DataFrame, children: Mapping[str, tuple[pd.DataFrame, npt.NDArray[np.intp]]]
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
    parents = main.parents_of(child)
    numbers = pd.Series(parents).groupby(parents).cumcount().to_numpy()
    kept = np.flatnonzero(parents >= 0)
    return {child.rows[at]: (int(parents[at]), int(numbers[at])) for at in kept.tolist()}


def item_places(main: ValidatedSheet) -> dict[str, ItemPlaces]:
    """Return where the items of a sheet's records stand, by the names of the lists."""
    found = {}
    for name, child in main.children.items():
        rows: defaultdict[int, list[int]] = defaultdict(list)
        for own, (position, _) in record_positions(main, child).items():
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
