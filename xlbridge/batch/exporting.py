"""The exports of a batch: each is done once, and again only after more was sent before it."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xlbridge.batch.batch import Batch
from xlbridge.batch.plan import ExportStep
from xlbridge.batch.standing import Standing, UnitState
from xlbridge.export.export import Layout, export_listing
from xlbridge.export.fetching import Progress
from xlbridge.export.formats import format_of, opener_of, paths_written
from xlbridge.export.listings import find_listing
from xlbridge.export.overwriting import require_replaceable
from xlbridge.export.result import ExportResult, describe_hole, manifest_of, write_manifest
from xlbridge.export.template_layout import template_layout
from xlbridge.i18n import Text
from xlbridge.workbook.atomic import reporting_failures


def export_state(batch: Batch, step: ExportStep, before: Sequence[UnitState]) -> UnitState:
    """Return how an export stands; ``before`` are the units of the steps before it."""
    fingerprint = _fingerprint(step, before)
    done = batch.ledger.export_of(batch.id, step.name, batch.sites.name(step.profile))
    standing, problem = Standing.NEW, None
    if done is not None and done.fingerprint == fingerprint and _output(batch, step).exists():
        standing = Standing.DONE if done.manifest["complete"] else Standing.INCOMPLETE
    elif done is not None:
        standing = Standing.CHANGED
    if standing is Standing.INCOMPLETE:
        problem = Text(
            pt="a listagem pode estar incompleta; veja o manifesto",
            en="the listing may be incomplete; see the manifest",
        )
    return UnitState(step.output, standing, problem=problem, sha256=fingerprint)


def do_export(
    batch: Batch, step: ExportStep, fingerprint: str, on_progress: Progress
) -> ExportResult:
    """Write an export, and its manifest where the plan wants one, and note that it is done.

    Raises ``UsageError`` when the file cannot be written, and what ``Client.records`` raises.
    """
    listing, output = find_listing(step.listing), _output(batch, step)
    layout = _layout(batch, step)
    form = format_of(output, None)
    with reporting_failures(output):
        for path in _written(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    desk = batch.sites.desk(step.profile)
    resource = None if step.as_template is None else desk.catalogue.named(step.as_template)
    if not batch.ledger.export_of(batch.id, step.name, desk_name := batch.sites.name(step.profile)):
        require_replaceable(output, form)
    result = export_listing(
        batch.sites.client(step.profile),
        listing,
        step.filters,
        output,
        opener_of(form, None, resource),
        layout=layout,
        on_progress=on_progress,
    )
    if step.manifest is not None:
        write_manifest(batch.plan.folder / step.manifest, result)
    manifest: dict[str, Any] = manifest_of(result)
    batch.ledger.exported(batch.id, step.name, desk_name, fingerprint, manifest)
    return result


def holes(result: ExportResult) -> Text | None:
    """Say what may be missing of an export, None where nothing is."""
    return describe_hole(result.holes[0]) if result.holes else None


def _layout(batch: Batch, step: ExportStep) -> Layout:
    if step.as_template is None:
        return Layout(flat=step.flat)
    resource = batch.sites.desk(step.profile).catalogue.named(step.as_template)
    return Layout(flat=step.flat, as_sheet=template_layout(find_listing(step.listing), resource))


def _output(batch: Batch, step: ExportStep) -> Path:
    output = batch.plan.folder / step.output
    sheets = _layout(batch, step).sheets(find_listing(step.listing))
    return paths_written(output, format_of(output, None), sheets)[0]


def _written(batch: Batch, step: ExportStep) -> list[Path]:
    manifest = [] if step.manifest is None else [batch.plan.folder / step.manifest]
    return [_output(batch, step), *manifest]


def _fingerprint(step: ExportStep, before: Sequence[UnitState]) -> str:
    """Return a digest of what an export is to hold: its own words, and what was sent before it."""
    sent = [[unit.name, *(job.id for job in unit.jobs), unit.rows.accepted] for unit in before]
    filters = {name.value: str(value) for name, value in step.filters.given.items()}
    asked = [step.listing, step.output, filters, step.flat, step.as_template]
    return hashlib.sha256(json.dumps([asked, sent]).encode()).hexdigest()
