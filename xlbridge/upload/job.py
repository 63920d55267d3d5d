"""Job of an upload: its rows, its history and its state.

Source of the states: the upload protocol (``docs/upload-protocol.md``).
"""

import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.claims import ClaimScope
from xlbridge.upload.planning.planned_row import plan_token
from xlbridge.upload.results.verdict import ItemPlaces, RowOutcome, Verdict
from xlbridge.workbook import cell_address

REJECTS_INFIX = "rejeitadas"
"""Part of the names of rejects workbooks."""

_REJECTS_NAME = re.compile(rf".+-{REJECTS_INFIX}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}")


class State(StrEnum):
    """State of a job; each is durable before the request that it announces.

    ``SENDING_PARTS`` is that of a parent whose parts are being sent.
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
    IN_DOUBT = "in_doubt"
    NEEDS_PERSON = "needs_person"
    DONE = "done"
    PARTIAL = "partial"
    REJECTED = "rejected"
    ABANDONED = "abandoned"

    @property
    def text(self) -> Text:
        """The state in words for a person."""
        return _STATE_TEXTS[self]

    @property
    def is_final(self) -> bool:
        """True where nothing more happens to the job by itself."""
        return self in _FINAL

    @property
    def is_unsent(self) -> bool:
        """True where nothing has been sent yet that could write."""
        return self in _UNSENT

    @property
    def is_settled(self) -> bool:
        """True where nothing has been sent, or what came of it is known."""
        return self.is_unsent or (self.is_final and self is not State.NEEDS_PERSON)

    @property
    def frees_rows(self) -> bool:
        """True where the same rows may be sent again: nothing of the job was applied."""
        return self in _RELEASING

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
    State.STAGING: Text(pt="indo para a fila", en="staging"),
    State.STAGED: Text(pt="na fila", en="queued"),
    State.STARTING: Text(pt="iniciando", en="starting"),
    State.POLLING: Text(pt="em processamento", en="polling"),
    State.IN_DOUBT: Text(pt="em dúvida", en="in doubt"),
    State.NEEDS_PERSON: Text(pt="aguarda decisão", en="waits for a person"),
    State.DONE: Text(pt="concluído", en="done"),
    State.PARTIAL: Text(pt="parcial", en="partial"),
    State.REJECTED: Text(pt="rejeitado", en="rejected"),
    State.ABANDONED: Text(pt="não enviado", en="not sent"),
}
_REPLACED = Text(pt="o envio {job} tomou o lugar deste", en="the upload {job} took its place")
_UNSENT = frozenset({State.PREPARED, State.PREVIEWING})
_RELEASING = frozenset({State.PREVIEWED, State.REJECTED, State.ABANDONED})
_FINAL = _RELEASING | {State.DONE, State.PARTIAL, State.NEEDS_PERSON}
_PARTLY_PROVEN = frozenset({State.SENDING, State.IN_DOUBT, State.NEEDS_PERSON})
"""States in which some rows are proven and others are not."""
_AWAITING_LOG = frozenset({State.POLLING, State.STAGED, State.STARTING})
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
    State.SENDING_PARTS: "processing",
}


class Resolution(StrEnum):
    """Finding of a person who looked in the system."""

    APPLIED = "applied"
    NOT_APPLIED = "not-applied"


MAX_PLAN_AGE = timedelta(minutes=1)
"""Age of a plan after which keys are read again before anything is written."""

NO_PLACE = -1
"""Position of a column whose values a mapping states, and no cell of the sheet holds."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """Description of a job before it exists.

    ``digest`` is that of the values of all rows of the sheet in whatever order, ``payload`` the
    content hash of the stored workbook with the rows that are sent. ``rows`` maps the payload's
    data rows to Excel's row numbers in the analyst's sheet, in order; ``columns`` gives the
    zero-based position of each column there, ``NO_PLACE`` where a mapping gives the value.
    ``system`` identifies the remote system, empty in
    jobs of version 0.1; ``planned`` is the content hash of a workbook with all planned rows, empty
    for a part.
    """

    profile: str
    resource: str
    mode: Mode
    file: str
    sheet: str
    digest: str
    payload: str
    rows: tuple[int, ...] = field(repr=False)
    columns: Mapping[str, int]
    system: str = ""
    planned: str = ""

    @property
    def scope(self) -> ClaimScope:
        """Scope in which the job's rows are claimed."""
        return ClaimScope(self.system, self.profile, self.resource)

    def cell(self, row: int, column: str) -> str | None:
        """Return the address of a column's cell in the analyst's sheet, None where it has none."""
        place = self.columns.get(column, NO_PLACE)
        return None if place == NO_PLACE else cell_address(row, place)


@dataclass(frozen=True, slots=True)
class Event:
    """Event in a job's history."""

    number: int
    at: datetime
    state: State
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """Job and its history, oldest event first.

    A part of a sheet that was split knows its ``parent`` and which part it is, from 1 on;
    ``parts`` is how many a parent has, 0 for a job of its own.
    """

    id: str
    created_at: datetime
    spec: JobSpec
    events: tuple[Event, ...]
    parent: str | None = None
    part: int | None = None
    parts: int = 0

    @property
    def items(self) -> dict[str, ItemPlaces]:
        """Places of the items of the records, by the names of the lists."""
        stored = self.events[0].detail.get("items", {})
        return {name: ItemPlaces.of_json(one) for name, one in stored.items()}

    @property
    def state(self) -> State:
        """State after the newest event."""
        return self.events[-1].state

    @property
    def public_state(self) -> str:
        """Name of the job's state in the contract of ``upload --format json``.

        A job that waits for consent is one whose plan was shown, unless a request failed since.
        """
        if self.state is State.PREPARED and "reason" not in self.events[-1].detail:
            return State.PREVIEWED.public
        return self.state.public

    @property
    def reason(self) -> Text:
        """Reason of the job's state; a dash where none was recorded."""
        if successor := self.last("replaced_by"):
            return _REPLACED.format(job=successor)
        return Text(**(self.last("reason") or {"pt": "–", "en": "–"}))

    @property
    def verdict(self) -> Verdict:
        """Verdict on the job's rows, as far as the journal knows."""
        stored = self.last("verdict")
        if stored is None or self.state.is_unsent or self.state in _AWAITING_LOG:
            return Verdict.all_unknown(self.spec.rows)
        return Verdict.of_json(stored)

    @property
    def outcomes(self) -> tuple[RowOutcome, ...]:
        """Outcome of each row in order; the job is no parent of parts."""
        if self.state in _PARTLY_PROVEN and (proven := self.last("proven")) is not None:
            by_proof = {True: RowOutcome.ACCEPTED, False: RowOutcome.REJECTED}
            return tuple(by_proof.get(there, RowOutcome.UNKNOWN) for there in proven)
        rejected = {row.row for row in self.verdict.rejected_rows}
        rest = self._outcome_of_other_rows()
        return tuple(RowOutcome.REJECTED if row in rejected else rest for row in self.spec.rows)

    def _outcome_of_other_rows(self) -> RowOutcome:
        if self.state in {State.DONE, State.PARTIAL}:
            return RowOutcome.ACCEPTED
        if self.state is State.REJECTED or (self.state.frees_rows and self.last("resolved")):
            return RowOutcome.NOT_WRITTEN
        if self.state.frees_rows or self.state.is_unsent:
            return RowOutcome.UNSENT
        return RowOutcome.UNKNOWN

    @property
    def attempts(self) -> int:
        """Number of requests that were announced so far."""
        return sum("attempt" in event.detail for event in self.events)

    @property
    def doubted_at(self) -> datetime | None:
        """Time since which the outcome of the last request is in doubt; None where it is not."""
        since = None
        for event in self.events:
            if event.state is not State.IN_DOUBT:
                since = None
            elif since is None:
                since = event.at
        return since

    @property
    def origins(self) -> Mapping[int, int]:
        """Number of each of a retry's rows in the sheet of the job that it retries.

        An earlier version noted those of the rows that were sent, in their order.
        """
        noted = self.events[0].detail.get("origins", {})
        if isinstance(noted, list):
            return dict(zip(self.spec.rows, noted, strict=True))
        return {int(row): origin for row, origin in noted.items()}

    def is_of(self, system: str, profile: str) -> bool:
        """Tell whether the job belongs to a system; one of an earlier version knows its profile."""
        return self.spec.system == system if self.spec.system else self.spec.profile == profile

    def require_system(self, system: str, profile: str) -> None:
        """Raise ``UsageError`` when the job belongs to another system."""
        if not self.is_of(system, profile):
            raise UsageError(
                Text(
                    pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                    en="The upload {job} belongs to {theirs}; now {ours} is configured.",
                ).format(job=self.id, theirs=self.spec.profile, ours=profile)
            )

    def require_upload(self) -> None:
        """Raise ``UsageError`` when the job has processed records instead of sending rows."""
        if self.spec.mode is Mode.PROCESS:
            raise UsageError(
                Text(
                    pt="{job} é um processamento, não um envio de linhas.",
                    en="{job} is a processing, not an upload of rows.",
                ).format(job=self.id),
                Text(
                    pt="Para processar o que falta: xlbridge process {listing}",
                    en="To process what is left: xlbridge process {listing}",
                ).format(listing=self.spec.resource),
            )

    @property
    def planned_at(self) -> datetime | None:
        """Time at which the system was last asked for the rows' records; None without a plan."""
        told = self.last("planned_at")
        return None if told is None else datetime.fromisoformat(told)

    def plan_is_old(self, now: datetime) -> bool:
        """Tell whether the keys of the job's rows must be read again.

        What another process has planned counts as old: nobody knows who wrote since it ended.
        """
        by_another = self.last("planned_by") != this_process()
        return by_another or self.planned_at is None or now - self.planned_at > MAX_PLAN_AGE

    @property
    def token(self) -> str:
        """Confirmation of just the planned actions: ``ROWS:DIGEST8``."""
        digest = self.last("plan_digest") or self.spec.digest
        writes = self.last("writes")
        return plan_token(len(self.spec.rows) if writes is None else writes, digest)

    @property
    def held(self) -> int:
        """Number of rows that were held, but for those that are no records."""
        held: int = (self.last("plan") or {}).get("held", 0)
        return held - int(self.last("not_records") or 0)

    @property
    def counted(self) -> dict[str, int]:
        """Counts of the sheet's rows by the names of reports; ``read`` is the sum of the others.

        Accepted rows are those that were created and those that were updated.
        """
        plan = self.last("plan") or {}
        unchanged, held = plan.get("unchanged", 0), plan.get("held", 0)
        counts = self.verdict.counted
        read = counts["read"] + unchanged + held
        updated = self.updated
        return {
            **counts,
            "read": read,
            "created": counts["accepted"] - updated,
            "updated": updated,
            "unchanged": unchanged,
            "held": held,
        }

    @property
    def updated(self) -> int:
        """Number of accepted rows that have changed a record instead of adding one."""
        if self.spec.mode.is_by_record and not self.last("creates"):
            return self.verdict.accepted
        if self.parts:
            return int(self.last("updated") or 0)
        updates = self.last("updates")
        if not updates:
            return 0
        outcomes = self.outcomes
        return sum(outcomes[place] is RowOutcome.ACCEPTED for place in updates)

    @property
    def undo_of(self) -> str | None:
        """The job that this one reverses, None for an upload."""
        reversed_job: str | None = self.last("undo_of")
        return reversed_job

    @property
    def retry_of(self) -> str | None:
        """The job whose rows this one sends again, None for a first upload."""
        retried: str | None = self.last("retry_of")
        return retried

    @property
    def file_hash(self) -> str | None:
        """Hash of the analyst's file as it was planned, None where that is not known."""
        known: str | None = self.last("file_hash")
        return known

    @property
    def import_mode(self) -> Mode:
        """Mode in which rows are imported that are created, also where none is."""
        return Mode(self.last("import_mode") or self.spec.mode)

    def settles_at(self, settle_seconds: float) -> datetime | None:
        """Return when a doubtful request can no longer be on its way; None without a doubt."""
        since = self.doubted_at
        return None if since is None else since + timedelta(seconds=settle_seconds)

    def last(self, key: str) -> Any:
        """Return the newest value that an event's detail gives for ``key``, None without any."""
        return next((e.detail[key] for e in reversed(self.events) if key in e.detail), None)


def is_rejects_name(path: Path) -> bool:
    """Tell by its name whether a file is a rejects workbook that an upload left behind."""
    return _REJECTS_NAME.fullmatch(path.stem) is not None


_PROCESS_TOKEN = secrets.token_hex(8)


def this_process() -> str:
    """Return what tells this process from all others, forked ones included."""
    return f"{_PROCESS_TOKEN}-{os.getpid()}"


def planned_note(at: datetime) -> dict[str, Any]:
    """Return what an event records of when, and by which process, the system was asked."""
    return {"planned_at": at.isoformat(), "planned_by": this_process()}
