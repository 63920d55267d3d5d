"""Outcomes of a job's rows, from the job itself and from its retries."""

from collections.abc import Iterator, Mapping, Sequence

from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.row_reasons import RowReason
from xlbridge.upload.results.verdict import LaterRows, RowOutcome, SettledRows, UndoneRows
from xlbridge.upload.single_records.write_journal import WriteState


def with_retries(journal: Journal, job: Job) -> Iterator[tuple[Job, Mapping[int, int]]]:
    """Yield a job, its retries, and their retries, oldest first.

    Each comes with a mapping of its row numbers to those in the first job's sheet.
    """
    yield job, {row: row for row in _all_rows(journal, job)}
    for retry in _sent_retries(journal, job):
        for attempt, origins in with_retries(journal, retry):
            numbers = {row: retry.origins.get(origin, origin) for row, origin in origins.items()}
            yield attempt, numbers


def _sent_retries(journal: Journal, job: Job) -> Iterator[Job]:
    """Yield the retries of a job that have sent anything, oldest first."""
    for retry in reversed(journal.retries_of(job.id)):
        if not retry.state.is_unsent and retry.state is not State.ABANDONED:
            yield retry


def _attempts(journal: Journal, job: Job) -> Iterator[Job]:
    """Yield a job, its retries, and their retries, oldest first."""
    yield job
    for retry in _sent_retries(journal, job):
        yield from _attempts(journal, retry)


def _all_rows(journal: Journal, job: Job) -> Sequence[int]:
    """Return the numbers of all rows of a job's sheet."""
    return [row.row for row in journal.plan_of(job)] or job.spec.rows


def _outcomes_of(journal: Journal, job: Job) -> dict[int, RowOutcome]:
    """Return the outcome of each record in a job's sheet, by row."""
    outcomes = {}
    for row in journal.plan_of(job):
        if row.reason is RowReason.REJECTED:
            outcomes[row.row] = RowOutcome.REJECTED
        elif not row.action.writes and row.reason is not RowReason.NO_RECORD:
            outcomes[row.row] = RowOutcome(row.action.value)
    for part in journal.parts_of(job) or [job]:
        outcomes.update(zip(part.spec.rows, part.outcomes, strict=True))
    return outcomes


def rows_in_system(journal: Journal, job: Job) -> set[int]:
    """Return the rows that a job has written or found."""
    in_system = {RowOutcome.ACCEPTED, RowOutcome.UNCHANGED}
    return {row for row, outcome in _outcomes_of(journal, job).items() if outcome in in_system}


def doubtful_rows(journal: Journal, job: Job) -> set[int]:
    """Return the rows in doubt, or all rows of an unfinished job."""
    if not job.state.is_final:
        return set(job.spec.rows)
    outcomes = _outcomes_of(journal, job).items()
    return {row for row, outcome in outcomes if outcome is RowOutcome.UNKNOWN}


def outcomes_with_retries(journal: Journal, job: Job) -> dict[int, RowOutcome]:
    """Return the final outcome of each row of a job's sheet, and of rows added in retries.

    Keys are the row numbers in the job's sheet.
    """
    found: dict[int, RowOutcome] = {}
    for attempt, origins in with_retries(journal, job):
        for row, outcome in _outcomes_of(journal, attempt).items():
            if found.get(origins[row]) is not RowOutcome.ACCEPTED:
                found[origins[row]] = outcome
    return found


def later_rows(journal: Journal, job: Job) -> LaterRows:
    """Return what the retries and undos of a job made of its rows."""
    return LaterRows(_settled_rows(journal, job), _undone_rows(journal, job))


def _settled_rows(journal: Journal, job: Job) -> SettledRows | None:
    """Return the rows of a job that its retries have written, None if there are none."""
    if job.parent is not None or not journal.retries_of(job.id):
        return None
    missing = set(_all_rows(journal, job)) - rows_in_system(journal, job)
    settled: set[int] = set()
    by = ""
    for attempt, origins in with_retries(journal, job):
        found = {origins[row] for row in rows_in_system(journal, attempt)} & missing - settled
        if attempt.id != job.id and found:
            settled |= found
            by = attempt.id
    return SettledRows(len(settled), by, len(missing - settled)) if settled else None


def undos_with_retries(journal: Journal, job: Job) -> list[Job]:
    """Return the undos of a job, of its retries, and of the jobs that it retries."""
    family = {attempt.id for attempt in _attempts(journal, job)}
    earlier = job.retry_of
    while earlier is not None:
        family.add(earlier)
        earlier = journal.job(earlier).retry_of
    return [undo for job_id in sorted(family) for undo in journal.undos_of(job_id)]


def _undone_rows(journal: Journal, job: Job) -> UndoneRows | None:
    """Return how many rows of a job and its retries were reversed, None if none were."""
    undos = undos_with_retries(journal, job) if job.parent is None else []
    if not undos:
        return None
    wrote = {
        part.id for whole in _attempts(journal, job) for part in journal.parts_of(whole) or [whole]
    }
    reversed_by = [
        undo.id
        for undo in sorted(undos, key=lambda undo: undo.created_at)
        for write in journal.writes.load(undo.id)
        if write.state is WriteState.APPLIED
        if write.task.claim is not None and write.task.claim[0] in wrote
    ]
    return UndoneRows(len(reversed_by), reversed_by[-1]) if reversed_by else None
