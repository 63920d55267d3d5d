"""What became of each row of a job, one by one."""

from enum import StrEnum

from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.report import verdict_of


class Fate(StrEnum):
    """What became of a row.

    ``NOT_WRITTEN`` are rows that nobody complained about and that were not applied all the same:
    they fell with their sheet, or a person saw that they are not there. ``UNSENT`` are those that
    nothing was sent of that could write.
    """

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_WRITTEN = "not_written"
    UNSENT = "unsent"
    UNKNOWN = "unknown"


def row_fates(job: Job) -> tuple[Fate, ...]:
    """Return what became of each row of a job that is no parent of parts, in order."""
    rows = job.what.rows
    if job.state is State.NEEDS_PERSON and (proven := job.last("proven")) is not None:
        return tuple(Fate.ACCEPTED if there else Fate.UNKNOWN for there in proven)
    refused = {row.row for row in verdict_of(job).rejected_rows}
    rest = _fate_of_the_others(job)
    return tuple(Fate.REJECTED if row in refused else rest for row in rows)


def _fate_of_the_others(job: Job) -> Fate:
    if job.state in {State.DONE, State.PARTIAL}:
        return Fate.ACCEPTED
    if job.state is State.REJECTED or (job.state.frees_rows and job.last("resolved")):
        return Fate.NOT_WRITTEN
    if job.state.frees_rows or job.state in UNSENT:
        return Fate.UNSENT
    return Fate.UNKNOWN
