"""What the commands that send have in common: the run itself, consent, what is refused."""

import sys
from dataclasses import dataclass

import click

from xlbridge.api.client import Client
from xlbridge.cli.desk import leave_living_copy, print_job
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.output import complain, remark, result_json
from xlbridge.cli.progress import Activity, working
from xlbridge.cli.sending import Sending
from xlbridge.cli.terminal import for_stream
from xlbridge.errors import ApiError, KeptFileFailed, UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode
from xlbridge.upload.consent import plan_text, require_token, token_of
from xlbridge.upload.desk import Desk
from xlbridge.upload.invalid_report import invalid_json
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import UNSENT
from xlbridge.upload.living import read_codes
from xlbridge.upload.options import RunOptions
from xlbridge.upload.report import job_json
from xlbridge.upload.send import run_job
from xlbridge.validation.reports.text_report import report_text
from xlbridge.validation.validate import ValidatedSheet

_GO_ON = Text(pt="Para continuar: xlbridge resume {job}", en="To go on: xlbridge resume {job}")
_YES = frozenset({"s", "sim", "y", "yes"})


def carry_out(desk: Desk, client: Client, job: Job, sending: Sending) -> ExitCode:
    """Run a job, showing progress on stderr, and print its report."""
    try:
        with working(Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)) as activity:
            consent = _Consent(desk, client, sending, activity)
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
            result_json(job_json(job))
        unwritten = isinstance(error, KeptFileFailed)
        if unwritten or isinstance(error, ApiError) or error.hint is None:
            remark(_GO_ON.format(job=job.id))
        if unwritten and job.state not in UNSENT and not job.state.is_final:
            complain(error)
            return ExitCode.IN_DOUBT
        raise
    except KeyboardInterrupt:
        remark(_GO_ON.format(job=job.id))
        raise
    code = print_job(job, sending.form)
    if sending.annotate is not None:
        read_codes(desk, client, job)
        leave_living_copy(desk, job, sending.annotate)
    return code


def refuse_sheet(judged: ValidatedSheet, mode: str, form: str) -> ExitCode:
    """Tell why the sheet is not sent; nothing has left this computer."""
    for line in for_stream(report_text([judged]), sys.stderr):
        remark(line)
    remark(
        Text(
            pt="Nada foi enviado: corrija os erros primeiro.",
            en="Nothing was sent: mend the errors first.",
        )
    )
    if form == "json":
        result_json(invalid_json(judged, mode))
    return ExitCode.DATA_ERRORS


def require_lawful(production: bool, sending: Sending, mode: Mode) -> None:
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
class _Consent:
    """Shows the plan and asks for consent, on the terminal or by what was given with it."""

    desk: Desk
    client: Client
    sending: Sending
    activity: Activity

    def __call__(self, job: Job, seen: int | None) -> bool:
        with self.activity.paused():
            resource = self.desk.catalogue.named(job.what.resource)
            for line in plan_text(job, resource, self.client.target.base_url, seen):
                remark(line)
            if self.sending.confirm is not None:
                require_token(job, self.sending.confirm)
                return True
            production = self.client.target.production
            return _ask_token(job) if production else self.sending.yes or _ask(job)


def _ask(job: Job) -> bool:
    _require_terminal(Text(pt="use --yes", en="use --yes"))
    question = Text(pt="Enviar? [s/N]", en="Send? [y/N]")
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    return answer.strip().casefold() in _YES


def _ask_token(job: Job) -> bool:
    _require_terminal(Text(pt="use --confirm {t}", en="use --confirm {t}").format(t=token_of(job)))
    question = Text(
        pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
        en="PRODUCTION. To send, type the confirmation above",
    )
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    if answer.strip():
        require_token(job, answer)
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
