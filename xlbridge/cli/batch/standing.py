"""``xlbridge batch plan`` and ``status``: what is to be done, and how it stands."""

from pathlib import Path

import click

from xlbridge.batch.overview import overview
from xlbridge.batch.plan_format import plan_format
from xlbridge.cli.batch.options import given_parameters, plan_parameters
from xlbridge.cli.batch.session import (
    exit_code,
    open_batch,
    open_known_batch,
    open_ledger,
    print_batch,
)
from xlbridge.cli.environment import asked_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import own_schemas, report_format
from xlbridge.cli.output import remark, result, result_json
from xlbridge.errors import UsageError
from xlbridge.i18n import Text


@click.command(
    "plan",
    help=str(
        Text(
            pt="Mostra a ordem e o que é novo, mudou ou está feito. Nada é enviado.",
            en="Shows the order and what is new, changed or done. Sends nothing.",
        )
    ),
)
@click.argument("plan", type=click.Path(path_type=Path), required=False)
@plan_parameters
@click.option(
    "--json-schema",
    is_flag=True,
    help=str(
        Text(pt="O que cabe num plano, para editores.", en="What a plan may hold, for editors.")
    ),
)
@own_schemas
@report_format
def show_plan(
    plan: Path | None,
    month: str | None,
    given: tuple[str, ...],
    json_schema: bool,
    form: str,
) -> ExitCode:
    if json_schema:
        result_json(plan_format())
        return ExitCode.GOOD
    if plan is None:
        raise UsageError(Text(pt="Falta o plano.", en="The plan is missing."))
    with open_batch(plan, given_parameters(month, given)) as batch:
        print_batch(batch, overview(batch), form)
    return ExitCode.GOOD


@click.command(
    "status",
    help=str(
        Text(
            pt="Como está um lote; sem dizer qual, os que existem.",
            en="How a batch stands; without a name, those that exist.",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False)
@own_schemas
@report_format
def status(batch_id: str | None, form: str) -> ExitCode:
    if batch_id is None:
        return _list(form)
    with open_known_batch(batch_id) as batch:
        steps = overview(batch)
        print_batch(batch, steps, form)
        return exit_code(steps)


def _list(form: str) -> ExitCode:
    with open_ledger(asked_settings()) as ledger:
        batches = ledger.batches()
    if form == "json":
        listed = [
            {"batch": b.id, "plan": str(b.plan), "created_at": b.created_at.isoformat()}
            for b in batches
        ]
        result_json({"version": 1, "batches": listed})
        return ExitCode.GOOD
    if not batches:
        remark(Text(pt="Nenhum lote ainda.", en="No batch yet."))
    for known in batches:
        result(f"{known.id}  {known.created_at:%d/%m/%Y %H:%M}  {known.plan}")
    return ExitCode.GOOD
