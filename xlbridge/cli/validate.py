"""``xlbridge validate``: checks workbooks locally, without the network."""

import zipfile
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import ExitCode, heavy_imports
from xlbridge.cli.options import (
    WORKBOOK_OUTPUT,
    ValidateArguments,
    all_sheets_option,
    described_command,
    force_option,
    link_option,
    map_option,
    option,
    page_format_option,
    parse_options,
    schemas_option,
    sheet_options,
    worker_options,
)
from xlbridge.cli.progress import ProgressDisplay, show_progress
from xlbridge.errors import UsageError
from xlbridge.files import require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.parallel import ValidationProgress, executor_for, validate_files
from xlbridge.settings import ParseOptions
from xlbridge.validation import ValidationRequest
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    from xlbridge.validation.mapping import SheetMapping


@described_command(
    "validate",
    pt="Confere planilhas no próprio computador, sem usar a rede.",
    en="Checks workbooks on this computer, without the network.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(readable=False, path_type=Path))
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    pt="Grava o relatório num arquivo.",
    en="Writes the report to a file.",
)
@option(
    "--annotate",
    "annotated",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia do arquivo com as células marcadas; com --fix, uma do corrigido.",
    en="Writes a copy of the workbook with its cells marked; with --fix, of the fixed one.",
)
@option(
    "--fix",
    "fixed",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia em que o que é certo está corrigido, e relata o que fica.",
    en="Writes a copy in which what is certain is fixed, and reports what is left.",
)
@option(
    "--limit",
    type=click.IntRange(min=0),
    pt="Quantos achados detalhar por arquivo (em texto: por regra); as contagens e a cópia "
    "marcada são sempre de todos.",
    en="How many findings to detail for each file (in text: for each rule); the counts "
    "and the marked copy are always of all.",
)
@option(
    "--online",
    is_flag=True,
    pt="Confere também no sistema: códigos que existem e estão ativos, registros que já estão lá.",
    en="Also asks the system: codes that exist and are active, records that are there already.",
)
@force_option
@sheet_options
@all_sheets_option
@schemas_option
@parse_options
@map_option
@link_option
@worker_options
@page_format_option
def command(**options: Any) -> ExitCode:
    task = ValidateArguments(**options)
    _require_possible(task)
    settings = settings_without_profile()
    mapping = _mapping(task)
    requests = [_request(task, file, mapping) for file in task.files]
    # What it imports stays, and so do the findings: the collector need not walk them at the end.
    with heavy_imports():
        with (
            executor_for(task.files, task.workers, task.scheduler) as executor,
            show_progress(Text(pt="Conferindo", en="Checking"), total=len(requests)) as display,
        ):
            found = validate_files(
                requests,
                settings.schemas,
                settings.limits,
                executor,
                with_frames=task.online or task.form == "html",
                on_progress=partial(_show, display),
            )
            results = list(chain.from_iterable(found))
        # Like what validates, it needs pandas.
        from xlbridge.cli.validate_run import has_foreign_header, report_results

        try:
            return report_results(task, requests[0], results, settings)
        finally:
            if mapping is not None:
                from xlbridge.cli.map_run import remember

                remember(mapping, results, settings)
            else:
                for item in filter(has_foreign_header, results):
                    from xlbridge.cli.map_run import offer

                    offer(item.file, settings)


def _mapping(task: ValidateArguments) -> "SheetMapping | None":
    if task.mapping is None:
        return None
    # Most runs have none, and reading YAML takes its time to import.
    from xlbridge.validation.mapping import read_mapping

    return read_mapping(task.mapping)


def _request(
    task: ValidateArguments, file: Path, mapping: "SheetMapping | None"
) -> ValidationRequest:
    return ValidationRequest(
        file=file,
        resource=task.resource,
        sheet=task.sheet,
        all_sheets=task.all_sheets,
        reading=ParseOptions(dates=task.dates, numbers=task.numbers),
        mapping=mapping,
        links=task.links,
    )


def _show(display: ProgressDisplay, progress: ValidationProgress) -> None:
    if (column := progress.column) is not None:
        shown = Text(
            pt="Conferindo {f} · linhas: {rows} · coluna {number} de {count}: {name}",
            en="Checking {f} · rows: {rows} · column {number} of {count}: {name}",
        ).format(**asdict(column), f=progress.file)
    elif progress.finished:
        shown = Text(pt="Conferido {f}", en="Checked {f}").format(f=progress.file)
    else:
        shown = Text(pt="Conferindo {f}", en="Checking {f}").format(f=progress.file)
    display.tell(shown)
    if progress.finished:
        display.advance()


def _require_possible(task: ValidateArguments) -> None:
    """Raise ``UsageError`` when what is asked for cannot be."""
    if (task.annotated or task.fixed) and len(task.files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix servem para um arquivo de cada vez.",
                en="--annotate and --fix take one file at a time.",
            )
        )
    if task.all_sheets and task.sheet is not None:
        raise UsageError(
            Text(
                pt="Use --all-sheets ou --sheet, não os dois.",
                en="--all-sheets and --sheet are mutually exclusive.",
            )
        )
    if task.all_sheets and task.mapping is not None:
        raise UsageError(
            Text(
                pt="--map lê uma planilha; use --sheet para dizer qual, sem --all-sheets.",
                en="--map reads one sheet; use --sheet to say which, without --all-sheets.",
            )
        )
    read = [*task.files, *([task.mapping] if task.mapping else [])]
    require_distinct([task.output, task.annotated, task.fixed], read)
    if not task.force:
        _require_replaceable(task)


def _require_replaceable(task: ValidateArguments) -> None:
    """Raise ``UsageError`` when something that was not written by such a command would be lost."""
    if task.annotated:
        WorkbookMark.ANNOTATED.require_mark(task.annotated)
    if task.fixed:
        # Nothing tells a fixed copy from a workbook that someone goes on working in.
        require_new(task.fixed)
    if task.output and zipfile.is_zipfile(task.output):
        # It may be a workbook, which no report replaces.
        require_new(task.output)
