"""Shared by the commands that send: the run itself, the report of an invalid sheet."""

import sys
from dataclasses import replace
from functools import partial
from typing import Any

from xlbridge.cli.consent import yes_in_production
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.output import doubt_kept, fit_to_terminal, print_error, print_json, remark
from xlbridge.cli.progress import ProgressDisplay, show_progress
from xlbridge.cli.upload_common import code_of_failure, end_with_job, job_document
from xlbridge.cli.upload_options import UploadArguments
from xlbridge.cli.validate_run import reading_options
from xlbridge.client import Client
from xlbridge.errors import ApiError, LocalFailure, XlbridgeError
from xlbridge.files import report_local_failures
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.settings import CsvForm
from xlbridge.upload import (
    Job,
    State,
    UploadContext,
    Uploads,
)
from xlbridge.upload.planning import ConsentRequest
from xlbridge.upload.results import Verdict
from xlbridge.validation import ValidatedSheet, ValidationRequest
from xlbridge.validation.reports import Report, closing_lines, report_lines

_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge resume {job}", en="To go on: xlbridge resume {job}"
)


def run_upload(
    context: UploadContext,
    client: Client,
    job: Job,
    arguments: UploadArguments,
) -> ExitCode:
    """Run a job, showing plan and progress on stderr, and print its report."""
    options = arguments.options
    try:
        title = Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)
        with report_local_failures(), show_progress(title, counts=True) as display:
            shown = replace(
                options,
                consent=partial(_show_plan, display, arguments),
                progress=display.tell,
                counted=display.count,
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


def _print_stopped(context: UploadContext, job: Job, form: str, error: XlbridgeError) -> None:
    """Print the report of a job that was stopped, where it was asked for and can be read."""
    if form != "json":
        return
    try:
        job = context.journal.job(job.id)
        document = job_document(context, job)
    except LocalFailure:
        # The failure that stopped the job tells of the disk already.
        return
    if job.state.is_unsent and isinstance(error, ApiError):
        document["state"] = State.ABANDONED.public
    print_json(document)


def _show_plan(
    display: ProgressDisplay, arguments: UploadArguments, request: ConsentRequest
) -> bool:
    """Show the plan, then ask for consent; the spinner is hidden meanwhile."""
    with display.paused():
        for line in request.lines(all_rows=arguments.list_rows):
            remark(line)
        return arguments.options.consent(request)


def report_invalid_sheet(
    judged: ValidatedSheet, request: ValidationRequest, csv: CsvForm, mode: str, form: str
) -> ExitCode:
    """Report why the sheet is not sent, and what to do next; nothing has left this computer."""
    report = Report.of(judged.with_children, options=reading_options(request, csv))
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


def _invalid_sheet_json(sheet: ValidatedSheet, mode: str) -> dict[str, Any]:
    """Return the report of a sheet that local validation stops: no row of it is accepted."""
    return {
        "version": 1,
        "job": None,
        "state": "rejected",
        "mode": mode,
        "resource": sheet.resource.name if sheet.resource else None,
        "log_id": None,
        "rows": Verdict(read=len(sheet.rows), accepted=0, unknown=0).counted,
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
