"""``xlbridge validate``: checks workbooks on this computer."""

from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import ExitCode, heavy_imports
from xlbridge.cli.options import (
    STDIN,
    WORKBOOK_OUTPUT,
    ReadingArguments,
    ValidateArguments,
    all_sheets_option,
    described_command,
    expand_patterns,
    force_option,
    option,
    page_result_options,
    parse_options,
    saved_stdin,
    schemas_option,
    sheet_options,
    worker_options,
)
from xlbridge.cli.progress import show_progress
from xlbridge.errors import UsageError
from xlbridge.files import require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.parallel import ValidationProgress, executor_for, validate_files
from xlbridge.progress import WorkProgress
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    pass


@described_command(
    "validate",
    pt="Confere planilhas no próprio computador, sem usar a rede.",
    en="Checks workbooks on this computer, without the network.",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(readable=False, path_type=Path),
    callback=expand_patterns,
)
@option(
    "--annotate",
    "annotated",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia do arquivo com as células marcadas; com --fix, do arquivo corrigido.",
    en="Writes a copy of the workbook with marked cells; with --fix, of the fixed workbook.",
)
@option(
    "--fix",
    "fixed",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia com as correções que são certas, e relata os demais achados.",
    en="Writes a copy with the fixes that are certain, and reports the other findings.",
)
@option(
    "--limit",
    type=click.IntRange(min=0),
    pt="Quantos achados detalhar por arquivo (em texto: por regra); as contagens e a cópia "
    "marcada sempre incluem todos.",
    en="How many findings to show per file (in text: per rule); counts and the marked copy "
    "always include all.",
)
@option(
    "--online",
    is_flag=True,
    pt="Confere também no sistema se os códigos existem e estão ativos, e se há registros que já "
    "estão lá.",
    en="Also checks in the system that codes exist and are active, and for records that exist "
    "already.",
)
@force_option
@sheet_options
@all_sheets_option
@schemas_option
@parse_options
@worker_options
@page_result_options
def command(**options: Any) -> ExitCode:
    arguments = ValidateArguments(reading=ReadingArguments.take(options), **options)
    _check_arguments(arguments)
    settings = settings_without_profile()
    files = [saved_stdin(file) for file in arguments.files]
    requests = arguments.reading.requests(
        files,
        settings.accepted,
        resource=arguments.resource,
        sheet=arguments.sheet,
        all_sheets=arguments.all_sheets,
    )
    first = requests[0]
    # Imported modules and findings stay in memory, so the collector need not visit them.
    with heavy_imports():
        with (
            executor_for(files, arguments.workers, arguments.scheduler) as executor,
            show_progress(Text(pt="Conferindo", en="Checking"), total=len(requests)) as display,
        ):
            by_file = validate_files(
                requests,
                settings.schemas,
                settings.limits,
                executor,
                with_frames=arguments.online or arguments.form == "html",
                on_progress=partial(_show, display),
            )
            results = list(chain.from_iterable(by_file))
        if STDIN in arguments.files and not (arguments.annotated or arguments.fixed):
            named = dict(zip(files, arguments.files, strict=True))
            results = [replace(result, file=named[result.file]) for result in results]
        # Slow to import, as they need pandas.
        from xlbridge.cli.validate_run import report_or_suggest, report_results
        from xlbridge.validation import ValidatedSheet

        sheets = (result for result in results if isinstance(result, ValidatedSheet))
        first.accepted.remember(settings.accepted, sheets)
        if first.mapping is None:
            return report_or_suggest(arguments, first, results, settings)
        try:
            return report_results(arguments, first, results, settings)
        finally:
            from xlbridge.cli.map_run import remember

            remember(first.mapping, results, settings)


def _show(display: WorkProgress, progress: ValidationProgress) -> None:
    if (column := progress.column) is not None:
        text = Text(
            pt="Conferindo {f} · linhas: {rows} · coluna {number} de {count}: {name}",
            en="Checking {f} · rows: {rows} · column {number} of {count}: {name}",
        ).format(**asdict(column), f=progress.file)
    elif progress.finished:
        text = Text(pt="Conferido {f}", en="Checked {f}").format(f=progress.file)
    else:
        text = Text(pt="Conferindo {f}", en="Checking {f}").format(f=progress.file)
    display.show(text)
    if progress.finished:
        display.advance()


def _check_arguments(arguments: ValidateArguments) -> None:
    """Raise ``UsageError`` for arguments that exclude each other, or would overwrite a file."""
    if (arguments.annotated or arguments.fixed) and len(arguments.files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix aceitam um arquivo de cada vez.",
                en="--annotate and --fix accept one file at a time.",
            )
        )
    if arguments.all_sheets and arguments.sheet is not None:
        raise UsageError(
            Text(
                pt="Use --all-sheets ou --sheet, não os dois.",
                en="--all-sheets and --sheet are mutually exclusive.",
            )
        )
    mapping = arguments.reading.mapping
    if arguments.all_sheets and mapping is not None:
        raise UsageError(
            Text(
                pt="--map lê uma planilha; escolha-a com --sheet, sem --all-sheets.",
                en="--map reads one sheet; choose it with --sheet, without --all-sheets.",
            )
        )
    inputs = [*arguments.files, *([mapping] if mapping else [])]
    require_distinct([arguments.annotated, arguments.fixed], inputs)
    if arguments.force:
        return
    if arguments.annotated:
        WorkbookMark.ANNOTATED.require_mark(arguments.annotated)
    if arguments.fixed:
        # A fixed copy cannot be distinguished from a workbook that a person works in.
        require_new(arguments.fixed)
