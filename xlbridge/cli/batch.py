"""``xlbridge batch``: many workbooks and exports, described once, run every month."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    batch_report,
    is_settled,
    open_batch,
    open_ledger,
    overview,
)
from xlbridge.batch.plan import plan_format
from xlbridge.cli.batch_common import (
    HOW_TO_BEGIN,
    NO_BATCH_YET,
    batch_exit_code,
    open_batch_named,
    parameter_options,
    parameters_from_options,
    run_options,
)
from xlbridge.cli.completion import complete_batches
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import ExitCode, exit_code_of, gravest, heavy_imports
from xlbridge.cli.options import described_command, option, report_format_option, schemas_option
from xlbridge.cli.output import print_error, print_json, print_report, print_result, remark
from xlbridge.cli.progress import show_progress
from xlbridge.cli.upload_arguments import GivenConsent
from xlbridge.errors import ApiError, LocalFailure, UsageError
from xlbridge.i18n import Text
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import (
    ApproveAll,
    ConsentRequest,
)


@described_command(
    "plan",
    pt="Mostra a ordem e o que seria feito de cada linha. Nada é enviado.",
    en="Shows the order and the action of each row. Sends nothing.",
)
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@parameter_options
@option(
    "--json-schema",
    is_flag=True,
    pt="O que um plano pode conter, para editores.",
    en="What a plan may hold, for editors.",
)
@schemas_option
@report_format_option
def plan_command(
    plan: Path | None,
    month: str | None,
    given: tuple[str, ...],
    json_schema: bool,
    form: str,
) -> ExitCode:
    if json_schema:
        print_json(plan_format())
        return ExitCode.GOOD
    if plan is None:
        raise UsageError(Text(pt="Falta o plano.", en="The plan is missing."))
    # It validates workbooks, with what takes most of a second to import.
    with heavy_imports():
        from xlbridge.batch import plan_batch

    with (
        _opened(plan, month, given) as batch,
        show_progress(Text(pt="Planejando", en="Planning")) as display,
    ):
        options = UploadOptions(consent=ApproveAll(), progress=display.tell)
        outcome = BatchOutcome(plan_batch(batch, options))
        with display.paused():
            print_report(batch_report(batch, outcome), form)
    return batch_exit_code(outcome, planned=True)


@described_command(
    "status",
    pt="Mostra a situação de um lote; sem dizer qual, a lista deles.",
    en="Shows the status of a batch; without a name, all batches.",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@report_format_option
def status_command(batch_id: str | None, form: str) -> ExitCode:
    if batch_id is None:
        return _list_batches(form)
    with open_batch_named(batch_id) as batch:
        outcome = BatchOutcome(overview(batch))
        print_report(batch_report(batch, outcome), form)
        return batch_exit_code(outcome)


def _list_batches(form: str) -> ExitCode:
    with open_ledger(settings_without_profile()) as ledger:
        batches = ledger.batches()
    if form == "json":
        listed = [
            {"batch": b.id, "plan": str(b.plan), "created_at": b.created_at.isoformat()}
            for b in batches
        ]
        print_json({"version": 1, "batches": listed})
        return ExitCode.GOOD
    if not batches:
        remark(NO_BATCH_YET)
        remark(HOW_TO_BEGIN)
    for known in batches:
        print_result(f"{known.id}  {known.created_at:%d/%m/%Y %H:%M}  {known.plan}")
    return ExitCode.GOOD


@described_command(
    "run",
    pt="Confere, envia e exporta conforme o plano. O que está feito não se repete.",
    en="Checks, sends and exports by the plan. What is done is not done twice.",
)
@click.argument("plan", type=click.Path(path_type=Path))
@parameter_options
@run_options
def run_command(plan: Path, month: str | None, given: tuple[str, ...], **options: Any) -> ExitCode:
    with _opened(plan, month, given) as batch:
        return _run(batch, **options)


@described_command(
    "resume",
    pt="Continua um lote (padrão: o mais novo).",
    en="Continues a batch (the newest one, where none is named).",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@run_options
def resume_command(batch_id: str | None, **options: Any) -> ExitCode:
    with open_batch_named(batch_id) as batch:
        return _run(batch, **options)


@described_command(
    "proof",
    pt="Grava a prova de fechamento de um lote, como está agora.",
    en="Writes the closing proof of a batch, as it stands now.",
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@report_format_option
def proof_command(batch_id: str | None, form: str) -> ExitCode:
    with open_batch_named(batch_id) as batch:
        # It reads workbooks back and writes one, with what takes most of a second to import.
        with heavy_imports():
            from xlbridge.batch import prove_batch

        outcome = prove_batch(batch, show_progress)
        if outcome.proof_error is not None:
            raise outcome.proof_error
        print_report(batch_report(batch, outcome), form)
        return _proof_exit_code(outcome)


def _opened(plan: Path, month: str | None, given: tuple[str, ...]) -> AbstractContextManager[Batch]:
    parameters = parameters_from_options(month, given)
    return open_batch(plan, parameters, settings_without_profile(), remark)


_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge batch resume {id}",
    en="To go on: xlbridge batch resume {id}",
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
) -> ExitCode:
    """Check, send, export and prove what is not done yet, and print the status of the batch."""
    # What judges and sends takes most of a second to import.
    with heavy_imports():
        from xlbridge.batch import run_batch
        from xlbridge.parallel import cluster_executor, executor_for

    given = GivenConsent(yes, confirm)
    options = BatchRunOptions(
        consent=partial(_consent_to_sending, batch, given),
        upload=UploadOptions(consent=lambda _request: True),
        consent_to_processing=partial(_consent_to_processing, given),
        all_or_nothing=all_or_nothing,
        executor_for=partial(executor_for, workers=workers, scheduler=scheduler),
        cluster_executor=None if scheduler is None else partial(cluster_executor, scheduler),
        progress=show_progress,
    )
    try:
        outcome = run_batch(batch, options)
    except (KeyboardInterrupt, ApiError):
        remark(_HOW_TO_RESUME.format(id=batch.id))
        raise
    except LocalFailure as error:
        remark(_HOW_TO_RESUME.format(id=batch.id))
        if is_settled(batch):
            raise
        print_error(error)
        return ExitCode.IN_DOUBT
    return _print_outcome(batch, outcome, form)


def _print_outcome(batch: Batch, outcome: BatchOutcome, form: str) -> ExitCode:
    """Print what a run came to, and return its exit code."""
    if outcome.findings_error is not None:
        print_error(outcome.findings_error)
    print_report(batch_report(batch, outcome), form)
    if outcome.proof_error is not None:
        print_error(outcome.proof_error)
    if outcome.failure is not None and not is_settled(batch):
        return ExitCode.IN_DOUBT
    errors = (outcome.findings_error, outcome.failure, outcome.proof_error)
    done = batch_exit_code(outcome) or _proof_exit_code(outcome)
    return gravest([done, *(exit_code_of(error) for error in errors if error is not None)])


def _proof_exit_code(outcome: BatchOutcome) -> ExitCode:
    return ExitCode.GOOD if outcome.proofs_settled else ExitCode.DATA_ERRORS


def _consent_to_sending(batch: Batch, given: GivenConsent, request: BatchConsentRequest) -> bool:
    """Show what will be sent and ask for consent."""
    for line in _request_lines(batch, request):
        remark(line)
    profiles = {step.profile for step, _, _ in request.rows}
    clients = (batch.environments.client(profile) for profile in profiles)
    return given.agrees(
        _token_hint(request),
        production=lambda: any(client.target.production for client in clients),
        accepts=partial(_is_token, request),
    )


def _consent_to_processing(given: GivenConsent, request: ConsentRequest) -> bool:
    """Show the records that a step will process, and ask for consent as ``process`` does."""
    for line in request.lines():
        remark(line)
    return given.agrees_to(request, _PROCESSING_HINT.format(token=request.token))


_PROCESSING_HINT = Text(
    pt="Nada foi processado nesta etapa. A confirmação dela é --confirm {token}",
    en="Nothing was processed in this step. Its confirmation is --confirm {token}",
)


def _request_lines(batch: Batch, request: BatchConsentRequest) -> Iterator[Text]:
    for step, files, rows in request.rows:
        yield Text(
            pt="  {step} · {resource} para {profile} · arquivos: {files} · linhas: {rows}",
            en="  {step} · {resource} to {profile} · workbooks: {files} · rows: {rows}",
        ).format(
            step=step.name,
            resource=step.resource,
            profile=batch.environments.name(step.profile),
            files=files,
            rows=rows,
        )
    if request.failed:
        yield Text(
            pt="  {n:fica|ficam} de fora, com erros: {n} {n:arquivo|arquivos}",
            en="  left out, with errors: {n} {n:workbook|workbooks}",
        ).format(n=request.failed)
    yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(
        token=request.token
    )


def _is_token(request: BatchConsentRequest, given: str) -> bool:
    """Return True. Raises ``UsageError`` where what was given confirms another batch."""
    if given.strip().casefold() == request.token:
        return True
    raise UsageError(
        Text(
            pt="A confirmação {given!r} não é a deste lote.",
            en="The confirmation {given!r} is not that of this batch.",
        ).format(given=given),
        _token_hint(request),
    )


def _token_hint(request: BatchConsentRequest) -> Text:
    return Text(
        pt="Nada foi enviado. Confira o plano acima; a confirmação dele é --confirm {token}",
        en="Nothing was sent. Check the plan above; its confirmation is --confirm {token}",
    ).format(token=request.token)


@click.group(
    "batch",
    help=str(
        Text(
            pt="Muitos arquivos e exportações, descritos uma vez num plano e feitos todo mês.",
            en="Many workbooks and exports, described once in a plan and done every month.",
        )
    ),
)
def command() -> None:
    """The group of the commands of batches."""


for _command in (
    plan_command,
    status_command,
    run_command,
    resume_command,
    proof_command,
):
    command.add_command(_command)
