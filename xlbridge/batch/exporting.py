"""The exports of a batch: each is done once, and again only after more was sent before it."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import Exported
from xlbridge.batch.plan import ExportStep
from xlbridge.batch.standing import Standing, UnitState
from xlbridge.batch.workbooks import digest_of, name_in
from xlbridge.errors import XlbridgeError
from xlbridge.export.export import export_listing
from xlbridge.export.fetched import Progress
from xlbridge.export.formats import format_of, opener_of, paths_written
from xlbridge.export.layout import Layout
from xlbridge.export.listings import find_listing
from xlbridge.export.overwriting import require_replaceable
from xlbridge.export.result import ExportResult, manifest_of, write_manifest
from xlbridge.i18n import Text
from xlbridge.spreading.carrier import Carrier
from xlbridge.spreading.exports import ExportToDo, export_all
from xlbridge.workbook.atomic import reporting_failures


def export_state(batch: Batch, step: ExportStep, before: Sequence[UnitState]) -> UnitState:
    """Return how an export stands; ``before`` are the units of the steps before it."""
    fingerprint = _fingerprint(step, before)
    done = batch.ledger.export_of(batch.id, step.name, batch.sites.name(step.profile))
    standing, problem = Standing.NEW, None
    if done is not None:
        standing, problem = _standing(batch, step, done, fingerprint)
    return UnitState(step.output, standing, problem=problem, sha256=fingerprint)


def _standing(
    batch: Batch, step: ExportStep, done: Exported, fingerprint: str
) -> tuple[Standing, Text | None]:
    edited = _edited(batch.plan.folder, done)
    if edited:
        return Standing.EDITED, _EDITED.format(files=", ".join(edited))
    files = [batch.plan.folder / file for file in done.files] or _written(batch, step)
    if done.fingerprint != fingerprint or not all(file.exists() for file in files):
        return Standing.CHANGED, None
    if not done.manifest["complete"]:
        return Standing.INCOMPLETE, _HOLES
    return (Standing.INCOMPLETE, _MISSING) if done.manifest["missing"] else (Standing.DONE, None)


def _edited(folder: Path, done: Exported) -> list[str]:
    """Return the files of an export that are there, and not as they were written."""
    return [
        file
        for file, sha256 in done.files.items()
        if (folder / file).exists() and digest_of(folder / file) != sha256
    ]


_EDITED = Text(
    pt="{files} mudou depois de exportado, e não é gravado por cima. Leve-o para outro lugar, ou "
    "apague-o, e continue o lote.",
    en="{files} was changed after it was exported, and is not written over. Move it elsewhere, or "
    "delete it, and resume the batch.",
)
_HOLES = Text(
    pt="a listagem pode estar incompleta; veja o manifesto",
    en="the listing may be incomplete; see the manifest",
)
_MISSING = Text(
    pt="um registro pedido pela chave não existe; veja o manifesto",
    en="a record that was asked for by its key is not there; see the manifest",
)


@dataclass(frozen=True, slots=True)
class Export:
    """An export that is to be done; ``fingerprint`` is of what it is to hold."""

    step: ExportStep
    fingerprint: str


def do_export(batch: Batch, export: Export, on_progress: Progress) -> None:
    """Write an export, and its manifest where the plan wants one, and note that it is done.

    Raises ``UsageError`` when a file cannot be written, and what ``Client.records`` raises.
    """
    step = export.step
    output = _prepared(batch, step)
    layout = _layout(batch, step)
    result = export_listing(
        batch.sites.client(step.profile),
        find_listing(step.listing),
        step.filters,
        output,
        opener_of(format_of(output, None), None, layout.template),
        layout=layout,
        on_progress=on_progress,
    )
    _note(batch, export, result)


def do_exports_elsewhere(
    batch: Batch, exports: Sequence[Export], carrier: Carrier
) -> Iterator[tuple[Export, XlbridgeError | None]]:
    """Let a carrier's workers do exports side by side, and yield each with why it failed, if so.

    Raises ``TransportError`` when the carrier does not answer.
    """
    of_schemas: defaultdict[Path, list[Export]] = defaultdict(list)
    for export in exports:
        try:
            _prepared(batch, export.step)
        except XlbridgeError as error:
            yield export, error
        else:
            schemas = batch.sites.desk(export.step.profile).settings.schemas
            of_schemas[schemas].append(export)
    for schemas, alike in of_schemas.items():
        wanted = [_to_do(batch, export.step) for export in alike]
        outcomes = export_all(wanted, schemas, carrier)
        for export, outcome in zip(alike, outcomes, strict=True):
            if isinstance(outcome, XlbridgeError):
                yield export, outcome
            else:
                _note(batch, export, outcome)
                yield export, None


def _prepared(batch: Batch, step: ExportStep) -> Path:
    """Return where an export goes, once it may be written there; folders are made."""
    output = batch.plan.folder / step.output
    with reporting_failures(output):
        for path in _written(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    if not batch.ledger.export_of(batch.id, step.name, batch.sites.name(step.profile)):
        require_replaceable(_tables(batch, step), format_of(output, None))
    return output


def _note(batch: Batch, export: Export, result: ExportResult) -> None:
    step = export.step
    if step.manifest is not None:
        write_manifest(batch.plan.folder / step.manifest, result)
    folder = batch.plan.folder
    files = {name_in(folder, path): digest_of(path) for path in _written(batch, step)}
    exported = Exported(export.fingerprint, manifest_of(result), files)
    batch.ledger.exported(batch.id, step.name, batch.sites.name(step.profile), exported)


def _to_do(batch: Batch, step: ExportStep) -> ExportToDo:
    return ExportToDo(
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


def _written(batch: Batch, step: ExportStep) -> list[Path]:
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    return [*_tables(batch, step), *manifest]


def _tables(batch: Batch, step: ExportStep) -> list[Path]:
    output = batch.plan.folder / step.output
    sheets = _layout(batch, step).sheets(find_listing(step.listing))
    return paths_written(output, format_of(output, None), sheets)


def _fingerprint(step: ExportStep, before: Sequence[UnitState]) -> str:
    """Return a digest of what an export is to hold: its own words, and what was sent before it."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    filters = {name.value: str(value) for name, value in step.filters.given.items()}
    asked = [step.listing, step.output, filters, step.flat, step.as_template]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()
