"""Rows of an upload that can be reversed, and those that cannot, with the reason.

A record is reversed only if its current values are those that the upload wrote. See the upload
protocol, Undo.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xlbridge.client import Client
from xlbridge.resources import Kind, Mode, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import look_up_rows
from xlbridge.upload.lookup.row_lookup import RowMatcher
from xlbridge.upload.lookup.row_table import RowValues
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    FoundRecord,
    Moment,
    RowSnapshot,
    Snapshot,
)
from xlbridge.upload.payload import sent_rows
from xlbridge.upload.results.retried_rows import with_retries
from xlbridge.upload.results.undo_report import LeftReason
from xlbridge.upload.results.verdict import RowOutcome
from xlbridge.upload.single_records.changes import PresentRecord, blank_values
from xlbridge.upload.single_records.write_journal import RecordTask, Values


@dataclass(frozen=True, slots=True)
class LeftRow:
    """Row that is not reversed, by its number in the sheet."""

    row: int
    reason: LeftReason


@dataclass(frozen=True, slots=True)
class RowToUndo:
    """Row to reverse: its number in the sheet, its values as sent, and the task."""

    row: int
    values: RowValues
    task: RecordTask


@dataclass(frozen=True, slots=True)
class _SentRow:
    """Row that a job wrote: its position in the job, its number in the first job's sheet, and its
    values as sent."""

    position: int
    row: int
    values: RowValues


def plan_rows(
    context: UploadContext, client: Client, job: Job, before: Collection[tuple[str, int]]
) -> tuple[list[RowToUndo], list[LeftRow]]:
    """Return the rows of a job, its parts and retries that can be reversed, and those that cannot.

    Rows that were reversed ``before`` are in neither. Raises ``RemoteRejected``,
    ``TransportError`` or ``AuthenticationFailed`` if the system cannot be read.
    """
    undone: list[RowToUndo] = []
    left: list[LeftRow] = []
    writers = (
        (part, numbers)
        for whole, numbers in with_retries(context.journal, job)
        for part in context.journal.parts_of(whole) or [whole]
    )
    for writer, numbers in writers:
        rows = [
            _SentRow(at, numbers[number], values)
            for at, (number, outcome, values) in enumerate(
                zip(writer.spec.rows, writer.outcomes, sent_rows(context, writer), strict=True)
            )
            if outcome is RowOutcome.ACCEPTED and (writer.id, at) not in before
        ]
        if not rows:
            continue
        for row in _plan_job(context, client, writer, rows):
            if isinstance(row, LeftRow):
                left.append(row)
            else:
                undone.append(row)
    return undone, sorted(left, key=lambda row: row.row)


def _plan_job(
    context: UploadContext, client: Client, job: Job, rows: Sequence[_SentRow]
) -> Iterator[RowToUndo | LeftRow]:
    """Plan the rows that a job wrote: created, changed one by one, or replaced by an import."""
    by_record = job.spec.mode is Mode.RECORDS
    all_updated = by_record and not job.last("creates")
    updates = set(job.last("updates") or ())
    updated = [row for row in rows if all_updated or row.position in updates]
    created = [row for row in rows if not (all_updated or row.position in updates)]
    if created:
        yield from _CreatedRecords(context, client, job, created).plan()
    if updated:
        planner = _ChangedRecords if by_record else _ReplacedRecords
        yield from planner(context, client, job, updated).plan()


class _UndoPlanner:
    """Planner of the undo of rows that one job wrote, by their current records."""

    def __init__(
        self, context: UploadContext, client: Client, job: Job, rows: Sequence[_SentRow]
    ) -> None:
        self._context = context
        self._client = client
        self._job = job
        self._rows = rows
        self._resource: Resource = context.catalogue.named(job.spec.resource)

    def plan(self) -> Iterator[RowToUndo | LeftRow]:
        """Yield each row with its task, or the reason why it is not reversed."""
        raise NotImplementedError

    def _read(self, rows: Sequence[RowValues]) -> Sequence[RowSnapshot | None]:
        return look_up_rows(self._client, self._resource, rows, most=None)[0]

    def _is_settled(self, record: FoundRecord) -> bool:
        change = self._resource.change
        return record.final or (change is not None and record.listing in change.not_listed)


class _CreatedRecords(_UndoPlanner):
    """Planner for rows that created a record, found among those that did not exist before."""

    def plan(self) -> Iterator[RowToUndo | LeftRow]:
        change = self._resource.change
        if change is None or change.delete_name is None:
            yield from (LeftRow(row.row, LeftReason.NO_OPERATION) for row in self._rows)
            return
        before, written = self._stored(Moment.BEFORE), self._stored(Moment.WRITTEN)
        used: set[str] = set()
        for row, now in zip(self._rows, self._read([r.values for r in self._rows]), strict=True):
            yield self._plan_row(row, before[row.position], written[row.position], now, used)

    def _stored(self, moment: Moment) -> Snapshot:
        """Return the newest snapshot of a moment, all None if there is none."""
        stored = self._context.journal.snapshots(self._job.id)
        found = [snapshot.rows for snapshot in stored if snapshot.moment is moment]
        return found[-1] if found else (None,) * len(self._job.spec.rows)

    def _plan_row(
        self,
        sent: _SentRow,
        before: RowSnapshot | None,
        written: RowSnapshot | None,
        now: RowSnapshot | None,
        used: set[str],
    ) -> RowToUndo | LeftRow:
        if before is None or now is None:
            return LeftRow(sent.row, LeftReason.NOT_IDENTIFIED)
        known = {record.code for record in before.found} | used
        new = [record for record in now.found if record.code not in known]
        as_written = {r.code: r.values for r in (written.found if written else ()) if r.same}
        record = next((r for r in new if as_written.get(r.code) == r.values), None)
        record = record or next((r for r in new if r.unchanged and r.code not in as_written), None)
        if record is None or self._is_settled(record):
            settled = any(map(self._is_settled, new))
            return LeftRow(sent.row, LeftReason.SETTLED if settled else LeftReason.CHANGED)
        used.add(record.code)
        claim = (self._job.id, sent.position)
        task = RecordTask(record.code, record.values, None, {}, claim)
        return RowToUndo(sent.row, sent.values, task)


class _ChangedRecords(_UndoPlanner):
    """Planner for rows that changed a single record, found by its own number."""

    def plan(self) -> Iterator[RowToUndo | LeftRow]:
        writes = {
            write.position: write for write in self._context.journal.writes.load(self._job.id)
        }
        declared = self._resource.read_back
        codes = () if declared is None else declared.codes
        numbered = []
        for row in self._rows:
            numbers = writes[row.position].task.record.split(CODE_SEPARATOR)
            numbered.append({**row.values, **dict(zip(codes, numbers, strict=True))})
        for row, now in zip(self._rows, self._read(numbered), strict=True):
            write = writes[row.position]
            if not write.before:
                yield LeftRow(row.row, LeftReason.NOT_IDENTIFIED)
            else:
                yield self._plan_row(row, write.task, write.before, now)

    def _plan_row(
        self, sent: _SentRow, task: RecordTask, before: Mapping[str, Any], now: RowSnapshot | None
    ) -> RowToUndo | LeftRow:
        change, wanted = self._resource.change, task.wanted or {}
        found = [] if now is None else [r for r in now.found if r.code == task.record]
        if not found:
            return LeftRow(sent.row, LeftReason.CHANGED)
        if self._is_settled(found[0]):
            return LeftRow(sent.row, LeftReason.SETTLED)
        if not PresentRecord(found[0].values, None, self._blank).has(wanted):
            return LeftRow(sent.row, LeftReason.CHANGED)
        emptied = [name for name, value in task.expected.items() if value is None]
        if change is None or not all(map(change.can_empty, emptied)):
            return LeftRow(sent.row, LeftReason.NO_OPERATION)
        claim = (self._job.id, sent.position)
        reversal = RecordTask(task.record, wanted, task.expected, before, claim)
        return RowToUndo(sent.row, sent.values, reversal)

    @cached_property
    def _blank(self) -> Values:
        declared = self._resource.read_back
        return {} if declared is None else blank_values(RowMatcher(self._resource, declared))


class _ReplacedRecords(_UndoPlanner):
    """Planner for rows whose import replaced a record; importing its old values restores it."""

    def plan(self) -> Iterator[RowToUndo | LeftRow]:
        whole = self._context.journal.job(self._job.parent or self._job.id)
        planned = {row.row: row for row in self._context.journal.plan_of(whole)}
        for sent, now in zip(self._rows, self._read([r.values for r in self._rows]), strict=True):
            row = planned[self._job.spec.rows[sent.position]]
            yours = {name: pair.yours for name, pair in row.differences.items()}
            theirs = {name: pair.theirs for name, pair in row.differences.items()}
            found = [r for r in (now.found if now else ()) if r.code == row.record]
            if not found or any(found[0].values.get(n) != value for n, value in yours.items()):
                yield LeftRow(sent.row, LeftReason.CHANGED)
                continue
            values = {n: _typed(self._resource.by_name[n].kind, v) for n, v in theirs.items()}
            claim = (self._job.id, sent.position)
            task = RecordTask(row.record or "", yours, theirs, values, claim)
            yield RowToUndo(sent.row, sent.values, task)


def _typed(kind: Kind, value: str | None) -> Any:
    """Return a comparable value as the typed value of a cell."""
    if value is None:
        return None
    if kind is Kind.BOOLEAN:
        return value == str(True)
    return int(value) if kind is Kind.INTEGER else value
