"""What the commands about uploads have in common: the desk, reports and exit codes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.importing import importing
from xlbridge.cli.output import remark, result, result_json
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.desk import Desk
from xlbridge.upload.evidence import lacks_evidence
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal
from xlbridge.upload.journal.states import State
from xlbridge.upload.report import job_json, job_text
from xlbridge.workbook.atomic import require_apart

_EXIT_CODES = {
    State.PREVIEWED: ExitCode.GOOD,
    State.DONE: ExitCode.GOOD,
    State.STAGED: ExitCode.GOOD,
    State.POLLING: ExitCode.GOOD,
    State.SENDING_PARTS: ExitCode.GOOD,
    State.PARTIAL: ExitCode.DATA_ERRORS,
    State.REJECTED: ExitCode.DATA_ERRORS,
    State.ABANDONED: ExitCode.FAILED,
    State.IN_DOUBT: ExitCode.IN_DOUBT,
    State.NEEDS_PERSON: ExitCode.IN_DOUBT,
}


@contextmanager
def open_desk(settings: Settings | None = None) -> Iterator[Desk]:
    """Open the journal and the catalogue for one command."""
    settings = settings or command_settings()
    journal = Journal(settings.journal)
    try:
        yield Desk(settings, load_catalogue(settings.schemas), journal)
    finally:
        journal.close()


def evidenced(desk: Desk, job: Job) -> Job:
    """Write the evidence that a job should have and has not; return the job as it is then."""
    if not lacks_evidence(desk.journal, job):
        return job
    # It reads and writes workbooks, and is hardly ever lacking.
    with importing():
        from xlbridge.upload.evidencing import with_evidence

    return with_evidence(desk.settings, desk.catalogue, desk.journal, job)


def leave_living_copy(desk: Desk, job: Job, target: Path) -> None:
    """Write the living copy of a job's workbook, and say so.

    Raises ``UsageError`` when the target is the workbook itself, or is not to be written.
    """
    # It reads and writes workbooks, which most commands about jobs do not.
    with importing():
        from xlbridge.upload.living import write_living_copy

    require_apart([target], [Path(job.what.file)])
    write_living_copy(desk, job, target)
    remark(
        Text(
            pt="Cópia com a situação de cada linha em {f}", en="Copy with each row's state in {f}"
        ).format(f=target)
    )


def print_job(job: Job, form: str) -> ExitCode:
    """Print a job's report and return the exit code that it ends a command with."""
    if form == "json":
        result_json(job_json(job))
    else:
        for line in job_text(job):
            result(line)
    return _EXIT_CODES.get(job.state, ExitCode.FAILED)
