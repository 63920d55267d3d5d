"""Evidence of an upload: the rejects workbook, and the page of an upload in doubt."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import make_private_folder, replace_atomically
from xlbridge.resources import Mode, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.doubt_page import doubt_page
from xlbridge.upload.job import REJECTS_INFIX, Job, State
from xlbridge.upload.row_plan import PlannedRow, RowAction, RowReason
from xlbridge.upload.verdict import REJECTED_AS_A_WHOLE

if TYPE_CHECKING:
    from xlbridge.upload.child_rows import ChildRows
    from xlbridge.upload.lookup.row_lookup import RowValues
    from xlbridge.workbook.write import RejectedItems

_ENDED = frozenset({State.DONE, State.PARTIAL, State.REJECTED, State.NEEDS_PERSON})


def ensure_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence that a job should have and has not, and return the job as it is then.

    Where rows were rejected that is their workbook; where a person must decide, a page to decide
    from. Both go beside the analyst's file, or into the home folder where that is not possible.
    """
    journal = context.journal
    for part in journal.parts_of(job):
        ensure_evidence(context, part)
    if _lacks_page(job):
        written = _write_beside(context, job, "em-duvida", ".html", _write_doubt_page)
        job = journal.record(job, job.state, evidence_file=str(written))
    if _lacks_rejects(job):
        written = _write_beside(context, job, REJECTS_INFIX, ".xlsx", _write_rejects_workbook)
        job = journal.record(job, job.state, rejects_file=str(written))
    return job


def ensure_sheet_evidence(context: UploadContext, job: Job) -> Job:
    """Write the evidence of a job, and of the whole sheet that it is a part of; return the job."""
    ensure_evidence(context, context.journal.job(job.parent or job.id))
    return context.journal.job(job.id)


def _lacks_page(job: Job) -> bool:
    """Tell whether a person must decide and has no page to decide from."""
    doubtful = job.state is State.NEEDS_PERSON and not job.parts
    return doubtful and not _file_exists(job, "evidence_file")


def _lacks_rejects(job: Job) -> bool:
    """Tell whether rows were rejected and are in no workbook to be corrected."""
    if job.parent is not None or job.what.mode in {Mode.UNDO, Mode.PROCESS}:
        return False
    rejected = job.state in {State.PARTIAL, State.REJECTED} or (
        job.state is State.NEEDS_PERSON and bool(job.verdict.rejected_rows)
    )
    held = job.state in _ENDED and job.held > 0
    return (rejected or held) and not _file_exists(job, "rejects_file")


def _file_exists(job: Job, key: str) -> bool:
    written = job.last(key)
    return written is not None and Path(written).exists()


def _write_beside(
    context: UploadContext,
    job: Job,
    infix: str,
    suffix: str,
    write: Callable[[UploadContext, Job, Path], None],
) -> Path:
    """Write a file beside the analyst's, or into the home folder; return where it is."""
    # Records that were given by their numbers stand in no file.
    file = Path(job.what.file or context.settings.home / "evidence" / job.what.resource)
    target = file.with_name(f"{file.stem}-{infix}-{job.id}{suffix}")
    try:
        write(context, job, target)
    except (UsageError, LocalFailure):
        target = context.settings.home / "evidence" / target.name
        make_private_folder(target.parent)
        write(context, job, target)
    return target


def _write_rejects_workbook(context: UploadContext, job: Job, target: Path) -> None:
    """Write the rejected rows of a job to ``target``, in the layout of the template.

    Where the whole sheet was rejected, rows without an error of their own are in it too: they were
    not applied either. Raises ``UsageError`` when the file cannot be written.
    """
    # What reads and writes workbooks takes its time to import, and is hardly ever needed here.
    from xlbridge.upload.child_rows import child_rows
    from xlbridge.upload.payload import frame_of_payload
    from xlbridge.workbook.write import write_rejects

    resource = context.catalogue.named(job.what.resource)
    frame = frame_of_payload(context, resource, job.what.planned or job.what.payload)
    planned = context.journal.plan_of(job)
    numbers = [row.row for row in planned] or list(job.what.rows)
    reasons = _reasons(job, planned)
    positions = [at for at, row in enumerate(numbers) if row in reasons]
    rejected = frame.iloc[positions].reset_index(drop=True)
    told = [reasons[numbers[at]] for at in positions]
    own = {
        place: planned[at].own for place, at in enumerate(positions) if planned and planned[at].own
    }
    wrong = _wrong_columns(resource, job, planned, [numbers[at] for at in positions])
    write_rejects(
        target,
        resource,
        rejected,
        [numbers[at] for at in positions],
        told,
        own,
        wrong,
        [_rejected_items(items, told, own, wrong) for items in child_rows(resource, rejected)],
    )


def _rejected_items(
    items: "ChildRows",
    reasons: Sequence[str],
    own: Mapping[int, Mapping[str, str | float]],
    wrong: Mapping[int, Collection[str]],
) -> "RejectedItems":
    """Return the rows of a list with what is told of their cells among those of the records."""
    from xlbridge.upload.child_rows import parse_item_column
    from xlbridge.workbook.write import RejectedItems

    at = {place: row for row, place in enumerate(items.places)}
    own_items: defaultdict[int, dict[str, str | float]] = defaultdict(dict)
    wrong_items: defaultdict[int, set[str]] = defaultdict(set)
    for position, names in wrong.items():
        for name in names:
            item = parse_item_column(name)
            if item is None or item[0] != items.resource.sheet or (position, item[1]) not in at:
                continue
            row = at[position, item[1]]
            wrong_items[row].add(item[2])
            if name in own.get(position, ()):
                own_items[row][item[2]] = own[position][name]
    told = [reasons[position] for position, _ in items.places]
    return RejectedItems(items.resource, items.frame, told, own_items, wrong_items)


def _wrong_columns(
    resource: Resource, job: Job, planned: Sequence[PlannedRow], rows: Sequence[int]
) -> dict[int, set[str]]:
    """Return the columns for which rows were rejected, or whose cells hold what cannot be sent, by
    their places among ``rows``."""
    from xlbridge.upload.child_rows import parse_item_column

    of_row: defaultdict[int, set[str]] = defaultdict(set)
    for rejected in job.verdict.rejected_rows:
        column = rejected.column
        if rejected.row is None or column is None:
            continue
        if column in resource.by_name or parse_item_column(column):
            of_row[rejected.row].add(column)
    for row in planned:
        of_row[row.row].update(row.own or ())
    return {place: of_row[row] for place, row in enumerate(rows) if of_row[row]}


def _reasons(job: Job, planned: Sequence[PlannedRow]) -> dict[int, str]:
    """Return why each row was not applied: rejected, or held; what is no record is left out."""
    reasons = job.verdict.reasons
    if job.state is State.REJECTED:
        reasons = {row: reasons.get(row, str(REJECTED_AS_A_WHOLE)) for row in job.what.rows}
    held = {
        row.row: str(row.text)
        for row in planned
        if row.action is RowAction.HELD and row.reason is not RowReason.NO_RECORD
    }
    return {**held, **reasons}


def _write_doubt_page(context: UploadContext, job: Job, target: Path) -> None:
    from xlbridge.upload.payload import sent_rows

    if job.what.mode is Mode.PROCESS:
        sent: list[RowValues] = [
            {"id": write.task.record} for write in context.journal.writes.of(job.id)
        ]
    else:
        sent = sent_rows(context, job)
    page = doubt_page(job, sent, context.journal.snapshots(job.id))
    with replace_atomically(target) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
