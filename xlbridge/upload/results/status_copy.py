"""Status of each row that was sent and the code of its record: in a copy of the analyst's workbook,
and by the values of a column, for later sheets that link to the records.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from xlbridge.client import Client
from xlbridge.errors import ApiError, UsageError
from xlbridge.files import matching_files
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Kind
from xlbridge.resources.findings import Severity
from xlbridge.resources.references import SheetLink, registry_named
from xlbridge.titles import row_text, sheet_row
from xlbridge.upload.claims import ClaimScope, Patience
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import NO_POSITION, Job, file_hash
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, read_snapshot
from xlbridge.upload.lookup.links import texts_of_column
from xlbridge.upload.lookup.snapshot import Moment, RecordMatching, Snapshot
from xlbridge.upload.payload import sent_rows
from xlbridge.upload.requests import ItemAddresses, RowOutcome, State
from xlbridge.upload.results.control_totals import (
    ControlTotals,
    UploadRows,
    sentence,
    upload_summary,
)
from xlbridge.upload.results.row_ledger import RowChange, RowLedger
from xlbridge.validation.cells import display
from xlbridge.validation.header_row import find_header_row, header_key, key_column
from xlbridge.validation.sheet_choice import child_cells
from xlbridge.workbook import STATUS_COLUMNS, WorkbookOrigin, cell_address
from xlbridge.workbook.read import CellColumn, SheetCells, read_workbook

if TYPE_CHECKING:
    import pandas as pd

    from xlbridge.workbook.edit import OpenRow, RemarkColumns


_SEVERITIES: Mapping[RowOutcome, Severity] = {
    RowOutcome.REJECTED: Severity.ERROR,
    RowOutcome.NOT_WRITTEN: Severity.ERROR,
    RowOutcome.UNKNOWN: Severity.WARNING,
    RowOutcome.HELD: Severity.WARNING,
    RowOutcome.UNDONE: Severity.WARNING,
}
"""Severities that colour rows."""

_WORST_FIRST = [*_SEVERITIES, *(one for one in RowOutcome if one not in _SEVERITIES)]


_NOTHING: Mapping[Any, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RowStatus:
    """Status of a row: what became of it, the reason, and the code of its record."""

    outcome: RowOutcome
    reason: str = ""
    code: str = ""


def write_status_copy(
    context: UploadContext, job: Job, target: Path, client: Client | None = None
) -> None:
    """Write a copy of the analyst's workbook with the status of each row.

    With a ``client`` the codes of the accepted rows are read first. Raises ``UsageError`` if the
    workbook is missing or was changed since it was sent, or the copy cannot be written;
    ``WorkbookRefused`` if it cannot be copied.
    """
    if client is not None:
        for attempt in RowLedger.of(context.journal, job).attempts:
            store_remote_codes(context, client, attempt)
    source = Path(job.spec.file)
    job.require_unchanged()
    # Imported here, as they load lxml and xlsxwriter.
    from xlbridge.workbook.edit import write_remark_columns
    from xlbridge.workbook.write import as_xlsx

    with as_xlsx(source, [job.spec.sheet], context.settings.limits) as workbook:
        sent = UploadRows.of(context, job)
        sheets, open_rows = _remarks(context, job, sent)
        summary = upload_summary(context, job, sent, target, client)
        origin, carried = job.origin_of_file(copy=True), WorkbookOrigin.of(source)
        if carried is not None and carried.system:
            # Its record numbers stay those of the system that it was exported from.
            origin = replace(origin, system=carried.system)
        write_remark_columns(workbook, target, sheets, origin, summary, open_rows)


def _remarks(
    context: UploadContext, job: Job, sent: UploadRows
) -> "tuple[list[RemarkColumns], list[OpenRow]]":
    """Return the status columns of the main sheet and of its child sheets, and the open rows."""
    source, limits, resource = Path(job.spec.file), context.settings.limits, sent.resource
    (main,) = read_workbook(source, limits, job.spec.sheet).sheets
    statuses = _by_row(row_statuses(context, job))
    header = find_header_row(main, resource)
    if header is None:
        # A foreign one is the last filled row above the others.
        above = range(min(statuses) - 2, 0, -1)
        filled = (row for row in above if any(value != "" for value in main.row(row)))
        header = next(filled, 0)
    # Items in the main sheet have the status of their record.
    lists = job.items.values()
    in_main = [items.rows for items in lists if items.sheet == main.name]
    of_items = {
        item: statuses[row]
        for rows in in_main
        for row, items in rows.items()
        if row in statuses
        for item in items
    }
    to_do = {sheet_row(record): text for record, (_, text) in sent.reasons.items()}
    positions = [at for at in job.spec.columns.values() if at != NO_POSITION]
    left = min(positions, default=main.first_column)
    wrong: defaultdict[str, dict[str, Severity]] = defaultdict(dict)
    notes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    places: dict[int, tuple[str, str]] = {}
    texts = {
        row: "\n".join(filter(None, (status.reason, to_do.get(row))))
        for row, status in sorted(statuses.items())
        if status.outcome in _SEVERITIES and status.outcome is not RowOutcome.UNDONE
    }
    for record, names in sent.wrong.items():
        row = sheet_row(record)
        for name in names if row in texts else ():
            cell = ItemAddresses.find(job.items, record, name) or job.spec.cell(record, name)
            if cell is not None:
                sheet, _, address = cell.rpartition("!")
                sheet = sheet or main.name
                notes[sheet][address] = texts[row]
                wrong[sheet][address] = _SEVERITIES[statuses[row].outcome]
                places.setdefault(row, (sheet, address))
    for row, text in texts.items():
        first = cell_address(row, left)
        notes[main.name].setdefault(first, text)
        places.setdefault(row, (main.name, first))
    open_rows = list(_open_rows(sent, statuses, to_do, places))
    columns = [
        _status_columns(
            *(main, header, of_items | statuses),
            *(wrong[main.name], notes[main.name], to_do),
        )
    ]
    position = job.spec.columns.get(KEY, NO_POSITION)
    if position == NO_POSITION or in_main:
        return columns, open_rows
    keys = _keys_in(main.columns[position - main.first_column], statuses)
    by_key = {key: statuses[row] for row, key in keys}
    for child, cells in child_cells(read_workbook(source, limits).sheets, main.name, resource):
        if (header := find_header_row(cells, child)) is None:
            continue
        rows = range(header + 2, cells.height + 1)
        column = key_column(cells, header, child)
        if column is not None:
            item_keys = _keys_in(column, rows)
            item_statuses = {row: by_key[key] for row, key in item_keys if key in by_key}
        else:
            # The key of an exported listing is made of its numbers.
            items_of = [items.rows for items in lists if items.sheet == cells.name]
            item_statuses = {
                item: statuses[row]
                for of_record in items_of
                for row, items in of_record.items()
                if row in statuses
                for item in items
            }
        marks = wrong[cells.name], notes[cells.name]
        columns.append(_status_columns(cells, header, item_statuses, *marks))
    return columns, open_rows


def _open_rows(
    sent: UploadRows,
    statuses: Mapping[int, RowStatus],
    to_do: Mapping[int, str],
    places: Mapping[int, tuple[str, str]],
) -> "Iterator[OpenRow]":
    """Yield the rows that have ``places`` to correct, with a key and a text of their records."""
    from xlbridge.workbook.edit import OpenRow

    totals = ControlTotals(sent.resource, sent.numbers, sent.frame)
    records: defaultdict[int, list[int]] = defaultdict(list)
    for at, record in enumerate(sent.numbers):
        records[sheet_row(record)].append(at)
    texts = [one.name for one in sent.resource.columns if one.kind is Kind.TEXT]
    for row, place in sorted(places.items()):
        status, found = statuses[row], records[row]
        named = [
            next((it for name in names if (it := _text_in(sent.frame, found, name))), "")
            for names in ((KEY, *sent.resource.natural_keys), texts)
        ]
        yield OpenRow(
            *(*place, str(status.outcome.text), status.reason, to_do.get(row, "")),
            " · ".join(dict.fromkeys(filter(None, named))),
            totals.of_rows(sent.numbers[at] for at in found),
        )


def _text_in(frame: "pd.DataFrame", positions: Sequence[int], name: str) -> str:
    """Return the text of a row's first record in a column, empty without one."""
    found = frame[name].iloc[list(positions[:1])].dropna().tolist() if name in frame else []
    return str(found[0]) if found else ""


def _by_row(statuses: Mapping[int, RowStatus]) -> dict[int, RowStatus]:
    """Return one status for each row of a sheet: that of its record, or the worst of several with
    their reasons and codes."""
    found: defaultdict[int, dict[int, RowStatus]] = defaultdict(dict)
    for record, status in statuses.items():
        found[sheet_row(record)][record] = status
    joined = {}
    for row, of_row in found.items():
        worst = min(of_row.values(), key=lambda status: _WORST_FIRST.index(status.outcome))
        reasons = [
            f"{row_text(record)}: {status.reason}"
            for record, status in of_row.items()
            if status.reason
        ]
        codes = " · ".join(status.code for status in of_row.values() if status.code)
        is_one = len(of_row) == 1
        joined[row] = worst if is_one else RowStatus(worst.outcome, "; ".join(reasons), codes)
    return joined


def _status_columns(
    cells: SheetCells,
    header: int,
    statuses: Mapping[int, RowStatus],
    wrong: Mapping[str, Severity],
    notes: Mapping[str, str],
    to_do: Mapping[int, str] = _NOTHING,
) -> "RemarkColumns":
    """Return the status columns of a sheet; ``header`` is the zero-based header row.

    ``wrong`` are the cells to correct and ``notes`` those of cells, by address; ``to_do`` has what
    to do in rows that are open.
    """
    from xlbridge.workbook.edit import RemarkColumns

    names = [header_key(cell) for cell in cells.row(header)]
    first = {header_key(STATUS_COLUMNS[0].pt), header_key(STATUS_COLUMNS[0].en)}
    earlier = next((index for index, name in enumerate(names) if name in first), None)
    return RemarkColumns(
        cells.name,
        header + 1,
        list(map(str, STATUS_COLUMNS)),
        {
            row: (
                str(status.outcome.text),
                status.reason,
                to_do.get(row, "") if status.outcome in _SEVERITIES else "",
                status.code,
            )
            for row, status in statuses.items()
        },
        None if earlier is None else cells.first_column + earlier,
        {
            row: _SEVERITIES[status.outcome]
            for row, status in statuses.items()
            if status.outcome in _SEVERITIES
        },
        wrong,
        notes,
    )


def _keys_in(column: CellColumn, rows: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield those of the given rows, Excel's numbers, that have a key, and the key."""
    for row in rows:
        if key := display(column.value(row - 1)).strip():
            yield row, key


def store_remote_codes(context: UploadContext, client: Client, job: Job) -> None:
    """Look up the codes of the accepted rows, and store them in the journal.

    Codes are left out for rows without a key, if too many requests would be needed, or if the
    system does not answer, since the upload itself is finished.
    """
    for part in context.journal.requests_of(job):
        known = context.journal.assigned_codes(part)
        accepted = context.journal.changes.outcomes(part.id).count(RowOutcome.ACCEPTED)
        if part.state not in {State.DONE, State.PARTIAL} or len(known) == accepted:
            continue
        try:
            snapshot = _records_written(context, client, part)
        except ApiError:
            continue
        if any(snapshot):
            context.journal.snapshots.store(part.id, Moment.CODES, snapshot)


def _records_written(context: UploadContext, client: Client, job: Job) -> Snapshot:
    """Return the records of a job's rows; what was just written is awaited."""
    resource, rows = context.catalogue.named(job.spec.resource), sent_rows(context, job)
    patience, outcomes = context.patience_with(client), context.journal.changes.outcomes(job.id)
    is_recent = job.id in context.own_writes(job.spec.scope, patience).jobs

    def shows_all(found: Snapshot) -> bool:
        return not is_recent or not any(
            one is not None and not one.found and outcome is RowOutcome.ACCEPTED
            for one, outcome in zip(found, outcomes, strict=True)
        )

    return patience.read_until(
        lambda: read_snapshot(client, resource, rows, MAX_REQUESTS), shows_all
    )


def row_statuses(context: UploadContext, job: Job) -> dict[int, RowStatus]:
    """Return the status of each row of a job as it is now, by Excel's row number in its sheet."""
    ledger, resource = (
        RowLedger.of(context.journal, job),
        context.catalogue.named(job.spec.resource),
    )
    codes = _CodesByJob(context)
    if job.notes.titles:
        resource = resource.titled_as(job.notes.titles)

    def reason(change: RowChange) -> str:
        if change.planned is not None:
            return sentence(change.planned.why_text(resource.by_path))
        return str(ledger.reason(change) or "")

    return {
        row: RowStatus(change.outcome, resource.with_titles(reason(change)), codes.of(change))
        for row, change in ledger.rows_of(job).items()
        if change.is_record
    }


def codes_of_sheet(context: UploadContext, job: Job) -> list[str]:
    """Return the codes of the records of a sheet, rows added in retries included."""
    codes = _CodesByJob(context)
    found = map(codes.of, RowLedger.of(context.journal, job).now.values())
    return list(filter(None, found))


class _CodesByJob:
    """Codes of the records of rows, read from the journal once for each job."""

    def __init__(self, context: UploadContext) -> None:
        self._context = context
        self._codes: dict[str, dict[int, str]] = {}

    def of(self, change: RowChange) -> str:
        """Return the code of a row's record, empty if it has none or that is unknown."""
        if change.planned is not None:
            return change.planned.record or ""
        if not change.in_system:
            return ""
        job = change.job
        if job.id not in self._codes:
            self._codes[job.id] = _remote_codes(self._context, job)
        return self._codes[job.id].get(change.row, "")


def _remote_codes(context: UploadContext, job: Job) -> dict[int, str]:
    """Return the codes of the rows' records; among identical records, preferably new ones."""
    codes = context.journal.assigned_codes(job)
    if len(codes) == len(job.spec.rows):
        return codes
    after = context.journal.snapshots.newest(job.id, Moment.AFTER, Moment.CODES)
    if after is None:
        return codes
    before = context.journal.snapshots.newest_of(len(after), job.id, Moment.BEFORE)
    found = {
        row: [record for record in now.found if record.same]
        for row, now in zip(job.spec.rows, after, strict=True)
        if now is not None and row not in codes
    }
    old = {
        row: {record.code for record in earlier.found}
        for row, earlier in zip(job.spec.rows, before, strict=True)
        if earlier is not None
    }
    matching = RecordMatching(found, set(codes.values()))
    matching.match(lambda row, record: int(record.code in old.get(row, ())))
    for row, records in found.items():
        # Rows that replaced one another share a record.
        if records:
            codes[row] = (matching.record(row) or records[0]).code
    return codes


class SheetCodes:
    """Codes of the records of sheets that were sent to one system; each file is read once."""

    def __init__(self, context: UploadContext, client: Client) -> None:
        self._context = context
        self._client = client
        self._codes: dict[tuple[Path, str, str], list[tuple[str, str]]] = {}

    def of(self, link: SheetLink) -> Mapping[str, str]:
        """Return the codes of a sheet's records by the values of one of its columns.

        Values shared by several records are left out. Raises ``UsageError`` if the sheet was never
        sent or has no such column; ``WorkbookRefused`` if it cannot be read.
        """
        found: dict[str, set[str]] = {}
        files = [(file, file_hash(file)) for file in matching_files(Path(), str(link.file))]
        own = [one for one in self._context.journal.jobs() if one.spec.undo_of is None]
        here = [job for job in own if job.spec.system == self._client.identity]
        sent = [
            (file, sha, [job for job in here if job.notes.file_hash == sha]) for file, sha in files
        ]
        if not any(jobs for _, _, jobs in sent):
            raise UsageError(_NEVER_SENT.format(file=link.file), _SEND_FIRST)
        for file, digest, jobs in sent:
            key = file, link.column, digest
            if key not in self._codes:
                self._codes[key] = self._read(file, link.column, jobs)
            for value, code in self._codes[key]:
                found.setdefault(value, set()).add(code)
        return {value: codes.pop() for value, codes in found.items() if len(codes) == 1}

    def patience(self, registry: str) -> Patience:
        """Return how long records of a registry are awaited: not if none was just written."""
        context, client = self._context, self._client
        patience = context.patience_with(client)
        scopes = (
            ClaimScope(client.identity, resource.name)
            for resource in context.catalogue.values()
            if registry_named(resource.name) == registry
        )
        writes = (context.own_writes(scope, patience) for scope in scopes)
        return patience if any(own.jobs for own in writes) else Patience(0)

    def _read(self, file: Path, column: str, jobs: Sequence[Job]) -> list[tuple[str, str]]:
        """Return the values of a sheet's column, each with the code of its row's record."""
        if not jobs:
            return []
        context, spec = self._context, jobs[0].spec
        resource, limits = context.catalogue.named(spec.resource), context.settings.limits
        texts = texts_of_column(file, spec.sheet, column, limits, resource)
        if texts is None:
            raise UsageError(_NO_COLUMN.format(file=file, column=column))
        values, found = texts[1], []
        # Newest first, since an older job may only have found what the newer one wrote.
        for job in jobs:
            for attempt in RowLedger.of(context.journal, job).attempts:
                store_remote_codes(context, self._client, attempt)
            for row, status in row_statuses(context, job).items():
                if status.code and row in values:
                    found.append((values.pop(row), status.code))
        return found


_NEVER_SENT = Text(
    pt="{file} não foi enviado a este sistema, ou mudou desde então: os códigos dos seus registros "
    "não são conhecidos.",
    en="{file} was not uploaded to this system, or has changed since: the codes of its records are "
    "unknown.",
)
_SEND_FIRST = Text(
    pt="Envie primeiro essa planilha, como está.", en="Upload that sheet first, as it is."
)
_NO_COLUMN = Text(pt="{file} não tem a coluna {column}.", en="{file} has no column {column}.")
