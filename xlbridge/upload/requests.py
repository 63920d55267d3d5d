"""Requests of jobs: rows that are sent together, and what is known of them by now.

A job has one request; a long sheet has one for each part, and so have records that are changed one
by one, if others are imported. States: see the upload protocol (``docs/upload-protocol.md``).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from xlbridge import titles
from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text, joined
from xlbridge.report_forms import group_by_reason, list_first
from xlbridge.resources import Mode
from xlbridge.upload.results.verdict import LostField


class State(StrEnum):
    """State of a request; each is durable before what it announces is sent.

    ``SENDING_PARTS`` is the state of a job with several requests, from the consent to their end.
    ``COMPARING`` requests have a verdict; the records that they have written are still to be
    compared with what was sent.
    """

    PREPARED = "prepared"
    PREVIEWING = "previewing"
    PREVIEWED = "previewed"
    SENDING = "sending"
    SENDING_PARTS = "sending_parts"
    STAGING = "staging"
    STAGED = "staged"
    STARTING = "starting"
    POLLING = "polling"
    COMPARING = "comparing"
    IN_DOUBT = "in_doubt"
    NEEDS_PERSON = "needs_person"
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    ABANDONED = "abandoned"

    @property
    def text(self) -> Text:
        """The state in words."""
        return _STATE_TEXTS[self]

    @property
    def is_final(self) -> bool:
        """True if the job does not proceed on its own."""
        return self in _FINAL

    @property
    def is_unsent(self) -> bool:
        """True if no request that could write has been sent."""
        return self in _UNSENT

    @property
    def has_sent(self) -> bool:
        """True if anything was sent, and not given up."""
        return not self.is_unsent and self not in {State.PREVIEWED, State.ABANDONED}

    @property
    def is_settled(self) -> bool:
        """True if nothing has been sent or the outcome is known."""
        return self.is_unsent or (self.is_final and self is not State.NEEDS_PERSON)

    @property
    def frees_rows(self) -> bool:
        """True if nothing of the job was applied, so that its rows may be sent again."""
        return self in _FREEING

    @property
    def public(self) -> str:
        """Name of the state in the contract of ``upload --format json``."""
        return _PUBLIC.get(self, self.value)


_STATE_TEXTS = {
    State.PREPARED: Text(pt="preparado", en="prepared"),
    State.PREVIEWING: Text(pt="em prévia", en="previewing"),
    State.PREVIEWED: Text(pt="só prévia", en="previewed"),
    State.SENDING: Text(pt="enviando", en="sending"),
    State.SENDING_PARTS: Text(pt="enviando em partes", en="sending parts"),
    State.STAGING: Text(pt="indo para a fila", en="entering the queue"),
    State.STAGED: Text(pt="na fila", en="queued"),
    State.STARTING: Text(pt="iniciando", en="starting"),
    State.POLLING: Text(pt="em processamento", en="processing"),
    State.COMPARING: Text(pt="conferindo o que foi gravado", en="comparing what was stored"),
    State.IN_DOUBT: titles.IN_DOUBT,
    State.NEEDS_PERSON: Text(pt="aguarda decisão", en="awaits a decision"),
    State.DONE: Text(pt="concluído", en="done"),
    State.PARTIAL: Text(pt="parcial", en="partial"),
    State.REJECTED: Text(pt="rejeitado", en="rejected"),
    State.ABANDONED: Text(pt="não enviado", en="not sent"),
}
_UNSENT = frozenset({State.PREPARED, State.PREVIEWING})
_FREEING = frozenset({State.PREVIEWED, State.REJECTED, State.ABANDONED})
_FINAL = _FREEING | {State.DONE, State.PARTIAL, State.NEEDS_PERSON}
_PUBLIC = {
    State.PREPARED: "failed",
    State.PREVIEWING: "failed",
    State.ABANDONED: "failed",
    State.SENDING: "in_doubt",
    State.STAGING: "in_doubt",
    State.NEEDS_PERSON: "in_doubt",
    State.STAGED: "queued",
    State.STARTING: "processing",
    State.POLLING: "processing",
    State.COMPARING: "processing",
    State.SENDING_PARTS: "processing",
}


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


class StoredRequests:
    """Requests in the journal's file; callers open the transaction."""

    def __init__(self, db: LocalDatabase) -> None:
        self._db = db

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
