"""Ledger of rows: what became of each row of a sheet, after its retries and undos.

This is the one answer. ``jobs``, ``retry``, ``undo``, rejects workbooks, status copies, batches,
proofs, the page and Python read it, and derive nothing of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from xlbridge.i18n import Text, joined
from xlbridge.upload.job import Job
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowReason
from xlbridge.upload.requests import REJECTED_AS_A_WHOLE, RejectedRow, RowOutcome, State

if TYPE_CHECKING:
    from xlbridge.upload.journal import Journal


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of a row that a job planned or sent, and its outcome.

    ``origin`` is the row's number in the sheet of the first job, ``row`` that in the sheet of
    ``job``, both as in Excel; an added row has an unused number as its origin. ``position`` is
    among the rows of the job; for a row that the plan left out, whose plan is in ``planned``, among
    all rows of the sheet. ``undo`` is the undo that has reversed it, or whose outcome for it is
    unknown. ``decides``: it is what became of the row.
    """

    origin: int
    job: Job
    row: int
    position: int
    outcome: RowOutcome
    action: str
    planned: PlannedRow | None = None
    undo: Job | None = None
    decides: bool = False

    @property
    def updates(self) -> bool:
        """True if it changes a record instead of creating one."""
        return self.action == RowAction.UPDATE

    @property
    def left_out(self) -> bool:
        """True if the plan left the row out."""
        return self.planned is not None

    @property
    def is_record(self) -> bool:
        """False for a row that was held because it is no record, such as a row of totals."""
        return self.planned is None or self.planned.reason is not RowReason.NO_RECORD

    @property
    def in_system(self) -> bool:
        """True if the record is in the system, by this change or before it."""
        return self.outcome in {RowOutcome.ACCEPTED, RowOutcome.UNCHANGED}

    @property
    def is_refused(self) -> bool:
        """True if the row was rejected, not written because of others, or held."""
        refused = {RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.HELD}
        return self.outcome in refused and self.is_record

    @property
    def counted(self) -> RowOutcome:
        """Outcome as which it is counted; rows of an unsent job count as unknown."""
        return _counted(self.job, self.outcome)

    @property
    def is_given_up(self) -> bool:
        """True if the row was to be sent and is not written: for an error of its own, because of
        others, or as its part was given up."""
        return self.planned is None and self.counted is RowOutcome.REJECTED


_UNDONE_BY = Text(pt="desfeita por {undo}", en="undone by {undo}")
_UNDO_IN_DOUBT = Text(
    pt="não se sabe se {undo} a desfez ({reason})",
    en="whether {undo} has undone it is unknown ({reason})",
)


@dataclass(frozen=True, slots=True)
class LaterRows:
    """Rows of a job that later jobs have written or reversed: their number, the last of these jobs,
    and for written ones the number of rows that are still missing."""

    rows: int
    by: str
    left: int = 0


@dataclass(frozen=True)
class RowLedger:
    """Ledger of one sheet: its first job with all retries and undos.

    ``attempts`` are the first job and its retries, oldest first. ``changes`` are all changes of
    each row, oldest first, ``now`` the decisive one, both by the row's origin; retries of which
    nothing was sent have none.
    """

    journal: "Journal"
    attempts: Sequence[Job]
    undos: Sequence[Job]
    changes: Mapping[int, Sequence[RowChange]] = field(repr=False)
    now: Mapping[int, RowChange] = field(repr=False)
    _own: Mapping[str, Sequence[RowChange]] = field(repr=False)
    _rejections_by_job: dict[str, dict[int | None, list[RejectedRow]]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, journal: "Journal", job: Job) -> "RowLedger":
        """Return the ledger of the sheet that an upload, a part, a retry or an undo belongs to."""
        jobs = {one.id: one for one in journal.jobs_of_sheet(job.first_job)}
        attempts = [one for one in jobs.values() if one.spec.undo_of is None]
        undos = [one for one in jobs.values() if one.spec.undo_of is not None]
        sent = {one.id for one in attempts if one.spec.retry_of is None or one.has_sent}
        requests = {whole.id: _by_request(journal, whole) for whole in attempts}
        own: dict[str, list[RowChange]] = {
            one.id: [] for of_job in requests.values() for one in of_job.values()
        }
        plans: dict[str, Sequence[PlannedRow]] = {}
        for (
            sender,
            request,
            at,
            row,
            origin,
            action,
            outcome,
            undo,
            decides,
        ) in journal.changes.of_sheet(job.first_job):
            by = requests[sender][request]
            if not request and by.id not in plans:
                plans[by.id] = journal.plan_of(by)
            planned = None if request else plans[by.id][at]
            own[by.id].append(
                RowChange(
                    *(origin, by, row, at, RowOutcome(outcome), action, planned),
                    undo=None if undo is None else jobs[undo],
                    decides=bool(decides),
                )
            )
        changes: dict[int, list[RowChange]] = {}
        now: dict[int, RowChange] = {}
        for change in chain.from_iterable(own.values()):
            if change.job.whole in sent:
                changes.setdefault(change.origin, []).append(change)
                if change.decides:
                    now[change.origin] = change
        return cls(journal, attempts, undos, changes, now, own)

    @property
    def sent_attempts(self) -> list[Job]:
        """The first job, and the retries that have sent anything or were resolved by a person."""
        return [job for job in self.attempts if job.spec.retry_of is None or job.has_sent]

    def rows_of(self, job: Job) -> dict[int, RowChange]:
        """Return what a job and later jobs made of each row of its own sheet, by its number there.

        The rows of a part are those that it sends. A row that was written before, and that the job
        left out, is unchanged or held.
        """
        return {own.row: self._since(own) for own in self.changes_of(job)}

    def changes_of(self, job: Job) -> Iterator[RowChange]:
        """Yield the changes that a job planned or sent; a part only sends."""
        for one in self._own.values():
            if one and job.id in (one[0].job.id, one[0].job.parent):
                yield from one

    def _since(self, own: RowChange) -> RowChange:
        """Return a change, or the decisive one of its row if that is later."""
        now = self.now.get(own.origin, own)
        if now.job.whole == own.job.whole or (now.undo or now.job).order > own.job.order:
            return now
        return own

    def settled(self, job: Job) -> LaterRows | None:
        """Return the rows of a job that its retries have written, None if there are none."""
        missing = [
            self._since(own)
            for own in self.changes_of(job)
            if own.is_record and not own.in_system and own.undo is None
        ]
        settled = [change for change in missing if change.in_system]
        if not settled:
            return None
        newest = max(settled, key=lambda change: change.job.order)
        return LaterRows(len(settled), newest.job.whole, len(missing) - len(settled))

    def reason(self, change: RowChange) -> Text | None:
        """Return the reason of a change's outcome, None if there is none."""
        if change.planned is not None:
            return change.planned.text
        job, undo = change.job, change.undo
        match change.outcome:
            case RowOutcome.UNDONE if undo is not None:
                return _UNDONE_BY.format(undo=undo.id)
            case RowOutcome.UNKNOWN if undo is not None:
                return _UNDO_IN_DOUBT.format(undo=undo.id, reason=undo.reason)
            case RowOutcome.REJECTED | RowOutcome.NOT_WRITTEN if found := self.rejections(change):
                return joined(one.labelled for one in found)
            case RowOutcome.NOT_WRITTEN if job.state is State.REJECTED:
                return REJECTED_AS_A_WHOLE
            case RowOutcome.NOT_WRITTEN | RowOutcome.UNSENT | RowOutcome.UNKNOWN:
                return job.known_reason
        return None

    def rejections(self, change: RowChange) -> Sequence[RejectedRow]:
        """Return the system's messages about a row, with cells in the sheet of the change's job."""
        return self.rejections_of(change.job, change.row)

    def rejections_of(self, job: Job, row: int | None) -> Sequence[RejectedRow]:
        """Return the system's messages about a row of a job, or with None about its whole sheet."""
        by_row = self._rejections_by_job.get(job.id)
        if by_row is None:
            by_row = self._rejections_by_job[job.id] = {}
            for found in self.journal.changes.rejections(job.id):
                by_row.setdefault(found.row, []).append(found)
        return by_row.get(row, ())

    def undone(self, job: Job) -> LaterRows | None:
        """Return the rows of a job that are reversed now, None if there are none."""
        undos = [change.undo for change in self.rows_of(job).values() if _is_undone(change)]
        known = [undo for undo in undos if undo is not None]
        return LaterRows(len(known), max(known, key=attrgetter("order")).id) if known else None

    @cached_property
    def standing(self) -> list[RowChange]:
        """Changes that were written and are not reversed, oldest first by row."""
        return [
            change
            for changes in self.changes.values()
            for change in changes
            if change.outcome is RowOutcome.ACCEPTED
        ]

    def sent_outcomes(self, job: Job) -> Counter[RowOutcome]:
        """Return the number of rows that a job sent by their outcome then: accepted, rejected or
        unknown."""
        return Counter(
            RowOutcome.ACCEPTED if change.undo is not None else change.counted
            for change in self._own[job.id]
            if not change.left_out
        )

    def undone_before(self, later: Job | None = None) -> Counter[str]:
        """Return the number of changes that each undo has reversed, or each before a ``later``."""
        return Counter(
            change.undo.id
            for changes in self.changes.values()
            for change in changes
            if _is_undone(change) and change.undo is not None
            if later is None or change.undo.order < later.order
        )


def row_counts(journal: "Journal", job: Job) -> dict[str, int]:
    """Return the counts of a job's rows as they are now, by their names in reports."""
    return counts_in(changed_ledger(journal, job), journal, job)


def counts_in(ledger: "RowLedger | None", journal: "Journal", job: Job) -> dict[str, int]:
    """Return the counts of a job's rows by its ``changed_ledger``.

    ``read`` counts all rows of its sheet and is the sum of ``accepted``, ``rejected``,
    ``unchanged``, ``held``, ``undone`` and ``unknown``; ``accepted`` that of ``created`` and
    ``updated``, or all are ``deleted``. Rows of an unsent job count as unknown.
    """
    if ledger is None:
        requests = _by_request(journal, job)
        found = [
            (requests[request], request == 0, action, outcome, number)
            for request, action, outcome, number in journal.changes.count(job.id)
        ]
    else:
        rows = ledger.rows_of(job).values()
        found = [(one.job, one.left_out, one.action, one.outcome, 1) for one in rows]
    counts: Counter[str] = Counter()
    for changed_by, left_out, action, outcome, number in found:
        if left_out and changed_by.whole == job.whole:
            name = action
        else:
            name = _counted(changed_by, outcome).value
        counts["read"] += number
        counts[name] += number
        if outcome is RowOutcome.ACCEPTED:
            counts[_ACCEPTED_AS.get(RowAction(action), "created")] += number
    names = (*ROW_COUNTS, "deleted") if job.deletes else ROW_COUNTS
    return {name: counts[name] for name in names}


def _by_request(journal: "Journal", job: Job) -> dict[int, Job]:
    """Return a job by the numbers of its requests, and as 0 for rows that its plan leaves out."""
    one_by_one = journal.parts_of(job) or [job]
    return {0: job} | {one.requests[0].number: one for one in one_by_one}


def _counted(job: Job, outcome: RowOutcome) -> RowOutcome:
    """Return the outcome as which a row is counted; rows of an unsent job count as unknown."""
    if outcome is RowOutcome.UNSENT:
        is_given_up = job.state is State.ABANDONED and not job.notes.replaced_by
        return RowOutcome.REJECTED if is_given_up else RowOutcome.UNKNOWN
    return RowOutcome.REJECTED if outcome is RowOutcome.NOT_WRITTEN else outcome


_ACCEPTED_AS = {
    RowAction.UPDATE: "updated",
    RowAction.PROCESS: "updated",
    RowAction.DELETE: "deleted",
}


ROW_COUNTS = (
    *("read", "accepted", "rejected", "unknown", "unchanged", "held", "undone"),
    *("created", "updated"),
)
"""Names of the counts of rows, in the order of reports."""


def messages_of(journal: "Journal", job: Job) -> list[RejectedRow]:
    """Return the messages about rows of a job; a row without one that was not written with its
    whole part has the part's reason."""
    found = journal.changes.rejections(job.id)
    named = {rejected.row for rejected in found}
    for part in journal.parts_of(job):
        if part.state in {State.REJECTED, State.ABANDONED} and job.state is not State.ABANDONED:
            reason = REJECTED_AS_A_WHOLE if part.state is State.REJECTED else part.reason
            found += (
                RejectedRow(row, None, None, reason, itself=False)
                for row in part.spec.rows
                if row not in named
            )
    return sorted(found, key=lambda rejected: rejected.row or 0)


def rejected_now(journal: "Journal", job: Job, ledger: RowLedger | None) -> list[RejectedRow]:
    """Return the rows of a job that are rejected now, with the newest messages about each.

    Cells are those of the job's sheet. Messages about the whole sheet stay while rows are missing.
    """
    own = messages_of(journal, job)
    if ledger is None:
        return own
    found: list[RejectedRow] = []
    rows = ledger.rows_of(job)
    for row, change in rows.items():
        if change.is_refused and change.planned is None:
            found += [
                message._replace(
                    row=row,
                    cell=message.cell
                    if change.job.whole == job.whole
                    else job.spec.cell(row, message.column or ""),
                )
                for message in ledger.rejections(change)
            ]
    whole = [message for message in own if message.row is None]
    return [*whole, *found] if any(change.is_refused for change in rows.values()) else found


def changed_ledger(journal: "Journal", job: Job) -> RowLedger | None:
    """Return the ledger of a job whose rows other jobs may have changed, None for other jobs."""
    if job.is_task or not (job.spec.retry_of is not None or journal.has_later_jobs(job)):
        return None
    return RowLedger.of(journal, job)


def _is_undone(change: RowChange) -> bool:
    return change.outcome is RowOutcome.UNDONE
