"""Undo of an upload: the plan, the job and the report.

A record is reversed only if its current values are those that the upload wrote. See the upload
protocol, Undo.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Kind, Mode, Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, JobSpec, State
from xlbridge.upload.lookup.bulk_lookup import read_records
from xlbridge.upload.lookup.row_lookup import RowMatcher
from xlbridge.upload.lookup.row_table import RowValues
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    FoundRecord,
    Moment,
    RowSnapshot,
    Snapshot,
)
from xlbridge.upload.payload import frame_of_rows, sent_rows, store_payload
from xlbridge.upload.results.retried_rows import undos_with_retries, with_retries
from xlbridge.upload.results.verdict import RowOutcome
from xlbridge.upload.single_records.changes import PresentRecord, blank_values
from xlbridge.upload.single_records.write_journal import RecordTask, Values, WriteState

_SHOWN_ROWS = 10


class LeftReason(StrEnum):
    """Reason why a row is not reversed, with a stable code."""

    CHANGED = "changed"
    SETTLED = "settled"
    NO_OPERATION = "no-operation"
    NOT_IDENTIFIED = "not-identified"

    @property
    def text(self) -> Text:
        """Explanation, with what to do by hand."""
        return _BY_HAND.format(reason=_TEXTS[self])


_TEXTS: Mapping[LeftReason, Text] = {
    LeftReason.CHANGED: Text(
        pt="o registro foi alterado ou removido depois do envio",
        en="the record was changed or removed after the upload",
    ),
    LeftReason.SETTLED: Text(
        pt="o título já foi baixado, e a baixa teria de ser estornada antes",
        en="the title is already settled, and the settlement would have to be reversed first",
    ),
    LeftReason.NO_OPERATION: Text(
        pt="a interface não tem como desfazer isto", en="the interface cannot reverse this"
    ),
    LeftReason.NOT_IDENTIFIED: Text(
        pt="não se sabe qual é o registro desta linha",
        en="the record of this row could not be identified",
    ),
}
_BY_HAND = Text(
    pt="{reason}; confira e desfaça manualmente no sistema",
    en="{reason}; check it in the system and reverse it by hand",
)


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


def _plan_undo(
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
        for row in _plan_rows(context, client, writer, rows):
            if isinstance(row, LeftRow):
                left.append(row)
            else:
                undone.append(row)
    return undone, sorted(left, key=lambda row: row.row)


def _plan_rows(
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


def _reversed_before(context: UploadContext, job: Job) -> dict[tuple[str, int], str]:
    """Return the undo that has reversed each row, by the row's job and position."""
    return {
        write.task.claim: undo.id
        for undo in undos_with_retries(context.journal, job)
        for write in context.journal.writes.load(undo.id)
        if write.state is WriteState.APPLIED and write.task.claim is not None
    }


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
        return read_records(self._client, self._resource, rows, most=None).snapshot

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


def create_undo(context: UploadContext, client: Client, job: Job) -> Job:
    """Plan the undo of a job and record it. Raises what ``Uploads.create_undo`` raises."""
    job.require_system(client.identity, client.target.profile)
    _require_reversible(context, job)
    before = _reversed_before(context, job)
    undone, left = _plan_undo(context, client, job, before)

    resource = context.catalogue.named(job.spec.resource)
    frame = frame_of_rows(resource, [row.values for row in undone])
    spec = JobSpec(
        profile=client.target.profile,
        resource=job.spec.resource,
        mode=Mode.UNDO,
        file=job.spec.file,
        sheet=job.spec.sheet,
        digest=job.spec.digest,
        payload=store_payload(context, resource, frame),
        rows=tuple(row.row for row in undone),
        columns=job.spec.columns,
        system=client.identity,
    )
    plan = [[row.row, asdict(row.task)] for row in undone], [asdict(row) for row in left]
    note = {
        "undo_of": job.id,
        "plan_digest": hashlib.sha256(json.dumps(plan).encode()).hexdigest(),
        "writes": len(undone),
        "left": [[row.row, row.reason] for row in left],
        "undone_before": Counter(before.values()),
    }
    return context.journal.create_from_tasks(spec, [row.task for row in undone], note)


def _require_reversible(context: UploadContext, job: Job) -> None:
    if job.spec.mode is Mode.PROCESS:
        raise UsageError(
            Text(
                pt="{job} é um processamento: é definitivo, e a interface não o desfaz.",
                en="{job} is a processing: it is final, and the interface cannot reverse it.",
            ).format(job=job.id)
        )
    if job.undo_of is not None or job.parent is not None:
        whole = job.undo_of or job.parent
        raise UsageError(
            Text(
                pt="{job} não é um envio inteiro; desfaça o envio {whole}.",
                en="{job} is not a whole upload; undo the upload {whole}.",
            ).format(job=job.id, whole=whole)
        )
    retries = context.journal.retries_of(job.id)
    undos = undos_with_retries(context.journal, job)
    for related in [job, *retries, *undos]:
        if related.state.is_unsent and related is not job:
            if related in undos:
                context.journal.record(related, State.ABANDONED)
            continue
        if not related.state.is_final or related.state is State.NEEDS_PERSON:
            raise UsageError(
                Text(
                    pt="O envio {job} não terminou (situação: {state}).",
                    en="The upload {job} is not finished (state {state}).",
                ).format(job=related.id, state=related.state.text),
                Text(
                    pt="Termine-o primeiro: xlbridge resume {job}",
                    en="Finish it first: xlbridge resume {job}",
                ).format(job=related.id),
            )


def left_rows(job: Job) -> list[tuple[int, LeftReason, str]]:
    """Return the rows that an undo does not reverse: number, reason and message."""
    planned = [(row, LeftReason(code)) for row, code in job.last("left") or ()]
    left = [(row, reason, str(reason.text)) for row, reason in planned]
    refused = [
        (rejected.row or 0, LeftReason.CHANGED, str(rejected.message))
        for rejected in job.verdict.rejected_rows
    ]
    return sorted([*left, *refused], key=lambda one: one[0])


def left_lines(job: Job) -> Iterator[Text]:
    """Yield lines about the rows undone before, and those to be undone by hand."""
    for undo, count in (job.last("undone_before") or {}).items():
        yield Text(
            pt="  {n} {n:linha já foi desfeita|linhas já foram desfeitas} por {undo}",
            en="  {n} {n:row was|rows were} already undone by {undo}",
        ).format(n=count, undo=undo)
    by_message: dict[str, list[int]] = {}
    for row, _reason, message in left_rows(job):
        by_message.setdefault(message, []).append(row)
    for message, rows in by_message.items():
        more = ", …" if len(rows) > _SHOWN_ROWS else ""
        yield Text(
            pt="  não {n:desfeita|desfeitas}, {n:linha|linhas} {rows}{more}: {message}",
            en="  not undone, {n:row|rows} {rows}{more}: {message}",
        ).format(
            n=len(rows), rows=", ".join(map(str, rows[:_SHOWN_ROWS])), more=more, message=message
        )
