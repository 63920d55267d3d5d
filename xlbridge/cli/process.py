"""``xlbridge process``: takes records to their next state in bulk."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.help import complete_kinds
from xlbridge.cli.options import command_settings, option, result_options
from xlbridge.cli.output import print_error, print_message, print_report
from xlbridge.cli.upload_run import (
    UploadArguments,
    consent_options,
    forbid_yes_in_production,
    run_upload,
)
from xlbridge.errors import ExitCode, UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.processes import heavy_imports
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import ReportForms
from xlbridge.upload import open_context
from xlbridge.upload.process_kinds import KINDS, find_kind

if TYPE_CHECKING:
    from xlbridge.upload import UploadContext
    from xlbridge.upload.process_kinds import ProcessKind, RecordNumbers
    from xlbridge.upload.process_plan import ProcessPlan


class _Numbers(click.ParamType[tuple[int, ...]]):
    """Record numbers, separated by commas."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in str(value).split(",") if part.strip()]
        invalid = [part for part in parts if not (part.isascii() and part.isdecimal())]
        if invalid or not parts:
            message = Text(
                pt="não é número de registro: {parts}; separe-os por vírgulas, como 12,13",
                en="not a record number: {parts}; separate them by commas, such as 12,13",
            )
            self.fail(str(message.format(parts=", ".join(invalid) or "–")), param, ctx)
        return tuple(map(int, parts))


@click.command(
    "process",
    help=str(
        Text(
            pt="Processa em lote registros já no sistema: emite notas, processa pedidos e "
            "arquivos da fila, valida, processa e encerra inventários, estorna saídas."
            "\n\nLISTAGEM é uma de: {names}. ARQUIVO é uma planilha com a coluna dos números, "
            "como a que export grava.",
            en="Processes records of the system in bulk: issues invoices, processes orders "
            "and queued files, validates, processes and closes inventories, reverses "
            "outputs.\n\nLISTING is one of: {names}. FILE is a sheet with a column of their "
            "numbers, as written by export.",
        ).format(names=", ".join(KINDS))
    ),
)
@click.argument("listing", shell_complete=complete_kinds)
@click.argument("file", type=click.Path(readable=False, path_type=Path), required=False)
@option(
    "--id",
    "ids",
    type=_Numbers(),
    multiple=True,
    metavar="N,…",
    pt="Os números dos registros, em vez de um arquivo.",
    en="The numbers of the records, instead of a file.",
)
@option("--sheet", pt="A planilha do arquivo.", en="The sheet of the workbook.")
@option(
    "--plan",
    "plan_only",
    is_flag=True,
    pt="Só mostra o plano; nada é enviado.",
    en="Only shows the plan; nothing is sent.",
)
@option(
    "--again",
    metavar="REASON",
    pt="Processa também registros já processados daqui que voltaram a pendentes; o motivo fica "
    "registrado.",
    en="Also processes records that were processed from here and are pending again; records the "
    "reason.",
)
@option(
    "--at-once",
    type=click.IntRange(min=1, max=16),
    default=1,
    show_default=True,
    pt="Registros processados ao mesmo tempo.",
    en="Records processed at the same time.",
)
@consent_options
@result_options
def command(
    listing: str,
    file: Path | None,
    ids: Sequence[tuple[int, ...]],
    sheet: str | None,
    plan_only: bool,
    at_once: int,
    **options: Any,
) -> ExitCode:
    arguments = UploadArguments.of({**options, "annotate": None})
    kind = find_kind(listing)
    if (file is None) == (not ids):
        raise UsageError(
            Text(
                pt="Informe os números com --id ou com um arquivo, só um dos dois.",
                en="Give the numbers either by --id or in a file.",
            )
        )
    with heavy_imports():
        from xlbridge.connection import connect
        from xlbridge.resources import Mode
        from xlbridge.upload.planning import process_plan_report
        from xlbridge.upload.process_plan import InvalidNumbers, create_processing, plan_processing
        from xlbridge.upload.results.task_report import process_plan_json

    with open_context(command_settings()) as context:
        try:
            numbers = _numbers(context, kind, file, ids, sheet)
        except InvalidNumbers as error:
            print_error(error)
            return ExitCode.DATA_ERRORS
        with connect(context.settings, print_message) as client:
            again = arguments.options.again
            if plan_only:
                plan = plan_processing(context, client, kind, numbers, again=again, at_once=at_once)
                step = _next_step(context, plan, at_once=at_once, again=again)
                report = process_plan_report(
                    kind.name, client.target, plan.rows, plan.token, plan.numbers.hidden
                )
                report = replace(report, next_steps=[*report.next_steps, step])
                document = process_plan_json(plan) | {"target": client.target.to_json()}
                forms = ReportForms.of_report(lambda: report, lambda: document)
                print_report(forms, arguments.form)
                return ExitCode.DATA_ERRORS if plan.skipped else ExitCode.GOOD
            forbid_yes_in_production(client, arguments, Mode.PROCESS)
            job = create_processing(
                *(context, client, kind, numbers, arguments.options.progress),
                again=arguments.options.again,
                at_once=at_once,
            )
            return run_upload(context, client, job, arguments)


def _numbers(
    context: "UploadContext",
    kind: "ProcessKind",
    file: Path | None,
    ids: Sequence[tuple[int, ...]],
    sheet: str | None,
) -> "RecordNumbers":
    """Return the numbers of the options or the file; report rows of the file that do not count."""
    from xlbridge.upload.process_kinds import explicit_numbers
    from xlbridge.upload.process_plan import numbers_in_sheet

    if file is None:
        return explicit_numbers(kind, [number for numbers in ids for number in numbers])
    found = numbers_in_sheet(file, kind, context.settings.limits, sheet)
    if found.empty or found.repeated:
        print_message(
            Text(
                pt="{sheet}: números em {column}: {n}; linhas sem número: {empty}; repetidas: "
                "{repeated}",
                en="{sheet}: numbers in {column}: {n}; rows without a number: {empty}; repeated: "
                "{repeated}",
            ).format(
                sheet=found.sheet,
                column=kind.number,
                n=len(found.numbers),
                empty=found.empty,
                repeated=found.repeated,
            )
        )
    return found


def _next_step(
    context: "UploadContext", plan: "ProcessPlan", *, at_once: int, again: str | None
) -> Text:
    """Return the command that processes the records of a plan."""
    if not plan.to_process:
        return Text(pt="A seguir: nada a processar.", en="Next: nothing to process.")
    numbers = plan.numbers
    words: list[str | Path] = [plan.kind.name]
    if numbers.file:
        words += [Path(numbers.file), "--sheet", numbers.sheet]
    else:
        words += ["--id", ",".join(map(str, numbers.numbers))]
    if again is not None:
        words += ["--again", again]
    if at_once > 1:
        words += ["--at-once", str(at_once)]
    words += [*choose_profile(context.settings).arguments, "--confirm", plan.token]
    return Text(
        pt="A seguir: xlbridge process {arguments}", en="Next: xlbridge process {arguments}"
    ).format(arguments=as_arguments(*words))
