"""Exports of a batch: each runs once, and again only after more was sent before it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan import ExportStep, file_digest, relative_name
from xlbridge.batch.unit_status import UnitOverview, UnitStatus
from xlbridge.errors import XlbridgeError
from xlbridge.export import (
    ExportResult,
    Layout,
    OnProgress,
    export_listing,
    find_listing,
    manifest_of,
    output_format,
    output_opener,
    output_paths,
    require_replaceable,
    write_manifest,
)
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import Executor, ExportRequest, export_all


def export_overview(batch: Batch, step: ExportStep, before: Sequence[UnitOverview]) -> UnitOverview:
    """Return how an export stands; ``before`` are the units of the steps before it."""
    fingerprint = _fingerprint(step, before)
    done = batch.ledger.export_of(batch.id, step.name, batch.sites.name(step.profile))
    standing, problem = UnitStatus.NEW, None
    if done is not None:
        standing, problem = _export_status(batch, step, done, fingerprint)
    return UnitOverview(step.output, standing, problem=problem, sha256=fingerprint)


def _export_status(
    batch: Batch, step: ExportStep, done: ExportRecord, fingerprint: str
) -> tuple[UnitStatus, Text | None]:
    edited = _edited_files(batch.plan.folder, done)
    if edited:
        return UnitStatus.EDITED, _EDITED_SINCE.format(files=", ".join(edited))
    files = [batch.plan.folder / file for file in done.files] or _output_files(batch, step)
    if done.fingerprint != fingerprint or not all(file.exists() for file in files):
        return UnitStatus.CHANGED, None
    if not done.manifest["complete"]:
        return UnitStatus.INCOMPLETE, _MAY_BE_INCOMPLETE
    return (
        (UnitStatus.INCOMPLETE, _RECORD_MISSING)
        if done.manifest["missing"]
        else (UnitStatus.DONE, None)
    )


def _edited_files(folder: Path, done: ExportRecord) -> list[str]:
    """Return the files of an export that are there, and not as they were written."""
    return [
        file
        for file, sha256 in done.files.items()
        if (folder / file).exists() and file_digest(folder / file) != sha256
    ]


_EDITED_SINCE = Text(
    pt="{files} mudou depois de exportado, e não é gravado por cima. Leve-o para outro lugar, ou "
    "apague-o, e continue o lote.",
    en="{files} was changed after it was exported, and is not written over. Move it elsewhere, or "
    "delete it, and resume the batch.",
)
_MAY_BE_INCOMPLETE = Text(
    pt="a listagem pode estar incompleta; veja o manifesto",
    en="the listing may be incomplete; see the manifest",
)
_RECORD_MISSING = Text(
    pt="um registro pedido pela chave não existe; veja o manifesto",
    en="a record that was asked for by its key is not there; see the manifest",
)


@dataclass(frozen=True, slots=True)
class PendingExport:
    """An export that is to be done; ``fingerprint`` is of what it is to hold."""

    step: ExportStep
    fingerprint: str


def run_export(batch: Batch, export: PendingExport, on_progress: OnProgress) -> None:
    """Write an export, and its manifest where the plan wants one, and note that it is done.

    Raises ``UsageError`` when a file cannot be written, and what ``Client.records`` raises.
    """
    step = export.step
    output = _prepare_output(batch, step)
    layout = _layout(batch, step)
    result = export_listing(
        batch.sites.client(step.profile),
        find_listing(step.listing),
        step.filters,
        output,
        output_opener(output_format(output, None), None, layout.template),
        layout=layout,
        on_progress=on_progress,
    )
    _record_export(batch, export, result)


def run_exports_on_cluster(
    batch: Batch, exports: Sequence[PendingExport], carrier: Executor
) -> Iterator[tuple[PendingExport, XlbridgeError | None]]:
    """Let a carrier's workers do exports side by side, and yield each with why it failed, if so.

    Raises ``TransportError`` when the carrier does not answer.
    """
    of_schemas: defaultdict[Path, list[PendingExport]] = defaultdict(list)
    for export in exports:
        try:
            _prepare_output(batch, export.step)
        except XlbridgeError as error:
            yield export, error
        else:
            schemas = batch.sites.desk(export.step.profile).settings.schemas
            of_schemas[schemas].append(export)
    for schemas, alike in of_schemas.items():
        wanted = [_export_request(batch, export.step) for export in alike]
        outcomes = export_all(wanted, schemas, carrier)
        for export, outcome in zip(alike, outcomes, strict=True):
            if isinstance(outcome, XlbridgeError):
                yield export, outcome
            else:
                _record_export(batch, export, outcome)
                yield export, None


def _prepare_output(batch: Batch, step: ExportStep) -> Path:
    """Return where an export goes, once it may be written there; folders are made."""
    output = batch.plan.folder / step.output
    with report_write_errors(output):
        for path in _output_files(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    if not batch.ledger.export_of(batch.id, step.name, batch.sites.name(step.profile)):
        require_replaceable(_table_files(batch, step), output_format(output, None))
    return output


def _record_export(batch: Batch, export: PendingExport, result: ExportResult) -> None:
    step = export.step
    if step.manifest is not None:
        write_manifest(batch.plan.folder / step.manifest, result)
    folder = batch.plan.folder
    files = {relative_name(folder, path): file_digest(path) for path in _output_files(batch, step)}
    exported = ExportRecord(export.fingerprint, manifest_of(result), files)
    batch.ledger.exported(batch.id, step.name, batch.sites.name(step.profile), exported)


def _export_request(batch: Batch, step: ExportStep) -> ExportRequest:
    return ExportRequest(
        target=batch.sites.client(step.profile).target,
        listing=step.listing,
        output=batch.plan.folder / step.output,
        filters=step.filters,
        flat=step.flat,
        as_template=step.as_template,
    )


def _layout(batch: Batch, step: ExportStep) -> Layout:
    if step.as_template is None:
        return Layout(flat=step.flat)
    catalogue = batch.sites.desk(step.profile).catalogue
    return Layout(flat=step.flat, template=catalogue.named(step.as_template))


def _output_files(batch: Batch, step: ExportStep) -> list[Path]:
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    return [*_table_files(batch, step), *manifest]


def _table_files(batch: Batch, step: ExportStep) -> list[Path]:
    output = batch.plan.folder / step.output
    sheets = _layout(batch, step).sheets(find_listing(step.listing))
    return output_paths(output, output_format(output, None), sheets)


def _fingerprint(step: ExportStep, before: Sequence[UnitOverview]) -> str:
    """Return a digest of what an export is to hold: its own words, and what was sent before it."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    filters = {name.value: str(value) for name, value in step.filters.given.items()}
    asked = [step.listing, step.output, filters, step.flat, step.as_template]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()
