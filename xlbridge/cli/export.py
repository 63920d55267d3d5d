"""``xlbridge export``: a listing into a file, its progress and its report."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.completion import complete_listings
from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import described_command, force_option, option, scheduler_option
from xlbridge.cli.output import print_result, remark
from xlbridge.cli.progress import ProgressDisplay, show_progress
from xlbridge.client import Client, Target
from xlbridge.connection import connect
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export import (
    CSV_DIALECTS,
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
from xlbridge.i18n import Text
from xlbridge.parallel import ExportTask, cluster_executor, export_all
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings

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
    for name in reversed(Filter):
        kind = name.type
        attributes: dict[str, Any] = {"help": str(kind.meaning)}
        if kind.is_flag:
            attributes["is_flag"] = True
        else:
            attributes |= {"metavar": _METAVARS[kind.kind], "multiple": kind.is_repeatable}
        command = click.option(f"--{name}", _parameter_of(name), **attributes)(command)
    return command


def _parameter_of(name: Filter) -> str:
    return f"filter_{name.name.lower()}"


@described_command(
    "export",
    pt="Exporta uma listagem.",
    en="Exports a listing into a file.",
)
@click.argument("listing", shell_complete=complete_listings)
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    pt="O arquivo a gravar.",
    en="The file to write.",
)
@_filter_options
@option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    pt="O formato; sem ele, vale a extensão.",
    en="The format; without it, the extension's.",
)
@option(
    "--csv-dialect",
    type=click.Choice(list(CSV_DIALECTS)),
    pt="pt-br: ponto e vírgula, vírgula decimal, dd/mm/aaaa.",
    en="pt-br: semicolons, decimal commas, dd/mm/yyyy.",
)
@option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Grava quantos registros vieram e se algo falta.",
    en="Writes how many records came, and whether any are missing.",
)
@option(
    "--since-last",
    is_flag=True,
    pt="Continua de onde parou a última exportação completa com os mesmos filtros.",
    en="Continues where the last complete export with the same filters ended.",
)
@option(
    "--flat",
    metavar="SHEET",
    pt="Uma planilha só: cada linha de PLANILHA junto do seu registro.",
    en="One sheet only: each row of SHEET beside its record.",
)
@option(
    "--as-template",
    metavar="RESOURCE",
    is_flag=False,
    flag_value="",
    pt="Grava no leiaute da planilha de importação desse recurso (sem ele, o da listagem).",
    en="Writes in the layout of that resource's import sheet (default: the listing's own).",
)
@option(
    "--settled",
    is_flag=True,
    pt="Com --as-template: aceita títulos baixados, que enviados seriam novos.",
    en="With --as-template: takes settled titles, which uploaded would be new ones.",
)
@option(
    "--with-files",
    is_flag=True,
    pt="Lê cada registro pela chave, com a lista dos anexos.",
    en="Reads each record by its key, with the list of its attached files.",
)
@option(
    "--attachments",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    pt="Baixa os anexos para essa pasta (implica --with-files).",
    en="Downloads the attached files into that folder (implies --with-files).",
)
@option(
    "--keep-unknown",
    is_flag=True,
    pt="Guarda os campos desconhecidos, como JSON, na coluna outrosCampos.",
    en="Keeps unknown fields, as JSON, in the column outrosCampos.",
)
@option(
    "--at-once",
    type=click.IntRange(1, _MOST_AT_ONCE),
    default=2,
    show_default=True,
    metavar="N",
    pt="Quantas chamadas ao mesmo tempo.",
    en="How many calls side by side.",
)
@option(
    "--fresh",
    is_flag=True,
    pt="Pede tudo de novo, mesmo o que uma execução interrompida já buscou.",
    en="Fetches everything again, even what a run that broke off had fetched.",
)
@scheduler_option
@force_option
def command(**options: Any) -> ExitCode:
    filter_texts = {name: options.pop(_parameter_of(name)) for name in Filter}
    return run_export(ExportArguments(filter_texts=filter_texts, **options))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportArguments:
    """Options as they were given; ``filter_texts`` as they were typed."""

    listing: str
    output: Path
    filter_texts: Mapping[Filter, Any]
    form: str | None
    csv_dialect: str | None
    manifest: Path | None
    since_last: bool
    flat: str | None
    as_template: str | None
    settled: bool
    with_files: bool
    attachments: Path | None
    keep_unknown: bool
    at_once: int
    fresh: bool
    scheduler: str | None
    force: bool


def run_export(task: ExportArguments) -> ExitCode:
    """Export as the options say, and report what came of it.

    Raises ``UsageError`` when what is asked for cannot be, and what ``PreparedExport.run`` raises.
    """
    settings = command_settings()
    export = _prepare(task, settings)
    with connect(settings, remark) as client, show_progress(export.listing.title) as activity:
        profile = client.target.profile
        if export.accepts_known_ids:
            # Here, not above: few listings ask the journal, which takes its time to import.
            from xlbridge.upload import known_numbers

            export = export.with_known_ids(known_numbers(settings, export.listing.name, client))
        if task.since_last:
            export = export.since_last(settings.exports, profile)
        if task.scheduler is None:
            exported = _export_locally(client, task, export, settings, activity)
        else:
            exported = _export_on_cluster(task.scheduler, client.target, export, settings)
    if task.manifest:
        exported.write_manifest(task.manifest)
    export.remember(settings.exports, profile, exported)
    for path in export.leftover_files():
        remark(_OTHER_FILE.format(path=path))
    return _report(exported, task.output)


_OTHER_FILE = Text(pt="{path} não é desta exportação.", en="{path} is not of this export.")


def _prepare(task: ExportArguments, settings: Settings) -> PreparedExport:
    """Return the export that the options ask for. Raises ``UsageError`` when it cannot be."""
    if task.scheduler is not None and task.attachments is not None:
        raise UsageError(_DOWNLOADS_ON_CLUSTER)
    request = ExportRequest(
        listing=find_listing(task.listing).name,
        filters=Filters.parse(task.filter_texts),
        flat=task.flat,
        as_template=task.as_template,
        settled=task.settled,
        in_detail=task.with_files or task.attachments is not None,
        keep_unknown=task.keep_unknown,
        at_once=task.at_once,
        known_ids=(),
    )
    output = OutputFile(task.output, task.form, task.csv_dialect)
    export = request.prepare(output, partial(load_catalogue, settings.schemas))
    require_distinct([*export.files, task.manifest])
    for path in filter(None, (task.output, task.manifest)):
        OutputFile(path).require_writable()
    if not task.force:
        export.require_replaceable()
    return export


_DOWNLOADS_ON_CLUSTER = Text(
    pt="Use --attachments ou --scheduler, não os dois.",
    en="--attachments and --scheduler are mutually exclusive.",
)


def _export_locally(
    client: Client,
    task: ExportArguments,
    export: PreparedExport,
    settings: Settings,
    activity: ProgressDisplay,
) -> ExportResult:
    """Export in this process; after a failure, say how many windows are kept for the next run."""
    resume = export.resume_store(settings.exports, client.target, fresh=task.fresh)
    try:
        return export.run(
            client,
            on_progress=_show_export_progress(export.listing.title, activity),
            attachments=task.attachments,
            resume=resume,
        )
    except BaseException:
        if windows := resume.window_count():
            hours = resume.MAX_AGE // timedelta(hours=1)
            remark(_WINDOWS_KEPT.format(n=windows, hours=hours))
        raise


_WINDOWS_KEPT = Text(
    pt="{n} {n:período já buscado fica guardado|períodos já buscados ficam guardados} por {hours} "
    "horas; o mesmo comando continua dali.",
    en="{n} {n:window that was fetched is|windows that were fetched are} kept for {hours} hours: "
    "the same command goes on from there.",
)


def _export_on_cluster(
    scheduler: str, target: Target, export: PreparedExport, settings: Settings
) -> ExportResult:
    """Export on a worker of a cluster. Raises what the export raised there.

    Raises ``ConfigError`` when the extra ``dask`` is not installed, ``TransportError`` when the
    cluster does not answer.
    """
    request = replace(export.request, filters=export.filters)
    task = ExportTask(target, request, export.output)
    with cluster_executor(scheduler) as executor:
        (outcome,) = export_all([task], settings.schemas, executor)
    if isinstance(outcome, XlbridgeError):
        raise outcome
    return outcome


_UPDATE_SECONDS = 0.2


def _show_export_progress(
    title: Text, activity: ProgressDisplay
) -> Callable[[ExportProgress], None]:
    """Return a callback that shows how far an export is, a few times a second."""
    begun = shown_at = time.monotonic()
    phase: object = None

    def show(progress: ExportProgress) -> None:
        nonlocal begun, shown_at, phase
        now = time.monotonic()
        current = (
            progress.is_of_keys,
            progress.windows_left is None,
            progress.records_left is None,
        )
        if now - shown_at < _UPDATE_SECONDS and current == phase:
            return
        if current != phase:
            begun = now
        shown_at, phase = now, current
        activity.tell(
            (_KEYS_PROGRESS if progress.is_of_keys else _RECORDS_PROGRESS).format(
                title=title,
                n=progress.records,
                rate=round(progress.records / max(now - begun, _UPDATE_SECONDS)),
                left=_remaining_text(progress),
            )
        )

    return show


_RECORDS_PROGRESS = Text(
    pt="{title}: {n} {n:registro|registros}, {rate}/s{left}",
    en="{title}: {n} {n:record|records}, {rate}/s{left}",
)
_KEYS_PROGRESS = Text(
    pt="{title}: primeiro as chaves: {n}, {rate}/s{left}",
    en="{title}: the keys first: {n}, {rate}/s{left}",
)


def _remaining_text(progress: ExportProgress) -> Text | str:
    if progress.records_left is not None:
        left = Text(pt=", {n:falta|faltam} {n} a consultar", en=", {n} to ask for left")
        return left.format(n=progress.records_left)
    if progress.windows_left is None:
        return ""
    return Text(
        pt=", {n:falta|faltam} {n} {n:período|períodos}", en=", {n} {n:window|windows} left"
    ).format(n=progress.windows_left)


def _report(exported: ExportResult, output: Path) -> ExitCode:
    """Print what was written, and all that is lacking; return the exit code that says so."""
    rows = ", ".join(f"{name} {count}" for name, count in exported.sheets.items())
    told = Text(
        pt="{file}: {n} {n:registro|registros} ({rows})",
        en="{file}: {n} {n:record|records} ({rows})",
    )
    print_result(told.format(file=output, n=exported.records, rows=rows))
    if exported.reused:
        remark(
            Text(
                pt="{n} {n:período é|períodos são} da execução interrompida antes; --fresh pede "
                "tudo de novo.",
                en="{n} {n:window is|windows are} from the run that broke off; --fresh asks for "
                "everything.",
            ).format(n=exported.reused)
        )
    if not exported.records:
        remark(Text(pt="Nada foi encontrado.", en="Nothing was found."))
    for text in exported.remarks:
        remark(text)
    if exported.attachments is not None:
        remark(
            Text(pt="{n} {n:anexo baixado|anexos baixados}.", en="{n} {n:file|files}.").format(
                n=exported.attachments
            )
        )
    for problem in exported.attachment_problems:
        remark(problem)
    if exported.is_whole:
        return ExitCode.GOOD
    remark(_NOT_WHOLE.format(file=output))
    for text in exported.next_steps:
        remark(text)
    return ExitCode.DATA_ERRORS


_NOT_WHOLE = Text(
    pt="✗ {file} não tem, ou pode não ter, tudo o que foi pedido.",
    en="✗ {file} lacks, or may lack, some of what was asked for.",
)
