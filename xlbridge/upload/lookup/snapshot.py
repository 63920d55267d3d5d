"""Snapshots of the remote records of a sheet's rows, and what two of them prove.

Source of the proof: the upload protocol, Reconcile.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from xlbridge.i18n import Text
from xlbridge.resources.remote import ExistingPolicy

_PIECE = 1_000
"""Rows whose JSON is made at once."""

CODE_SEPARATOR = "/"
"""Separator of the parts of a record's code."""


ItemDifference = Sequence[Any]
"""List, item, column, the row's value, the record's: a sequence, as JSON has it."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """Remote record: its code, its compared values, and whether they equal those of a row.

    ``same`` says that none of them is otherwise than the row's filled cells, ``unchanged`` that
    empty cells are empty there, too. ``differing`` maps the columns of which that is not so to the
    row's value and the record's. ``listing`` names the operation that listed it; ``final`` says
    that the interface does not change it any more. ``items`` are the differences of its lists: the
    list, the item of the row from zero, the column, the row's value and the record's; where one of
    them has more items, without an item and a column, how many both have.
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
    """Records that answer to a row's ``key``, and the compared values that the row has."""

    key: Mapping[str, str]
    sent: Mapping[str, str | None]
    found: tuple[FoundRecord, ...]

    @property
    def same(self) -> int:
        """Number of records that equal the row."""
        return sum(record.same for record in self.found)


Snapshot = Sequence[RowSnapshot | None]
"""Remote records of each row, in order; None for a row without a key."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Remote records of rows: ``snapshot`` has None for a row that was not looked up.

    ``reasons`` say why, by position, of the rows that have a key; ``reason`` is the first of them,
    or that rows have no key.
    """

    snapshot: Snapshot
    reasons: Mapping[int, Text]
    reason: Text | None


def json_text(value: object) -> str:
    """Return a value as JSON, in a fifth of the standard library's time.

    Only that takes half of a character that UTF-16 writes as two, which a system may answer.
    """
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        return json.dumps(value, default=_plain)


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value.items())
    return {one.name: getattr(value, one.name) for one in fields(value)}


def value_of_json(text: str | bytes) -> Any:
    """Return the value that ``json_text`` gave as JSON."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def snapshot_to_json(snapshot: Snapshot) -> list[bytes]:
    """Return a snapshot as JSON, with the names of the fields, in pieces."""
    pieces = [b"["]
    for at in range(0, len(snapshot), _PIECE):
        rows = json_text(snapshot[at : at + _PIECE])
        pieces += [b"," if at else b"", rows[1:-1].encode()]
    return [*pieces, b"]"]


def snapshot_from_json(text: str | bytes) -> Snapshot:
    """Return the snapshot that ``snapshot_to_json`` gave as JSON; earlier versions kept a text."""
    return tuple(
        None
        if row is None
        else RowSnapshot(
            row["key"], row["sent"], tuple(FoundRecord(**record) for record in row["found"])
        )
        for row in value_of_json(text)
    )


class Moment(StrEnum):
    """Moment of a snapshot.

    Before sending, right after what was written, after the settle time, or to learn remote codes.
    ``TWINS`` are the records that were equal to rows without a key before any of them was sent.
    """

    BEFORE = "before"
    WRITTEN = "written"
    AFTER = "after"
    CODES = "codes"
    TWINS = "twins"


class StoredSnapshot(NamedTuple):
    """Snapshot as the journal has it, with its time and moment."""

    at: datetime
    moment: Moment
    rows: Snapshot


def applied_rows(before: Snapshot, after: Snapshot, existing: ExistingPolicy) -> list[bool | None]:
    """Return of each row whether it is there now and was not before; None where nothing proves it.

    Rows that say the same of the same key are told apart by their number only: of three such rows
    with two new records, the first two count as applied. That a row is not there has no proof
    either where its key has a new record that is what none of the rows says: it may be the row as
    the system shows it.
    """
    if existing is ExistingPolicy.REPLACED:
        # A record that is replaced by the same values is as it was wanted, whatever happened.
        return [None if row is None else row.same > 0 for row in after]
    pairs = list(zip(before, after, strict=True))
    # How many records have become equal to each kind of row.
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
    """Return the keys with a record that came to be and is what none of their rows says."""
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
    """Return a value that is equal for rows of one key with the same content."""
    return (*_key(row), *sorted(row.sent.items()))


def is_stable(snapshots: Sequence[Snapshot]) -> bool:
    """Tell whether all snapshots are equal: nothing is on its way any more."""
    first = list(snapshots[0])
    return all(list(snapshot) == first for snapshot in snapshots[1:])
