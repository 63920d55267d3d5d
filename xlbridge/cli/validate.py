"""``xlbridge validate``: checks workbooks locally, without the network."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import (
    WORKBOOK_OUTPUT,
    ValidateArguments,
    all_sheets_option,
    force_option,
    parse_options,
    schemas_option,
    sheet_options,
    validate_format_option,
    worker_options,
)
from xlbridge.cli.process import heavy_imports
from xlbridge.cli.workers import executor_for
from xlbridge.garbage_collection import gc_paused
from xlbridge.i18n import Text
from xlbridge.workbook.read import prefetch_workbook


@click.command(
    "validate",
    help=str(
        Text(
            pt="Confere planilhas no próprio computador, sem usar a rede.",
            en="Checks workbooks on this computer, without the network.",
        )
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.Path(readable=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(Text(pt="Grava o relatório num arquivo.", en="Writes the report to a file.")),
)
@click.option(
    "--annotate",
    "annotated",
    type=WORKBOOK_OUTPUT,
    help=str(
        Text(
            pt="Grava uma cópia do arquivo com as células marcadas; com --fix, uma do corrigido.",
            en="Writes a copy of the workbook with its cells marked; with --fix, of the mended "
            "one.",
        )
    ),
)
@click.option(
    "--fix",
    "fixed",
    type=WORKBOOK_OUTPUT,
    help=str(
        Text(
            pt="Grava uma cópia em que o que é certo está corrigido, e relata o que fica.",
            en="Writes a copy in which what is certain is mended, and reports what is left.",
        )
    ),
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=str(
        Text(
            pt="Quantos achados detalhar por arquivo (em texto: por regra); as contagens são "
            "sempre de todos.",
            en="How many findings to detail for each file (in text: for each rule); the counts "
            "are always of all.",
        )
    ),
)
@click.option(
    "--online",
    is_flag=True,
    help=str(
        Text(
            pt="Confere também no sistema: códigos que existem e estão ativos, registros que já "
            "estão lá.",
            en="Also asks the system: codes that exist and are active, records that are there "
            "already.",
        )
    ),
)
@force_option
@sheet_options
@all_sheets_option
@schemas_option
@parse_options
@worker_options
@validate_format_option
def command(**options: Any) -> ExitCode:
    task = ValidateArguments(**options)
    settings = settings_without_profile()
    with gc_paused(), ExitStack() as stack:
        # What judges takes most of a second to import: meanwhile the first file is read, or the
        # workers begin.
        carrier = stack.enter_context(executor_for(task.files, task.workers, task.scheduler))
        first = None
        if carrier is None:
            ahead = prefetch_workbook(task.files[0], settings.limits, task.sheet)
            first = stack.enter_context(ahead)
        with heavy_imports():
            from xlbridge.cli.validate_run import run_validation

        return run_validation(task, settings, first, carrier)
