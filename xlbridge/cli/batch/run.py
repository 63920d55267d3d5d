"""``xlbridge batch run``, ``resume`` and ``proof``: a batch goes on, and is proven."""

from pathlib import Path
from typing import Any

import click

from xlbridge.batch.batch import Batch
from xlbridge.cli.batch.options import given_parameters, how_to_run, plan_parameters
from xlbridge.cli.batch.session import open_batch, open_known_batch
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.importing import importing
from xlbridge.cli.options import own_schemas, report_format
from xlbridge.i18n import Text


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
@plan_parameters
@how_to_run
def run(plan: Path, month: str | None, given: tuple[str, ...], **how: Any) -> ExitCode:
    with open_batch(plan, given_parameters(month, given)) as batch:
        return _go_on(batch, **how)


@click.command(
    "resume",
    help=str(
        Text(
            pt="Continua um lote (o mais novo, se não for dito qual).",
            en="Continues a batch (the newest one, where none is named).",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False)
@how_to_run
def resume(batch_id: str | None, **how: Any) -> ExitCode:
    with open_known_batch(batch_id) as batch:
        return _go_on(batch, **how)


@click.command(
    "proof",
    help=str(
        Text(
            pt="Grava a prova de fechamento de um lote, como está agora.",
            en="Writes the closing proof of a batch, as it stands now.",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False)
@own_schemas
@report_format
def proof(batch_id: str | None, form: str) -> ExitCode:
    with open_known_batch(batch_id) as batch:
        # It reads workbooks back and writes one, with what takes most of a second to import.
        with importing():
            from xlbridge.cli.batch.work import prove_again

        return prove_again(batch, form)


def _go_on(batch: Batch, **how: Any) -> ExitCode:
    # What judges and sends takes most of a second to import.
    with importing():
        from xlbridge.cli.batch.work import go_on

    return go_on(batch, **how)
