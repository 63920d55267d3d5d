"""Snapshots in the journal, and the JSON in which they are stored."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from xlbridge.clock import Instant
from xlbridge.files import LocalDatabase
from xlbridge.upload.journal_database import transaction
from xlbridge.upload.lookup.row_table import RowTable
from xlbridge.upload.lookup.snapshot import ColumnarSnapshot, FoundRecord, RowSnapshot, Snapshot


class Moment(StrEnum):
    """Moment of a snapshot.

    Before sending, right after writing, after the settle time, or to learn remote codes.
    ``IDENTICAL`` are the records that equalled rows without a key before any was sent.
    """

    BEFORE = "before"
    WRITTEN = "written"
    AFTER = "after"
    CODES = "codes"
    IDENTICAL = "identical"


class StoredSnapshot(NamedTuple):
    """Snapshot in the journal, with its time and moment."""

    at: datetime
    moment: Moment
    rows: Snapshot


class StoredSnapshots:
    """Snapshots of the remote records of jobs' rows in the journal's file."""

    def __init__(self, db: LocalDatabase, now: Callable[[], Instant]) -> None:
        self._db = db
        self._now = now

    def store(self, job_id: str, moment: Moment, snapshot: Snapshot) -> None:
        """Store a snapshot durably."""
        with transaction(self._db):
            self.add(job_id, moment, snapshot)

    def add(self, job_id: str, moment: Moment, snapshot: Snapshot) -> None:
        """Store a snapshot within the caller's transaction."""
        self._db.execute(
            "INSERT INTO readings SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
            "FROM readings WHERE job = ?",
            (job_id, self._now().at.isoformat(), moment, snapshot_to_json(snapshot), job_id),
        )

    def all_of(self, job_id: str) -> list[StoredSnapshot]:
        """Return the snapshots of a job, oldest first."""
        found = self._db.execute(
            "SELECT at, moment, rows FROM readings WHERE job = ? ORDER BY number", (job_id,)
        )
        return [
            StoredSnapshot(datetime.fromisoformat(at), Moment(moment), snapshot_from_json(rows))
            for at, moment, rows in found.fetchall()
        ]

    def first_before(self, job_id: str) -> Snapshot:
        """Return the first snapshot of a job, taken before anything was sent; empty without one."""
        stored = self.all_of(job_id)
        return next((one.rows for one in stored if one.moment is Moment.BEFORE), ())

    def newest(self, job_id: str, *moments: Moment) -> Snapshot | None:
        """Return the newest snapshot of a job at one of the moments, None if there is none."""
        found = self._db.execute(
            "SELECT rows FROM readings WHERE job = ? "
            "AND moment IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT 1",
            (job_id, json.dumps(moments)),
        ).fetchone()
        return None if found is None else snapshot_from_json(found[0])


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


def snapshot_from_json(text: bytes) -> Snapshot:
    """Return the snapshot that ``snapshot_to_json`` encoded."""
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
