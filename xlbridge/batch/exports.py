"""Export steps of a batch: each runs once, and again after more rows were sent."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan.steps import ExportStep, file_digest, relative_name
from xlbridge.batch.status import export_files, prepared_export
from xlbridge.errors import XlbridgeError
from xlbridge.export import ExportResult, PreparedExport
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import Executor, ExportTask, export_all
from xlbridge.upload import known_numbers


@dataclass(frozen=True, slots=True)
class PendingExport:
    """An export to run; ``fingerprint`` identifies its expected content."""

    step: ExportStep
    fingerprint: str


def run_export(batch: Batch, export: PendingExport) -> None:
    """Write an export, and its manifest if the plan has one, and record it as done.

    Raises ``UsageError`` if a file cannot be written, and what ``Client.records`` raises.
    """
    prepared = _prepare_export(batch, export.step)
    client = batch.environments.client(export.step.profile)
    _record_export(batch, export, prepared.run(client))


def run_exports_on_cluster(
    batch: Batch, exports: Sequence[PendingExport], executor: Executor
) -> Iterator[tuple[PendingExport, XlbridgeError | None]]:
    """Run exports in parallel on an executor; yield each with its error, if any.

    Raises ``TransportError`` when the cluster does not answer.
    """
    by_schemas: defaultdict[Path, list[tuple[PendingExport, ExportTask]]] = defaultdict(list)
    for export in exports:
        profile = export.step.profile
        try:
            prepared = _prepare_export(batch, export.step)
        except XlbridgeError as error:
            yield export, error
        else:
            task = ExportTask(
                batch.environments.client(profile).target, prepared.request, prepared.output
            )
            by_schemas[batch.environments.context(profile).settings.schemas].append((export, task))
    for schemas, tasks in by_schemas.items():
        outcomes = export_all([task for _, task in tasks], schemas, executor)
        for (export, _), outcome in zip(tasks, outcomes, strict=True):
            if isinstance(outcome, XlbridgeError):
                yield export, outcome
            else:
                _record_export(batch, export, outcome)
                yield export, None


def _prepare_export(batch: Batch, step: ExportStep) -> PreparedExport:
    """Return an export whose files may be written; create their folders.

    If no listing has the records' numbers, they come from the journal.
    """
    prepared = prepared_export(batch, step)
    with report_write_errors(prepared.output.path):
        for path in export_files(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    if not batch.last_export(step):
        prepared.require_replaceable()
    if not prepared.accepts_known_ids:
        return prepared
    client = batch.environments.client(step.profile)
    settings = batch.environments.context(step.profile).settings
    return prepared.with_known_ids(known_numbers(settings, prepared.listing.name, client))


def _record_export(batch: Batch, export: PendingExport, result: ExportResult) -> None:
    step, folder = export.step, batch.plan.folder
    if step.manifest is not None:
        result.write_manifest(folder / step.manifest)
    files = {relative_name(folder, path): file_digest(path) for path in export_files(batch, step)}
    exported = ExportRecord(export.fingerprint, result.manifest(Text.to_json), files)
    batch.ledger.store(batch.key(step), step.output, exported)
