"""What the commands that send have in common: the desk, consent, reports and exit codes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from xlbridge.api.client import Client
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.output import remark, result, result_json
from xlbridge.cli.progress import working
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.journal import Job, Journal
from xlbridge.upload.report import invalid_json, job_json, job_text
from xlbridge.upload.runner import RunOptions
from xlbridge.upload.send import Desk, run_job
from xlbridge.upload.states import State
from xlbridge.validation.reports.text_report import report_text
from xlbridge.validation.validate import ValidatedSheet

_GO_ON = Text(pt="Para continuar: xlbridge resume {job}", en="To go on: xlbridge resume {job}")
_YES = frozenset({"s", "sim", "y", "yes"})

_EXIT_CODES = {
    State.PREVIEWED: ExitCode.GOOD,
    State.DONE: ExitCode.GOOD,
    State.STAGED: ExitCode.GOOD,
    State.POLLING: ExitCode.GOOD,
    State.PARTIAL: ExitCode.DATA_ERRORS,
    State.REJECTED: ExitCode.DATA_ERRORS,
    State.ABANDONED: ExitCode.FAILED,
    State.IN_DOUBT: ExitCode.IN_DOUBT,
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


def carry_out(
    desk: Desk, client: Client, job: Job, *, yes: bool, wait: bool, preview: bool, form: str
) -> ExitCode:
    """Run a job, showing progress on stderr, and print its report."""
    try:
        with working(Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)) as activity:

            def consent(job: Job, seen: int | None) -> bool:
                with activity.paused():
                    return yes or _ask(job, seen)

            options = RunOptions(
                consent=consent,
                tell=activity.tell,
                preview=preview,
                wait=wait,
                settle_seconds=desk.settings.settle_seconds,
            )
            job = run_job(desk, client, job, options)
    except XlbridgeError as error:
        if form == "json":
            result_json(job_json(desk.journal.job(job.id)))
        if error.hint is None:
            remark(_GO_ON.format(job=job.id))
        raise
    except KeyboardInterrupt:
        remark(_GO_ON.format(job=job.id))
        raise
    return print_job(job, form)


def print_job(job: Job, form: str) -> ExitCode:
    """Print a job's report and return the exit code that it ends a command with."""
    if form == "json":
        result_json(job_json(job))
    else:
        for line in job_text(job):
            result(line)
    return _EXIT_CODES.get(job.state, ExitCode.FAILED)


def refuse_sheet(judged: ValidatedSheet, mode: str, form: str) -> ExitCode:
    """Tell why the sheet is not sent; nothing has left this computer."""
    for line in report_text([judged]):
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


def _ask(job: Job, seen: int | None) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            Text(
                pt="Nada foi enviado. Em scripts, use --yes.",
                en="Nothing was sent. In scripts, use --yes.",
            ),
        )
    read = Text(pt=" (a prévia leu {n})", en=" (the preview read {n})").format(n=seen)
    question = Text(
        pt="Enviar a {profile}? {resource}, linhas: {rows}{read}, modo {mode} [s/N]",
        en="Send to {profile}? {resource}, rows: {rows}{read}, mode {mode} [y/N]",
    ).format(
        rows=len(job.what.rows),
        resource=job.what.resource,
        profile=job.what.profile,
        read="" if seen is None else read,
        mode=job.what.mode,
    )
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    return answer.strip().casefold() in _YES
