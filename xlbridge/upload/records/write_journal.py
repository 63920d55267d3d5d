"""Writes of single records in the journal: what each is to do, and what became of it.

A write is announced before its request leaves, and states are only ever added, as events of jobs
are. Source: the upload protocol, Record by record.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text
from xlbridge.upload.claims import Claims
from xlbridge.upload.journal_file import transaction

Problem = tuple[str | None, Text]
"""Message about a write, with its column where it has one."""

Values = Mapping[str, str | None]
"""Comparable values of some columns of a record, None where a field is empty."""


class WriteState(StrEnum):
    """State of the write of one record.

    ``NOT_APPLIED`` may be sent again; ``CHANGED`` was never sent, as what the system has is not
    what it was planned for; ``UNPROVEN`` is a person's to decide.
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
        """True where the write is certainly not applied, and may be sent."""
        return self in {WriteState.PLANNED, WriteState.NOT_APPLIED}

    @property
    def is_open(self) -> bool:
        """True where a request has left, and it is not known what it did."""
        return self in {WriteState.SENDING, WriteState.DOUBTFUL, WriteState.UNPROVEN}

    @property
    def is_refused(self) -> bool:
        """True where the record stays as it is."""
        return self in {WriteState.REJECTED, WriteState.CHANGED}


@dataclass(frozen=True, slots=True)
class RecordTask:
    """Creation of one record from its row, its change, or its removal.

    ``record`` is its code, empty for one that ``creates``. ``expected`` are the values that it must
    have beforehand, ``wanted`` those afterwards, None for a record that is removed; ``values`` are
    the JSON values that are laid over the record. ``claim`` names the row of an earlier job that is
    freed by it.
    """

    record: str
    expected: Values
    wanted: Values | None
    values: Mapping[str, Any]
    claim: tuple[str, int] | None = None
    creates: bool = False

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "RecordTask":
        """Return the task that the journal has; creations are one and the same."""
        if stored.get("creates"):
            return CREATION
        claim = stored["claim"]
        return cls(**{**stored, "claim": None if claim is None else (claim[0], claim[1])})


CREATION = RecordTask("", expected={}, wanted={}, values={}, creates=True)
"""Creation of a record; its row in the job's payload says what it is."""


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """Write of the record of one row, by its position in the job, and its newest state.

    ``attempts`` is how often it was announced. What was recorded with its newest state, and when it
    was announced last, stays the text that the journal has: read, it takes four times the memory.
    """

    position: int
    task: RecordTask
    state: WriteState
    attempts: int
    stored: str
    announced: str = "{}"

    @property
    def detail(self) -> Mapping[str, Any]:
        """Details that its newest state was recorded with."""
        detail: Mapping[str, Any] = json.loads(self.stored)
        return detail

    @property
    def before(self) -> Mapping[str, Any]:
        """The JSON values that it replaced."""
        before: Mapping[str, Any] = json.loads(self.announced).get("before", {})
        return before

    @property
    def record(self) -> str:
        """The code of its record, as far as it is known."""
        return self.detail.get("record") or self.task.record

    @property
    def given(self) -> Mapping[str, Any]:
        """Values that the system gave its record."""
        given: Mapping[str, Any] = self.detail.get("given", {})
        return given

    @property
    def problems(self) -> Sequence[Problem]:
        """Messages about it, each with its column; earlier versions noted one message."""
        detail = self.detail
        if "message" in detail:
            return [(detail.get("column"), Text.of_json(detail["message"]))]
        return [(column, Text.of_json(told)) for column, told in detail.get("problems", ())]


def problems_note(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return what is recorded of a write's problems, in both languages."""
    return {"problems": [(column, told.to_json()) for column, told in problems]}


class NewState(NamedTuple):
    """State that a write is to have, and what is recorded of it."""

    write: RecordWrite
    state: WriteState
    detail: Mapping[str, Any]


class RecordWrites:
    """Writes of records in the journal's file."""

    def __init__(self, db: LocalDatabase, claims: Claims, now: Callable[[], datetime]) -> None:
        self._db = db
        self._claims = claims
        self._now = now

    def plan(self, job_id: str, tasks: Sequence[RecordTask]) -> None:
        """Store what a job is to do, one task for each of its rows, in order."""
        with transaction(self._db):
            self.add_tasks(job_id, tasks)

    def add_tasks(self, job_id: str, tasks: Sequence[RecordTask]) -> None:
        """Store tasks, within a transaction that the caller has begun."""
        planned = ((at, WriteState.PLANNED, {"task": asdict(one)}) for at, one in enumerate(tasks))
        self._add(job_id, planned)

    def record(self, job_id: str, states: Sequence[NewState]) -> None:
        """Add states to writes; they are on the disk afterwards. An applied one frees its claim."""
        with transaction(self._db):
            self._add(job_id, ((write.position, state, detail) for write, state, detail in states))
            for write, state, _ in states:
                if state is WriteState.APPLIED and write.task.claim is not None:
                    claimant, position = write.task.claim
                    self._claims.free_rows(claimant, [position])

    def of(self, job_id: str, *, answers: bool = True) -> list[RecordWrite]:
        """Return the writes of a job in the order of its rows; none before they are planned.

        Without ``answers``, what was recorded of applied ones is left out: most of the memory.
        """
        return list(self.each(job_id, answers=answers))

    def each(self, job_id: str, *, answers: bool = True) -> Iterator[RecordWrite]:
        """Yield the writes that ``of`` returns, of which one at a time is in memory."""
        found = self._db.execute(
            "SELECT position, state, detail FROM record_writes WHERE job = ? "
            "ORDER BY position, number",
            (job_id,),
        )
        # One history at a time: those of all records take more memory than what is made of them.
        for position, told in groupby(found, key=itemgetter(0)):
            yield _write(position, [(WriteState(state), text) for _, state, text in told], answers)

    def _add(self, job_id: str, states: Iterable[tuple[int, WriteState, object]]) -> None:
        """Add the states of the writes of some positions, each after those before it."""
        now = self._now().isoformat()
        self._db.executemany(
            "INSERT INTO record_writes SELECT ?1, ?2, COALESCE(MAX(number), 0) + 1, ?3, ?4, ?5 "
            "FROM record_writes WHERE job = ?1 AND position = ?2",
            ((job_id, at, now, state, json.dumps(detail)) for at, state, detail in states),
        )


def _write(position: int, known: Sequence[tuple[WriteState, str]], answers: bool) -> RecordWrite:
    announced = [text for state, text in known if state is WriteState.SENDING]
    task = RecordTask.of_json(json.loads(known[0][1])["task"])
    state, stored = known[-1]
    # What was planned is the task.
    if len(known) == 1 or (state is WriteState.APPLIED and not answers):
        stored = "{}"
    return RecordWrite(position, task, state, len(announced), stored, *announced[-1:])


def plain_json(value: Any) -> Any:
    """Return a value that was read as JSON can have it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain_json(one) for one in value]
    if isinstance(value, Mapping):
        return {name: plain_json(one) for name, one in value.items()}
    return value
