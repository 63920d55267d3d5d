"""Exports of a batch: each runs once, and again only after more was sent before it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan import ExportStep, file_digest, relative_name
from xlbridge.errors import XlbridgeError
from xlbridge.export import (
    ExportRequest,
    ExportResult,
    OnProgress,
    OutputFile,
    PreparedExport,
    prepare_export,
)
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import Executor, ExportTask, export_all
from xlbridge.upload import known_numbers


def export_overview(batch: Batch, step: ExportStep, before: Sequence[UnitOverview]) -> UnitOverview:
    """Return the status of an export; ``before`` are the units of the steps before it."""
    fingerprint = _fingerprint(step, before)
    done = batch.ledger.export_of(batch.id, step.name, batch.environments.name(step.profile))
    status, problem = UnitStatus.NEW, None
    if done is not None:
        status, problem = _export_status(batch, step, done, fingerprint)
    return UnitOverview(step.output, status, problem=problem, sha256=fingerprint)


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
    """Return the files of an export that exist and were changed since."""
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
    """An export to run; ``fingerprint`` identifies its expected content."""

    step: ExportStep
    fingerprint: str


def run_export(batch: Batch, export: PendingExport, on_progress: OnProgress) -> None:
    """Write an export, and its manifest where the plan asks for one, and record it as done.

    Raises ``UsageError`` when a file cannot be written, and what ``Client.records`` raises.
    """
    prepared = _prepare_output(batch, export.step)
    client = batch.environments.client(export.step.profile)
    prepared = _with_known(batch, export.step, prepared)
    _record_export(batch, export, prepared.run(client, on_progress=on_progress))


def _with_known(batch: Batch, step: ExportStep, prepared: PreparedExport) -> PreparedExport:
    """Return an export with the numbers that the journal knows, where no listing has them."""
    if not prepared.takes_known:
        return prepared
    client = batch.environments.client(step.profile)
    settings = batch.environments.context(step.profile).settings
    name, profile = prepared.listing.name, client.target.profile
    return prepared.with_known(known_numbers(settings, name, client.identity, profile))


def run_exports_on_cluster(
    batch: Batch, exports: Sequence[PendingExport], executor: Executor
) -> Iterator[tuple[PendingExport, XlbridgeError | None]]:
    """Run exports side by side on an executor; yield each with its error, None without one.

    Raises ``TransportError`` when the cluster does not answer.
    """
    of_schemas: defaultdict[Path, list[tuple[PendingExport, ExportTask]]] = defaultdict(list)
    for export in exports:
        profile = export.step.profile
        try:
            prepared = _with_known(batch, export.step, _prepare_output(batch, export.step))
        except XlbridgeError as error:
            yield export, error
        else:
            task = ExportTask(
                batch.environments.client(profile).target, prepared.request, prepared.output
            )
            of_schemas[batch.environments.context(profile).settings.schemas].append((export, task))
    for schemas, alike in of_schemas.items():
        outcomes = export_all([task for _, task in alike], schemas, executor)
        for (export, _), outcome in zip(alike, outcomes, strict=True):
            if isinstance(outcome, XlbridgeError):
                yield export, outcome
            else:
                _record_export(batch, export, outcome)
                yield export, None


def _prepare_output(batch: Batch, step: ExportStep) -> PreparedExport:
    """Return an export whose files may be written; their folders are made."""
    prepared = _prepared(batch, step)
    with report_write_errors(prepared.output.path):
        for path in _output_files(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    if not batch.ledger.export_of(batch.id, step.name, batch.environments.name(step.profile)):
        prepared.require_replaceable()
    return prepared


def _prepared(batch: Batch, step: ExportStep) -> PreparedExport:
    return prepare_export(
        ExportRequest(
            listing=step.listing,
            filters=step.filters,
            flat=step.flat,
            as_template=step.as_template,
            settled=step.settled,
            known=(),
        ),
        OutputFile(batch.plan.folder / step.output),
        lambda: batch.environments.context(step.profile).catalogue,
    )


def _record_export(batch: Batch, export: PendingExport, result: ExportResult) -> None:
    step, folder = export.step, batch.plan.folder
    if step.manifest is not None:
        result.write_manifest(folder / step.manifest)
    files = {relative_name(folder, path): file_digest(path) for path in _output_files(batch, step)}
    exported = ExportRecord(export.fingerprint, result.manifest(), files)
    batch.ledger.exported(batch.id, step.name, batch.environments.name(step.profile), exported)


def _output_files(batch: Batch, step: ExportStep) -> list[Path]:
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    return [*_prepared(batch, step).files, *manifest]


def _fingerprint(step: ExportStep, before: Sequence[UnitOverview]) -> str:
    """Return a digest of an export's expected content: its options, and the rows sent before it."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    filters = {name.value: str(value) for name, value in step.filters.given.items()}
    asked = [step.listing, step.output, filters, step.flat, step.as_template]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()
