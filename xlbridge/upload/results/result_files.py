"""Reports of jobs of any kind, and evidence: rejects workbook, page on an upload in doubt."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import make_private_folder, path_beside
from xlbridge.i18n import Text
from xlbridge.record_rows import number_in_row, row_text
from xlbridge.report_forms import (
    Report,
    ReportForms,
)
from xlbridge.resources import Fingerprint, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import NO_POSITION, Job, file_hash
from xlbridge.upload.journal import Journal
from xlbridge.upload.requests import State
from xlbridge.upload.results.doubt_report import doubt_report
from xlbridge.upload.results.report import job_json, upload_report
from xlbridge.upload.results.row_ledger import messages_of
from xlbridge.upload.results.undo_report import undo_json, undo_report
from xlbridge.upload.results.upload_summary import UploadRows, upload_summary
from xlbridge.upload.results.verdict import (
    item_column,
    parse_item_column,
)
from xlbridge.workbook import WorkbookOrigin

if TYPE_CHECKING:
    from xlbridge.upload.lookup.row_table import RowValues
    from xlbridge.upload.payload import ChildRows
    from xlbridge.workbook.read import SheetCells
    from xlbridge.workbook.write import RejectedRows

_DOUBT_NAME = Text(pt="-em-duvida-{job}.html", en="-in-doubt-{job}.html")
_REJECTS_NAME = Text(pt="-rejeitadas-{job}.xlsx", en="-rejected-{job}.xlsx")
_ENDED = frozenset({State.DONE, State.PARTIAL, State.REJECTED, State.NEEDS_PERSON})


def ensure_evidence(context: UploadContext, job: Job) -> Job:
    """Write the missing evidence of a job, and return the updated job.

    For rejected or held rows that is the rejects workbook, for a doubt the page to decide it. Both
    are written next to the analyst's file, or into the home folder if that is not possible.
    """
    journal = context.journal
    for part in journal.parts_of(job):
        ensure_evidence(context, part)
    in_doubt = job.state is State.NEEDS_PERSON and not job.parts
    if in_doubt and not _file_exists(job, "evidence_file"):
        written = _write_evidence(context, job, _DOUBT_NAME, _write_doubt_page)
        job = journal.record(job, job.state, evidence_file=str(written))
    if _lacks_rejects(journal, job):
        written = _write_evidence(context, job, _REJECTS_NAME, _write_rejects_workbook)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def ensure_sheet_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence of a job, or of the whole sheet if it is a part; return the job."""
    ensure_evidence(context, context.journal.job(job.whole))
    return context.journal.job(job.id)


def _lacks_rejects(journal: Journal, job: Job) -> bool:
    """Return whether rows were rejected or held, and the rejects workbook is missing."""
    if job.parent is not None or job.is_task:
        return False
    rejected = job.state in {State.PARTIAL, State.REJECTED} or (
        job.state is State.NEEDS_PERSON and bool(messages_of(journal, job))
    )
    held = job.state in _ENDED and job.held > 0
    return (rejected or held) and not _file_exists(job, "rejects_file")


def _file_exists(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()


def _write_evidence(
    context: UploadContext,
    job: Job,
    name: Text,
    write: Callable[[UploadContext, Job, Path], None],
) -> Path:
    """Write a file next to the analyst's, or into the home folder, and return its path."""
    # A processing of explicit numbers has no file.
    file = Path(job.spec.file or context.settings.home / "evidence" / job.spec.resource)
    target = path_beside(file, name.format(job=job.id))
    try:
        write(context, job, target)
    except (UsageError, LocalFailure):
        target = context.settings.home / "evidence" / target.name
        make_private_folder(target.parent)
        write(context, job, target)
    return target


def _write_rejects_workbook(context: UploadContext, job: Job, target: Path) -> None:
    """Write the rejected rows of a job to ``target``, in the layout of the template.

    If the whole sheet was rejected, rows without an error of their own are included, since they
    were not applied either. Raises ``UsageError`` if the file cannot be written.
    """
    # Modules for workbooks are rarely needed here, and slow to import.
    from xlbridge.resources.references import listing_resource
    from xlbridge.upload.payload import ChildRows, child_rows, planned_rows
    from xlbridge.workbook.write import RejectedRows

    resource = context.catalogue.named(job.spec.resource)
    sent = UploadRows.of(context, job, planned_rows)
    frame, planned, numbers, reasons = sent.frame, sent.planned, sent.numbers, sent.reasons
    positions = [at for at, row in enumerate(numbers) if row in reasons]
    rejected = frame.iloc[positions].reset_index(drop=True)
    rows = [numbers[at] for at in positions]
    origins = context.journal.changes.origins(job.id)
    messages = [reasons[row] for row in rows]
    raw_cells: dict[int, Mapping[str, str | float]] = {
        index: planned[at].raw_cells
        for index, at in enumerate(positions)
        if planned and planned[at].raw_cells
    }
    record_numbers = [planned[at].number for at in positions] if planned else []
    wrong_by_index = {i: sent.wrong[row] for i, row in enumerate(rows) if sent.wrong.get(row)}
    children: Iterable[ChildRows] = child_rows(resource, rejected)
    listed, words = _names_of_records(context, job, numbers)
    for index, at in enumerate(positions):
        raw_cells[index] = {**words.get(numbers[at], {}), **raw_cells.get(index, {})}
    if listed:
        # Names of records are understood again.
        resource = listing_resource(resource, context.catalogue, listed)
        children = (
            replace(items, resource=child)
            for items in children
            for child in resource.children
            if child.sheet == items.resource.sheet
        )
    RejectedRows(resource, rejected, messages, raw_cells, wrong_by_index, record_numbers).write(
        target,
        [
            row_text(number) if number_in_row(number) else number
            for number in (origins.get(row, row) for row in rows)
        ],
        job.origin_of_file(),
        upload_summary(context, job, sent, target),
        [_rejected_items(items, messages, raw_cells, wrong_by_index) for items in children],
    )


def _names_of_records(
    context: UploadContext, job: Job, rows: Sequence[int]
) -> tuple[Sequence[str], Mapping[int, Mapping[str, str]]]:
    """Return the columns in which the sheet of a job names records of registries, those of child
    sheets as ``list.column``, and the names in their cells by row and column.

    There are none if the file has changed since, or is gone.
    """
    from xlbridge.validation.cells import display
    from xlbridge.workbook.read import read_workbook

    file, names = Path(job.spec.file), defaultdict[int, dict[str, str]](dict)
    try:
        is_same = file_hash(file) == job.file_hash
    except OSError:
        is_same = False
    if not is_same:
        return (), names
    origin = WorkbookOrigin.of(file)
    fingerprint = Fingerprint.parse(origin.template if origin else None)
    listed = fingerprint.listed if fingerprint else ()
    sheets: dict[str, SheetCells] = {}

    def name_in(sheet: str, position: int, row: int) -> str:
        if sheet not in sheets:
            (sheets[sheet],) = read_workbook(file, context.settings.limits, sheet).sheets
        cells = sheets[sheet]
        return display(cells.columns[position - cells.first_column].value(row - 1)).strip()

    for column in listed:
        child, _, name = column.rpartition(".")
        items = job.items.get(child)
        position = (items.columns if items else job.spec.columns).get(name, NO_POSITION)
        if position == NO_POSITION or (child and items is None):
            continue
        for row in rows:
            if items is None:
                names[row][name] = name_in(job.spec.sheet, position, row)
                continue
            for number, at in enumerate(items.rows.get(row, ())):
                item = item_column(child, number, name)
                names[row][item] = name_in(items.sheet, position, at)
    return listed, {row: {n: text for n, text in of.items() if text} for row, of in names.items()}


def _rejected_items(
    items: "ChildRows",
    messages: Sequence[tuple[str, str]],
    raw_cells: Mapping[int, Mapping[str, str | float]],
    wrong: Mapping[int, Collection[str]],
) -> "RejectedRows":
    """Return the rows of a list with their messages, raw cells and wrong columns, from those of
    their records."""
    from xlbridge.workbook.write import RejectedRows

    rows = {item_key: row for row, item_key in enumerate(items.item_keys)}
    raw_item_cells: defaultdict[int, dict[str, str | float]] = defaultdict(dict)
    wrong_items: defaultdict[int, set[str]] = defaultdict(set)
    for position in wrong.keys() | raw_cells.keys():
        contents = raw_cells.get(position, {})
        for name in {*wrong.get(position, ()), *contents}:
            item = parse_item_column(name)
            if item is None or item[0] != items.resource.sheet or (position, item[1]) not in rows:
                continue
            row = rows[position, item[1]]
            if name in wrong.get(position, ()):
                wrong_items[row].add(item[2])
            if name in contents:
                raw_item_cells[row][item[2]] = contents[name]
    item_messages = [messages[position] for position, _ in items.item_keys]
    return RejectedRows(items.resource, items.frame, item_messages, raw_item_cells, wrong_items)


def _write_doubt_page(context: UploadContext, job: Job, target: Path) -> None:
    from xlbridge.upload.payload import sent_rows

    if job.spec.mode.channel.of_listing:
        sent: Sequence[RowValues] = [
            {"id": write.task.record} for write in context.journal.writes.load(job.id)
        ]
    else:
        sent = sent_rows(context, job)
    journal = context.journal
    outcomes = journal.changes.outcomes(job.id)
    report = doubt_report(job, outcomes, sent, journal.snapshots.all_of(job.id))
    ReportForms.of_report(lambda: report).write("html", target)


def job_report(journal: Journal, job: Job, resource: Resource | None = None) -> Report:
    """Return the report of an upload, an undo or a processing; with its ``resource`` for a page."""
    if job.spec.mode.channel.of_listing:
        # The modules for processing are rarely needed, and slow to import.
        from xlbridge.upload.processing.report import process_report

        return process_report(journal, job)
    if job.spec.undo_of is not None:
        return undo_report(journal, job)
    return upload_report(journal, job, resource)


def job_document(journal: Journal, job: Job) -> dict[str, Any]:
    """Return the report of an upload, an undo or a processing as JSON."""
    if job.spec.mode.channel.of_listing:
        from xlbridge.upload.processing.report import process_json

        return process_json(journal, job)
    return job_json(journal, job) if job.spec.undo_of is None else undo_json(journal, job)
