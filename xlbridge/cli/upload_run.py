"""Shared by the commands about uploads: the run of a job, reports, status copies, exit codes."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.cli.lifecycle import ExitCode, exit_code_of, gravest, heavy_imports
from xlbridge.cli.output import (
    doubt_kept,
    fit_to_terminal,
    print_error,
    print_json,
    print_report,
    remark,
)
from xlbridge.cli.progress import ProgressDisplay, show_progress
from xlbridge.cli.upload_arguments import UploadArguments, yes_in_production
from xlbridge.errors import ApiError, LocalFailure, XlbridgeError
from xlbridge.files import report_local_failures, require_distinct
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload import Job, State, UploadContext
from xlbridge.upload.results import Verdict, job_report
from xlbridge.validation import ValidationRequest

if TYPE_CHECKING:
    from xlbridge.client import Client, Target
    from xlbridge.upload import Uploads
    from xlbridge.upload.planning import ConsentRequest
    from xlbridge.validation import ValidatedSheet

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


def print_job(context: UploadContext, job: Job, form: str) -> ExitCode:
    """Print a job's report and return the exit code that it ends a command with."""
    report = job_report(context.journal, job)
    code = _EXIT_CODE_BY_STATE.get(job.state, ExitCode.FAILED)
    with doubt_kept(code):
        print_report(report.forms, form)
    return ExitCode.DATA_ERRORS if code is ExitCode.GOOD and report.has_open_rows() else code


_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge resume {job}", en="To go on: xlbridge resume {job}"
)


def run_upload(
    context: UploadContext,
    client: "Client",
    job: Job,
    arguments: UploadArguments,
) -> ExitCode:
    """Run a job, showing plan and progress on stderr, and print its report."""
    # What runs a job reads workbooks, which most commands about jobs do not.
    with heavy_imports():
        from xlbridge.upload import Uploads
        from xlbridge.upload.planning import ConsentRequest

    options = arguments.options
    try:
        title = Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)
        with report_local_failures(), show_progress(title, counts=True) as display:
            shown = replace(
                options,
                consent=partial(_show_plan, display, arguments),
                progress=display.tell,
                on_count=display.count,
            )
            job = Uploads(context, client).run(job, shown)
    except XlbridgeError as error:
        unwritten = isinstance(error, LocalFailure)
        if unwritten or isinstance(error, ApiError) or error.hint is None:
            remark(_HOW_TO_RESUME.format(job=job.id))
        code = code_of_failure(context, job, error)
        with doubt_kept(code):
            _print_stopped(context, job, arguments.form, error)
        print_error(error)
        return code
    except KeyboardInterrupt:
        remark(_HOW_TO_RESUME.format(job=job.id))
        raise
    if not job.spec.rows:
        # No consent was asked, so the plan was not shown.
        request = ConsentRequest.of(context, job, client.target)
        for line in request.lines(all_rows=arguments.list_rows):
            remark(line)
    return end_with_job(context, job, arguments.form, arguments.annotate, client)


def send_sheet(
    context: UploadContext,
    request: ValidationRequest,
    judged: "ValidatedSheet",
    arguments: UploadArguments,
    mode: str,
    create: Callable[["Uploads", "Target", "ValidatedSheet"], Job],
) -> ExitCode:
    """Run the job that is created of a validated sheet, or report why it is not sent.

    The sheet that ``create`` is given has the codes of the records that its cells name.
    """
    with heavy_imports():
        from xlbridge.connection import connect
        from xlbridge.upload import Uploads
        from xlbridge.upload.planning import may_be_sent

    good_rows = arguments.options.good_rows
    if not may_be_sent(judged, good_rows=good_rows):
        return report_invalid_sheet(context, request, judged, mode, arguments.form)
    with connect(context.settings, remark) as client:
        uploads = Uploads(context, client)
        judged = uploads.with_codes(judged)
        if not may_be_sent(judged, good_rows=good_rows):
            return report_invalid_sheet(context, request, judged, mode, arguments.form)
        return run_upload(context, client, create(uploads, client.target, judged), arguments)


def _print_stopped(context: UploadContext, job: Job, form: str, error: XlbridgeError) -> None:
    """Print the report of a job that was stopped, where it was asked for and can be read."""
    if form != "json":
        return
    try:
        job = context.journal.job(job.id)
        document: dict[str, Any] = job_report(context.journal, job).forms.document()
    except LocalFailure:
        # The failure that stopped the job tells of the disk already.
        return
    if job.state.is_unsent and isinstance(error, ApiError):
        document["state"] = State.ABANDONED.public
    print_json(document)


def _show_plan(
    display: ProgressDisplay, arguments: UploadArguments, request: "ConsentRequest"
) -> bool:
    """Show the plan, then ask for consent; the spinner is hidden meanwhile."""
    with display.paused():
        for line in request.lines(all_rows=arguments.list_rows):
            remark(line)
        return arguments.options.consent(request)


def report_invalid_sheet(
    context: UploadContext,
    request: ValidationRequest,
    judged: "ValidatedSheet",
    mode: str,
    form: str,
) -> ExitCode:
    """Report why the sheet is not sent, and what to do next; nothing has left this computer."""
    from xlbridge.cli.validate_run import reading_options
    from xlbridge.validation.reports import Report, closing_lines, report_lines

    report = Report.of(
        judged.with_children, options=reading_options(request, context.settings.limits.csv)
    )
    *counts, next_step = closing_lines(report)
    verdict = [str(_NOTHING_SENT)]
    if judged.has_stray_rows:
        verdict.append(str(_STRAY_ROWS))
    elif judged.readable:
        verdict.append(str(_GOOD_ROWS))
    lines = [*report_lines(report), *counts, " ".join(verdict), next_step]
    for line in fit_to_terminal(lines, sys.stderr):
        remark(line)
    if form == "json":
        print_json(_invalid_sheet_json(judged, mode))
    return ExitCode.DATA_ERRORS


_NOTHING_SENT = Text(
    pt="Nada foi enviado: corrija os erros primeiro.",
    en="Nothing was sent: fix the errors first.",
)
_STRAY_ROWS = Text(
    pt="Linhas com erro não são de nenhum registro: sem elas algum iria incompleto.",
    en="Rows with errors belong to no record: without them one would not be whole.",
)
_GOOD_ROWS = Text(
    pt="Para enviar só as linhas sem erros: --good-rows",
    en="To send only the rows without errors: --good-rows",
)


def _invalid_sheet_json(sheet: "ValidatedSheet", mode: str) -> dict[str, Any]:
    """Return the report of a sheet that local validation stops: no row of it is accepted."""
    return {
        "version": 1,
        "job": None,
        "state": "rejected",
        "mode": mode,
        "resource": sheet.resource.name if sheet.resource else None,
        "log_id": None,
        "rows": Verdict(read=len(sheet.rows), accepted=0, unknown=0).row_counts,
        "rejected": [
            {
                "row": f.row,
                "cell": f.cell,
                "column": f.column,
                "message": str(f.message),
                **({"sheet": one.sheet} if sheet.children else {}),
            }
            for one in sheet.with_children
            for f in one.error_findings()
        ],
        "rejects_file": None,
    }


def forbid_yes_in_production(production: bool, arguments: UploadArguments, mode: Mode) -> None:
    """Raise ``UsageError`` where ``--yes`` would write to production: it agrees to any rows."""
    if production and arguments.yes and mode is not Mode.PREVIEW:
        raise yes_in_production(_PLAN_OF_PROCESSING if mode is Mode.PROCESS else _PREVIEW)


_PREVIEW = Text(
    pt="Nada foi enviado. Veja o plano com --mode preview, e confirme linhas e digest: "
    "--confirm LINHAS:DIGEST",
    en="Nothing was sent. See the plan with --mode preview, and confirm rows and digest: "
    "--confirm ROWS:DIGEST",
)
_PLAN_OF_PROCESSING = Text(
    pt="Nada foi enviado. Veja o plano com --plan, e confirme registros e digest: "
    "--confirm REGISTROS:DIGEST",
    en="Nothing was sent. See the plan with --plan, and confirm records and digest: "
    "--confirm RECORDS:DIGEST",
)
