"""Requests of jobs: rows that are sent together, and what is known of them by now, with the stored
readings of their records.

A job has one request; a long sheet has one for each part, and so have records that are changed one
by one, if others are imported. States: see the upload protocol (``docs/upload-protocol.md``).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Self

from xlbridge import titles
from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text, joined
from xlbridge.processes import Instant
from xlbridge.report_forms import group_by_reason, list_first
from xlbridge.resources import Mode
from xlbridge.upload.journal_database import json_text, transaction, value_of_json
from xlbridge.upload.lookup.snapshot import Moment, RowSnapshot, Snapshot
from xlbridge.upload.results.verdict import LostField, has_open_name


class State(StrEnum):
    """State of a request; each is durable before what it announces is sent.

    ``SENDING_PARTS`` is the state of a job with several requests, from the consent to their end.
    ``COMPARING`` requests have a verdict; the records that they have written are still to be
    compared with what was sent.

    ``text`` is the state in words, ``public`` its name in the contract of ``upload --format json``.
    ``is_unsent``: no request that could write has been sent; ``has_sent``: something was sent, and
    not given up. ``is_final``: the job does not proceed on its own; ``frees_rows``: nor was
    anything of it applied, so that its rows may be sent again. ``is_settled``: nothing has been
    sent, or the outcome is known.
    """

    text: Text
    public: str
    is_unsent: bool
    has_sent: bool
    is_final: bool
    frees_rows: bool
    is_settled: bool

    def __new__(
        cls, value: str, text: Text = titles.IN_DOUBT, kind: str = "", public: str = ""
    ) -> Self:
        """Return the state of a ``kind``: unsent, final, one that frees rows, or none of them."""
        self = str.__new__(cls, value)
        self._value_, self.text, self.public = value, text, public or value
        self.is_unsent = kind == "unsent"
        self.frees_rows = kind == "frees"
        self.is_final = kind in {"final", "frees"}
        self.has_sent = not self.is_unsent and value not in {"previewed", "abandoned"}
        self.is_settled = self.is_unsent or (self.is_final and value != "needs_person")
        return self

    PREPARED = "prepared", Text(pt="preparado", en="prepared"), "unsent", "failed"
    PREVIEWING = "previewing", Text(pt="em prévia", en="previewing"), "unsent", "failed"
    PREVIEWED = "previewed", Text(pt="só prévia", en="previewed"), "frees"
    SENDING = "sending", Text(pt="enviando", en="sending"), "", "in_doubt"
    SENDING_PARTS = (
        "sending_parts",
        Text(pt="enviando em partes", en="sending parts"),
        "",
        "processing",
    )
    STAGING = "staging", Text(pt="indo para a fila", en="entering the queue"), "", "in_doubt"
    STAGED = "staged", Text(pt="na fila", en="queued"), "", "queued"
    STARTING = "starting", Text(pt="iniciando", en="starting"), "", "processing"
    POLLING = "polling", Text(pt="em processamento", en="processing"), "", "processing"
    COMPARING = (
        "comparing",
        Text(pt="conferindo o que foi gravado", en="comparing what was stored"),
        "",
        "processing",
    )
    IN_DOUBT = "in_doubt", titles.IN_DOUBT
    NEEDS_PERSON = (
        "needs_person",
        Text(pt="aguarda decisão", en="awaits a decision"),
        "final",
        "in_doubt",
    )
    DONE = "done", Text(pt="concluído", en="done"), "final"
    PARTIAL = "partial", Text(pt="parcial", en="partial"), "final"
    REJECTED = "rejected", Text(pt="rejeitado", en="rejected"), "frees"
    ABANDONED = "abandoned", Text(pt="não enviado", en="not sent"), "frees", "failed"


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a job, as far as the journal knows by now: rows that are sent together.

    ``id`` is the id of the job if that has no other request. ``attempt`` is the number of times
    that it was announced, ``ends_as`` the state in which it ends once records are compared.
    ``lost_fields`` are columns whose values the system has not taken, ``unseen_fields`` those of
    which nothing shows it, ``uncompared`` is the reason why nothing was compared.
    """

    id: str
    number: int
    mode: Mode
    payload: str
    state: State
    changed_at: datetime
    attempt: int = 0
    log_id: int | None = None
    previewed: int | None = None
    preview_done: bool = False
    ends_as: State | None = None
    reason: Text | None = None
    uncompared: Text | None = None
    lost_fields: Sequence[LostField] = ()
    unseen_fields: Sequence[str] = ()
    taken_fields: Sequence[str] = ()

    @property
    def has_lost_fields(self) -> bool:
        """True if fields are not stored that were sent, or nothing shows it of an open name or of
        all fields."""
        lost = (field.is_lost for field in self.lost_fields)
        return any(lost) or any(map(has_open_name, self.unseen_fields)) or bool(self.uncompared)

    @staticmethod
    def merge(requests: "Sequence[Request]") -> "Request":
        """Return what is known of the several requests of a job together: rows that were previewed,
        and fields that were not taken. They have no log in common."""
        previewed = [one.previewed for one in requests if one.previewed is not None]
        return replace(
            requests[0],
            log_id=None,
            previewed=sum(previewed) if previewed else None,
            uncompared=merge_reasons((one.uncompared, one.number) for one in requests),
            lost_fields=LostField.merge(field for one in requests for field in one.lost_fields),
            unseen_fields=sorted({name for one in requests for name in one.unseen_fields}),
        )


_OF_PARTS = Text(pt="{n:parte|partes} {parts}: {reason}", en="{n:part|parts} {parts}: {reason}")
_MOST_PARTS = 10


def merge_reasons(reasons: Iterable[tuple[Text | None, int]]) -> Text | None:
    """Return the reasons of requests as one, with the numbers of each if there are more."""
    groups = group_by_reason((text, number) for text, number in reasons if text is not None)
    if len(groups) < 2:
        return next(iter(groups), None)
    return joined(
        _OF_PARTS.format(n=len(numbers), parts=list_first(numbers, _MOST_PARTS), reason=reason)
        for reason, numbers in groups.items()
    )


_JOB_ID = len("20260101-120000-ffff")


def request_key(request_id: str) -> tuple[str, int]:
    """Return the job of a request and its number; the first request may bear the job's id."""
    return request_id[:_JOB_ID], int(request_id[_JOB_ID + 1 :] or 1)


@dataclass(frozen=True, slots=True)
class StoredRequests:
    """Requests in the journal's file; callers open the transaction."""

    _db: LocalDatabase

    def add(self, job_id: str, request: Request) -> None:
        """Store a new request of a job."""
        self._db.execute(
            "INSERT INTO requests (job, id, number, mode, payload, state, changed_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job_id, *astuple(request)[:5], request.changed_at.isoformat()),
        )

    def of_job(self, whole: str, job_id: str) -> tuple[Request, ...]:
        """Return the requests of a whole job in order, or one of them."""
        query = "SELECT * FROM requests WHERE job = ? AND ? IN (id, job) ORDER BY number"
        return tuple(
            Request(
                *(one, number, Mode(mode), payload, State(state), datetime.fromisoformat(at)),
                **{
                    name: read(value)
                    for (name, read), value in zip(_KNOWN.items(), known, strict=True)
                    if value is not None
                },
            )
            for _, one, number, mode, payload, state, at, *known in self._db.execute(
                query, (whole, job_id)
            ).fetchall()
        )

    def taken_fields(self, system: str, *, by_record: bool) -> set[str]:
        """Return the fields that requests to a system have shown to be taken: in an import sheet,
        or as a record."""
        found = self._db.execute(
            "SELECT requests.mode, taken_fields FROM requests JOIN jobs ON jobs.id = job "
            "WHERE system = ? AND taken_fields IS NOT NULL",
            (system,),
        )
        return {
            name
            for mode, taken in found.fetchall()
            if Mode(mode).channel.by_record is by_record
            for name in json.loads(taken)
        }

    def record(
        self, request_id: str, state: State, at: datetime, detail: Mapping[str, Any]
    ) -> None:
        """Store the state of a request, and what an event shows of it."""
        known = (detail.get(name) for name in _KNOWN)
        values = (
            one if one is None or isinstance(one, str | int) else json.dumps(one) for one in known
        )
        self._db.execute(_RECORD, (state, at.isoformat(), *values, request_id))


def _read_text(stored: str) -> Text:
    """Return a stored reason, without its full stop."""
    return Text.of_json(json.loads(stored)).changed(lambda text: text.rstrip("."))


_KNOWN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("attempt", "log_id", "previewed"), int),
    "preview_done": bool,
    "ends_as": State,
    **dict.fromkeys(("reason", "uncompared"), _read_text),
    "lost_fields": lambda stored: [LostField(**one) for one in json.loads(stored)],
    **dict.fromkeys(("unseen_fields", "taken_fields"), json.loads),
}
"""Details of events that requests have as columns, and how these are read."""
_RECORD = (
    "UPDATE requests SET state = ?, changed_at = ?, attempt = COALESCE(?, attempt), "
    "log_id = COALESCE(?, log_id), previewed = COALESCE(?, previewed), "
    "preview_done = COALESCE(?, preview_done), ends_as = COALESCE(?, ends_as), "
    "reason = COALESCE(?, reason), uncompared = COALESCE(?, uncompared), "
    "lost_fields = COALESCE(?, lost_fields), unseen_fields = COALESCE(?, unseen_fields), "
    "taken_fields = COALESCE(?, taken_fields) WHERE id = ?"
)


class StoredSnapshot(NamedTuple):
    """Snapshot in the journal, with its time and moment."""

    at: datetime
    moment: Moment
    rows: Snapshot


@dataclass(eq=False)
class StoredSnapshots:
    """Snapshots of the remote records of jobs' rows in the journal's file."""

    _db: LocalDatabase
    _now: Callable[[], Instant]

    def store(self, job_id: str, moment: Moment, snapshot: Snapshot) -> None:
        """Store a snapshot durably, without the compared values of rows."""
        rows = json_text([row and {"key": dict(row.key), "found": row.found} for row in snapshot])
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO readings SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM readings WHERE request = ?",
                (job_id, self._now().at.isoformat(), moment, rows.encode(), job_id),
            )

    def all_of(self, job_id: str) -> list[StoredSnapshot]:
        """Return the snapshots of a job, oldest first."""
        found = self._db.execute(
            "SELECT at, moment, rows FROM readings WHERE request = ? ORDER BY number", (job_id,)
        )
        return [
            StoredSnapshot(datetime.fromisoformat(at), Moment(moment), snapshot_from_json(rows))
            for at, moment, rows in found.fetchall()
        ]

    def first_before(self, job_id: str) -> Snapshot:
        """Return the first snapshot of a job, taken before anything was sent; empty without one."""
        stored = self.all_of(job_id)
        return next((one.rows for one in stored if one.moment is Moment.BEFORE), ())

    def newest_of(self, count: int, job_id: str, *moments: Moment) -> Snapshot:
        """Return the newest snapshot of the ``count`` rows of a job, all None without one."""
        return self.newest(job_id, *moments) or (None,) * count

    def newest(self, job_id: str, *moments: Moment) -> Snapshot | None:
        """Return the newest snapshot of a job at one of the moments, None if there is none."""
        found = self._db.execute(
            "SELECT rows FROM readings WHERE request = ? "
            "AND moment IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT 1",
            (job_id, json.dumps(moments)),
        ).fetchone()
        return None if found is None else snapshot_from_json(found[0])


def snapshot_from_json(text: bytes) -> Snapshot:
    """Return a stored snapshot."""
    found: Snapshot = value_of_json(text, tuple[RowSnapshot | None, ...])
    return found
