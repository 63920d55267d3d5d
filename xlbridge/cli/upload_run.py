"""Shared by the commands that send: the run itself, consent, the refusal of an invalid sheet."""

import sys
from dataclasses import dataclass

import click

from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import UploadArguments
from xlbridge.cli.output import (
    ProgressDisplay,
    fit_to_terminal,
    print_error,
    print_json,
    remark,
    show_progress,
)
from xlbridge.cli.upload_common import print_job, save_status_copy
from xlbridge.client import Client
from xlbridge.errors import ApiError, LocalDatabaseError, UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload import (
    UNSENT,
    Job,
    RunOptions,
    UploadContext,
    confirmation_token,
    invalid_sheet_json,
    job_json,
    plan_lines,
    require_confirmation,
    run_job,
    store_remote_codes,
)
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.reports import Report, report_lines

_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge resume {job}", en="To go on: xlbridge resume {job}"
)
_YES = frozenset({"s", "sim", "y", "yes"})


def run_upload(desk: UploadContext, client: Client, job: Job, sending: UploadArguments) -> ExitCode:
    """Run a job, showing progress on stderr, and print its report."""
    try:
        with show_progress(
            Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)
        ) as activity:
            consent = _ConsentPrompt(desk, client, sending, activity)
            options = RunOptions(
                consent=consent,
                tell=activity.tell,
                read_back=sending.read_back,
                preview=sending.preview,
                wait=sending.wait,
                settle_seconds=desk.settings.settle_seconds,
            )
            job = run_job(desk, client, job, options)
    except XlbridgeError as error:
        job = desk.journal.job(job.id)
        if sending.form == "json":
            print_json(job_json(job))
        unwritten = isinstance(error, LocalDatabaseError)
        if unwritten or isinstance(error, ApiError) or error.hint is None:
            remark(_HOW_TO_RESUME.format(job=job.id))
        if unwritten and job.state not in UNSENT and not job.state.is_final:
            print_error(error)
            return ExitCode.IN_DOUBT
        raise
    except KeyboardInterrupt:
        remark(_HOW_TO_RESUME.format(job=job.id))
        raise
    code = print_job(job, sending.form)
    if sending.annotate is not None:
        store_remote_codes(desk, client, job)
        save_status_copy(desk, job, sending.annotate)
    return code


def report_invalid_sheet(judged: ValidatedSheet, mode: str, form: str) -> ExitCode:
    """Tell why the sheet is not sent; nothing has left this computer."""
    for line in fit_to_terminal(report_lines(Report.of([judged])), sys.stderr):
        remark(line)
    remark(
        Text(
            pt="Nada foi enviado: corrija os erros primeiro.",
            en="Nothing was sent: mend the errors first.",
        )
    )
    if form == "json":
        print_json(invalid_sheet_json(judged, mode))
    return ExitCode.DATA_ERRORS


def forbid_yes_in_production(production: bool, sending: UploadArguments, mode: Mode) -> None:
    """Raise ``UsageError`` where ``--yes`` would write to production: it agrees to any rows."""
    if production and sending.yes and mode is not Mode.PREVIEW:
        raise UsageError(
            Text(
                pt="--yes não vale para um ambiente de produção.",
                en="--yes is not for a production environment.",
            ),
            Text(
                pt="Nada foi enviado. Veja o plano com --mode preview, e confirme linhas e digest: "
                "--confirm LINHAS:DIGEST",
                en="Nothing was sent. See the plan with --mode preview, and confirm rows and "
                "digest: --confirm ROWS:DIGEST",
            ),
        )


@dataclass(frozen=True, slots=True)
class _ConsentPrompt:
    """Shows the plan and asks for consent, on the terminal or by what was given with it."""

    desk: UploadContext
    client: Client
    sending: UploadArguments
    activity: ProgressDisplay

    def __call__(self, job: Job, seen: int | None) -> bool:
        with self.activity.paused():
            resource = self.desk.catalogue.named(job.what.resource)
            for line in plan_lines(job, resource, self.client.target.base_url, seen):
                remark(line)
            if self.sending.confirm is not None:
                require_confirmation(job, self.sending.confirm)
                return True
            production = self.client.target.production
            return _ask_token(job) if production else self.sending.yes or _ask(job)


def _ask(job: Job) -> bool:
    _require_terminal(Text(pt="use --yes", en="use --yes"))
    question = Text(pt="Enviar? [s/N]", en="Send? [y/N]")
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    return answer.strip().casefold() in _YES


def _ask_token(job: Job) -> bool:
    _require_terminal(
        Text(pt="use --confirm {t}", en="use --confirm {t}").format(t=confirmation_token(job))
    )
    question = Text(
        pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
        en="PRODUCTION. To send, type the confirmation above",
    )
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    if answer.strip():
        require_confirmation(job, answer)
    return bool(answer.strip())


def _require_terminal(instead: Text) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            Text(
                pt="Nada foi enviado. Em scripts, {instead}.",
                en="Nothing was sent. In scripts, {instead}.",
            ).format(instead=instead),
        )
