"""Snapshots of the remote records of a sheet's rows, and what two of them prove.

Proof: see the upload protocol, Reconcile.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from xlbridge.i18n import Text
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup.row_table import LazySequence, RowTable

CODE_SEPARATOR = "/"
"""Separator of the parts of a record's code."""


ItemDifference = Sequence[Any]
"""List, item, column, the row's value and the record's; a sequence, since it is stored as JSON."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """Remote record: its code, its compared values, and how they differ from a row's.

    ``same``: all filled cells of the row equal the record; ``unchanged``: its empty cells, too.
    ``differing`` maps each other column to the row's and the record's value. ``listing`` is the
    operation that listed the record; ``final``: the interface no longer changes it. ``items`` are
    the differences of its lists, with the row's items counted from zero; if the numbers of items
    differ, the item and the column are None and the values are the two numbers.
    """

    code: str
    values: Mapping[str, str | None]
    same: bool
    unchanged: bool = False
    differing: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    listing: str = ""
    final: bool = False
    items: Sequence[ItemDifference] = ()


@dataclass(frozen=True, slots=True)
class RowSnapshot:
    """Records found by a row's ``key``, and the compared values of the row."""

    key: Mapping[str, str]
    sent: Mapping[str, str | None]
    found: tuple[FoundRecord, ...]

    @property
    def same(self) -> int:
        """Number of records that equal the row."""
        return sum(record.same for record in self.found)


Snapshot = Sequence[RowSnapshot | None]
"""Remote records of each row, in order; None for a row without a key."""


class SnapshotColumns(NamedTuple):
    """Snapshot as columns: comparable values of the rows, and the records of rows that have any.

    ``keys`` are the distinct keys by which rows were looked up; ``lookups`` has the index of each
    row's key, None for a row that was not looked up.
    """

    lookups: Sequence[int | None]
    keys: Sequence[Mapping[str, Sequence[str]]]
    sent: Mapping[str, Sequence[str | None]]
    found: Mapping[int, Sequence[FoundRecord]]


class ColumnarSnapshot(LazySequence[RowSnapshot | None]):
    """Snapshot that is stored as columns; its rows are created on access."""

    @abstractmethod
    def columns(self) -> SnapshotColumns:
        """Return the columns of the rows."""


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Remote records of rows: ``snapshot`` has None for each row that was not looked up.

    ``reasons`` say why, by the positions of rows with a key; ``reason`` is the first of them, or
    that rows have no key.
    """

    snapshot: Snapshot
    reasons: Mapping[int, Text]
    reason: Text | None


def json_text(value: object) -> str:
    """Return a value as JSON, in a fifth of the standard library's time."""
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        # Only the standard library accepts lone surrogates, which a system may send.
        return json.dumps(value, default=_plain)


def json_texts(values: Sequence[object]) -> list[str]:
    """Return each value as JSON, encoded together."""
    import msgspec

    try:
        lines = msgspec.json.Encoder(enc_hook=_plain).encode_lines(values)
    except UnicodeEncodeError:
        return list(map(json_text, values))
    return lines.decode().split("\n")[:-1]


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value.items())
    return {field.name: getattr(value, field.name) for field in fields(value)}


def value_of_json(text: str | bytes) -> Any:
    """Return the value that ``json_text`` encoded."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def snapshot_to_json(snapshot: Snapshot) -> bytes:
    """Return a snapshot as JSON: a list of its rows, or an object of its columns."""
    if not isinstance(snapshot, ColumnarSnapshot):
        return json_text(snapshot).encode()
    lookups, keys, sent, found = snapshot.columns()
    document = {
        "count": len(snapshot),
        "lookups": _compact(lookups),
        "keys": [_compact_columns(key) for key in keys],
        "sent": _compact_columns(sent),
        "found": list(found.items()),
    }
    return json_text(document).encode()


def _compact_columns(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: _compact(values) for name, values in columns.items()}


def _compact(values: Sequence[Any]) -> Any:
    """Return values as a list, or as a single value if they are all equal."""
    return values[0] if values and values.count(values[0]) == len(values) else values


def snapshot_from_json(text: str | bytes) -> Snapshot:
    """Return the snapshot that ``snapshot_to_json`` encoded; earlier versions stored text."""
    stored = value_of_json(text)
    if isinstance(stored, list):
        return tuple(
            None if row is None else _stored_row(row["key"], row["sent"], row["found"])
            for row in stored
        )
    count, found = stored["count"], dict(stored["found"])
    keys = [_expanded_rows(key, count) for key in stored["keys"]]
    sent = _expanded_rows(stored["sent"], count)
    return tuple(
        None if lookup is None else _stored_row(keys[lookup][at], sent[at], found.get(at, ()))
        for at, lookup in enumerate(_expanded(stored["lookups"], count))
    )


def _expanded(values: Any, count: int) -> list[Any]:
    """Return the values that ``_compact`` may have replaced by a single one."""
    return values if isinstance(values, list) else [values] * count


def _expanded_rows(columns: Mapping[str, Any], count: int) -> RowTable:
    return RowTable({name: _expanded(values, count) for name, values in columns.items()}, count)


def _stored_row(
    key: Mapping[str, str], sent: Mapping[str, str | None], found: Sequence[Mapping[str, Any]]
) -> RowSnapshot:
    return RowSnapshot(key, sent, tuple(FoundRecord(**record) for record in found))


class Moment(StrEnum):
    """Moment of a snapshot.

    Before sending, right after writing, after the settle time, or to learn remote codes.
    ``IDENTICAL`` are the records that equalled rows without a key before any was sent.
    """

    BEFORE = "before"
    WRITTEN = "written"
    AFTER = "after"
    CODES = "codes"
    IDENTICAL = "twins"


class StoredSnapshot(NamedTuple):
    """Snapshot in the journal, with its time and moment."""

    at: datetime
    moment: Moment
    rows: Snapshot


def applied_rows(before: Snapshot, after: Snapshot, existing: ExistingPolicy) -> list[bool | None]:
    """Return for each row whether its record is new, None if nothing proves it either way.

    Identical rows are only counted: of three such rows with two new records, the first two count
    as applied. A row's absence is unproven if its key has a new record that matches no row, which
    may be the row as the system presents it.
    """
    if existing is ExistingPolicy.REPLACED:
        # A record replaced by equal values is as wanted, whether or not the request arrived.
        return [None if row is None else row.same > 0 for row in after]
    pairs = list(zip(before, after, strict=True))
    # New records that equal the row, by the row's identity.
    new = {
        _identity(now): now.same - was.same
        for was, now in pairs
        if was is not None and now is not None
    }
    unknown = _keys_with_unknown_records(before, after)
    proven: list[bool | None] = []
    for was, now in pairs:
        if was is None or now is None:
            proven.append(None)
            continue
        identity = _identity(now)
        new[identity] -= 1
        proven.append(new[identity] >= 0 or (None if _key(now) in unknown else False))
    return proven


_Identity = tuple[tuple[str, str | None], ...]


def _keys_with_unknown_records(before: Snapshot, after: Snapshot) -> set[_Identity]:
    """Return the keys with a new record that matches none of their rows."""
    known = {(_key(row), record.code) for row in filter(None, before) for record in row.found}
    known |= {
        (_key(row), record.code)
        for row in filter(None, after)
        for record in row.found
        if record.same
    }
    return {
        _key(row)
        for row in filter(None, after)
        for record in row.found
        if (_key(row), record.code) not in known
    }


def _key(row: RowSnapshot) -> _Identity:
    return tuple(sorted(row.key.items()))


def _identity(row: RowSnapshot) -> _Identity:
    """Return the key and content of a row, equal for identical rows."""
    return (*_key(row), *sorted(row.sent.items()))


def is_stable(snapshots: Sequence[Snapshot]) -> bool:
    """Return whether all snapshots are equal, so that nothing is still arriving."""
    first = list(snapshots[0])
    return all(list(snapshot) == first for snapshot in snapshots[1:])
