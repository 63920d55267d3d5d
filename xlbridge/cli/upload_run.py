"""Arguments, consent, runs, reports and exit codes for the commands that send rows or records.

Options that set fields of ``UploadOptions`` are declared there; the others concern consent and
report, and are fields of ``UploadArguments``.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import click

from xlbridge.cli.help import WHAT_IS_SENT
from xlbridge.cli.options import (
    Decorator,
    combine_options,
    option,
    schemas_option,
    status_copy_option,
)
from xlbridge.cli.output import (
    YES,
    ask,
    keep_in_doubt,
    print_error,
    print_json,
    print_message,
    print_report,
    show_progress,
)
from xlbridge.errors import (
    ApiError,
    ExitCode,
    LocalFailure,
    UsageError,
    XlbridgeError,
    exit_code_of,
    worst_code,
)
from xlbridge.files import report_local_failures, require_distinct
from xlbridge.i18n import Text
from xlbridge.processes import heavy_imports
from xlbridge.profiles import read_profile_file, settings_for
from xlbridge.report_forms import Grade, Report, ReportForms
from xlbridge.resources import Mode
from xlbridge.upload import Job, Journal, State, UploadContext, UploadOptions
from xlbridge.upload.planning import Confirmed, ConsentRequest
from xlbridge.upload.results import job_document, job_report

if TYPE_CHECKING:
    from xlbridge.client import Client, Target
    from xlbridge.upload import Uploads

consent_options = combine_options(
    [
        option(
            "--yes",
            is_flag=True,
            pt="Não pergunta antes de enviar.",
            en="Does not ask before sending.",
        ),
        option(
            "--confirm",
            metavar="ROWS:DIGEST",
            pt="O código de confirmação que o plano mostra; vale também em produção.",
            en="The confirmation that the plan shows; also valid in production.",
        ),
    ]
)

_list_rows_option = option(
    "--list-rows",
    is_flag=True,
    pt="Lista no plano todas as linhas que não serão incluídas, com o motivo.",
    en="In the plan, lists all rows that will not be created, with the reason.",
)


class _UploadOption(click.Option):
    """Option that sets a field of ``UploadOptions``."""

    group = WHAT_IS_SENT


def field_options(command: str) -> Decorator:
    """Declare the options of a command that set fields of ``UploadOptions``."""
    options = []
    for upload_field, offered in UploadOptions.command_fields(command):
        name, default = upload_field.name, upload_field.default
        flag, choices = f"--{offered.name or name.replace('_', '-')}", get_args(upload_field.type)
        if upload_field.type is bool:
            kind: click.ParamType[Any] | type[bool] = bool
            flag = f"{flag}/--no-{flag[2:]}" if default else flag
        elif "auto" in choices:
            kind = click.Choice(choices)
        elif int in (upload_field.type, *choices):
            kind = click.IntRange(*offered.limits)
        else:
            kind = click.STRING
        options.append(
            click.option(
                flag,
                name,
                cls=_UploadOption,
                type=kind,
                is_flag=kind is bool,
                default=default,
                show_default=bool(default) and default not in choices,
                metavar=offered.metavar,
                help=str(offered.help),
            )
        )
    return combine_options(options)


def upload_options(command: str) -> Decorator:
    """Declare the options of a command that runs uploads."""
    plan_options = [] if command == "resume" else [_list_rows_option]
    return combine_options(
        [field_options(command), *plan_options, consent_options, status_copy_option, schemas_option]
    )


_SEND = Text(pt="Enviar? [s/N]", en="Send? [y/N]")
_SEND_TO_PRODUCTION = Text(
    pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
    en="PRODUCTION. To send, type the confirmation above",
)


@dataclass(frozen=True, slots=True)
class ConsentOptions:
    """Options of a command for consent; without them it is asked for on the terminal."""

    yes: bool
    confirm: str | None

    def __call__(self, request: ConsentRequest) -> bool:
        """Return whether there is consent to an upload."""
        option = f"--confirm {request.token}" if request.target.production else "--yes"
        hint = _HOW_TO_CONSENT.format(option=option, job=request.job.arguments())
        return self.ask_for_job(request, hint)

    def ask_for_job(self, request: ConsentRequest, hint: Text) -> bool:
        """Return whether there is consent to a job, whose rows or records a confirmation names."""
        return self.ask(
            hint,
            targets=lambda: [request.target],
            accepts=lambda token: Confirmed(token)(request),
        )

    def ask(
        self,
        hint: Text,
        *,
        targets: Callable[[], Sequence["Target"]],
        accepts: Callable[[str], bool],
    ) -> bool:
        """Return whether there is consent; ``accepts`` checks a confirmation.

        Raises ``UsageError`` with ``hint`` if ``--yes`` would write to production, or to a system
        that nobody chose, or there is no terminal to ask on.
        """
        if self.confirm is not None:
            return accepts(self.confirm)
        chosen = targets()
        if not any(target.production for target in chosen):
            if not self.yes:
                return _ask(_SEND, hint).casefold() in YES
            for target in chosen:
                target.require_choice()
            return True
        if self.yes:
            raise yes_in_production(hint)
        answer = _ask(_SEND_TO_PRODUCTION, hint)
        return bool(answer) and accepts(answer)


def _ask(question: Text, hint: Text) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            hint,
        )
    return ask(question, default="", show_default=False).strip()


def yes_in_production(hint: Text) -> UsageError:
    """Return the error for ``--yes`` in production, as it does not confirm particular rows."""
    return UsageError(
        Text(
            pt="--yes não vale para um ambiente de produção.",
            en="--yes is not valid for a production environment.",
        ),
        hint,
    )


@dataclass(frozen=True, slots=True)
class UploadArguments:
    """Arguments for sending a job: the options of the upload, of consent and of its report."""

    options: UploadOptions
    yes: bool
    annotate: Path | None
    form: str
    list_rows: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the arguments from the options of a command by name."""
        upload_fields = {field.name for field in fields(UploadOptions)}
        upload = {name: value for name, value in options.items() if name in upload_fields}
        others = {name: value for name, value in options.items() if name not in upload_fields}
        consent = ConsentOptions(others["yes"], others.pop("confirm"))
        return cls(UploadOptions(consent=consent, **upload), **others)


_HOW_TO_CONSENT = Text(
    pt="Nada foi enviado. Em scripts, use {option}. Para continuar: xlbridge resume {job} {option}",
    en="Nothing was sent. In scripts, use {option}. To continue: xlbridge resume {job} {option}",
)


_EXIT_CODE_BY_STATE = {
    State.PREVIEWED: ExitCode.GOOD,
    State.DONE: ExitCode.GOOD,
    State.STAGED: ExitCode.GOOD,
    State.POLLING: ExitCode.GOOD,
    State.COMPARING: ExitCode.GOOD,
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
    return worst_code([*codes, print_job(context, job, arguments.form, client)])


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


def print_job(
    context: UploadContext, job: Job, form: str, client: "Client | None" = None
) -> ExitCode:
    """Print a job's report and return its exit code; ``client`` is one that is open already."""
    report = cache(lambda: job_report(context.journal, job))

    def with_totals() -> Report:
        from xlbridge.connection import read_branch_names  # slow to import
        from xlbridge.upload.results import ControlTotals

        resource = context.catalogue.get(job.spec.resource)
        name = job.spec.resource if resource is None else resource.title
        title = _PAGE_TITLE.format(job=job.id, resource=name)
        titled = job_report(context.journal, job, resource)
        if not job.is_task:
            names = read_branch_names(context.settings, print_message, client)
            totals = ControlTotals.of_job(context, job, branches=names)
            titled = replace(titled, tables=[*totals, *titled.tables])
        return replace(titled, title=title)

    forms = replace(
        ReportForms.of_report(report, lambda: job_document(context.journal, job)),
        page=ReportForms.of_report(with_totals).page,
    )
    code = _EXIT_CODE_BY_STATE.get(job.state, ExitCode.FAILED)
    with keep_in_doubt(code):
        print_report(forms, form)
    is_open = code is ExitCode.GOOD and report().grade is Grade.ERROR
    return ExitCode.DATA_ERRORS if is_open else code


_PAGE_TITLE = Text(pt="Envio {job} · {resource}", en="Upload {job} · {resource}")
_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge resume {job}", en="To continue: xlbridge resume {job}"
)


def run_upload(
    context: UploadContext,
    client: "Client",
    job: Job,
    arguments: UploadArguments,
    planned_by: "Uploads | None" = None,
) -> ExitCode:
    """Run a job, showing plan and progress on stderr, and print its report.

    ``planned_by`` has the rows that it has just stored, which are then not read again.
    """
    with heavy_imports():
        from xlbridge.upload import Uploads

    options = arguments.options
    try:
        title = Text(pt="Envio {job}", en="Upload {job}").format(job=job.id)
        with report_local_failures(), show_progress(title, counts=True) as display:

            def show_plan(request: ConsentRequest) -> bool:
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
            job = (planned_by or Uploads(context, client)).run(job, with_display)
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
    if not job.spec.rows and job.spec.undo_of is None:
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
        for name, profile in read_profile_file(context.settings).profiles.items():
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
    pt="Nada foi enviado. Veja o plano com --mode preview, e confirme com o código que ele "
    "mostra: --confirm LINHAS:DIGEST",
    en="Nothing was sent. See the plan with --mode preview, and confirm it as it shows: "
    "--confirm ROWS:DIGEST",
)
_USE_PLAN = Text(
    pt="Nada foi enviado. Veja o plano com --plan, e confirme com o código que ele mostra: "
    "--confirm REGISTROS:DIGEST",
    en="Nothing was sent. See the plan with --plan, and confirm it as it shows: --confirm "
    "RECORDS:DIGEST",
)
