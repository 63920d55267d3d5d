"""``xlbridge batch``: many workbooks and exports, described once, run every month."""

from pathlib import Path
from typing import Any

import click

from xlbridge.batch import Batch, open_ledger, overview, plan_format
from xlbridge.cli.batch_common import (
    HOW_TO_BEGIN,
    NO_BATCH_YET,
    batch_exit_code,
    open_batch,
    open_known_batch,
    parameter_options,
    parameters_from_options,
    print_batch,
    run_options,
)
from xlbridge.cli.batch_rehearse import rehearse_command
from xlbridge.cli.completion import complete_batches
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import format_option, schemas_option
from xlbridge.cli.output import print_json, print_result, remark
from xlbridge.cli.process import heavy_imports
from xlbridge.cli.progress import show_progress
from xlbridge.errors import UsageError
from xlbridge.i18n import Text


@click.command(
    "plan",
    help=str(
        Text(
            pt="Mostra a ordem e o que seria feito de cada linha. Nada é enviado.",
            en="Shows the order and the action of each row. Sends nothing.",
        )
    ),
)
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@parameter_options
@click.option(
    "--json-schema",
    is_flag=True,
    help=str(
        Text(pt="O que cabe num plano, para editores.", en="What a plan may hold, for editors.")
    ),
)
@schemas_option
@format_option
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
        from xlbridge.upload import ApproveAll, UploadOptions

    with (
        open_batch(plan, parameters_from_options(month, given)) as batch,
        show_progress(Text(pt="Planejando", en="Planning")) as display,
    ):
        steps = plan_batch(batch, UploadOptions(consent=ApproveAll(), progress=display.tell))
        with display.paused():
            print_batch(batch, steps, form)
    return ExitCode.GOOD


@click.command(
    "status",
    help=str(
        Text(
            pt="Mostra a situação de um lote; sem dizer qual, a lista deles.",
            en="Shows the status of a batch; without a name, all batches.",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@format_option
def status_command(batch_id: str | None, form: str) -> ExitCode:
    if batch_id is None:
        return _list_batches(form)
    with open_known_batch(batch_id) as batch:
        steps = overview(batch)
        print_batch(batch, steps, form)
        return batch_exit_code(steps)


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


@click.command(
    "run",
    help=str(
        Text(
            pt="Confere, envia e exporta conforme o plano. O que está feito não se repete.",
            en="Checks, sends and exports by the plan. What is done is not done twice.",
        )
    ),
)
@click.argument("plan", type=click.Path(path_type=Path))
@parameter_options
@run_options
def run_command(plan: Path, month: str | None, given: tuple[str, ...], **options: Any) -> ExitCode:
    with open_batch(plan, parameters_from_options(month, given)) as batch:
        return _run(batch, **options)


@click.command(
    "resume",
    help=str(
        Text(
            pt="Continua um lote (o mais novo, se não for dito qual).",
            en="Continues a batch (the newest one, where none is named).",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@run_options
def resume_command(batch_id: str | None, **options: Any) -> ExitCode:
    with open_known_batch(batch_id) as batch:
        return _run(batch, **options)


@click.command(
    "proof",
    help=str(
        Text(
            pt="Grava a prova de fechamento de um lote, como está agora.",
            en="Writes the closing proof of a batch, as it stands now.",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False, shell_complete=complete_batches)
@schemas_option
@format_option
def proof_command(batch_id: str | None, form: str) -> ExitCode:
    with open_known_batch(batch_id) as batch:
        # It reads workbooks back and writes one, with what takes most of a second to import.
        with heavy_imports():
            from xlbridge.cli.batch_run import prove

        return prove(batch, form)


def _run(batch: Batch, **options: Any) -> ExitCode:
    # What judges and sends takes most of a second to import.
    with heavy_imports():
        from xlbridge.cli.batch_run import run

    return run(batch, **options)


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
    rehearse_command,
    proof_command,
):
    command.add_command(_command)
