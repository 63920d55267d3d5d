"""The living copy: the analyst's own workbook with each row's state, reason and remote code."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from xlbridge.api.client import Client
from xlbridge.errors import ApiError, UsageError
from xlbridge.i18n import Text
from xlbridge.upload.desk import Desk
from xlbridge.upload.fates import Fate, row_fates
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import State
from xlbridge.upload.payload import file_hash, payload_frame
from xlbridge.upload.reading import (
    Reading,
    RowReading,
    as_json,
    from_json,
    rows_of,
)
from xlbridge.upload.report import verdict_of
from xlbridge.upload.steps.looking import BEFORE
from xlbridge.upload.verdict import WHOLE_REFUSED
from xlbridge.upload.whole_reading import read_rows
from xlbridge.validation.headers.header import find_header_row, normalise
from xlbridge.workbook.changing.beside import write_beside
from xlbridge.workbook.reading.reader import read_workbook
from xlbridge.workbook.signature import LIVING_COLUMNS

CODES = "codes"
"""The moment of a reading that was made to learn the codes of what was accepted."""

_ACCEPTED = Text(pt="aceita", en="accepted")
_REJECTED = Text(pt="rejeitada", en="rejected")
_NOT_APPLIED = Text(pt="não gravada", en="not written")
_IN_DOUBT = Text(pt="em dúvida", en="in doubt")
_NOT_SENT = Text(pt="não enviada", en="not sent")


@dataclass(frozen=True, slots=True)
class RowRemark:
    """What stands beside a row."""

    state: Text
    reason: str = ""
    code: str = ""


def read_codes(desk: Desk, client: Client, job: Job) -> None:
    """Ask the system for the codes of the accepted rows, and keep them in the journal.

    Nothing is asked for rows that cannot be found again, or when it would take too many requests;
    a system that does not answer leaves the codes out: the upload itself is over.
    """
    for part in desk.journal.parts_of(job) or [job]:
        resource = desk.catalogue.named(part.what.resource)
        rows = rows_of(payload_frame(desk.settings.payloads, part.what.payload, resource))
        if part.state not in {State.DONE, State.PARTIAL}:
            continue
        try:
            reading, _ = read_rows(client, resource, rows)
        except ApiError:
            continue
        if any(reading):
            desk.journal.keep_reading(part, CODES, as_json(reading))


def write_living_copy(desk: Desk, job: Job, target: Path) -> None:
    """Write the copy of the analyst's workbook, each row with what became of it.

    Raises ``UsageError`` when the workbook is gone or was changed since it was sent, or the copy
    cannot be written; ``WorkbookRefused`` when it cannot be copied.
    """
    source = Path(job.what.file)
    _require_unchanged(job, source)
    resource = desk.catalogue.named(job.what.resource)
    (cells,) = read_workbook(source, desk.settings.limits, job.what.sheet).sheets
    header = find_header_row(cells, resource)
    if header is None:
        raise AssertionError(f"{source} has lost its header")
    names = [normalise(cell) for cell in cells.row(header)]
    first = normalise(LIVING_COLUMNS[0])
    known_at = cells.first_column + names.index(first) if first in names else None
    remarks = {
        row: (str(remark.state), remark.reason, remark.code)
        for row, remark in row_remarks(desk, job).items()
    }
    write_beside(source, target, job.what.sheet, header + 1, LIVING_COLUMNS, remarks, known_at)


def row_remarks(desk: Desk, job: Job) -> dict[int, RowRemark]:
    """Return what became of each row of a job, by Excel's row number."""
    remarks: dict[int, RowRemark] = {}
    for part in desk.journal.parts_of(job) or [job]:
        remarks |= _of_part(desk, part)
    return remarks


def _of_part(desk: Desk, job: Job) -> dict[int, RowRemark]:
    verdict = verdict_of(job)
    reasons: dict[int, list[str]] = defaultdict(list)
    for refused in verdict.rejected_rows:
        if refused.row is not None:
            column = f"{refused.column}: " if refused.column else ""
            reasons[refused.row].append(f"{column}{refused.message}")
    codes = _codes(desk, job)
    remarks = {}
    for row, fate in zip(job.what.rows, row_fates(job), strict=True):
        match fate:
            case Fate.REJECTED:
                remarks[row] = RowRemark(_REJECTED, "; ".join(reasons[row]))
            case Fate.NOT_WRITTEN if job.state is State.REJECTED:
                remarks[row] = RowRemark(_NOT_APPLIED, str(WHOLE_REFUSED))
            case Fate.NOT_WRITTEN | Fate.UNSENT:
                remarks[row] = RowRemark(_NOT_SENT, _why(job))
            case Fate.ACCEPTED:
                remarks[row] = RowRemark(_ACCEPTED, code=codes.get(row, ""))
            case Fate.UNKNOWN:
                remarks[row] = RowRemark(_IN_DOUBT, _why(job))
    return remarks


def _why(job: Job) -> str:
    return "" if job.last("reason") is None else str(job.reason)


def _codes(desk: Desk, job: Job) -> dict[int, str]:
    """Return the codes of the rows' records; of several that say the same, the new ones."""
    readings = [(moment, rows) for _, moment, rows in desk.journal.readings(job.id)]
    after = next((rows for moment, rows in reversed(readings) if moment != BEFORE), None)
    before = next((rows for moment, rows in reversed(readings) if moment == BEFORE), None)
    if after is None:
        return {}
    now: Reading = from_json(after)
    was: Reading = from_json(before) if before else (None,) * len(now)
    taken: set[str] = set()
    codes = {}
    for row, there, earlier in zip(job.what.rows, now, was, strict=True):
        code = _code(there, earlier, taken)
        if code is not None:
            taken.add(code)
            codes[row] = code
    return codes


def _code(there: RowReading | None, earlier: RowReading | None, taken: set[str]) -> str | None:
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
