"""Oracle of what became of rows: folded anew from events, plans, writes and snapshots of all jobs.

The journal stores the outcome of each row when it becomes known. Here it is derived from everything
else, and must be the same after any kill, fault or decision.

Inside: upload.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from xlbridge.resources import Catalogue, Mode
from xlbridge.upload import Job, Journal, State
from xlbridge.upload.lookup.snapshot import Moment, applied_rows
from xlbridge.upload.planning.planned_row import RowReason
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowLedger
from xlbridge.upload.row_changes import RecordWrite, WriteState

Change = tuple[str, int, bool, RowOutcome, str | None]
"""Job, position, whether the plan left the row out, outcome, and the undo."""

_ROWS_WITHOUT_KEY = "some rows have no key to look them up by"
_AWAITING_LOG = frozenset({State.POLLING, State.STAGED, State.STARTING})


def require_agreement(folder: Path, catalogue: Catalogue) -> int:
    """Compare every ledger of the journals in a folder with its oracle; return their number."""
    number = 0
    for path in sorted(folder.rglob("journal.db")):
        with closing(Journal(path)) as journal:
            number += compare_ledgers(journal, catalogue)
    return number


def compare_ledgers(journal: Journal, catalogue: Catalogue) -> int:
    """Compare every ledger of a journal, and the rows of its tasks, with their oracle.

    Return their number.
    """
    jobs = journal.jobs()
    firsts = [job for job in jobs if job.spec.retry_of is None]
    for first in firsts:
        if first.is_task:
            outcomes = journal.changes.outcomes(first.id)
            assert outcomes == _outcomes_of_task(journal, first), (outcomes, first)
            continue
        ledger = RowLedger.of(journal, first)
        found = {origin: _shown(ledger, origin) for origin in ledger.changes}
        expected = _Fold(journal, catalogue, jobs, first).histories
        assert found == expected, (found, expected, first.id)
    return len(firsts)


def _shown(ledger: RowLedger, origin: int) -> tuple[list[Change], Change | None]:
    """Return the stored changes of a row, and the decisive one if there is one."""
    changes: list[Change] = [
        (
            change.job.id,
            change.position,
            change.planned is not None,
            change.outcome,
            None if change.undo is None else change.undo.id,
        )
        for change in ledger.changes[origin]
    ]
    now = ledger.now.get(origin)
    return changes, None if now is None else changes[ledger.changes[origin].index(now)]


class _Fold:
    """Fold of all jobs of one sheet, oldest first, undos included."""

    def __init__(
        self, journal: Journal, catalogue: Catalogue, jobs: Sequence[Job], first: Job
    ) -> None:
        self._journal, self._catalogue, self._jobs = journal, catalogue, jobs
        attempts = [first, *self._retries(first)]
        ids = {attempt.id for attempt in attempts}
        undos = [job for job in jobs if job.spec.undo_of in ids]
        self._changes: dict[int, list[Change]] = {}
        self._now: dict[int, Change] = {}
        self._reasons: dict[Change, RowReason | None] = {}
        by_claim: dict[tuple[str, int], tuple[int, Change]] = {}
        # Jobs are listed newest first, in the order in which they were recorded.
        for job in sorted([*attempts, *undos], key=jobs.index, reverse=True):
            if job.spec.undo_of is not None:
                for claim, outcome in self._reversals(job):
                    origin, written = by_claim[claim]
                    reversed_row: Change = (*written[:3], outcome, job.id)
                    history = self._changes[origin]
                    history[history.index(written)] = reversed_row
                    by_claim[claim] = origin, reversed_row
                    self._now[origin] = reversed_row
            elif job.spec.retry_of is None or _has_sent(job):
                for origin, change in self._changes_of(job):
                    self._changes.setdefault(origin, []).append(change)
                    if not change[2]:
                        by_claim[change[0], change[1]] = origin, change
                    if self._decides(change, self._now.get(origin), is_first=job is first):
                        self._now[origin] = change

    @property
    def histories(self) -> dict[int, tuple[list[Change], Change | None]]:
        """Changes of each row, and the decisive one if there is one, by the row's origin."""
        return {origin: (found, self._now.get(origin)) for origin, found in self._changes.items()}

    def _retries(self, job: Job) -> Iterator[Job]:
        for retry in self._jobs:
            if retry.spec.retry_of == job.id:
                yield retry
                yield from self._retries(retry)

    def _changes_of(self, whole: Job) -> Iterator[tuple[int, Change]]:
        origins = self._journal.changes.origins(whole.id)
        nothing_sent = whole.state.is_unsent or whole.state in {State.PREVIEWED, State.ABANDONED}
        for at, row in enumerate(self._journal.plan_of(whole)):
            if row.action.writes:
                continue
            outcome = RowOutcome(row.action.value)
            if nothing_sent:
                outcome = RowOutcome.UNSENT
            elif row.reason is RowReason.REJECTED:
                outcome = RowOutcome.REJECTED
            change: Change = (whole.id, at, True, outcome, None)
            self._reasons[change] = row.reason
            yield origins.get(row.row, row.row), change
        for part in self._journal.requests_of(whole):
            outcomes = self._outcomes(part)
            for at, (number, sent) in enumerate(zip(part.spec.rows, outcomes, strict=True)):
                yield origins.get(number, number), (part.id, at, False, sent, None)

    def _decides(self, change: Change, before: Change | None, *, is_first: bool) -> bool:
        if is_first or change[3] is RowOutcome.UNSENT:
            return is_first
        if before is None:
            return True
        if before[3] is RowOutcome.UNKNOWN:
            return False
        if self._reasons.get(change) is RowReason.REJECTED:
            return False
        return (change[3], before[3]) != (RowOutcome.UNCHANGED, RowOutcome.ACCEPTED)

    def _outcomes(self, job: Job) -> list[RowOutcome]:
        """Return the outcome of each row that a job sends, from its events and what they left."""
        # A job whose records are still to be compared has its verdict.
        state = job.requests[0].ends_as if job.state is State.COMPARING else job.state
        proven = self._proofs(job, state)
        if proven is not None:
            return list(map(RowOutcome.of_proof, proven))
        named = set()
        if not state.is_unsent and state not in _AWAITING_LOG:
            named = {row.row for row in self._journal.changes.rejections(job.id)}
        rest = RowOutcome.UNKNOWN
        if state in {State.DONE, State.PARTIAL}:
            rest = RowOutcome.ACCEPTED
        elif state is State.REJECTED or (state.frees_rows and job.notes.resolved):
            rest = RowOutcome.NOT_WRITTEN
        elif state.frees_rows or state.is_unsent:
            rest = RowOutcome.UNSENT
        return [RowOutcome.REJECTED if row in named else rest for row in job.spec.rows]

    def _proofs(self, job: Job, state: State) -> Sequence[bool | None] | None:
        """Return what is proven of each row of a job that has not ended, None if nothing is."""
        if state not in {State.SENDING, State.IN_DOUBT, State.NEEDS_PERSON}:
            return None
        if job.spec.mode is Mode.RECORDS:
            return [_proof(write) for write in self._journal.writes.load(job.id)]
        if state is not State.NEEDS_PERSON or not job.reason.en.endswith(_ROWS_WITHOUT_KEY):
            return None
        read_back = self._catalogue.named(job.spec.resource).read_back
        before = self._journal.snapshots.newest(job.id, Moment.BEFORE)
        after = self._journal.snapshots.newest(job.id, Moment.AFTER)
        assert read_back is not None
        assert before is not None
        assert after is not None
        proven = applied_rows(before, after, read_back.existing)
        return [True if present else None for present in proven]

    def _reversals(self, undo: Job) -> Iterator[tuple[tuple[str, int], RowOutcome]]:
        resolved = undo.notes.resolved
        for write in self._journal.writes.iterate(undo.id, answers=False):
            outcome = _outcome_of_reversal(write, resolved)
            if write.task.claim is not None and outcome is not None:
                yield write.task.claim, outcome


def _outcomes_of_task(journal: Journal, task: Job) -> list[RowOutcome]:
    resolved = task.notes.resolved
    if not _has_sent(task):
        return [RowOutcome.UNSENT] * len(task.spec.rows)
    outcomes = [RowOutcome.of_proof(_proof(write)) for write in journal.writes.load(task.id)]
    if resolved is None:
        return outcomes
    decided = RowOutcome.REJECTED if RowOutcome.ACCEPTED in outcomes else RowOutcome.NOT_WRITTEN
    if resolved["as"] == "applied":
        decided = RowOutcome.ACCEPTED
    return [decided if outcome is RowOutcome.UNKNOWN else outcome for outcome in outcomes]


def _has_sent(retry: Job) -> bool:
    abandoned = retry.state is State.ABANDONED and retry.notes.resolved is None
    return not retry.state.is_unsent and not abandoned


def _proof(write: RecordWrite) -> bool | None:
    if write.state is WriteState.APPLIED:
        return True
    return False if write.state.is_refused else None


def _outcome_of_reversal(
    write: RecordWrite, resolved: Mapping[str, str] | None
) -> RowOutcome | None:
    if write.state.is_open and resolved is not None:
        return RowOutcome.UNDONE if resolved["as"] == "applied" else None
    if write.state is WriteState.APPLIED:
        return RowOutcome.UNDONE
    return RowOutcome.UNKNOWN if write.state.is_open else None
