"""Shared by the commands about uploads: reports, status copies and exit codes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.cli.exit_codes import ExitCode, exit_code_of, gravest
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.output import doubt_kept, print_error, print_report, remark
from xlbridge.errors import LocalFailure, XlbridgeError
from xlbridge.files import require_distinct
from xlbridge.i18n import Text
from xlbridge.upload import Job, State, UploadContext
from xlbridge.upload.results import job_report

if TYPE_CHECKING:
    from xlbridge.client import Client

_EXIT_CODE_BY_STATE = {
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


def save_status_copy(
    context: UploadContext, job: Job, target: Path, client: "Client | None" = None
) -> None:
    """Write the status copy of a job's workbook, and say so.

    With a ``client`` the codes of the accepted rows are read first.

    Raises ``UsageError`` when the target is the workbook itself, or cannot be written.
    """
    job.require_upload()
    # It reads and writes workbooks, which most commands about jobs do not.
    with heavy_imports():
        from xlbridge.upload.results import write_status_copy

    require_distinct([target], [Path(job.spec.file)])
    write_status_copy(context, job, target, client)
    remark(
        Text(
            pt="Cópia com a situação de cada linha em {f}", en="Copy with each row's state in {f}"
        ).format(f=target)
    )


def end_with_job(
    context: UploadContext,
    job: Job,
    form: str,
    annotated: Path | None,
    client: "Client | None" = None,
) -> ExitCode:
    """Print a job's report, write its status copy where asked for, return the gravest exit code."""
    codes = [print_job(context, job, form)]
    if annotated is not None:
        try:
            save_status_copy(context, job, annotated, client)
        except XlbridgeError as error:
            print_error(error)
            codes.append(exit_code_of(error))
    return gravest(codes)


def code_of_failure(context: UploadContext, job: Job, error: XlbridgeError) -> ExitCode:
    """Return the exit code of a run that was stopped.

    Where this computer failed and a request of the job had left, that is a doubt; also where the
    journal cannot be read to tell.
    """
    if not isinstance(error, LocalFailure):
        return exit_code_of(error)
    try:
        settled = context.journal.is_settled(job)
    except LocalFailure:
        settled = False
    return exit_code_of(error) if settled else ExitCode.IN_DOUBT


def job_document(context: UploadContext, job: Job) -> dict[str, Any]:
    """Return the report of a job as JSON."""
    document: dict[str, Any] = job_report(context.journal, job).forms.document()
    return document


def print_job(context: UploadContext, job: Job, form: str) -> ExitCode:
    """Print a job's report and return the exit code that it ends a command with."""
    report = job_report(context.journal, job)
    code = _EXIT_CODE_BY_STATE.get(job.state, ExitCode.FAILED)
    with doubt_kept(code):
        print_report(report.forms, form)
    return ExitCode.DATA_ERRORS if code is ExitCode.GOOD and report.has_open_rows() else code
