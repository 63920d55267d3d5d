"""``xlbridge batch``: many workbooks and exports, described once, run every month."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlbridge.batch.batch import Batch
from xlbridge.batch.overview import overview
from xlbridge.batch.plan_format import plan_format
from xlbridge.batch.running import BatchRun, Way
from xlbridge.cli.batch_options import given_parameters, plan_parameters
from xlbridge.cli.batch_session import (
    Consent,
    exit_code,
    open_batch,
    open_known_batch,
    open_ledger,
    print_batch,
)
from xlbridge.cli.environment import asked_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import how_to_spread, own_schemas, report_format
from xlbridge.cli.output import remark, result, result_json
from xlbridge.cli.progress import working
from xlbridge.cli.spread import carrier_for
from xlbridge.errors import ApiError, UsageError
from xlbridge.i18n import Text
from xlbridge.upload.options import RunOptions

Decorated = Callable[..., Any]


@click.group(
    "batch",
    help=str(
        Text(
            pt="Muitas pastas e exportações, descritas uma vez num plano e feitas todo mês.",
            en="Many workbooks and exports, described once in a plan and done every month.",
        )
    ),
)
def command() -> None:
    """The group of the commands of batches."""


def _how_to_run(function: Decorated) -> Decorated:
    for option in (
        click.option(
            "--yes",
            is_flag=True,
            help=str(Text(pt="Não pergunta antes de enviar.", en="Does not ask before sending.")),
        ),
        click.option(
            "--confirm",
            metavar="ROWS:DIGEST",
            help=str(
                Text(
                    pt="Confirma o lote como o plano o mostra; vale em produção.",
                    en="Confirms the batch as its plan shows it; for production too.",
                )
            ),
        ),
        click.option(
            "--all-or-nothing",
            is_flag=True,
            help=str(
                Text(
                    pt="Não envia nada se alguma pasta tiver erros.",
                    en="Sends nothing where any workbook has errors.",
                )
            ),
        ),
    ):
        function = option(function)
    return report_format(how_to_spread(own_schemas(function)))


@command.command(
    "plan",
    help=str(
        Text(
            pt="Mostra a ordem, o que é novo, o que mudou e o que está feito; nada é enviado.",
            en="Shows the order, what is new, what has changed and what is done; sends nothing.",
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


@command.command(
    "run",
    help=str(
        Text(
            pt="Confere, envia e exporta conforme o plano; o que está feito não se repete.",
            en="Checks, sends and exports by the plan; what is done is not done twice.",
        )
    ),
)
@click.argument("plan", type=click.Path(path_type=Path))
@plan_parameters
@_how_to_run
def run(plan: Path, month: str | None, given: tuple[str, ...], **how: Any) -> ExitCode:
    with open_batch(plan, given_parameters(month, given)) as batch:
        return _run(batch, **how)


@command.command(
    "resume",
    help=str(
        Text(
            pt="Continua um lote (o mais novo, se não for dito qual).",
            en="Continues a batch (the newest one, where none is named).",
        )
    ),
)
@click.argument("batch_id", metavar="[BATCH]", required=False)
@_how_to_run
def resume(batch_id: str | None, **how: Any) -> ExitCode:
    with open_known_batch(batch_id) as batch:
        return _run(batch, **how)


@command.command(
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
    try:
        with working(Text(pt="Lote {id}", en="Batch {id}").format(id=batch.id), 2) as activity:
            way = Way(
                agree=Consent(batch, yes, confirm, activity),
                options=RunOptions(consent=lambda _job, _seen: True, tell=activity.tell),
                all_or_nothing=all_or_nothing,
                carrier_for=partial(carrier_for, workers=workers, scheduler=scheduler),
                tell=activity.tell,
            )
            ran = BatchRun(batch, way).go()
    except (KeyboardInterrupt, ApiError):
        remark(
            Text(
                pt="Para continuar: xlbridge batch resume {id}",
                en="To go on: xlbridge batch resume {id}",
            ).format(id=batch.id)
        )
        raise
    print_batch(batch, ran.steps, form)
    return exit_code(ran.steps)


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
