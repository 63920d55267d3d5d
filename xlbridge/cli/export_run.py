"""Work of ``xlbridge export``: from the options to the files, its progress and its report."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from xlbridge import __version__
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.output import ProgressDisplay, print_result, remark, show_progress
from xlbridge.cli.workers import cluster_executor
from xlbridge.client import Client, Target
from xlbridge.connection import connect
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export import (
    MAX_RESUME_AGE,
    AttachmentDownloads,
    ExportProgress,
    ExportResult,
    Filter,
    Filters,
    LastRuns,
    Layout,
    Listing,
    OnProgress,
    OpenOutput,
    ResumeStore,
    check_filters,
    describe_hole,
    describe_missing,
    export_listing,
    find_listing,
    leftover_sheet_files,
    output_format,
    output_opener,
    output_paths,
    parse_filters,
    require_replaceable,
    require_writable,
    write_manifest,
)
from xlbridge.files import require_distinct
from xlbridge.i18n import Text
from xlbridge.parallel import ExportRequest, export_all
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings


@contextmanager
def resumable_windows(
    settings: Settings,
    target: Target,
    listing: Listing,
    filters: Filters,
    layout: Layout,
    form: Sequence[str | None],
    *,
    fresh: bool,
) -> Iterator[ResumeStore]:
    """Give the place of an export's windows; after a failure, say how many stay there.

    ``form`` is what the lines of the export depend on beside its layout.
    """
    columns = [[s.name, *(column.name for column in s.columns)] for s in layout.sheets(listing)]
    given = {name.value: str(value) for name, value in sorted(filters.given.items())}
    how = [layout.flat, layout.in_detail, layout.keep_unknown, columns, *form]
    whom = [target.profile, target.base_url, target.email]
    asked = [__version__, *whom, listing.name, given, *how]
    unfinished = ResumeStore(settings.exports / "unfinished", asked, fresh)
    try:
        yield unfinished
    except BaseException:
        if windows := unfinished.windows():
            remark(
                Text(
                    pt="{n} {n:período já buscado fica guardado|períodos já buscados ficam "
                    "guardados} por {hours} horas; o mesmo "
                    "comando continua dali.",
                    en="{n} {n:window that was fetched is|windows that were fetched are} kept for "
                    "{hours} hours: the same command "
                    "goes on from there.",
                ).format(n=windows, hours=MAX_RESUME_AGE // timedelta(hours=1))
            )
        raise


def require_no_downloads(scheduler: str | None, attachments: Path | None) -> None:
    """Raise ``UsageError`` where attached files are wanted of a cluster: they are kept here."""
    if scheduler is not None and attachments is not None:
        raise UsageError(
            Text(
                pt="--attachments e --scheduler se excluem.",
                en="--attachments and --scheduler exclude one another.",
            )
        )


def export_on_cluster(scheduler: str, export: ExportRequest, settings: Settings) -> ExportResult:
    """Let a worker of a cluster do an export. Raises what the export raised there.

    Raises ``ConfigError`` when the extra ``dask`` is not installed, ``TransportError`` when the
    cluster does not answer.
    """
    with cluster_executor(scheduler) as carrier:
        (came,) = export_all([export], settings.schemas, carrier)
    if isinstance(came, XlbridgeError):
        raise came
    return came


_UPDATE_SECONDS = 0.2
"""Seconds."""


def export_progress(title: Text, activity: ProgressDisplay) -> OnProgress:
    """Return what shows how far an export is, now and then."""
    begun = told_at = time.monotonic()
    known: object = None

    def count(advance: ExportProgress) -> None:
        nonlocal begun, told_at, known
        now = time.monotonic()
        now_known = (advance.is_of_keys, advance.windows_left is None, advance.records_left is None)
        if now - told_at < _UPDATE_SECONDS and now_known == known:
            return
        if now_known != known:
            begun = now
        told_at, known = now, now_known
        activity.tell(
            (_KEYS_PROGRESS if advance.is_of_keys else _RECORDS_PROGRESS).format(
                title=title,
                n=advance.records,
                rate=round(advance.records / max(now - begun, _UPDATE_SECONDS)),
                left=_remaining_text(advance),
            )
        )

    return count


_RECORDS_PROGRESS = Text(
    pt="{title}: {n} {n:registro|registros}, {rate}/s{left}",
    en="{title}: {n} {n:record|records}, {rate}/s{left}",
)
_KEYS_PROGRESS = Text(
    pt="{title}: primeiro as chaves: {n}, {rate}/s{left}",
    en="{title}: the keys first: {n}, {rate}/s{left}",
)


def _remaining_text(advance: ExportProgress) -> Text | str:
    if advance.records_left is not None:
        left = Text(pt=", {n:falta|faltam} {n} a consultar", en=", {n} to ask for left")
        return left.format(n=advance.records_left)
    if advance.windows_left is None:
        return ""
    return Text(
        pt=", {n:falta|faltam} {n} {n:período|períodos}", en=", {n} {n:window|windows} left"
    ).format(n=advance.windows_left)


def report_export(
    exported: ExportResult, output: Path, downloads: AttachmentDownloads | None
) -> ExitCode:
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
    if exported.missing:
        remark(describe_missing(exported.missing))
    for hole in exported.holes:
        remark(describe_hole(hole))
    if downloads is not None:
        remark(
            Text(pt="{n} {n:anexo baixado|anexos baixados}.", en="{n} {n:file|files}.").format(
                n=downloads.files
            )
        )
        for problem in downloads.problems:
            remark(problem)
    is_whole = exported.complete and not exported.missing
    is_whole = is_whole and not (downloads and downloads.problems)
    return ExitCode.GOOD if is_whole else ExitCode.DATA_ERRORS


_OTHER_FILE = Text(pt="{path} não é desta exportação.", en="{path} is not of this export.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportArguments:
    """What was asked for, each field as its option has it; ``filter_texts`` as they were typed."""

    listing: str
    output: Path
    filter_texts: Mapping[Filter, Any]
    form: str | None
    csv_dialect: str | None
    manifest: Path | None
    since_last: bool
    flat: str | None
    as_template: str | None
    with_files: bool
    attachments: Path | None
    keep_unknown: bool
    at_once: int
    fresh: bool
    scheduler: str | None
    force: bool


def run_export(task: ExportArguments) -> ExitCode:
    """Export as the task says, and tell what came of it.

    Raises ``UsageError`` when what is asked for cannot be, and what ``export_listing`` raises.
    """
    settings = command_settings()
    export = _prepare_export(task, settings)
    with connect(settings, remark) as client, show_progress(export.listing.title) as activity:
        target = client.target
        last_runs = LastRuns(settings.exports, target.profile)
        if task.since_last:
            export = replace(export, filters=last_runs.continued(export.listing, export.filters))
        downloads = None
        if task.attachments is not None:
            downloads = AttachmentDownloads(task.attachments, export.listing, target.base_url)
        if task.scheduler is None:
            exported = _export_locally(client, task, export, settings, downloads, activity)
        else:
            todo = _cluster_request(task, target, export.filters)
            exported = export_on_cluster(task.scheduler, todo, settings)
    if task.manifest:
        write_manifest(task.manifest, exported)
    last_runs.record(export.listing, export.asked, exported)
    for path in leftover_sheet_files(task.output, export.written):
        remark(_OTHER_FILE.format(path=path))
    return report_export(exported, task.output, downloads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PreparedExport:
    """An export that can be; ``asked`` are the filters as given, ``filters`` those to use."""

    listing: Listing
    asked: Filters
    filters: Filters
    layout: Layout
    form: str
    open_book: OpenOutput
    written: Sequence[Path]


def _prepare_export(task: ExportArguments, settings: Settings) -> _PreparedExport:
    """Return the export that a task asks for. Raises ``UsageError`` when it cannot be."""
    require_no_downloads(task.scheduler, task.attachments)
    listing = find_listing(task.listing)
    filters = parse_filters(task.filter_texts)
    check_filters(listing, filters)
    layout = _layout(task, settings)
    layout.check(listing)
    form = output_format(task.output, task.form)
    open_book = output_opener(form, task.csv_dialect, layout.template)
    written = output_paths(task.output, form, layout.sheets(listing))
    require_distinct([*written, task.manifest])
    for path in filter(None, (task.output, task.manifest)):
        require_writable(path)
    if not task.force:
        require_replaceable(written, form)
    return _PreparedExport(
        listing=listing,
        asked=filters,
        filters=filters,
        layout=layout,
        form=form,
        open_book=open_book,
        written=written,
    )


def _layout(task: ExportArguments, settings: Settings) -> Layout:
    name = task.as_template
    return Layout(
        flat=task.flat,
        in_detail=task.with_files or task.attachments is not None,
        keep_unknown=task.keep_unknown,
        template=None if name is None else load_catalogue(settings.schemas).named(name),
    )


def _export_locally(
    client: Client,
    task: ExportArguments,
    export: _PreparedExport,
    settings: Settings,
    downloads: AttachmentDownloads | None,
    activity: ProgressDisplay,
) -> ExportResult:
    with resumable_windows(
        settings,
        client.target,
        export.listing,
        export.filters,
        export.layout,
        (export.form, task.csv_dialect, task.as_template),
        fresh=task.fresh,
    ) as unfinished:
        return export_listing(
            client,
            export.listing,
            export.filters,
            task.output,
            export.open_book,
            layout=export.layout,
            on_progress=export_progress(export.listing.title, activity),
            on_record=downloads.take if downloads else None,
            at_once=task.at_once,
            unfinished=unfinished,
        )


def _cluster_request(task: ExportArguments, target: Target, filters: Filters) -> ExportRequest:
    return ExportRequest(
        target=target,
        listing=task.listing,
        output=task.output,
        filters=filters,
        form=task.form,
        csv_dialect=task.csv_dialect,
        flat=task.flat,
        as_template=task.as_template,
        in_detail=task.with_files,
        keep_unknown=task.keep_unknown,
        at_once=task.at_once,
    )
