"""``xlbridge batch``: many workbooks and exports, described in a plan and run every month."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlbridge import titles
from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    UnitStatus,
    batch_report,
    consent_report,
    is_settled,
    open_batch,
    open_known_batch,
    open_ledger,
)
from xlbridge.batch.plan_reader import local_date, read_plan, with_month
from xlbridge.batch.plan_steps import plan_format
from xlbridge.cli.help import COMMANDS, complete_batches
from xlbridge.cli.options import (
    combine_options,
    described_command,
    option,
    page_result_options,
    result_options,
    schemas_option,
    settings_without_profile,
    worker_options,
)
from xlbridge.cli.output import (
    is_result_printed,
    print_error,
    print_json,
    print_message,
    print_report,
    show_progress,
)
from xlbridge.cli.upload_run import ConsentOptions, consent_options
from xlbridge.errors import ApiError, ExitCode, LocalFailure, UsageError, exit_code_of, worst_code
from xlbridge.extras import require_extra
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.processes import heavy_imports
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import SeedKind
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import ApproveAll, ConsentRequest

_parameter_options = combine_options(
    [
        option(
            "--month",
            metavar="YYYY-MM",
            pt="O parâmetro month: 2026-10, current ou previous.",
            en="The parameter month: 2026-10, current or previous.",
        ),
        option(
            "--set",
            "assignments",
            multiple=True,
            metavar="NAME=VALUE",
            pt="O valor de um parâmetro.",
            en="The value of a parameter.",
        ),
    ]
)


def _parameters(month: str | None, assignments: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of the options. Raises ``UsageError`` for one without a value."""
    parameters = {}
    for text in assignments:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(
                Text(
                    pt="--set {text}: escreva NOME=VALOR.", en="--set {text}: write NAME=VALUE."
                ).format(text=text)
            )
        parameters[name] = value
    return parameters if month is None else with_month(parameters, month)


_run_options = combine_options(
    [
        result_options,
        worker_options,
        schemas_option,
        option(
            "--all-or-nothing",
            is_flag=True,
            pt="Não envia nada se algum arquivo tiver erros.",
            en="Sends nothing if any workbook has errors.",
        ),
        consent_options,
    ]
)


@described_command(
    "plan",
    pt="Mostra a ordem das etapas e a ação prevista para cada linha. Nada é enviado.",
    en="Shows the order of the steps and the planned action of each row. Sends nothing.",
)
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@_parameter_options
@option(
    "--json-schema",
    is_flag=True,
    pt="Mostra o formato de um plano, como JSON Schema para editores.",
    en="Prints the format of a plan, as a JSON Schema for editors.",
)
@schemas_option
@result_options
def plan_command(
    plan: Path | None,
    month: str | None,
    assignments: tuple[str, ...],
    json_schema: bool,
    form: str,
) -> ExitCode:
    if json_schema:
        print_json(plan_format())
        return ExitCode.GOOD
    if plan is None:
        raise UsageError(Text(pt="Falta o plano.", en="The plan is missing."))
    with heavy_imports():
        from xlbridge.batch import plan_batch

    with _open_plan(plan, month, assignments) as batch:
        upload = UploadOptions(consent=ApproveAll())
        options = BatchRunOptions(lambda _request: False, upload, progress=show_progress)
        outcome = plan_batch(batch, options)
        print_report(batch_report(batch, outcome), form)
    return _exit_code_of_batch(outcome, planned=True)


@described_command(
    "status",
    pt="Mostra a situação de um lote; sem nome, a lista dos lotes.",
    en="Shows the status of a batch; without a name, all batches.",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@page_result_options
def status_command(batch_id: str | None, form: str) -> ExitCode:
    if batch_id is not None:
        with _open_batch_named(batch_id) as batch:
            outcome = BatchOutcome.of(batch)
            print_report(batch_report(batch, outcome, one_screen=True), form)
            return _exit_code_of_batch(outcome)
    with open_ledger(settings_without_profile(), creates=False) as ledger:
        batches = ledger.batches()
    rows = [
        {"batch": b.id, "plan": str(b.plan), "created_at": b.created_at.isoformat()}
        for b in batches
    ]
    if not batches and form == "text":
        print_message(_NO_BATCH_YET)
        print_message(_HOW_TO_START)
    lines = [Line((b.id, f"{b.created_at:%d/%m/%Y %H:%M}", str(b.plan))) for b in batches]
    headings = (Heading(titles.BATCH), Heading(titles.DATE), Heading(titles.PLAN, path=True))
    table = Table(sheet=titles.BATCHES, headings=headings, lines=lines, aligned=True)
    document = {"version": 1, "batches": rows}
    print_report(ReportForms.of_report(lambda: Report(tables=[table]), lambda: document), form)
    return ExitCode.GOOD


@described_command(
    "run",
    pt="Confere, envia e exporta conforme o plano. O que já está feito não se repete.",
    en="Checks, sends and exports according to the plan. Skips what is done already.",
)
@click.argument("plan", type=click.Path(path_type=Path))
@_parameter_options
@_run_options
def run_command(
    plan: Path, month: str | None, assignments: tuple[str, ...], **options: Any
) -> ExitCode:
    with _open_plan(plan, month, assignments) as batch:
        return _run(batch, **options)


@described_command(
    "resume",
    pt="Continua um lote (padrão: o mais novo).",
    en="Continues a batch (default: the newest).",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@_run_options
def resume_command(batch_id: str | None, **options: Any) -> ExitCode:
    with _open_batch_named(batch_id) as batch:
        return _run(batch, brief=True, **options)


@described_command(
    "proof",
    pt="Grava a prova de fechamento de um lote, como está agora.",
    en="Writes the closing proof of a batch as it is now.",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@result_options
def proof_command(batch_id: str | None, form: str) -> ExitCode:
    with _open_batch_named(batch_id) as batch:
        with heavy_imports():
            from xlbridge.batch import prove_batch

        outcome = prove_batch(batch, show_progress)
        if outcome.proof_error is not None:
            raise outcome.proof_error
        print_report(batch_report(batch, outcome), form)
        return _proof_exit_code(outcome)


def _open_plan(
    plan: Path, month: str | None, assignments: tuple[str, ...]
) -> AbstractContextManager[Batch]:
    parameters = _parameters(month, assignments)
    return open_batch(plan, parameters, settings_without_profile(), print_message)


def _how_to_resume(batch: Batch) -> Text:
    arguments = as_arguments(batch.id, *choose_profile(batch.environments.settings).arguments)
    return Text(
        pt="Para continuar: xlbridge batch resume {batch}",
        en="To continue: xlbridge batch resume {batch}",
    ).format(batch=arguments)


_COMPLETE = Text(
    pt="O lote {id} está concluído; nada mais a fazer. Situação: xlbridge batch status {id}",
    en="The batch {id} is complete; nothing is left to do. Its status: xlbridge batch status {id}",
)


def _run(
    batch: Batch,
    *,
    yes: bool,
    confirm: str | None,
    all_or_nothing: bool,
    workers: int | None,
    scheduler: str | None,
    form: str,
    brief: bool = False,
) -> ExitCode:
    """Check, send, export and prove what is not done yet, and print the status of the batch.

    ``brief``: print only a remark if the batch was complete before, so that a scheduler has nothing
    to mail.
    """
    with heavy_imports():
        from xlbridge.batch import run_batch
        from xlbridge.parallel import executor_for

    consent = ConsentOptions(yes, confirm)

    def consent_to_sending(request: BatchConsentRequest) -> bool:
        for line in ReportForms.of_report(lambda: consent_report(batch, request)).lines():
            print_message(line)
        hint = _TOKEN_HINT.format(token=request.token)
        if request.undone and yes:
            raise UsageError(_UNDONE_AGAIN.format(n=request.undone), hint)
        profiles = {writes.step.profile for writes in request.steps}
        return consent.ask(
            hint,
            targets=lambda: [batch.environments.client(profile).target for profile in profiles],
            accepts=lambda token: request.require(token, hint),
        )

    def consent_to_processing(request: ConsentRequest) -> bool:
        for line in request.lines():
            print_message(line)
        return consent.ask_for_job(request, _PROCESSING_HINT.format(token=request.token))

    options = BatchRunOptions(
        consent=consent_to_sending,
        upload=UploadOptions(consent=lambda _request: True),
        consent_to_processing=consent_to_processing,
        all_or_nothing=all_or_nothing,
        executor_for=partial(executor_for, workers=workers, scheduler=scheduler),
        progress=show_progress,
    )
    try:
        outcome = run_batch(batch, options)
    except (KeyboardInterrupt, ApiError):
        print_message(_how_to_resume(batch))
        raise
    except LocalFailure as error:
        print_message(_how_to_resume(batch))
        if is_settled(batch):
            raise
        print_error(error)
        return ExitCode.IN_DOUBT
    if brief and form == "text" and outcome.is_unchanged:
        print_message(_COMPLETE.format(id=as_arguments(batch.id)))
        return ExitCode.GOOD
    if outcome.findings_error is not None:
        print_error(outcome.findings_error)
    print_report(batch_report(batch, outcome), form)
    if outcome.proof_error is not None:
        print_error(outcome.proof_error)
    if outcome.failure is not None and not is_settled(batch):
        return ExitCode.IN_DOUBT
    code = _exit_code_of_batch(outcome) or _proof_exit_code(outcome)
    return worst_code([code, *map(exit_code_of, outcome.errors)])


def _proof_exit_code(outcome: BatchOutcome) -> ExitCode:
    return ExitCode.GOOD if outcome.proofs_settled else ExitCode.DATA_ERRORS


_PROCESSING_HINT = Text(
    pt="Nada foi processado nesta etapa. A confirmação dela é --confirm {token}",
    en="Nothing was processed in this step. Its confirmation is --confirm {token}",
)


_UNDONE_AGAIN = Text(
    pt="{n} {n:linha foi desfeita|linhas foram desfeitas} e {n:iria|iriam} de novo; --yes não vale "
    "para isso.",
    en="{n} {n:row was|rows were} undone and would be sent again; --yes does not cover that.",
)


_TOKEN_HINT = Text(
    pt="Nada foi enviado. Confira o plano acima; a confirmação dele é --confirm {token}",
    en="Nothing was sent. Check the plan above; its confirmation is --confirm {token}",
)
_NO_BATCH_YET = Text(pt="Nenhum lote ainda.", en="No batch yet.")
_HOW_TO_START = Text(
    pt="Para começar um: xlbridge batch plan PLANO", en="To start one: xlbridge batch plan PLAN"
)


def _open_batch_named(batch_id: str | None) -> AbstractContextManager[Batch]:
    """Open a batch by name, by default the newest.

    Raises ``UsageError`` if there is none, or the folder of its own resources is gone.
    """
    settings = settings_without_profile()
    if batch_id is None:
        with open_ledger(settings, creates=False) as ledger:
            batches = ledger.batches()
        if not batches:
            raise UsageError(_NO_BATCH_YET, _HOW_TO_START)
        batch_id = batches[0].id
    return open_known_batch(batch_id, settings, print_message)


_EXIT_CODE_BY_STATUS: Mapping[UnitStatus, ExitCode] = {
    UnitStatus.IN_DOUBT: ExitCode.IN_DOUBT,
    UnitStatus.FAILED: ExitCode.FAILED,
    UnitStatus.REFUSED: ExitCode.REFUSED,
}
"""Statuses with an exit code of their own, worst first."""


def _exit_code_of_batch(outcome: BatchOutcome, *, planned: bool = False) -> ExitCode:
    """Return the exit code of a batch, from its worst step.

    If it was only ``planned``, an open step is not an error unless a person has to correct it or
    it has no workbook.
    """
    steps = outcome.steps
    statuses = {unit.status for state in steps for unit in state.units}
    statuses |= {state.status for state in steps}
    for status, code in _EXIT_CODE_BY_STATUS.items():
        if status in statuses:
            return code
    if planned:
        good = not outcome.needs_person and not any(state.lacks_workbook for state in steps)
    else:
        good = all(state.done for state in steps)
    return ExitCode.GOOD if good else ExitCode.DATA_ERRORS


_EXIT_CODE_BY_STATE = {
    "passed": ExitCode.GOOD,
    "not_ready": ExitCode.DATA_ERRORS,
    "in_doubt": ExitCode.IN_DOUBT,
    "broken": ExitCode.IN_DOUBT,
}


@described_command(
    "rehearse",
    pt="Ensaia o plano com os mesmos arquivos num sistema isolado. Provoca falhas de propósito "
    "e confere: nenhuma linha duas vezes, nenhuma perdida, um resultado para cada uma.",
    en="Rehearses the plan with its own workbooks in a private system. Injects faults and "
    "checks: no row twice, none lost, an outcome for every one.",
)
@click.argument("plan", type=click.Path(path_type=Path))
@_parameter_options
@option(
    "--faults",
    metavar="SPEC",
    default="",
    pt="Por exemplo cut-after@0.05,seed=7 (como em xlbridge sandbox --faults).",
    en="For example cut-after@0.05,seed=7 (like xlbridge sandbox --faults).",
)
@option(
    "--db",
    "database",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    pt="Um banco SQLite do ambiente de testes, que é copiado.",
    en="An SQLite database of the sandbox, which is copied.",
)
@option(
    "--seed",
    "kind",
    type=click.Choice([kind.value for kind in SeedKind]),
    default=SeedKind.DEMO.value,
    show_default=True,
    pt="O conteúdo inicial de um banco novo.",
    en="The initial content of a new database.",
)
@option(
    "--stand-ins",
    is_flag=True,
    pt="Cria no ensaio os códigos dos arquivos que faltam lá: clientes, filiais, …",
    en="Creates codes of the workbooks that are missing there: clients, branches, …",
)
@option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    pt="Uma pasta nova para os arquivos do ensaio: banco, diário, rejeitadas.",
    en="A new folder for the files of the rehearsal: database, journal, rejects.",
)
@schemas_option
@page_result_options
def rehearse_command(
    plan: Path,
    month: str | None,
    assignments: tuple[str, ...],
    faults: str,
    database: Path | None,
    kind: str,
    stand_ins: bool,
    keep: Path | None,
    form: str,
) -> ExitCode:
    require_extra("sandbox")
    from xlbridge.batch.rehearsal import (
        REHEARSAL_TITLE,
        rehearsal_report,
        run_rehearsal,
    )

    settings = settings_without_profile()
    parameters = _parameters(month, assignments)
    catalogue = load_catalogue(settings.schemas)
    batch_plan = read_plan(plan, catalogue, parameters, partial(local_date, settings))
    with show_progress(REHEARSAL_TITLE.format(id=batch_plan.batch)) as progress:
        result = run_rehearsal(
            batch_plan,
            settings,
            progress.show,
            faults=faults,
            database=database,
            kind=SeedKind(kind),
            stand_ins=stand_ins,
            keep=keep,
        )
    if keep is not None:
        kept = Text(pt="Os arquivos do ensaio estão em {f}", en="Its files are in {f}")
        print_message(kept.format(f=keep))
    forms = rehearsal_report(result)
    if not is_result_printed():
        report = forms.report()
        for line in filter(None, (report.verdict, *report.next_steps)):
            print_message(line)
    print_report(forms, form)
    return _EXIT_CODE_BY_STATE[result.state]


@click.group("batch", help=str(COMMANDS["batch"]))
def command() -> None:
    """The group of batch commands."""


for _command in (
    plan_command,
    status_command,
    run_command,
    resume_command,
    proof_command,
    rehearse_command,
):
    command.add_command(_command)
