"""``xlbridge export``: exports a listing, with progress and a report."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.help import complete_listings
from xlbridge.cli.options import (
    command_settings,
    described_command,
    force_option,
    headers_option,
    option,
    require_file_name,
)
from xlbridge.cli.output import YES, ask, print_message, print_result, show_progress
from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.connection import connect
from xlbridge.errors import ExitCode, UsageError
from xlbridge.export import (
    FORMATS,
    ExportProgress,
    ExportRequest,
    ExportResult,
    Filter,
    Filters,
    OutputFile,
    PreparedExport,
    ValueKind,
    find_listing,
)
from xlbridge.files import require_distinct
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Report, ReportForms
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings
from xlbridge.titles import WorkProgress

_MAX_AT_ONCE = 8
_METAVARS = {
    ValueKind.MOMENT: "D",
    ValueKind.CODE: "N",
    ValueKind.CODES: "N",
    ValueKind.TEXT: "TEXT",
    ValueKind.TEXTS: "CODE",
}


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each filter of any listing to a command."""
    for name in reversed(Filter):
        value = name.type
        attributes: dict[str, Any] = {"help": str(value.meaning)}
        if value.is_flag:
            attributes["is_flag"] = True
        else:
            attributes |= {"metavar": _METAVARS[value.kind], "multiple": value.is_repeatable}
        command = click.option(f"--{name}", _parameter_name(name), **attributes)(command)
    return command


def _parameter_name(name: Filter) -> str:
    return f"filter_{name.name.lower()}"


@described_command("export")
@click.argument(
    "listings",
    metavar="LISTING...",
    nargs=-1,
    required=True,
    shell_complete=complete_listings,
)
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=require_file_name,
    pt="O arquivo a gravar.",
    en="The file to write.",
)
@option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Troca as linhas neste arquivo do Excel, e deixa o resto como está.",
    en="Replaces the rows in this workbook of yours, and leaves the rest as it is.",
)
@option(
    "--sheet",
    metavar="NAME",
    pt="Com --into: a planilha ou a tabela (padrão: a que tem os títulos da listagem).",
    en="With --into: the sheet or table (default: the one with the listing's titles).",
)
@option(
    "--yes",
    is_flag=True,
    pt="Com --into: grava mesmo que algo do arquivo não possa ser mantido.",
    en="With --into: writes even if something in the workbook cannot be kept.",
)
@_filter_options
@option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    pt="O formato (padrão: o da extensão). Só .xlsx e .ods têm gráficos.",
    en="The format (default: by the extension). Only .xlsx and .ods have charts.",
)
@option(
    "--csv-dialect",
    type=click.Choice(OutputFile.CSV_DIALECTS),
    pt="pt-br: ponto e vírgula, vírgula decimal, dd/mm/aaaa.",
    en="pt-br: semicolons, decimal commas, dd/mm/yyyy.",
)
@option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Grava o número de registros e se algum falta.",
    en="Writes the number of records, and whether any are missing.",
)
@option(
    "--since-last",
    is_flag=True,
    pt="Continua de onde parou a última exportação completa com --since-last e os mesmos filtros.",
    en="Continues where the last complete export with --since-last and the same filters ended.",
)
@option(
    "--chain",
    metavar="NAME",
    pt="O mesmo que --since-last, numa sequência com esse nome, quaisquer que sejam os filtros.",
    en="The same as --since-last, in a chain of that name, whatever the filters are.",
)
@option(
    "--flat",
    metavar="SHEET",
    pt="Uma planilha só: cada linha de PLANILHA junto do seu registro.",
    en="One sheet only: each row of SHEET joined to its record.",
)
@option(
    "--as-template",
    metavar="RESOURCE",
    is_flag=False,
    flag_value="",
    pt="Grava um .xlsx no leiaute da planilha de importação desse recurso (padrão: o da listagem).",
    en="Writes an .xlsx in that resource's import layout (default: that of the listing itself).",
)
@option(
    "--settled",
    is_flag=True,
    pt="Com --as-template: inclui títulos baixados, que ao enviar seriam criados de novo.",
    en="With --as-template: includes settled titles, which an upload would create anew.",
)
@option(
    "--with-files",
    is_flag=True,
    pt="Lê cada registro pela chave, com a lista dos anexos.",
    en="Reads each record by its key, with the list of its attachments.",
)
@option(
    "--attachments",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    pt="Baixa os anexos para essa pasta (implica --with-files).",
    en="Downloads the attachments into that folder (implies --with-files).",
)
@option(
    "--keep-unknown",
    is_flag=True,
    pt="Guarda os campos desconhecidos, como JSON, na coluna outrosCampos.",
    en="Keeps unknown fields, as JSON, in the column outrosCampos.",
)
@option(
    "--at-once",
    type=click.IntRange(1, _MAX_AT_ONCE),
    default=2,
    show_default=True,
    metavar="N",
    pt="Número de chamadas simultâneas.",
    en="Number of simultaneous calls.",
)
@option(
    "--fresh",
    is_flag=True,
    pt="Busca tudo de novo, mesmo o que uma execução interrompida já buscou.",
    en="Fetches everything again, even what an interrupted run has fetched.",
)
@headers_option
@option(
    "--codes-only",
    is_flag=True,
    pt="Só os códigos, sem os nomes de clientes, filiais e outros ao lado.",
    en="Codes only, without the names of clients, branches and others beside them.",
)
@force_option
def command(**options: Any) -> ExitCode:
    options["filter_texts"] = {name: options.pop(_parameter_name(name)) for name in Filter}
    listings = dict.fromkeys(options.pop("listings"))
    into, wanted, is_agreed = (options.pop(name) for name in ("into", "sheet", "yes"))
    if into is not None:
        return _refresh(into, wanted, is_agreed, listings, options)
    if options["output"] is None or len(listings) > 1 or wanted or is_agreed:
        raise UsageError(_ONE_LISTING if options["output"] else _NO_OUTPUT, _HOW_TO_OUTPUT)
    settings = command_settings()
    continues_chain = options["since_last"] or options["chain"] is not None
    export = _prepare(next(iter(listings)), options, settings)
    if continues_chain:
        export.require_chainable()
    with (
        connect(settings, print_message) as client,
        show_progress(export.listing.title) as activity,
    ):
        export = export.with_known_ids(partial(_known_ids, settings, client))
        chain = None
        if continues_chain:
            chain = export.chain(settings.exports, client, options["chain"])
            export = export.since(chain)
        result = _export_locally(client, options, export, settings, activity, Registries(client))
    if options["manifest"]:
        result.write_manifest(options["manifest"])
    if chain is not None:
        chain.save(export.request.filters, result)
    for path in export.leftover_files():
        print_message(_OTHER_FILE.format(path=path))
    return _report(result, options["output"])


def _known_ids(settings: Settings, client: Client, listing: str) -> tuple[int, ...]:
    # Slow to import, and few listings need the journal.
    from xlbridge.upload import known_numbers

    return known_numbers(settings, listing, client)


_OTHER_FILE = Text(pt="{path} não é desta exportação.", en="{path} does not belong to this export.")


_OF_REQUEST = ("flat", "as_template", "settled", "keep_unknown", "at_once")
"""Options that are fields of a request by the same name."""


def _request(listing: str, options: Mapping[str, Any]) -> ExportRequest:
    return ExportRequest(
        listing=find_listing(listing).name,
        filters=Filters.parse(options["filter_texts"]),
        in_detail=options["with_files"] or options["attachments"] is not None,
        known_ids=(),
        **{name: options[name] for name in _OF_REQUEST},
    )


def _prepare(listing: str, options: Mapping[str, Any], settings: Settings) -> PreparedExport:
    """Return the requested export to a file. Raises ``UsageError`` for invalid options."""
    output = OutputFile(
        options["output"],
        options["form"],
        options["csv_dialect"],
        options["headers"],
        codes_only=options["codes_only"],
    )
    catalogue = partial(load_catalogue, settings.schemas)
    export = _request(listing, options).prepare(output, catalogue)
    require_distinct([*export.files, options["manifest"]])
    for path in filter(None, (options["output"], options["manifest"])):
        OutputFile(path).require_writable()
    if not options["force"]:
        export.require_replaceable()
    return export


def _export_locally(
    client: Client,
    options: Mapping[str, Any],
    export: PreparedExport,
    settings: Settings,
    activity: WorkProgress,
    registries: Registries,
) -> ExportResult:
    """Export in this process; after a failure, report the windows kept for the next run."""
    resume = export.resume_store(settings.exports, client.target, fresh=options["fresh"])
    try:
        return export.run(
            client,
            on_progress=_progress_callback(export.listing.title, activity),
            attachments=options["attachments"],
            resume=resume,
            registries=registries,
        )
    except BaseException:
        if windows := resume.window_count():
            hours = resume.MAX_AGE // timedelta(hours=1)
            print_message(_WINDOWS_KEPT.format(n=windows, hours=hours))
        raise


_WINDOWS_KEPT = Text(
    pt="{n} {n:período já buscado fica guardado|períodos já buscados ficam guardados} por {hours} "
    "horas; o mesmo comando continua dali.",
    en="{n} fetched {n:window is|windows are} kept for {hours} hours; the same command continues "
    "from there.",
)


_UPDATE_SECONDS = 0.2


def _progress_callback(title: Text, activity: WorkProgress) -> Callable[[ExportProgress], None]:
    """Return a callback that shows the progress of an export, a few times per second."""
    started_at = shown_at = time.monotonic()
    phase: object = None

    def show(progress: ExportProgress) -> None:
        nonlocal started_at, shown_at, phase
        now = time.monotonic()
        current = (
            progress.is_of_keys,
            progress.windows_left is None,
            progress.records_left is None,
        )
        if now - shown_at < _UPDATE_SECONDS and current == phase:
            return
        if current != phase:
            started_at = now
        shown_at, phase = now, current
        rate = round(progress.records / max(now - started_at, _UPDATE_SECONDS))
        activity.show(_PROGRESS.format(title=title, progress=progress.text, rate=rate))

    return show


_PROGRESS = untranslated("{title}: {progress}, {rate}/s")


def _report(result: ExportResult, output: Path) -> ExitCode:
    """Print what was written and what is missing; return the exit code."""
    report = result.report(output)
    print_result(str(report.verdict))
    _print_lines(replace(report, verdict=None))
    return ExitCode.GOOD if result.is_whole else ExitCode.DATA_ERRORS


_NOT_WITH_INTO = {
    "output": "--output",
    "form": "--format",
    "csv_dialect": "--csv-dialect",
    "since_last": "--since-last",
    "chain": "--chain",
    "as_template": "--as-template",
    "settled": "--settled",
    "headers": "--headers",
    "codes_only": "--codes-only",
    "force": "--force",
}
"""Options that make no sense with ``--into``, by parameter."""


def _refresh(
    into: Path,
    wanted: str | None,
    is_agreed: bool,
    listings: Iterable[str],
    options: Mapping[str, Any],
) -> ExitCode:
    """Replace the rows of listings in a workbook of the analyst's, which is saved once, at the end.

    Raises ``UsageError`` if something cannot be kept and nobody agrees to that.
    """
    names = [find_listing(name).name for name in listings]
    _require_fitting_options(names, wanted, options)
    # Slow to import, and other exports edit no workbook.
    from xlbridge.export import open_refresh

    settings = command_settings()
    catalogue = partial(load_catalogue, settings.schemas)
    with open_refresh(into, settings.limits) as book:
        exports = [book.prepare(_request(name, options), wanted, catalogue) for name in names]
        results = []
        with connect(settings, print_message) as client:
            registries = Registries(client)
            for export in exports:
                with show_progress(export.listing.title) as activity:
                    numbered = export.with_known_ids(partial(_known_ids, settings, client))
                    result = _export_locally(
                        client, options, numbered, settings, activity, registries
                    )
                results.append(result)
                book.add_result(result)
        for result in results:
            report = replace(result.report(into), verdict=None)
            _print_lines(report)
            if options["manifest"]:
                result.write_manifest(options["manifest"])
        _print_lines(book.report())
        if book.losses and not is_agreed:
            if not sys.stdin.isatty():
                raise UsageError(_NOTHING_WRITTEN, _HOW_TO_AGREE)
            answer = ask(_WRITE, default="", show_default=False)
            if answer.strip().casefold() not in YES:
                return ExitCode.DATA_ERRORS
        is_saved = book.save()
    done = _SAVED if is_saved else _UNCHANGED
    print_result(str(done.format(file=into, n=sum(result.records for result in results))))
    return ExitCode.GOOD if all(one.is_whole for one in results) else ExitCode.DATA_ERRORS


def _require_fitting_options(
    names: Sequence[str], wanted: str | None, options: Mapping[str, Any]
) -> None:
    given = [shown for name, shown in _NOT_WITH_INTO.items() if options[name] not in (None, False)]
    if given:
        raise UsageError(_NOT_BOTH.format(options=", ".join(given)))
    if len(names) > 1:
        single = ["--sheet"] if wanted else []
        single += [f"--{name}" for name in ("flat", "manifest", "attachments") if options[name]]
        if single:
            raise UsageError(_FOR_ONE_LISTING.format(options=", ".join(single)))


def _print_lines(report: Report) -> None:
    for line in ReportForms.of_report(lambda: report).lines():
        print_message(line)


_NO_OUTPUT = Text(
    pt="Falta o arquivo: -o grava um novo, --into troca as linhas de um que existe.",
    en="The file is missing: -o writes a new one, --into replaces the rows of one that exists.",
)
_ONE_LISTING = Text(
    pt="-o grava uma listagem por vez, e sem --sheet e --yes.",
    en="-o writes one listing at a time, without --sheet and --yes.",
)
_HOW_TO_OUTPUT = Text(
    pt="Várias listagens, ou uma planilha: xlbridge export clientes pedidos --into ARQUIVO.xlsx",
    en="Several listings, or a sheet: xlbridge export clientes pedidos --into FILE.xlsx",
)
_NOT_BOTH = Text(pt="Não valem com --into: {options}.", en="Not valid with --into: {options}.")
_FOR_ONE_LISTING = Text(
    pt="Valem para uma só listagem: {options}.", en="For a single listing only: {options}."
)
_NOTHING_WRITTEN = Text(
    pt="Nada foi gravado: o que está acima não pode ser mantido.",
    en="Nothing was written: what is named above cannot be kept.",
)
_HOW_TO_AGREE = Text(
    pt="Mude o arquivo, ou aceite a perda com --yes (num plano, accept_losses: true).",
    en="Change the workbook, or accept the loss with --yes (in a plan, accept_losses: true).",
)
_WRITE = Text(pt="Gravar assim mesmo? [s/N]", en="Write anyway? [y/N]")
_SAVED = Text(pt="{file}: {n} {n:registro|registros}", en="{file}: {n} {n:record|records}")
_UNCHANGED = Text(
    pt="{file}: {n} {n:registro|registros}, sem nenhuma mudança",
    en="{file}: {n} {n:record|records}, nothing changed",
)
