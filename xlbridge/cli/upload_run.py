"""Run of a job, reports, status copies and exit codes for the upload commands."""

from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.cli.lifecycle import ExitCode, exit_code_of, heavy_imports, worst_code
from xlbridge.cli.output import (
    keep_in_doubt,
    print_error,
    print_json,
    print_message,
    print_report,
)
from xlbridge.cli.progress import show_progress
from xlbridge.cli.upload_arguments import UploadArguments, yes_in_production
from xlbridge.errors import ApiError, LocalFailure, UsageError, XlbridgeError
from xlbridge.files import report_local_failures, require_distinct
from xlbridge.i18n import Text
from xlbridge.profiles import read_profile_file, settings_for
from xlbridge.report_forms import Grade, ReportForms
from xlbridge.resources import Mode
from xlbridge.upload import Job, Journal, State, UploadContext
from xlbridge.upload.results import job_document, job_report

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.upload.planning import ConsentRequest

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
    """Write the status copy of a job's workbook, and print its path.

    With a ``client`` the codes of the accepted rows are read first. Raises ``UsageError`` if the
    target is the workbook itself, or cannot be written.
    """
    job.require_upload()
    with heavy_imports():
        from xlbridge.upload.results import write_status_copy

    require_distinct([target], [Path(job.spec.file)])
    write_status_copy(context, job, target, client)
    print_message(
        Text(
            pt="Cópia com a situação de cada linha em {f}", en="Copy with each row's state in {f}"
        ).format(f=target)
    )


def report_job(
    context: UploadContext,
    job: Job,
    arguments: UploadArguments,
    client: "Client | None" = None,
) -> ExitCode:
    """Write a job's status copy if requested, print its report, and return the worst exit code."""
    codes = []
    if arguments.annotate is not None:
        # Before the report, whose reader may close the pipe.
        try:
            save_status_copy(context, job, arguments.annotate, client)
        except XlbridgeError as error:
            print_error(error)
            codes.append(exit_code_of(error))
    return worst_code([*codes, print_job(context, job, arguments.form)])


def failure_exit_code(context: UploadContext, job: Job, error: XlbridgeError) -> ExitCode:
    """Return the exit code of a run that was stopped.

    A failure of this computer leaves the job in doubt if one of its requests is unsettled, or the
    journal cannot be read.
    """
    if not isinstance(error, LocalFailure):
        return exit_code_of(error)
    try:
        settled = context.journal.is_settled(job)
    except LocalFailure:
        settled = False
    return exit_code_of(error) if settled else ExitCode.IN_DOUBT


def print_job(context: UploadContext, job: Job, form: str) -> ExitCode:
    """Print a job's report and return its exit code."""
    report = cache(lambda: job_report(context.journal, job))
    forms = ReportForms.of_report(report, lambda: job_document(context.journal, job))
    code = _EXIT_CODE_BY_STATE.get(job.state, ExitCode.FAILED)
    with keep_in_doubt(code):
        print_report(forms, form)
    is_open = code is ExitCode.GOOD and report().grade is Grade.ERROR
    return ExitCode.DATA_ERRORS if is_open else code


_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge resume {job}", en="To continue: xlbridge resume {job}"
)


def run_upload(
    context: UploadContext,
    client: "Client",
    job: Job,
    arguments: UploadArguments,
) -> ExitCode:
    """Run a job, showing plan and progress on stderr, and print its report."""
    with heavy_imports():
        from xlbridge.upload import Uploads
        from xlbridge.upload.planning import ConsentRequest

    options = arguments.options
    try:
        title = Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)
        with report_local_failures(), show_progress(title, counts=True) as display:

            def show_plan(request: "ConsentRequest") -> bool:
                with display.paused():
                    for line in request.lines(all_rows=arguments.list_rows):
                        print_message(line)
                    return options.consent(request)

            with_display = replace(
                options,
                consent=show_plan,
                progress=display.show,
                on_count=display.count,
            )
            job = Uploads(context, client).run(job, with_display)
    except XlbridgeError as error:
        if isinstance(error, LocalFailure | ApiError) or error.hint is None:
            print_message(_HOW_TO_RESUME.format(job=job.arguments()))
        code = failure_exit_code(context, job, error)
        with keep_in_doubt(code):
            _print_stopped(context, job, arguments.form, error)
        print_error(error)
        return code
    except KeyboardInterrupt:
        print_message(_HOW_TO_RESUME.format(job=job.arguments()))
        raise
    if not job.spec.rows and job.undo_of is None:
        # Nothing needed consent, so the plan was not shown. The report of an undo includes it.
        request = ConsentRequest.of(context, job, client.target)
        for line in request.lines(all_rows=arguments.list_rows):
            print_message(line)
    return report_job(context, job, arguments, client)


def _print_stopped(context: UploadContext, job: Job, form: str, error: XlbridgeError) -> None:
    """Print the JSON report of a job that was stopped, if requested and readable."""
    if form != "json":
        return
    try:
        job = context.journal.job(job.id)
        document: dict[str, Any] = job_document(context.journal, job)
    except LocalFailure:
        # The failure that stopped the job is reported anyway.
        return
    if job.state.is_unsent and isinstance(error, ApiError):
        document["state"] = State.ABANDONED.public
    print_json(document)


def find_job(context: UploadContext, job_id: str) -> Job:
    """Return a job of the environment. Raises ``UsageError`` if there is none, naming the profile
    that has it."""
    try:
        return context.journal.job(job_id)
    except UsageError:
        for name, profile in read_profile_file(context.settings.home).profiles.items():
            path = settings_for(context.settings, profile).journal
            if path.exists():
                with closing(Journal(path)) as journal:
                    is_there = any(job.id == job_id for job in journal.jobs())
                if is_there:
                    raise UsageError(
                        _NOT_HERE.format(job=job_id), _OF_PROFILE.format(profile=name)
                    ) from None
        raise


_NOT_HERE = Text(
    pt="O envio {job!r} não é deste ambiente.",
    en="There is no upload {job!r} in this environment.",
)
_OF_PROFILE = Text(
    pt="Ele é do perfil {profile}: acrescente --profile {profile}",
    en="It is of the profile {profile}: add --profile {profile}",
)


def forbid_yes_in_production(client: "Client", arguments: UploadArguments, mode: str) -> None:
    """Raise ``UsageError`` if ``--yes`` would write to production: it consents to any rows."""
    if client.target.production and arguments.yes and mode != Mode.PREVIEW:
        raise yes_in_production(_USE_PLAN if mode == Mode.PROCESS else _USE_PREVIEW)


_USE_PREVIEW = Text(
    pt="Nada foi enviado. Veja o plano com --mode preview, e confirme linhas e digest: "
    "--confirm LINHAS:DIGEST",
    en="Nothing was sent. See the plan with --mode preview, and confirm rows and digest: "
    "--confirm ROWS:DIGEST",
)
_USE_PLAN = Text(
    pt="Nada foi enviado. Veja o plano com --plan, e confirme registros e digest: "
    "--confirm REGISTROS:DIGEST",
    en="Nothing was sent. See the plan with --plan, and confirm records and digest: "
    "--confirm RECORDS:DIGEST",
)
