"""Writes of single records in the journal: the task and the states of each.

A write is announced before its request is sent; states are append-only, like the events of jobs.
See the upload protocol, Record by record.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from xlbridge.clock import Instant
from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text
from xlbridge.upload.claims import Claims
from xlbridge.upload.journal_database import RequestCount, transaction
from xlbridge.upload.results.verdict import RowOutcome
from xlbridge.upload.row_changes import RowChanges

Problem = tuple[str | None, Text]
"""Column that a message about a write refers to, if any, and the message."""

Values = Mapping[str, str | None]
"""Comparable values of columns of a record, None for an empty field."""


class WriteState(StrEnum):
    """State of the write of one record.

    ``NOT_APPLIED`` may be sent again; ``CHANGED`` was never sent, since the record has changed
    after the plan; ``UNPROVEN`` needs a person's decision.
    """

    PLANNED = "planned"
    SENDING = "sending"
    DOUBTFUL = "doubtful"
    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    REJECTED = "rejected"
    CHANGED = "changed"
    UNPROVEN = "unproven"

    @property
    def is_waiting(self) -> bool:
        """True if the write is certainly not applied and may be sent."""
        return self in {WriteState.PLANNED, WriteState.NOT_APPLIED}

    @property
    def is_open(self) -> bool:
        """True if a request was sent and its outcome is unknown."""
        return self in {WriteState.SENDING, WriteState.DOUBTFUL, WriteState.UNPROVEN}

    @property
    def is_refused(self) -> bool:
        """True if the record stays as it is."""
        return self in {WriteState.REJECTED, WriteState.CHANGED}

    @property
    def outcome(self) -> RowOutcome:
        """Outcome of the row whose record is written."""
        if self is WriteState.APPLIED:
            return RowOutcome.ACCEPTED
        return RowOutcome.REJECTED if self.is_refused else RowOutcome.UNKNOWN

    @property
    def outcome_of_reversed(self) -> RowOutcome:
        """Outcome of the earlier row that the write reverses."""
        if self is WriteState.APPLIED:
            return RowOutcome.UNDONE
        return RowOutcome.UNKNOWN if self.is_open else RowOutcome.ACCEPTED


@dataclass(frozen=True, slots=True)
class RecordTask:
    """Creation, change or removal of one record.

    ``record`` is its code, empty if the task ``creates`` it. ``expected`` are its values before,
    ``wanted`` those after, None for a removal; ``values`` are the JSON values that are merged into
    the record. ``claim`` is the job and position of an earlier row that the task frees.
    """

    record: str
    expected: Values
    wanted: Values | None
    values: Mapping[str, Any]
    claim: tuple[str, int] | None = None
    creates: bool = False

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "RecordTask":
        """Return the task stored in the journal; all creations are ``CREATION``."""
        if stored.get("creates"):
            return CREATION
        claim = stored["claim"]
        return cls(**{**stored, "claim": None if claim is None else (claim[0], claim[1])})


CREATION = RecordTask("", expected={}, wanted={}, values={}, creates=True)
"""Creation of a record from its row in the job's payload."""


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """Write of one row's record, by the row's position in the job, with its newest state.

    ``attempts`` counts its announcements. The details of its newest state (``stored``) and of its
    last announcement stay JSON texts: parsed, they take four times the memory.
    """

    position: int
    task: RecordTask
    state: WriteState
    attempts: int
    stored: str
    announced: str = "{}"

    @property
    def detail(self) -> Mapping[str, Any]:
        """Details of its newest state."""
        detail: Mapping[str, Any] = json.loads(self.stored)
        return detail

    @property
    def before(self) -> Mapping[str, Any]:
        """JSON values that it replaced."""
        before: Mapping[str, Any] = json.loads(self.announced).get("before", {})
        return before

    @property
    def record(self) -> str:
        """Code of its record, empty if unknown."""
        return self.detail.get("record") or self.task.record

    @property
    def withdrawn_record(self) -> str:
        """Code of a record that was created, and withdrawn as its lists were rejected."""
        announced: str = json.loads(self.announced).get("record", "")
        return announced if self.state is WriteState.REJECTED else ""

    @property
    def assigned(self) -> Mapping[str, Any]:
        """Values that the system assigned to its record."""
        assigned: Mapping[str, Any] = self.detail.get("assigned", {})
        return assigned

    @property
    def problems(self) -> Sequence[Problem]:
        """Messages about the write."""
        stored = self.detail.get("problems", ())
        return [(column, Text.of_json(message)) for column, message in stored]


def problems_note(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return problems as details of a state, in both languages."""
    return {"problems": [(column, message.to_json()) for column, message in problems]}


class NewState(NamedTuple):
    """New state of a write, with its details."""

    write: RecordWrite
    state: WriteState
    detail: Mapping[str, Any]


class RecordWrites:
    """Writes of records in the journal's file."""

    def __init__(
        self,
        db: LocalDatabase,
        claims: Claims,
        changes: RowChanges,
        requests: RequestCount,
        now: Callable[[], Instant],
    ) -> None:
        self._db = db
        self._requests = requests
        self._claims = claims
        self._changes = changes
        self._now = now

    def plan(self, job_id: str, tasks: Sequence[RecordTask], in_doubt: Text | None = None) -> None:
        """Store the tasks of a job, one for each of its rows, in order, or ``in_doubt``."""
        with transaction(self._db):
            self.add_tasks(job_id, tasks)
            if in_doubt is not None:
                self.doubt_waiting(job_id, in_doubt)

    def add_tasks(self, job_id: str, tasks: Sequence[RecordTask]) -> None:
        """Store tasks within the caller's transaction."""
        planned = (
            (at, WriteState.PLANNED, {"task": asdict(task)}) for at, task in enumerate(tasks)
        )
        self._add(job_id, planned)

    def record(self, job_id: str, states: Sequence[NewState]) -> None:
        """Store new states of writes durably, and what they show of rows.

        Applied tasks free their claims.
        """
        announces = any(state is WriteState.SENDING for _, state, _ in states)
        with self._requests.transaction() if announces else transaction(self._db):
            self._add(job_id, ((write.position, state, detail) for write, state, detail in states))
            known = [
                (write.position, state.outcome)
                for write, state, _ in states
                if state.outcome is not RowOutcome.UNKNOWN
            ]
            self._changes.answer(job_id, known)
            reversals = []
            for write, state, _ in states:
                if write.task.claim is not None:
                    reversals.append((write.task.claim, state.outcome_of_reversed))
                    if state is WriteState.APPLIED:
                        claimant, position = write.task.claim
                        self._claims.free_rows(claimant, [position])
            self._changes.reverse(job_id, reversals)

    def doubt_waiting(self, job_id: str, reason: Text) -> None:
        """Put the waiting writes of a job in doubt within the caller's transaction."""
        waiting = [write.position for write in self.iterate(job_id) if write.state.is_waiting]
        detail = problems_note([(None, reason)])
        self._add(job_id, ((position, WriteState.DOUBTFUL, detail) for position in waiting))

    def load(self, job_id: str, *, answers: bool = True) -> list[RecordWrite]:
        """Return the writes of a job in the order of its rows; empty until they are planned.

        Without ``answers``, the details of applied writes, most of the memory, are left out.
        """
        return list(self.iterate(job_id, answers=answers))

    def iterate(self, job_id: str, *, answers: bool = True) -> Iterator[RecordWrite]:
        """Yield the writes that ``load`` returns, one at a time."""
        found = self._db.execute(
            "SELECT position, state, detail FROM record_writes WHERE job = ? "
            "ORDER BY position, number",
            (job_id,),
        )
        # One history at a time, since all of them take more memory than the writes.
        for position, rows in groupby(found, key=itemgetter(0)):
            yield _write(position, [(WriteState(state), text) for _, state, text in rows], answers)

    def _add(self, job_id: str, states: Iterable[tuple[int, WriteState, object]]) -> None:
        """Append states to the histories of writes, by position."""
        now = self._now().at.isoformat()
        self._db.executemany(
            "INSERT INTO record_writes SELECT ?1, ?2, COALESCE(MAX(number), 0) + 1, ?3, ?4, ?5 "
            "FROM record_writes WHERE job = ?1 AND position = ?2",
            ((job_id, at, now, state, json.dumps(detail)) for at, state, detail in states),
        )


def _write(position: int, history: Sequence[tuple[WriteState, str]], answers: bool) -> RecordWrite:
    announced = [text for state, text in history if state is WriteState.SENDING]
    task = RecordTask.of_json(json.loads(history[0][1])["task"])
    state, stored = history[-1]
    # The first detail is the task itself.
    if len(history) == 1 or (state is WriteState.APPLIED and not answers):
        stored = "{}"
    return RecordWrite(position, task, state, len(announced), stored, *announced[-1:])


def plain_json(value: Any) -> Any:
    """Return a parsed JSON value with types that ``json`` encodes."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain_json(item) for name, item in value.items()}
    return value
