"""Export and comparison steps of a batch: each runs once, and again after more rows were sent."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge.batch.batch import Batch
from xlbridge.batch.comparison import EnvironmentComparison, ListingComparison
from xlbridge.batch.ledger import ExportRecord
from xlbridge.batch.plan.steps import CompareStep, ExportStep, file_digest, relative_name
from xlbridge.batch.status import export_files, prepared_export
from xlbridge.errors import XlbridgeError
from xlbridge.export import ExportResult, PreparedExport
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.parallel import Executor, ExportTask, export_all
from xlbridge.upload import known_numbers
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.write import new_workbook


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
    batch.store_export(step, exported)


def run_comparison(
    batch: Batch, step: CompareStep, fingerprint: str, show: Callable[[Text], None]
) -> None:
    """Compare the environments of a step, write the report, and record the result.

    Raises ``UsageError`` if the report cannot be written, and what ``export_frames`` raises.
    """
    path = batch.plan.file(step.output)
    with report_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    WorkbookMark.EXPORTED.require_mark(path)
    here, there = (batch.environments.client(name) for name in (step.profile, step.other))
    catalogue = batch.environments.context(step.profile).catalogue
    comparisons: list[ListingComparison] = []
    for comparison in EnvironmentComparison(here, there, catalogue).compare(step.listings):
        show(_COMPARED.format(listing=comparison.listing))
        comparisons.append(comparison)
    names = batch.environments.name(step.profile), batch.environments.name(step.other)
    _write_report(batch, step, comparisons, names)
    manifest: dict[str, Any] = {"version": 1, "here": names[0], "there": names[1]}
    manifest["equal"] = all(comparison.is_equal for comparison in comparisons)
    manifest["listings"] = [comparison.to_json() for comparison in comparisons]
    files = {relative_name(batch.plan.folder, path): file_digest(path)}
    batch.store_export(step, ExportRecord(fingerprint, manifest, files))


def _write_report(
    batch: Batch,
    step: CompareStep,
    comparisons: Sequence[ListingComparison],
    names: tuple[str, str],
) -> None:
    path = batch.plan.file(step.output)
    title = _TITLE.format(here=names[0], there=names[1])
    signature = WorkbookMark.EXPORTED.text, step.name
    with (
        report_write_errors(path),
        new_workbook(path, title=str(title), signature=signature) as book,
    ):
        plain, bold = book.add_format(), book.add_format({"bold": True})
        for name, header, rows in _sheets(comparisons, names, step.left_out):
            sheet = book.add_worksheet(str(name))
            for column, text in enumerate(header):
                sheet.write_string(0, column, str(text), bold)
            for number, row in enumerate(rows, start=1):
                for column, value in enumerate(row):
                    if isinstance(value, int):
                        sheet.write_number(number, column, value)
                    else:
                        sheet.write_string(number, column, str(value), plain)
            sheet.set_column(0, len(header) - 1, _WIDTH)
            sheet.freeze_panes(1, 0)


_Row = Sequence[object]


def _sheets(
    comparisons: Sequence[ListingComparison], names: tuple[str, str], left_out: Mapping[str, Text]
) -> Iterator[tuple[Text, _Row, Iterator[_Row]]]:
    here, there = names
    yield (
        Text(pt="Listagens", en="Listings"),
        (_LISTING, here, there, _EQUAL, _ONLY.format(name=here), _ONLY.format(name=there), _RESULT),
        (
            (c.listing, c.here, c.there, c.equal, c.only_here, c.only_there, _result_text(c))
            for c in comparisons
        ),
    )
    yield (
        Text(pt="Diferenças", en="Differences"),
        (_LISTING, _RECORD, _FIELD, here, there),
        (
            (comparison.listing, item.record, item.field, item.here, item.there)
            for comparison in comparisons
            for item in comparison.differences
        ),
    )
    fields = (
        (comparison.listing, item.field, item.reason, item.here, item.there)
        for comparison in comparisons
        for item in comparison.not_compared
    )
    listings = ((name, _ALL_FIELDS, reason, "–", "–") for name, reason in left_out.items())
    yield (
        Text(pt="Não comparado", en="Not compared"),
        (_LISTING, _FIELD, _REASON, _FILLED.format(name=here), _FILLED.format(name=there)),
        chain(listings, fields),
    )


def _result_text(comparison: ListingComparison) -> Text:
    if not comparison.complete:
        return Text(pt="não há prova de que está completa", en="not proven to be complete")
    if comparison.is_equal:
        return Text(pt="igual", en="equal")
    return Text(pt="diferente", en="different")


_WIDTH = 24
_LISTING = Text(pt="Listagem", en="Listing")
_RECORD = Text(pt="Registro", en="Record")
_FIELD = Text(pt="Campo", en="Field")
_REASON = Text(pt="Motivo", en="Reason")
_ALL_FIELDS = Text(pt="(todos os campos)", en="(all fields)")
_RESULT = Text(pt="Resultado", en="Result")
_EQUAL = Text(pt="Iguais", en="Equal")
_ONLY = Text(pt="Só em {name}", en="Only in {name}")
_FILLED = Text(pt="Preenchidos em {name}", en="Filled in {name}")
_TITLE = Text(pt="Comparação de {here} com {there}", en="Comparison of {here} with {there}")
_COMPARED = Text(pt="comparada: {listing}", en="compared: {listing}")
