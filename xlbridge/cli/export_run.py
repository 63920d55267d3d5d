"""The work of ``xlbridge export``: from what was asked for to the files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.cli.connection import connect
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.export_elsewhere import export_elsewhere, require_no_downloads
from xlbridge.cli.export_report import counting, tell
from xlbridge.cli.output import remark
from xlbridge.cli.progress import Activity, working
from xlbridge.cli.unfinished_export import keeping_windows
from xlbridge.export.attachments import Downloads
from xlbridge.export.books.book import OpenBook
from xlbridge.export.export import export_listing, require_writable
from xlbridge.export.filter_texts import read_filters
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.formats import format_of, opener_of, paths_written
from xlbridge.export.last_run import LastRuns
from xlbridge.export.layout import Layout
from xlbridge.export.listing import Listing
from xlbridge.export.listings import find_listing
from xlbridge.export.overwriting import left_beside, require_replaceable
from xlbridge.export.requests import check_filters
from xlbridge.export.result import ExportResult, write_manifest
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.spreading.exports import ExportToDo
from xlbridge.workbook.atomic import require_apart

_LEFT_BESIDE = Text(pt="{path} não é desta exportação.", en="{path} is not of this export.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTask:
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


def run(task: ExportTask) -> ExitCode:
    """Export as the task says, and tell what came of it.

    Raises ``UsageError`` when what is asked for cannot be, and what ``export_listing`` raises.
    """
    settings = command_settings()
    export = _export(task, settings)
    with connect(settings) as client, working(export.listing.title) as activity:
        target = client.target
        last_runs = LastRuns(settings.exports, target.profile)
        if task.since_last:
            export = replace(export, filters=last_runs.continued(export.listing, export.filters))
        downloads = None
        if task.attachments is not None:
            downloads = Downloads(task.attachments, export.listing, target.base_url)
        if task.scheduler is None:
            exported = _export_here(client, task, export, settings, downloads, activity)
        else:
            todo = _to_do(task, target, export.filters)
            exported = export_elsewhere(task.scheduler, todo, settings)
    if task.manifest:
        write_manifest(task.manifest, exported)
    last_runs.record(export.listing, export.asked, exported)
    for path in left_beside(task.output, export.written):
        remark(_LEFT_BESIDE.format(path=path))
    return tell(exported, task.output, downloads)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Export:
    """An export that can be; ``asked`` are the filters as given, ``filters`` those to use."""

    listing: Listing
    asked: Filters
    filters: Filters
    layout: Layout
    form: str
    open_book: OpenBook
    written: Sequence[Path]


def _export(task: ExportTask, settings: Settings) -> _Export:
    """Return the export that a task asks for. Raises ``UsageError`` when it cannot be."""
    require_no_downloads(task.scheduler, task.attachments)
    listing = find_listing(task.listing)
    filters = read_filters(task.filter_texts)
    check_filters(listing, filters)
    layout = _layout(task, settings)
    layout.check(listing)
    form = format_of(task.output, task.form)
    open_book = opener_of(form, task.csv_dialect, layout.template)
    written = paths_written(task.output, form, layout.sheets(listing))
    require_apart([*written, task.manifest])
    for path in filter(None, (task.output, task.manifest)):
        require_writable(path)
    if not task.force:
        require_replaceable(written, form)
    return _Export(
        listing=listing,
        asked=filters,
        filters=filters,
        layout=layout,
        form=form,
        open_book=open_book,
        written=written,
    )


def _layout(task: ExportTask, settings: Settings) -> Layout:
    name = task.as_template
    return Layout(
        flat=task.flat,
        in_detail=task.with_files or task.attachments is not None,
        keep_unknown=task.keep_unknown,
        template=None if name is None else load_catalogue(settings.schemas).named(name),
    )


def _export_here(
    client: Client,
    task: ExportTask,
    export: _Export,
    settings: Settings,
    downloads: Downloads | None,
    activity: Activity,
) -> ExportResult:
    with keeping_windows(
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
            on_progress=counting(export.listing.title, activity),
            on_record=downloads.take if downloads else None,
            at_once=task.at_once,
            unfinished=unfinished,
        )


def _to_do(task: ExportTask, target: Target, filters: Filters) -> ExportToDo:
    return ExportToDo(
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
