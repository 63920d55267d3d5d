"""Changes of rows in the journal's file: what jobs do with each row, what became of it, and the
messages about rejected ones.

Outcomes are written in the transaction of the event or answer that shows them, and never derived
again. One change of each row of a sheet decides what became of the row. A write of a single
record is announced before its request is sent; its states are append-only, like the events of jobs.
See the upload protocol, Record by record.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import groupby, starmap
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Self

from xlbridge.errors import ApiError
from xlbridge.i18n import Text
from xlbridge.local_database import LocalDatabase
from xlbridge.processes import Instant
from xlbridge.upload.claims import Claims
from xlbridge.upload.journal_database import (
    RequestCount,
    batched,
    json_text,
    json_texts,
    transaction,
)
from xlbridge.upload.planning.planned_row import RowAction, RowReason
from xlbridge.upload.requests import RejectedRow, RowOutcome, Verdict, request_key

PlannedChange = tuple[int, int, str, str | None, int, Mapping[str, Any] | None]
"""Position of a row among those of its request, or if the plan leaves it out, of the plan; its
number in the sheet, action and reason, its place in the plan, and all else of that, None if the
plan does not have it."""


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Changes in the journal's file; callers open the transaction."""

    _db: LocalDatabase

    def add(
        self,
        key: tuple[str, int],
        sheet: str,
        changes: Iterable[PlannedChange],
        origins: Mapping[int, int],
    ) -> None:
        """Store the changes of a request of a new job, by the job's id and the request's number.

        ``sheet`` is the first job of the sheet, whose changes decide as long as there are no
        others, ``origins`` are the numbers of rows there. A task has no rows of a sheet; it is one
        of its own.
        """
        decides = key[0] == sheet
        for piece in batched(changes):
            details = json_texts([detail for *_, detail in piece])
            self._db.executemany(
                "INSERT INTO changes "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'unsent', NULL, ?, ?, NULLIF(?, 'null'))",
                (
                    (*key, sheet, at, row, origins.get(row, row), action, reason, decides, place, d)
                    for (at, row, action, reason, place, _), d in zip(piece, details, strict=True)
                ),
            )

    def planned(self, job_id: str) -> list[tuple[int, str, str | None, str]]:
        """Return the rows of a job's plan in order: number, action, reason, all else as JSON."""
        found = self._db.execute(
            "SELECT row, action, reason, detail FROM changes "
            "WHERE job = ? AND detail IS NOT NULL ORDER BY place",
            (job_id,),
        )
        return found.fetchall()

    def of_request(self, request_id: str) -> list[tuple[int, str, RowOutcome]]:
        """Return the number, action and outcome of each row of a request, in order, undos aside."""
        found = self._db.execute(
            "SELECT row, action, CASE WHEN undo IS NULL THEN outcome ELSE 'accepted' END "
            "FROM changes WHERE job = ? AND request = ? ORDER BY position",
            request_key(request_id),
        )
        return [(row, action, _OUTCOMES[outcome]) for row, action, outcome in found.fetchall()]

    def outcomes(self, request_id: str) -> list[RowOutcome]:
        """Return the outcome of each row of a request, in order, undos aside."""
        return [outcome for _, _, outcome in self.of_request(request_id)]

    def has_accepted(self, job_id: str) -> bool:
        """Return whether any row of a job or request was written, as far as is known."""
        return any(outcome is RowOutcome.ACCEPTED for *_, outcome, _ in self.count(job_id))

    def creates(self, request_id: str) -> bool:
        """Return whether a request creates any record."""
        creating = {RowAction.CREATE, RowAction.UNREAD}
        return any(action in creating for _, action, _ in self.of_request(request_id))

    def origins(self, job_id: str) -> dict[int, int]:
        """Return the numbers of a job's rows in the sheet of the first job, where they differ."""
        found = self._db.execute(
            "SELECT row, origin FROM changes WHERE row <> origin AND job = ?", (job_id,)
        )
        return dict(found.fetchall())

    def count(self, job_id: str) -> list[tuple[int, str, RowOutcome, int]]:
        """Count the changes of a job, or of a part of it, by the number of the request, 0 for rows
        that the plan left out, by action and by outcome."""
        job, request = request_key(job_id)
        found = self._db.execute(
            "SELECT request, action, outcome, COUNT(*) FROM changes "
            "WHERE job = ? AND (? OR request = ?) GROUP BY request, action, outcome",
            (job, job == job_id, request),
        )
        return [(*group, _OUTCOMES[outcome], number) for *group, outcome, number in found]

    def of_sheet(self, sheet: str) -> list[tuple[Any, ...]]:
        """Return the changes of a sheet's rows, those of the same job in order: the job, the number
        of the request, 0 for a row that the plan leaves out, position, row, origin, action,
        outcome, the undo that has reversed it or is in doubt, and whether it decides."""
        found = self._db.execute(
            "SELECT job, request, position, row, origin, action, outcome, undo, decides "
            "FROM changes WHERE sheet = ? ORDER BY job, request, position",
            (sheet,),
        )
        return found.fetchall()

    def leave_out(self, job_id: str, *, sent: bool) -> None:
        """Record that the rows that a plan leaves out are as planned, once anything is sent."""
        if self._db.execute(_AS_PLANNED if sent else _NOT_YET, (job_id,)).rowcount:
            self._decide(_ROWS_OF_REQUEST, job_id, 0)

    def record(
        self,
        request_id: str,
        *,
        sent: bool,
        verdict: Verdict | None = None,
        unknown_as: RowOutcome | None = None,
    ) -> list[tuple[str, int]]:
        """Record what an event shows of the rows of a request.

        If something was ``sent``, unsent rows are in doubt. The ``verdict`` replaces an earlier
        one; ``unknown_as`` is what a person says of the rows in doubt, and of those that it was to
        reverse. Return the requests and positions of rows that are reversed by that.
        """
        key = request_key(request_id)
        doubtful: list[tuple[str, int]] = []
        outcomes = None if verdict is None else verdict.outcomes
        if verdict is not None:
            self._db.execute("DELETE FROM rejections WHERE request = ?", (request_id,))
            self._db.executemany(
                "INSERT INTO rejections VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (request_id, at, row, cell, column, message.pt, message.en, itself)
                    for at, (row, cell, column, message, itself) in enumerate(verdict.rejections)
                ),
            )
        if sent:
            self._db.execute(_SETTLED, (RowOutcome.UNKNOWN, *key, RowOutcome.UNSENT))
        elif outcomes is None and unknown_as is None:
            self._db.execute(_UNSENT, key)
        if outcomes is not None:
            self._update(key, enumerate(outcomes))
        if unknown_as is not None:
            self._db.execute(_SETTLED, (unknown_as, *key, RowOutcome.UNKNOWN))
            applied = unknown_as is RowOutcome.ACCEPTED
            outcome = RowOutcome.UNDONE if applied else RowOutcome.ACCEPTED
            doubtful = self._db.execute(_DOUBTFUL_REVERSALS, (key[0],)).fetchall()
            self.reverse(request_id, [(claim, outcome) for claim in doubtful])
        self._decide(_ROWS_OF_REQUEST, *key)
        return doubtful if unknown_as is RowOutcome.ACCEPTED else []

    def rejections(self, job_id: str) -> list[RejectedRow]:
        """Return the messages about the rows of a job or request, first those about all."""
        found = self._db.execute(
            'SELECT row, cell, "column", pt, en, itself FROM rejections '
            "WHERE request IN (SELECT id FROM requests WHERE ?1 IN (id, job)) "
            "ORDER BY row, request, number",
            (job_id,),
        )
        return [
            RejectedRow(row, cell, column, Text(pt=pt, en=en), bool(itself))
            for row, cell, column, pt, en, itself in found
        ]

    def answer(self, request_id: str, outcomes: Sequence[tuple[int, RowOutcome]]) -> None:
        """Record the outcomes of rows whose records a request has written, by their positions."""
        self._update(request_key(request_id), outcomes)
        for at, _ in outcomes:
            self._decide(_ROW_AT, *request_key(request_id), at)

    def reverse(
        self, undo_id: str, reversed_rows: Sequence[tuple[tuple[str, int], RowOutcome]]
    ) -> None:
        """Record what an undo made of rows, by their request and position: undone, unknown or, if
        it left them, accepted."""
        self._db.executemany(
            "UPDATE changes SET outcome = ?, undo = ? "
            "WHERE job = ? AND request = ? AND position = ?",
            (
                (
                    outcome,
                    None if outcome is RowOutcome.ACCEPTED else undo_id,
                    *request_key(claimant),
                    position,
                )
                for (claimant, position), outcome in reversed_rows
            ),
        )
        for (claimant, position), _ in reversed_rows:
            self._decide(_ROW_AT, *request_key(claimant), position)

    def _update(self, key: tuple[str, int], outcomes: Iterable[tuple[int, RowOutcome]]) -> None:
        positions: defaultdict[RowOutcome, list[int]] = defaultdict(list)
        for at, outcome in outcomes:
            positions[outcome].append(at)
        self._db.executemany(
            "UPDATE changes SET outcome = ? WHERE job = ? AND request = ? "
            "AND position IN (SELECT value FROM json_each(?))",
            ((outcome, *key, json_text(rows)) for outcome, rows in positions.items()),
        )

    def _decide(self, query: str, *values: object) -> None:
        """Mark the decisive changes of the rows of one sheet that a query finds.

        The newest decides, undos included, but for three cases: a doubt stands until it is settled;
        a row that is found unchanged stays accepted; a row that was not sent again, or was rejected
        and has not changed since, stays as it was. Only the rows of a sheet that was sent again
        have several changes.
        """
        rows = self._db.execute(query, values).fetchall()
        if not rows:
            return
        origins = json.dumps([origin for _, origin in rows])
        found = self._db.execute(_HISTORIES, (rows[0][0], origins)).fetchall()
        marks: list[tuple[bool, str, int, int]] = []
        for _, changes in groupby(starmap(_Mark, found), key=attrgetter("origin")):
            history = list(changes)
            now: _Mark | None = None
            for change in history:
                now = change if change.decides_after(now) else now
            marks += (
                (change is now, change.job, change.request, change.position)
                for change in history
                if bool(change.decides) is not (change is now)
            )
        self._db.executemany(
            "UPDATE changes SET decides = ? WHERE job = ? AND request = ? AND position = ?", marks
        )


class _Mark(NamedTuple):
    """Change of a row, with the mark that it decides; ``first``: it is one of the first job."""

    origin: int
    job: str
    request: int
    position: int
    outcome: str
    reason: str | None
    undo: str | None
    decides: int
    first: int

    def decides_after(self, before: "_Mark | None") -> bool:
        """Return whether this later change replaces what became of the row ``before``."""
        if self.undo is not None or self.first:
            return True
        if self.outcome == RowOutcome.UNSENT:
            return False
        if before is None:
            return True
        if before.outcome == RowOutcome.UNKNOWN or (
            not self.request and self.reason == RowReason.REJECTED
        ):
            return False
        return (self.outcome, before.outcome) != (RowOutcome.UNCHANGED, RowOutcome.ACCEPTED)


_OUTCOMES = {outcome.value: outcome for outcome in RowOutcome}
_UNSENT = (
    "UPDATE changes SET outcome = 'unsent' WHERE job = ? AND request = ? AND outcome <> 'unsent'"
)
_SETTLED = "UPDATE changes SET outcome = ? WHERE job = ? AND request = ? AND outcome = ?"
_AS_PLANNED = (
    "UPDATE changes SET outcome = CASE WHEN reason = 'rejected' THEN 'rejected' ELSE action END "
    "WHERE job = ? AND request = 0 AND outcome = 'unsent'"
)
_NOT_YET = (
    "UPDATE changes SET outcome = 'unsent' WHERE job = ? AND request = 0 AND outcome <> 'unsent'"
)
_DOUBTFUL_REVERSALS = (
    "SELECT id, position FROM changes JOIN requests ON requests.job = changes.job "
    "AND number = request WHERE undo = ? AND outcome = 'unknown'"
)
_ROWS_OF_REQUEST = (
    "SELECT sheet, origin FROM changes WHERE job = ?1 AND request = ?2 AND EXISTS ("
    "SELECT 1 FROM jobs WHERE retry_of IS NOT NULL "
    "AND first_job = (SELECT first_job FROM jobs WHERE id = ?1))"
)
"""Rows of a request, each with its sheet and origin, if the sheet has been sent again."""
_ROW_AT = f"{_ROWS_OF_REQUEST} AND position = ?3"
_HISTORIES = (
    "SELECT origin, job, request, position, outcome, reason, undo, decides, changes.sheet = job "
    "FROM changes JOIN jobs ON jobs.id = COALESCE(undo, job) "
    "WHERE changes.sheet = ? AND origin IN (SELECT value FROM json_each(?)) "
    "ORDER BY origin, jobs.rowid"
)
"""Changes of rows of a sheet, oldest first; one that was reversed has the age of its undo."""


Problem = tuple[str | None, Text]
"""Column that a message about a write refers to, if any, and the message."""

Values = Mapping[str, str | None]
"""Comparable values of columns of a record, None for an empty field."""


class WriteState(StrEnum):
    """State of the write of one record.

    ``NOT_APPLIED`` may be sent again; ``CHANGED`` was never sent, since the record has changed
    after the plan; ``NOT_WRITTEN`` was sent as often as is allowed, and the record is as before;
    ``UNPROVEN`` needs a person's decision.

    ``is_waiting``: the write is certainly not applied and may be sent; ``is_open``: a request was
    sent and its outcome is unknown; ``is_refused``: the record stays as it is. ``outcome`` is that
    of the row whose record is written, ``outcome_of_reversed`` that of the earlier row that the
    write reverses.
    """

    is_waiting: bool
    is_open: bool
    is_refused: bool
    outcome: RowOutcome
    outcome_of_reversed: RowOutcome

    def __new__(cls, value: str, kind: str = "open") -> Self:
        """Return the state of a ``kind``: waiting, open, refused or applied."""
        self = str.__new__(cls, value)
        self._value_ = value
        self.is_waiting, self.is_open = kind == "waiting", kind == "open"
        self.is_refused, self.outcome = kind == "refused", RowOutcome.UNKNOWN
        self.outcome_of_reversed = RowOutcome.UNKNOWN if self.is_open else RowOutcome.ACCEPTED
        if kind == "applied":
            self.outcome, self.outcome_of_reversed = RowOutcome.ACCEPTED, RowOutcome.UNDONE
        elif self.is_refused:
            self.outcome = RowOutcome.NOT_WRITTEN if value == "not_written" else RowOutcome.REJECTED
        return self

    PLANNED = "planned", "waiting"
    SENDING = "sending"
    DOUBTFUL = "doubtful"
    APPLIED = "applied", "applied"
    NOT_APPLIED = "not_applied", "waiting"
    REJECTED = "rejected", "refused"
    CHANGED = "changed", "refused"
    NOT_WRITTEN = "not_written", "refused"
    UNPROVEN = "unproven"


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


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of a step of a write: its new state and details.

    ``stop`` is an error after which nothing more is sent.
    """

    state: WriteState
    detail: Mapping[str, Any] = field(default_factory=dict)
    stop: ApiError | None = None


Results = Iterable[tuple[RecordWrite, WriteResult]]
"""Writes with their results."""


@dataclass(eq=False)
class RecordWrites:
    """Writes of records in the journal's file."""

    _db: LocalDatabase
    _claims: Claims
    _changes: RowChanges
    _requests: RequestCount
    _now: Callable[[], Instant]

    def plan(self, job_id: str, tasks: Sequence[RecordTask], in_doubt: Text | None = None) -> None:
        """Store the tasks of a job, one for each of its rows, in order, or ``in_doubt``."""
        planned = (
            (at, WriteState.PLANNED, {"task": asdict(task)}) for at, task in enumerate(tasks)
        )
        with transaction(self._db):
            self._add(job_id, planned)
            if in_doubt is not None:
                self.doubt_waiting(job_id, in_doubt)

    def record(self, job_id: str, results: Sequence[tuple[RecordWrite, WriteResult]]) -> None:
        """Store new states of writes durably, and what they show of rows.

        Applied tasks free their claims.
        """
        announces = any(new.state is WriteState.SENDING for _, new in results)
        with self._requests.transaction() if announces else transaction(self._db):
            self._add(job_id, ((write.position, new.state, new.detail) for write, new in results))
            known = [
                (write.position, new.state.outcome)
                for write, new in results
                if new.state.outcome is not RowOutcome.UNKNOWN
            ]
            self._changes.answer(job_id, known)
            reversals = []
            for write, new in results:
                if write.task.claim is not None:
                    reversals.append((write.task.claim, new.state.outcome_of_reversed))
                    if new.state is WriteState.APPLIED:
                        claimant, position = write.task.claim
                        self._claims.free(claimant, [position])
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
            "SELECT position, state, detail FROM record_writes WHERE request = ? "
            "ORDER BY position, number",
            (job_id,),
        )
        # One history at a time, since all of them take more memory than the writes.
        for position, rows in groupby(found, key=itemgetter(0)):
            history = [(WriteState(state), text) for _, state, text in rows]
            announced = [text for state, text in history if state is WriteState.SENDING]
            task = RecordTask.of_json(json.loads(history[0][1])["task"])
            state, stored = history[-1]
            # The first detail is the task itself.
            if len(history) == 1 or (state is WriteState.APPLIED and not answers):
                stored = "{}"
            yield RecordWrite(position, task, state, len(announced), stored, *announced[-1:])

    def _add(self, job_id: str, states: Iterable[tuple[int, WriteState, object]]) -> None:
        """Append states to the histories of writes, by position."""
        now = self._now().at.isoformat()
        self._db.executemany(
            "INSERT INTO record_writes SELECT ?1, ?2, COALESCE(MAX(number), 0) + 1, ?3, ?4, ?5 "
            "FROM record_writes WHERE request = ?1 AND position = ?2",
            ((job_id, at, now, state, json.dumps(detail)) for at, state, detail in states),
        )


def plain_json(value: Any) -> Any:
    """Return a parsed JSON value with types that ``json`` encodes."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: plain_json(item) for name, item in value.items()}
    return value
