"""Ledger of rows: what became of each row of a sheet, after its retries and undos.

This is the one answer. ``jobs``, ``retry``, ``undo``, rejects workbooks, status copies, batches,
proofs, the page and Python read it, and derive nothing of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xlbridge.i18n import Text, joined
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import PlannedRow
from xlbridge.upload.planning.row_reasons import RowReason
from xlbridge.upload.results.verdict import REJECTED_AS_A_WHOLE, RejectedRow, RowOutcome
from xlbridge.upload.single_records.write_journal import RecordWrite, WriteState


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of a row that a job planned or sent, and its outcome.

    ``origin`` is the row's number in the sheet of the first job, ``row`` that in the sheet of
    ``job``, both as in Excel; an added row has an unused number as its origin. ``position`` is
    among the rows of the job; for a row that the plan left out, whose plan is in ``planned``, among
    all rows of the sheet. ``updates``: it changes a record instead of creating one. ``undo`` is the
    undo that has reversed it, or whose outcome for it is unknown.
    """

    origin: int
    job: Job
    row: int
    position: int
    outcome: RowOutcome
    planned: PlannedRow | None = None
    updates: bool = False
    undo: Job | None = None

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
    def whole_job(self) -> str:
        """Id of the job of the whole sheet."""
        return self.job.parent or self.job.id


_UNDONE_BY = Text(pt="desfeita por {undo}", en="reversed by {undo}")
_UNDO_IN_DOUBT = Text(
    pt="não se sabe se {undo} a desfez ({reason})",
    en="whether {undo} reversed it is unknown ({reason})",
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

    journal: Journal
    attempts: Sequence[Job]
    undos: Sequence[Job]
    changes: Mapping[int, Sequence[RowChange]] = field(repr=False)
    now: Mapping[int, RowChange] = field(repr=False)
    _rejections_by_job: dict[str, dict[int | None, list[RejectedRow]]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, journal: Journal, job: Job) -> "RowLedger":
        """Return the ledger of the sheet that an upload, a part, a retry or an undo belongs to."""
        while (earlier := job.parent or job.retry_of or job.undo_of) is not None:
            job = journal.job(earlier)
        attempts = [job, *_retries(journal, job)]
        undos = [undo for attempt in attempts for undo in journal.undos_of(attempt.id)]
        changes, now = _fold(journal, attempts, undos)
        in_order = sorted(attempts, key=_age)
        return cls(journal, in_order, sorted(undos, key=_age), changes, now)

    @property
    def sent_attempts(self) -> list[Job]:
        """The first job, and the retries that have sent anything or were resolved by a person."""
        return [job for job in self.attempts if job.retry_of is None or _has_sent(job)]

    def rows_of(self, job: Job) -> dict[int, RowChange]:
        """Return what a job and later jobs made of each row of its own sheet, by its number there.

        The rows of a part are those that it sends. A row that was written before, and that the job
        left out, is unchanged or held.
        """
        return {own.row: self._since(own) for own in _changes_of(self.journal, job)}

    def _since(self, own: RowChange) -> RowChange:
        """Return a change, or the decisive one of its row if that is later."""
        now = self.now.get(own.origin, own)
        if now.whole_job == own.whole_job or (now.undo or now.job).created_at > own.job.created_at:
            return now
        return own

    def settled(self, job: Job) -> LaterRows | None:
        """Return the rows of a job that its retries have written, None if there are none."""
        missing = [
            self._since(own)
            for own in _changes_of(self.journal, job)
            if own.is_record and not own.in_system
        ]
        settled = [change for change in missing if change.in_system]
        if not settled:
            return None
        newest = max(settled, key=lambda change: _age(change.job))
        return LaterRows(len(settled), newest.whole_job, len(missing) - len(settled))

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
            case RowOutcome.REJECTED:
                return joined(found.labelled for found in self.rejections(change))
            case RowOutcome.NOT_WRITTEN if job.state is State.REJECTED:
                return REJECTED_AS_A_WHOLE
            case RowOutcome.NOT_WRITTEN | RowOutcome.UNSENT | RowOutcome.UNKNOWN:
                return None if job.last("reason") is None else job.reason
        return None

    def rejections(self, change: RowChange) -> Sequence[RejectedRow]:
        """Return the system's messages about a row, with cells in the sheet of the change's job."""
        by_row = self._rejections_by_job.get(change.job.id)
        if by_row is None:
            by_row = self._rejections_by_job[change.job.id] = {}
            for found in change.job.verdict.rejected_rows:
                by_row.setdefault(found.row, []).append(found)
        return by_row.get(change.row, ())

    def undone(self, job: Job) -> LaterRows | None:
        """Return the rows of a job that are reversed now, None if there are none."""
        undos = [change.undo for change in self.rows_of(job).values() if _is_undone(change)]
        known = [undo for undo in undos if undo is not None]
        return LaterRows(len(known), max(known, key=_age).id) if known else None

    @cached_property
    def standing(self) -> list[RowChange]:
        """Changes that were written and are not reversed, oldest first by row."""
        return [
            change
            for changes in self.changes.values()
            for change in changes
            if change.outcome is RowOutcome.ACCEPTED
        ]

    @cached_property
    def undone_before(self) -> Counter[str]:
        """Number of changes that each undo has reversed."""
        return Counter(
            change.undo.id
            for changes in self.changes.values()
            for change in changes
            if _is_undone(change) and change.undo is not None
        )


def row_counts(journal: Journal, job: Job) -> dict[str, int]:
    """Return the counts of a job's rows as they are now, by their names in reports.

    ``read`` counts all rows of its sheet and is the sum of ``accepted``, ``rejected``,
    ``unchanged``, ``held``, ``undone`` and ``unknown``; ``accepted`` that of ``created`` and
    ``updated``, or all are ``deleted``. Rows of an unsent job count as unknown.
    """
    ledger = changed_ledger(journal, job)
    if ledger is None:
        return job.row_counts
    whole, rows = job.parent or job.id, ledger.rows_of(job).values()
    counts = Counter(_counted_as(change, whole) for change in rows)
    updated = sum(change.outcome is RowOutcome.ACCEPTED and change.updates for change in rows)
    created = counts["accepted"] - updated
    found = {"read": len(rows), "created": created, "updated": updated}
    if job.deletes:
        found |= {"updated": 0, "deleted": updated}
    return {name: found.get(name, counts[name]) for name in job.row_counts}


def _counted_as(change: RowChange, job: str) -> str:
    """Return the count of the contract that a row belongs to, in the report of a ``job``."""
    if change.planned is not None and change.whole_job == job:
        return change.planned.action.value
    if change.outcome is RowOutcome.NOT_WRITTEN:
        return RowOutcome.REJECTED.value
    if change.outcome is not RowOutcome.UNSENT:
        return change.outcome.value
    awaits = change.job.state.is_unsent or change.job.state is State.PREVIEWED
    return (RowOutcome.UNKNOWN if awaits else RowOutcome.REJECTED).value


def changed_ledger(journal: Journal, job: Job) -> RowLedger | None:
    """Return the ledger of a job whose rows other jobs may have changed, None for other jobs."""
    whole = job.parent or job.id
    if job.is_task or not (
        job.retry_of is not None or journal.retries_of(whole) or journal.undos_of(whole)
    ):
        return None
    return RowLedger.of(journal, job)


def _retries(journal: Journal, job: Job) -> Iterator[Job]:
    """Yield the retries of a job, and theirs."""
    for retry in journal.retries_of(job.id):
        yield retry
        yield from _retries(journal, retry)


def _age(job: Job) -> tuple[object, ...]:
    return job.created_at, job.id


def _is_undone(change: RowChange) -> bool:
    return change.outcome is RowOutcome.UNDONE


def _fold(
    journal: Journal, attempts: Sequence[Job], undos: Sequence[Job]
) -> tuple[dict[int, list[RowChange]], dict[int, RowChange]]:
    """Return all changes of each row, and the decisive ones, by origin.

    The newest decides, undos included, but for three cases: a doubt stands until it is settled; a
    row that is found unchanged stays accepted; a row that was not sent again, or was rejected and
    has not changed since, stays as it was.
    """
    changes: dict[int, list[RowChange]] = {}
    now: dict[int, RowChange] = {}
    by_claim: dict[tuple[str, int], RowChange] = {}
    for job in sorted([*attempts, *undos], key=_age):
        if job.undo_of is not None:
            for claim, outcome in _reversals(journal, job):
                written = by_claim[claim]
                reversed_row = replace(written, outcome=outcome, undo=job)
                history = changes[written.origin]
                history[next(at for at, one in enumerate(history) if one is written)] = reversed_row
                by_claim[claim] = reversed_row
                now[written.origin] = reversed_row
            continue
        if job.retry_of is not None and not _has_sent(job):
            continue
        for change in _changes_of(journal, job):
            changes.setdefault(change.origin, []).append(change)
            if change.planned is None:
                by_claim[change.job.id, change.position] = change
            before = now.get(change.origin)
            if before is None or _decides(change, before):
                now[change.origin] = change
    return changes, now


def _has_sent(retry: Job) -> bool:
    """Return whether a retry has sent anything, or has been resolved by a person."""
    abandoned = retry.state is State.ABANDONED and retry.last("resolved") is None
    return not retry.state.is_unsent and not abandoned


def _decides(change: RowChange, before: RowChange) -> bool:
    """Return whether a later change of a row replaces what became of it ``before``."""
    if before.outcome is RowOutcome.UNKNOWN or change.outcome is RowOutcome.UNSENT:
        return False
    if change.planned is not None and change.planned.reason is RowReason.REJECTED:
        return False
    kept = (RowOutcome.UNCHANGED, RowOutcome.ACCEPTED)
    return (change.outcome, before.outcome) != kept


def _changes_of(journal: Journal, job: Job) -> Iterator[RowChange]:
    """Yield the changes that a job planned or sent; a part only sends."""
    whole = job if job.parent is None else journal.job(job.parent)
    origins = whole.origins
    nothing_sent = whole.state.is_unsent or whole.state in {State.PREVIEWED, State.ABANDONED}
    for at, row in enumerate(journal.plan_of(job)):
        if row.action.writes:
            continue
        outcome = RowOutcome(row.action.value)
        if nothing_sent:
            outcome = RowOutcome.UNSENT
        elif row.reason is RowReason.REJECTED:
            outcome = RowOutcome.REJECTED
        yield RowChange(origins.get(row.row, row.row), whole, row.row, at, outcome, row)
    for part in journal.parts_of(job) or [job]:
        updates = part.updated_positions
        for at, (number, outcome) in enumerate(zip(part.spec.rows, part.outcomes, strict=True)):
            origin = origins.get(number, number)
            yield RowChange(origin, part, number, at, outcome, updates=at in updates)


def _reversals(journal: Journal, undo: Job) -> Iterator[tuple[tuple[str, int], RowOutcome]]:
    """Yield what an undo has reversed, or may have: the job and position of the row's change."""
    resolved = undo.last("resolved")
    for write in journal.writes.iterate(undo.id, answers=False):
        outcome = _outcome_of_reversal(write, resolved)
        if write.task.claim is not None and outcome is not None:
            yield write.task.claim, outcome


def _outcome_of_reversal(
    write: RecordWrite, resolved: Mapping[str, str] | None
) -> RowOutcome | None:
    if write.state is WriteState.UNPROVEN and resolved is not None:
        return RowOutcome.UNDONE if resolved["as"] == "applied" else None
    if write.state is WriteState.APPLIED:
        return RowOutcome.UNDONE
    return RowOutcome.UNKNOWN if write.state.is_open else None
