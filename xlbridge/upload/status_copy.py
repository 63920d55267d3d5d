"""Status copy: the analyst's own workbook with the status, reason and remote code of each row."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from xlbridge.client import Client
from xlbridge.errors import ApiError, UsageError
from xlbridge.i18n import Text
from xlbridge.upload.bulk_lookup import look_up_rows
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.payload import file_hash, sent_rows
from xlbridge.upload.snapshot import (
    BEFORE,
    CODES,
    RowSnapshot,
    Snapshot,
    snapshot_from_json,
    snapshot_to_json,
)
from xlbridge.upload.verdict import REJECTED_AS_A_WHOLE, RowOutcome, row_outcomes, verdict_of
from xlbridge.validation import find_header_row, normalise_header
from xlbridge.workbook import STATUS_COLUMNS
from xlbridge.workbook.edit import write_remark_columns
from xlbridge.workbook.read import read_workbook

_ACCEPTED = Text(pt="aceita", en="accepted")
_REJECTED = Text(pt="rejeitada", en="rejected")
_NOT_WRITTEN = Text(pt="não gravada", en="not written")
_IN_DOUBT = Text(pt="em dúvida", en="in doubt")
_NOT_SENT = Text(pt="não enviada", en="not sent")


@dataclass(frozen=True, slots=True)
class RowStatus:
    """What stands beside a row."""

    state: Text
    reason: str = ""
    code: str = ""


def store_remote_codes(context: UploadContext, client: Client, job: Job) -> None:
    """Ask the system for the codes of the accepted rows, and keep them in the journal.

    Nothing is asked for rows that cannot be found again, or when it would take too many requests;
    a system that does not answer leaves the codes out: the upload itself is over.
    """
    for part in context.journal.parts_of(job) or [job]:
        if part.state not in {State.DONE, State.PARTIAL}:
            continue
        resource = context.catalogue.named(part.what.resource)
        try:
            snapshot, _ = look_up_rows(client, resource, sent_rows(context, part))
        except ApiError:
            continue
        if any(snapshot):
            context.journal.store_snapshot(part, CODES, snapshot_to_json(snapshot))


def write_status_copy(context: UploadContext, job: Job, target: Path) -> None:
    """Write the copy of the analyst's workbook, each row with what became of it.

    Raises ``UsageError`` when the workbook is gone or was changed since it was sent, or the copy
    cannot be written; ``WorkbookRefused`` when it cannot be copied.
    """
    source = Path(job.what.file)
    _require_unchanged(job, source)
    resource = context.catalogue.named(job.what.resource)
    (cells,) = read_workbook(source, context.settings.limits, job.what.sheet).sheets
    header = find_header_row(cells, resource)
    if header is None:
        raise AssertionError(f"{source} has lost its header")
    names = [normalise_header(cell) for cell in cells.row(header)]
    first = normalise_header(STATUS_COLUMNS[0])
    known_at = cells.first_column + names.index(first) if first in names else None
    remarks = {
        row: (str(remark.state), remark.reason, remark.code)
        for row, remark in row_statuses(context, job).items()
    }
    write_remark_columns(
        source, target, job.what.sheet, header + 1, STATUS_COLUMNS, remarks, known_at
    )


def row_statuses(context: UploadContext, job: Job) -> dict[int, RowStatus]:
    """Return what became of each row of a job, by Excel's row number."""
    remarks: dict[int, RowStatus] = {}
    for part in context.journal.parts_of(job) or [job]:
        remarks |= _statuses_of_part(context, part)
    return remarks


def _statuses_of_part(context: UploadContext, job: Job) -> dict[int, RowStatus]:
    verdict = verdict_of(job)
    reasons: dict[int, list[str]] = defaultdict(list)
    for refused in verdict.rejected_rows:
        if refused.row is not None:
            column = f"{refused.column}: " if refused.column else ""
            reasons[refused.row].append(f"{column}{refused.message}")
    codes = _remote_codes(context, job)
    remarks = {}
    for row, fate in zip(job.what.rows, row_outcomes(job), strict=True):
        match fate:
            case RowOutcome.REJECTED:
                remarks[row] = RowStatus(_REJECTED, "; ".join(reasons[row]))
            case RowOutcome.NOT_WRITTEN if job.state is State.REJECTED:
                remarks[row] = RowStatus(_NOT_WRITTEN, str(REJECTED_AS_A_WHOLE))
            case RowOutcome.NOT_WRITTEN | RowOutcome.UNSENT:
                remarks[row] = RowStatus(_NOT_SENT, _reason_text(job))
            case RowOutcome.ACCEPTED:
                remarks[row] = RowStatus(_ACCEPTED, code=codes.get(row, ""))
            case RowOutcome.UNKNOWN:
                remarks[row] = RowStatus(_IN_DOUBT, _reason_text(job))
    return remarks


def _reason_text(job: Job) -> str:
    return "" if job.last("reason") is None else str(job.reason)


def _remote_codes(context: UploadContext, job: Job) -> dict[int, str]:
    """Return the codes of the rows' records; of several that say the same, the new ones."""
    readings = [(moment, rows) for _, moment, rows in context.journal.snapshots(job.id)]
    after = next((rows for moment, rows in reversed(readings) if moment != BEFORE), None)
    before = next((rows for moment, rows in reversed(readings) if moment == BEFORE), None)
    if after is None:
        return {}
    now: Snapshot = snapshot_from_json(after)
    was: Snapshot = snapshot_from_json(before) if before else (None,) * len(now)
    taken: set[str] = set()
    codes = {}
    for row, there, earlier in zip(job.what.rows, now, was, strict=True):
        code = _remote_code(there, earlier, taken)
        if code is not None:
            taken.add(code)
            codes[row] = code
    return codes


def _remote_code(
    there: RowSnapshot | None, earlier: RowSnapshot | None, taken: set[str]
) -> str | None:
    if there is None:
        return None
    old = {record.code for record in earlier.found} if earlier else set()
    same = [record.code for record in there.found if record.same]
    fresh = [code for code in same if code not in old and code not in taken]
    return next(iter([*fresh, *same]), None)


def _require_unchanged(job: Job, source: Path) -> None:
    known = job.events[0].detail.get("file_hash")
    if known is not None and source.is_file() and file_hash(source) == known:
        return
    raise UsageError(
        Text(
            pt="{file} não é mais o arquivo que foi enviado; as linhas podem ser outras.",
            en="{file} is no longer the file that was sent; its rows may be others.",
        ).format(file=source),
        Text(
            pt="A situação de cada linha: xlbridge jobs {job}",
            en="What became of each row: xlbridge jobs {job}",
        ).format(job=job.id),
    )
