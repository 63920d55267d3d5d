"""Undo of an upload: its plan and its job.

A record is reversed only if its current values are those that the upload wrote. See the upload
protocol, Undo.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms
from xlbridge.resources import Column, Kind, Mode, Resource
from xlbridge.upload.claims import Patience
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.journal import NewRequest
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.comparison import blank_values
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    FoundRecord,
    Moment,
    RecordMatching,
    RowSnapshot,
    RowValues,
)
from xlbridge.upload.payload import frame_of_rows, payload_of, sent_rows, store_payload
from xlbridge.upload.planning.consent import left_report
from xlbridge.upload.planning.planned_row import (
    Difference,
    JobPlan,
    PlannedRow,
    RowAction,
    RowReason,
    StoredRow,
)
from xlbridge.upload.record_changer import PresentRecord
from xlbridge.upload.requests import State
from xlbridge.upload.results.row_ledger import RowChange, RowLedger
from xlbridge.upload.results.task_report import empty_undo_report
from xlbridge.upload.row_changes import RecordTask, Values


class Reversal(NamedTuple):
    """Row that is reversed, with its values as sent, and the task that reverses it."""

    row: PlannedRow
    values: RowValues
    task: RecordTask

    def restored(self, columns: Mapping[str, Column]) -> Iterator[str]:
        """Yield the values that return, after the titles of their columns."""
        now = self.task.expected
        for name, value in (self.task.wanted or {}).items():
            if now.get(name) != value:
                shown = Difference(now.get(name), value).shown(name, columns, titled=True)
                yield from (f"{one.label}: {one.theirs}" for one in shown)


@dataclass(frozen=True)
class UndoPlan(JobPlan):
    """Plan of the undo of a job: its rows, the ``reversals`` of those that can be reversed, and the
    number of rows that each earlier undo has reversed."""

    job: Job
    rows: Sequence[PlannedRow]
    reversals: Sequence[Reversal]
    undone_before: Mapping[str, int]

    @cached_property
    def digest(self) -> str:
        """Digest of rows, values and reasons."""
        left = [{"row": row.row, "reason": row.reason} for row in self.left]
        plan = [[one.row.row, asdict(one.task)] for one in self.reversals], left
        return hashlib.sha256(json.dumps(plan).encode()).hexdigest()

    @property
    def left(self) -> list[PlannedRow]:
        """Rows that cannot be reversed, in order."""
        return [row for row in self.rows if not row.action.writes]

    def to_journal(self) -> Iterator[StoredRow]:
        """Yield the rows that are left, as stored in the journal; the others have tasks there."""
        return (row.to_journal() for row in self.left)

    def remarks(self) -> Iterable[Text | str]:
        """Return texts about the rows that cannot be reversed, by reason, and the earlier undos."""
        report = left_report(self.left, self.undone_before)
        return ReportForms.of_report(lambda: report).lines()

    def report(self) -> ReportForms:
        """Return the report of a plan with no rows to reverse, for which no job is recorded."""
        return empty_undo_report(self.job, self.left, self.undone_before, self.token)


def plan_undo(context: UploadContext, client: Client, job: Job, patience: Patience) -> UndoPlan:
    """Plan the undo of a job, as ``Uploads.plan_undo`` does."""
    job.require_system(client.identity, client.target.profile)
    ledger = RowLedger.of(context.journal, job)
    # With its retries, and theirs.
    attempts = [job]
    for attempt in ledger.attempts:
        if attempt.spec.retry_of in {one.id for one in attempts}:
            attempts.append(attempt)
    _require_reversible(job, attempts, ledger)
    planned = list(_plan_rows(context, client, job, attempts, ledger, patience))
    reversals = [one for one in planned if isinstance(one, Reversal)]
    left = sorted((one for one in planned if isinstance(one, PlannedRow)), key=attrgetter("row"))
    rows = [*(one.row for one in reversals), *left]
    return UndoPlan(job, rows, reversals, ledger.undone_before())


def create_undo(context: UploadContext, client: Client, plan: UndoPlan) -> Job:
    """Record the job of an undo, as ``Uploads.create_undo`` does."""
    job = plan.job
    for earlier in RowLedger.of(context.journal, job).undos:
        if earlier.state.is_unsent:
            context.journal.record(earlier, State.ABANDONED)
    resource = context.catalogue.named(job.spec.resource)
    frame = frame_of_rows(resource, [one.values for one in plan.reversals])
    spec = JobSpec(
        profile=client.target.profile,
        resource=job.spec.resource,
        mode=Mode.UNDO,
        file=job.spec.file,
        sheet=job.spec.sheet,
        digest=job.spec.digest,
        payload=store_payload(context, payload_of(resource, frame)),
        rows=tuple(one.row.row for one in plan.reversals),
        columns=job.spec.columns,
        system=client.identity,
        undo_of=job.id,
    )
    request = NewRequest(spec, tasks=[one.task for one in plan.reversals])
    return context.create_job(spec, [request], plan, {"target": client.target.to_json()})


def _require_reversible(job: Job, attempts: Sequence[Job], ledger: RowLedger) -> None:
    if job.spec.mode.channel.of_listing:
        raise UsageError(
            Text(
                pt="{job} é um processamento: é definitivo, e o sistema não o desfaz.",
                en="{job} is a processing: it is final, and the interface cannot undo it.",
            ).format(job=job.id)
        )
    if job.spec.undo_of is not None or job.parent is not None:
        whole = job.spec.undo_of or job.parent
        raise UsageError(
            Text(
                pt="{job} não é um envio inteiro; desfaça o envio {whole}.",
                en="{job} is not a whole upload; undo the upload {whole}.",
            ).format(job=job.id, whole=whole)
        )
    for related in [*attempts, *ledger.undos]:
        if related.state.is_unsent and related is not job:
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
                    page=Text(
                        pt="Termine-o primeiro: continue {job} em Envios.",
                        en="Finish it first: continue {job} under Uploads.",
                    ),
                ).format(job=related.arguments()),
            )


@dataclass(frozen=True, slots=True)
class _SentRow:
    """Row that a job wrote: its position in the job, its number in the sheet of the job to undo,
    its values as sent, and whether it changed a record."""

    position: int
    row: int
    values: RowValues
    updates: bool


def _plan_rows(
    context: UploadContext,
    client: Client,
    job: Job,
    attempts: Sequence[Job],
    ledger: RowLedger,
    patience: Patience,
) -> Iterator[Reversal | PlannedRow]:
    """Plan the rows that a job, its parts and retries have written and that are not reversed.

    Raises ``RemoteRejected``, ``TransportError`` or ``AuthenticationFailed`` if the system cannot
    be read.
    """
    ids = {attempt.id for attempt in attempts}
    stored = context.journal.changes.origins(job.id)
    origins = {origin: row for row, origin in stored.items()}
    by_job: dict[str, list[RowChange]] = {}
    for change in ledger.standing:
        if change.job.whole in ids:
            by_job.setdefault(change.job.id, []).append(change)
    for changes in by_job.values():
        writer = changes[0].job
        sent = sent_rows(context, writer)
        rows = [
            _SentRow(
                change.position,
                origins.get(change.origin, change.origin),
                sent[change.position],
                updates=change.updates,
            )
            for change in sorted(changes, key=lambda change: change.position)
        ]
        if writer.deletes:
            message = _DELETED.format(file=as_arguments(Path(writer.spec.file)))
            yield from (_left(row, RowReason.NO_OPERATION, message) for row in rows)
            continue
        for planner in (_CreatedRecords, _ChangedRecords):
            if own := [row for row in rows if row.updates is planner.updates]:
                yield from planner(context, client, writer, own, patience).plan()


_DELETED = Text(
    pt="o registro foi excluído, e o sistema não o traz de volta; para incluí-lo como um novo, "
    "com outro número: xlbridge upload {file}",
    en="the record was deleted, and the interface cannot bring it back; to create it as a new one, "
    "with another number: xlbridge upload {file}",
    page=Text(
        pt="o registro foi excluído, e o sistema não o traz de volta; para incluí-lo como um "
        "novo, com outro número, abra a planilha em Abrir e envie de novo",
        en="the record was deleted, and the interface cannot bring it back; to create it as a new "
        "one, with another number, open the workbook under Open and send it again",
    ),
)


def _left(sent: _SentRow, reason: RowReason, why: Text | None = None) -> PlannedRow:
    return PlannedRow(sent.row, RowAction.HELD, reason, why=why)


def _reversed(sent: _SentRow, task: RecordTask) -> Reversal:
    action = RowAction.DELETE if task.wanted is None else RowAction.UPDATE
    return Reversal(PlannedRow(sent.row, action, record=task.record), sent.values, task)


class _UndoPlanner:
    """Planner of the undo of rows that one job wrote, by their current records.

    ``updates``: the rows have changed records.
    """

    updates: ClassVar[bool]

    def __init__(
        self,
        context: UploadContext,
        client: Client,
        job: Job,
        rows: Sequence[_SentRow],
        patience: Patience,
    ) -> None:
        self._context = context
        self._client = client
        self._job = job
        self._rows = rows
        self._resource: Resource = context.catalogue.named(job.spec.resource)
        self._patience = patience
        self._own = context.own_writes(job.spec.scope, patience)

    def plan(self) -> Iterator[Reversal | PlannedRow]:
        """Yield each row with its task, or the reason why it is not reversed."""
        raise NotImplementedError

    def _read(self, rows: Sequence[RowValues]) -> Sequence[RowSnapshot | None]:
        """Return the records of rows, read until they show what this home has just written."""
        return self._patience.read_until(
            lambda: read_snapshot(self._client, self._resource, rows),
            lambda found: not any(map(self._is_late, self._rows, found)),
        )

    def _is_late(self, _sent: _SentRow, now: RowSnapshot | None) -> bool:
        """Return whether a reading does not show yet what this home has written of a row."""
        found = () if now is None else now.found
        if self._job.id in self._own.jobs and now is not None and not found:
            return True
        return any(self._own.job_not_shown(one.code, one.values, self._blank) for one in found)

    def _changed(self, sent: _SentRow, now: RowSnapshot | None) -> PlannedRow:
        """Return a row whose record is not as the job has left it."""
        is_late = self._is_late(sent, now)
        return _left(sent, RowReason.SHOWN_LATE if is_late else RowReason.CHANGED)

    @cached_property
    def _blank(self) -> Values:
        return blank_values(self._resource)


class _CreatedRecords(_UndoPlanner):
    """Planner for rows that created a record, found among those that did not exist before."""

    updates = False

    def plan(self) -> Iterator[Reversal | PlannedRow]:
        change = self._resource.change
        if change is None or change.delete_name is None:
            yield from (_left(row, RowReason.NO_OPERATION) for row in self._rows)
            return
        count, snapshots = len(self._job.spec.rows), self._context.journal.snapshots
        self._before = snapshots.newest_of(count, self._job.id, Moment.BEFORE)
        written = snapshots.newest_of(count, self._job.id, Moment.WRITTEN)
        new: dict[int, Sequence[FoundRecord]] = {}
        read = self._read([row.values for row in self._rows])
        for row, now in zip(self._rows, read, strict=True):
            earlier = self._before[row.position]
            if now is not None and earlier is not None:
                new[row.position] = now.new_since(earlier)
        as_written = {
            at: {record.code: record.values for record in snapshot.found if record.same}
            for at, snapshot in enumerate(written)
            if snapshot is not None
        }
        matching = RecordMatching(new)
        # The system may present a record otherwise than it was written: as then, or, if it did not
        # show it then, as the row. Another record like the row is that of another upload.
        matching.match(
            lambda at, one: 0 if as_written.get(at, {}).get(one.code) == one.values else None
        )
        matching.match(lambda at, one: 0 if one.unchanged and not as_written.get(at) else None)
        for row, now in zip(self._rows, read, strict=True):
            if row.position not in new:
                yield _left(row, RowReason.NOT_IDENTIFIED)
                continue
            record = matching.record(row.position)
            if record is None or record.final:
                settled = any(one.final for one in new[row.position])
                yield _left(row, RowReason.SETTLED) if settled else self._changed(row, now)
                continue
            claim = (self._job.id, row.position)
            yield _reversed(row, RecordTask(record.code, dict(record.values), None, {}, claim))

    def _is_late(self, sent: _SentRow, now: RowSnapshot | None) -> bool:
        earlier = self._before[sent.position]
        if self._job.id in self._own.jobs and now is not None and earlier is not None:
            return not now.new_since(earlier)
        return super()._is_late(sent, now)


class _ChangedRecords(_UndoPlanner):
    """Planner for rows that changed a record: one by one, or by an import that replaced it."""

    updates = True

    def plan(self) -> Iterator[Reversal | PlannedRow]:
        change, one_by_one = self._resource.change, self._job.spec.mode.channel.by_record
        reversals = self._reversals()
        read = self._read([query for query, _ in reversals])
        for sent, (_, task), now in zip(self._rows, reversals, read, strict=True):
            if task is None:
                yield _left(sent, RowReason.NOT_IDENTIFIED)
                continue
            found = [one for one in (now.found if now else ()) if one.code == task.record]
            if found and found[0].final:
                yield _left(sent, RowReason.SETTLED)
            elif not found or not PresentRecord(found[0].values, None, self._blank).has(
                task.expected
            ):
                yield self._changed(sent, now)
            elif one_by_one and not (
                change is not None
                and all(change.can_empty(n) for n, v in (task.wanted or {}).items() if v is None)
            ):
                yield _left(sent, RowReason.NO_OPERATION)
            else:
                yield _reversed(sent, task)

    def _reversals(self) -> list[tuple[RowValues, RecordTask | None]]:
        """Return for each row the values that find its record, and the task that restores it, None
        if it is not known what the record was."""
        job, journal = self._job, self._context.journal
        reversals: list[tuple[RowValues, RecordTask | None]] = []
        if not job.spec.mode.channel.by_record:
            planned = journal.sent_plan_of(job)
            for sent in self._rows:
                row = planned[sent.position]
                values = {
                    n: _typed(self._resource.by_name[n].kind, v) for n, v in row.theirs.items()
                }
                task = RecordTask(
                    row.record or "", row.yours, row.theirs, values, (job.id, sent.position)
                )
                reversals.append((sent.values, task))
            return reversals
        declared = self._resource.read_back
        codes = () if declared is None else declared.codes
        writes = {write.position: write for write in journal.writes.load(job.id)}
        for sent in self._rows:
            write = writes[sent.position]
            task, claim = write.task, (job.id, sent.position)
            number = dict(zip(codes, task.record.split(CODE_SEPARATOR), strict=True))
            restoring = RecordTask(
                task.record, task.wanted or {}, task.expected, write.before, claim
            )
            reversals.append(({**sent.values, **number}, restoring if write.before else None))
        return reversals


def _typed(kind: Kind, value: str | None) -> Any:
    """Return a comparable value as the typed value of a cell."""
    if value is None:
        return None
    if kind is Kind.BOOLEAN:
        return value == str(True)
    return int(value) if kind is Kind.INTEGER else value
