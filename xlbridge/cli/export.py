"""``xlbridge export``: a listing into a workbook."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.connection import connect
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.export_elsewhere import export_elsewhere, require_no_downloads
from xlbridge.cli.options import may_replace, on_cluster
from xlbridge.cli.output import remark, result
from xlbridge.cli.progress import Activity, working
from xlbridge.cli.unfinished_export import keeping_windows
from xlbridge.export.attachments import Downloads
from xlbridge.export.books.csv_book import CSV_DIALECTS
from xlbridge.export.export import Layout, export_listing, require_writable
from xlbridge.export.fetched import Advance, Progress
from xlbridge.export.filter_texts import read_filters
from xlbridge.export.filters import FILTERS, Filter, ValueKind
from xlbridge.export.formats import FORMATS, format_of, opener_of, paths_written
from xlbridge.export.last_run import LastRuns
from xlbridge.export.listing import is_repeated
from xlbridge.export.listings import find_listing
from xlbridge.export.overwriting import left_beside, require_replaceable
from xlbridge.export.requests import check_filters
from xlbridge.export.result import (
    ExportResult,
    describe_hole,
    describe_missing,
    write_manifest,
)
from xlbridge.export.template_layout import template_layout
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.resources.resource import Resource
from xlbridge.settings import Settings
from xlbridge.spreading.exports import ExportToDo
from xlbridge.workbook.atomic import require_apart

_TELL_EVERY = 0.2
_MOST_AT_ONCE = 8
_METAVARS = {
    ValueKind.MOMENT: "D",
    ValueKind.CODE: "N",
    ValueKind.CODES: "N",
    ValueKind.TEXT: "TEXT",
    ValueKind.TEXTS: "CODE",
}


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each filter that any listing has."""
    for name, kind in reversed(list(FILTERS.items())):
        attributes: dict[str, Any] = {"help": str(kind.meaning)}
        if kind.kind is ValueKind.FLAG:
            attributes["is_flag"] = True
        else:
            attributes |= {"metavar": _METAVARS[kind.kind], "multiple": is_repeated(name)}
        command = click.option(f"--{name}", f"filter_{name.name.lower()}", **attributes)(command)
    return command


@click.command(
    "export", help=str(Text(pt="Exporta uma listagem.", en="Exports a listing into a file."))
)
@click.argument("listing")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help=str(Text(pt="O arquivo a gravar.", en="The file to write.")),
)
@_filter_options
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help=str(
        Text(
            pt="O formato; sem ele, vale a extensão.",
            en="The format; without it, the extension's.",
        )
    ),
)
@click.option(
    "--csv-dialect",
    type=click.Choice(list(CSV_DIALECTS)),
    help=str(
        Text(
            pt="pt-br: ponto e vírgula, vírgula decimal, dd/mm/aaaa.",
            en="pt-br: semicolons, decimal commas, dd/mm/yyyy.",
        )
    ),
)
@click.option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=str(
        Text(
            pt="Grava quantos registros vieram e se algo falta.",
            en="Writes how many records came, and whether any are missing.",
        )
    ),
)
@click.option(
    "--since-last",
    is_flag=True,
    help=str(
        Text(
            pt="Continua de onde parou a última exportação completa com os mesmos filtros.",
            en="Continues where the last complete export with the same filters ended.",
        )
    ),
)
@click.option(
    "--flat",
    metavar="SHEET",
    help=str(
        Text(
            pt="Uma planilha só: cada linha de SHEET junto do seu registro.",
            en="One sheet only: each row of SHEET beside its record.",
        )
    ),
)
@click.option(
    "--as-template",
    metavar="RESOURCE",
    help=str(
        Text(
            pt="Grava no leiaute da planilha de importação desse recurso.",
            en="Writes in the layout of that resource's import sheet.",
        )
    ),
)
@click.option(
    "--with-files",
    is_flag=True,
    help=str(
        Text(
            pt="Lê cada registro pela chave, com a lista dos anexos.",
            en="Reads each record by its key, with the list of its attached files.",
        )
    ),
)
@click.option(
    "--attachments",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help=str(
        Text(
            pt="Baixa os anexos para essa pasta (implica --with-files).",
            en="Downloads the attached files into that folder (implies --with-files).",
        )
    ),
)
@click.option(
    "--keep-unknown",
    is_flag=True,
    help=str(
        Text(
            pt="Guarda os campos desconhecidos, como JSON, na coluna outrosCampos.",
            en="Keeps unknown fields, as JSON, in the column outrosCampos.",
        )
    ),
)
@click.option(
    "--at-once",
    type=click.IntRange(1, _MOST_AT_ONCE),
    default=2,
    show_default=True,
    metavar="N",
    help=str(Text(pt="Quantas chamadas ao mesmo tempo.", en="How many calls side by side.")),
)
@click.option(
    "--fresh",
    is_flag=True,
    help=str(
        Text(
            pt="Pede tudo de novo, mesmo o que uma execução interrompida já buscou.",
            en="Asks for everything again, even what a run that broke off had fetched.",
        )
    ),
)
@on_cluster
@may_replace
def command(
    listing: str,
    output: Path,
    form: str | None,
    csv_dialect: str | None,
    manifest: Path | None,
    since_last: bool,
    flat: str | None,
    as_template: str | None,
    with_files: bool,
    attachments: Path | None,
    keep_unknown: bool,
    at_once: int,
    fresh: bool,
    scheduler: str | None,
    force: bool,
    **filter_texts: Any,
) -> ExitCode:
    require_no_downloads(scheduler, attachments)
    wanted = find_listing(listing)
    filters = read_filters({name: filter_texts[f"filter_{name.name.lower()}"] for name in Filter})
    check_filters(wanted, filters)
    settings = command_settings()
    resource = None if as_template is None else _resource(as_template, settings)
    layout = Layout(
        flat=flat,
        in_detail=with_files or attachments is not None,
        keep_unknown=keep_unknown,
        as_sheet=template_layout(wanted, resource) if resource else None,
    )
    layout.check(wanted)
    chosen = format_of(output, form)
    open_book = opener_of(chosen, csv_dialect, resource)
    written = paths_written(output, chosen, layout.sheets(wanted))
    require_apart([*written, manifest])
    for path in filter(None, (output, manifest)):
        require_writable(path)
    if not force:
        require_replaceable(written, chosen)
    with connect(settings) as client, working(wanted.title) as activity:
        last_runs = LastRuns(settings.exports, client.target.profile)
        within = last_runs.continued(wanted, filters) if since_last else filters
        downloads = Downloads(attachments, wanted, client.target.base_url) if attachments else None
        if scheduler is None:
            form_of_lines = (chosen, csv_dialect, as_template)
            with keeping_windows(
                settings, client.target, wanted, within, layout, form_of_lines, fresh=fresh
            ) as unfinished:
                exported = export_listing(
                    client,
                    wanted,
                    within,
                    output,
                    open_book,
                    layout=layout,
                    on_progress=_counting(wanted.title, activity),
                    on_record=downloads.take if downloads else None,
                    at_once=at_once,
                    unfinished=unfinished,
                )
        else:
            todo = ExportToDo(
                target=client.target,
                listing=listing,
                output=output,
                filters=within,
                form=form,
                csv_dialect=csv_dialect,
                flat=flat,
                as_template=as_template,
                in_detail=with_files,
                keep_unknown=keep_unknown,
                at_once=at_once,
            )
            exported = export_elsewhere(scheduler, todo, settings)
    if manifest:
        write_manifest(manifest, exported)
    last_runs.record(wanted, filters, exported)
    for path in left_beside(output, written):
        remark(_LEFT_BESIDE.format(path=path))
    return _tell(exported, output, downloads)


_LEFT_BESIDE = Text(pt="{path} não é desta exportação.", en="{path} is not of this export.")


def _resource(name: str, settings: Settings) -> Resource:
    return load_catalogue(settings.schemas).named(name)


def _counting(title: Text, activity: Activity) -> Progress:
    begun = told_at = time.monotonic()
    known: object = None

    def count(advance: Advance) -> None:
        nonlocal begun, told_at, known
        now = time.monotonic()
        now_known = (advance.is_of_keys, advance.windows_left is None, advance.records_left is None)
        if now - told_at < _TELL_EVERY and now_known == known:
            return
        if now_known != known:
            begun = now
        told_at, known = now, now_known
        activity.tell(
            (_KEYS if advance.is_of_keys else _RECORDS).format(
                title=title,
                n=advance.records,
                rate=round(advance.records / max(now - begun, _TELL_EVERY)),
                left=_left(advance),
            )
        )

    return count


_RECORDS = Text(
    pt="{title}: {n} registros, {rate}/s{left}", en="{title}: {n} records, {rate}/s{left}"
)
_KEYS = Text(
    pt="{title}: primeiro as chaves: {n}, {rate}/s{left}",
    en="{title}: the keys first: {n}, {rate}/s{left}",
)


def _left(advance: Advance) -> Text | str:
    if advance.records_left is not None:
        left = Text(pt=", faltam {n} a consultar", en=", {n} to ask for left")
        return left.format(n=advance.records_left)
    if advance.windows_left is None:
        return ""
    return Text(pt=", faltam {n} períodos", en=", {n} windows left").format(n=advance.windows_left)


def _tell(exported: ExportResult, output: Path, downloads: Downloads | None) -> ExitCode:
    rows = ", ".join(f"{name} {count}" for name, count in exported.sheets.items())
    told = Text(
        pt="{file}: {n} registros ({rows})",
        en="{file}: {n} records ({rows})",
    )
    result(told.format(file=output, n=exported.records, rows=rows))
    if exported.reused:
        remark(
            Text(
                pt="{n} períodos são da execução interrompida antes; --fresh pede tudo de novo.",
                en="{n} windows are from the run that broke off; --fresh asks for everything.",
            ).format(n=exported.reused)
        )
    if not exported.records:
        remark(Text(pt="Nada foi encontrado.", en="Nothing was found."))
    if exported.missing:
        remark(describe_missing(exported.missing))
    for hole in exported.holes:
        remark(describe_hole(hole))
    if downloads is not None:
        remark(Text(pt="{n} anexos baixados.", en="{n} files.").format(n=downloads.files))
        for problem in downloads.problems:
            remark(problem)
    is_whole = exported.complete and not exported.missing
    is_whole = is_whole and not (downloads and downloads.problems)
    return ExitCode.GOOD if is_whole else ExitCode.DATA_ERRORS
