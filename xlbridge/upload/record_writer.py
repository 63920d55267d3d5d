"""Writer of single records: each change read, announced, sent once, and proven.

A record in doubt does not stop the others; it is settled by reading it back. Source: the upload
protocol, Updates and Record by record.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from http import HTTPStatus
from typing import Any

from xlbridge.client import (
    Declined,
    Doubtful,
    Executed,
    NotExecuted,
    Outcome,
    Rejected,
    UploadFile,
)
from xlbridge.errors import ApiError, InDoubt, TransportError
from xlbridge.i18n import Text
from xlbridge.resources import operation_named
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.lookup.record_reader import PresentRecord, RecordReader, plain_json
from xlbridge.upload.lookup.row_lookup import RowValues
from xlbridge.upload.payload import frame_of_rows, load_payload, sent_rows, store_payload
from xlbridge.upload.reconcile import has_settled
from xlbridge.upload.record_writes import RecordTask, RecordWrite, WriteState
from xlbridge.upload.remote_row_results import rejected_row
from xlbridge.upload.row_plan import PlannedRow
from xlbridge.upload.run_context import RunContext, Step
from xlbridge.upload.verdict import Verdict
from xlbridge.wire import Operation, WireModel, record_model
from xlbridge.wire.imports import ImportQuery

_MOST_ATTEMPTS = 3
"""Requests for one record whose answers are lost, after which it is left as it is."""

_CHANGED = Text(
    pt="o registro mudou no sistema depois do plano (antes: {before}; agora: {now}); não foi "
    "alterado",
    en="the record has changed in the system since the plan (then: {before}; now: {now}); it was "
    "left as it is",
)
_GONE = Text(
    pt="o registro não está mais no sistema", en="the record is not in the system any more"
)
_HAS_PARTS = Text(
    pt="o registro tem arquivos ou rateio que o envio não gravou; não foi removido",
    en="the record has files or a split that the upload did not write; it was not removed",
)
_LOST = Text(
    pt="não foi alterado: o sistema não respondeu a {n} pedidos, e o registro está como antes",
    en="was not changed: the system did not answer {n} requests, and the record is as it was",
)
_NEITHER = Text(
    pt="a resposta se perdeu, e o registro não está nem como antes nem como foi enviado",
    en="the answer was lost, and the record is neither as it was nor as it was sent",
)
_INTERRUPTED = Text(
    pt="o envio foi interrompido antes da resposta",
    en="the upload was interrupted before the answer",
)
_SOME_WRITTEN = Text(
    pt="Parte dos registros já foi alterada; para continuar: xlbridge resume {job}",
    en="Some records were changed already; to go on: xlbridge resume {job}",
)
_LOOK_AGAIN = Text(
    pt="Para conferir de novo: xlbridge resume {job}", en="To look again: xlbridge resume {job}"
)


def write_records(context: RunContext, job: Job) -> Step:
    """Write the records of a job that are not written yet, and end it as far as that proves.

    Raises ``TransportError`` or ``AuthenticationFailed`` where the system cannot be asked; a later
    run goes on.
    """
    if not context.journal.writes.of(job.id):
        context.journal.writes.plan(job.id, _tasks_of_plan(context.environment, job))
    if job.state is not State.SENDING:
        job = context.announce(job, State.SENDING)
    writer = _Writer(context, job)
    try:
        writer.write_waiting()
    except ApiError as error:
        raise _stopped(context, job, error) from error
    return _conclude(context, job)


def settle_records(context: RunContext, job: Job) -> Step:
    """Settle the records in doubt by reading them back; those certainly not written are sent again.

    Raises ``InDoubt`` when the system cannot be asked.
    """
    if not context.options.wait:
        return job, False
    writer = _Writer(context, job)
    try:
        left = writer.settle(final=False)
        if left:
            if not has_settled(context, job):
                return job, False
            writer.settle(final=True)
    except ApiError as error:
        raise InDoubt(error.message, _LOOK_AGAIN.format(job=job.id)) from error
    return context.journal.record(job, State.SENDING, reconciled="read back"), True


def _tasks_of_plan(context: UploadContext, job: Job) -> list[RecordTask]:
    """Return the change of each row of a job that updates records, as it was planned."""
    planned = context.journal.plan_of(context.journal.job(job.parent or job.id))
    row_of = {row.row: row for row in planned}
    numbered = zip(job.what.rows, sent_rows(context, job), strict=True)
    return [_task_of_row(row_of[number], values) for number, values in numbered]


def _task_of_row(planned: PlannedRow, values: Any) -> RecordTask:
    """Return the change of a row's record; what an empty cell means counts as its value."""
    differences = planned.differences
    return RecordTask(
        planned.record or "",
        expected={name: one.theirs for name, one in differences.items()},
        wanted={name: one.yours for name, one in differences.items()},
        values={
            name: one.yours if values.get(name) is None else _json_value(values[name])
            for name, one in differences.items()
        },
    )


def _json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


class _Writer:
    """Writer of the records of one job."""

    def __init__(self, context: RunContext, job: Job) -> None:
        resource = context.resource(job)
        if resource.read_back is None or resource.change is None:
            raise AssertionError(f"records of {resource.name} cannot be changed")
        self._context = context
        self._job = job
        self._resource = resource
        self._change = resource.change
        self._reader = RecordReader(context.client, resource, resource.read_back, resource.change)
        self._rows = context.rows(job)

    def write_waiting(self) -> None:
        """Send what waits; what was being sent when a run ended is in doubt."""
        writes = self._context.journal.writes.of(self._job.id)
        for write in writes:
            if write.state is WriteState.SENDING:
                self._record(write, WriteState.DOUBTFUL, message=str(_INTERRUPTED))
            elif write.state.is_waiting:
                self._context.report_progress(
                    self._job,
                    Text(pt="registro {n}", en="record {n}").format(n=write.position + 1),
                )
                self._write(write)

    def settle(self, *, final: bool) -> bool:
        """Read back the records in doubt; return whether some still are.

        Only with ``final``, once no request can be on its way, a record that is not as it was
        wanted proves something.
        """
        left = False
        for write in self._context.journal.writes.of(self._job.id):
            if write.state is not WriteState.DOUBTFUL:
                continue
            present = self._read(write)
            if _is_as_wanted(write.task, present):
                self._record(write, WriteState.APPLIED, reconciled="read back")
            elif not final:
                left = True
            elif not _is_as_expected(write.task, present):
                self._record(write, WriteState.UNPROVEN, message=str(_NEITHER))
            elif write.attempts < _MOST_ATTEMPTS:
                self._record(write, WriteState.NOT_APPLIED)
            else:
                remark = str(_LOST.format(n=write.attempts))
                self._record(write, WriteState.REJECTED, message=remark)
        return left

    def _write(self, write: RecordWrite) -> None:
        present = self._read(write)
        if _is_as_wanted(write.task, present):
            self._record(write, WriteState.APPLIED, already=True)
            return
        if present is None or not _is_as_expected(write.task, present):
            remark, changed = _what_changed(write.task, present)
            self._record(write, WriteState.CHANGED, message=str(remark), column=changed)
            return
        if write.task.wanted is None and present.has_parts:
            self._record(write, WriteState.CHANGED, message=str(_HAS_PARTS))
            return
        outcome = self._send(write, present)
        match outcome:
            case Executed():
                self._record(write, WriteState.APPLIED)
            case Rejected(HTTPStatus.NOT_FOUND, _) if write.task.wanted is None:
                self._record(write, WriteState.APPLIED, already=True)
            case Rejected(_, details):
                message = "; ".join(detail.value for detail in details if detail.value)
                column = next((d.key for d in details if d.key), None)
                self._record(write, WriteState.REJECTED, message=message, column=column)
            case NotExecuted(reason):
                self._record(write, WriteState.NOT_APPLIED)
                raise TransportError(reason)
            case Doubtful(reason):
                self._record(write, WriteState.DOUBTFUL, message=str(reason))

    def _send(self, write: RecordWrite, present: PresentRecord) -> Outcome:
        """Send a change once; one that was put off is repeated while the record is as before."""
        declined: Declined | None = None
        before = present.json_of(write.task.wanted or {})

        def attempt() -> Outcome:
            nonlocal declined
            if declined is not None:
                outcome = self._after_put_off(write, declined)
                if outcome is not None:
                    return outcome
            self._record(write, WriteState.SENDING, before=before)
            outcome = self._request(write, present)
            declined = outcome if isinstance(outcome, Declined) else declined
            return outcome

        outcome = self._context.repeat_while(attempt, lambda doubt: isinstance(doubt, Declined))
        if isinstance(outcome, Declined):
            as_before = NotExecuted(outcome.reason, answered=True)
            return self._after_put_off(write, outcome) or as_before
        return outcome

    def _after_put_off(self, write: RecordWrite, declined: Declined) -> Outcome | None:
        """Return what reading back proves of a request that was put off; None: not executed."""
        present = self._read(write)
        if _is_as_wanted(write.task, present):
            return Executed(None)
        return None if _is_as_expected(write.task, present) else Doubtful(declined.reason)

    def _import(self, write: RecordWrite) -> Outcome:
        """Import one row, which replaces its record."""
        folder = self._context.environment.settings.payloads
        row = {**self._rows[write.position], **write.task.values}
        content = store_payload(folder, self._resource, frame_of_rows(self._resource, [row]))
        name = f"{self._resource.name}-{self._job.id}-{write.position + 1}.xlsx"
        return self._context.client.send(
            self._resource.paths.direct,
            path={"resource": self._resource.name},
            query=ImportQuery(),
            file=UploadFile(name, load_payload(folder, content)),
        )

    def _request(self, write: RecordWrite, present: PresentRecord) -> Outcome:
        task = write.task
        client = self._context.client
        if self._change.by_import:
            return self._import(write)
        number = self._reader.number(task.record)
        if task.wanted is None:
            operation = operation_named(self._change.delete_name or "")
            path = dict(zip(operation.path_parameters, number.values(), strict=True))
            return client.send(operation, path=path)
        operation = self._change.operation
        return client.send(operation, body=_body(operation, task, number, present))

    def _read(self, write: RecordWrite) -> PresentRecord | None:
        row: RowValues = self._rows[write.position]
        return self._reader.read(write.task.record, row)

    def _record(self, write: RecordWrite, state: WriteState, **detail: Any) -> None:
        self._context.journal.writes.record(self._job.id, write, state, **detail)


def _body(
    operation: Operation, task: RecordTask, number: Mapping[str, str], present: PresentRecord
) -> dict[str, object]:
    """Return the record as it is to be: what was read, with the task's values laid over it.

    Fields that neither model knows stay; those that only the record's has are not for writing.
    """
    if operation.body is None:
        raise AssertionError(f"{operation.name} takes no record")
    fields = operation.body.model_fields
    read_only = getattr(record_model(operation.data), "model_fields", {}).keys() - fields.keys()
    kept = {n: plain_json(v) for n, v in (present.whole or {}).items() if n not in read_only}
    named = {name: int(part) for name, part in number.items()}
    body = {**kept, **task.values, **named}
    present_fields = {name: value for name, value in body.items() if value is not None}
    return _by_sent_names(operation.body, present_fields)


def _by_sent_names(model: type[WireModel], record: Mapping[str, Any]) -> dict[str, object]:
    """Return a record with the names by which its fields are sent; unknown ones as they are."""
    sent: dict[str, object] = {}
    for name, value in record.items():
        field = model.model_fields.get(name)
        part = None if field is None else record_model(field.annotation)
        if part is not None and isinstance(value, list):
            value = [_by_sent_names(part, one) for one in value]
        alias = None if field is None else field.serialization_alias
        sent[alias or name] = value
    return sent


def _is_as_wanted(task: RecordTask, present: PresentRecord | None) -> bool:
    if task.wanted is None or present is None:
        return task.wanted is None and present is None
    return present.has(task.wanted)


def _is_as_expected(task: RecordTask, present: PresentRecord | None) -> bool:
    return present is not None and present.has(task.expected)


def _what_changed(task: RecordTask, present: PresentRecord | None) -> tuple[Text, str | None]:
    """Return how a record differs from what was expected, and the first column of it."""
    if present is None:
        return _GONE, None
    column = next(n for n, value in task.expected.items() if present.values.get(n) != value)
    before, now = task.expected[column], present.values.get(column)
    return _CHANGED.format(before=before or "–", now=now or "–"), column


def _conclude(context: RunContext, job: Job) -> Step:
    """End a job by the states of its writes, or doubt it while one of them is in doubt."""
    writes = context.journal.writes.of(job.id)
    verdict = verdict_of_writes(job, writes)
    doubtful = [write for write in writes if write.state is WriteState.DOUBTFUL]
    if doubtful:
        reason = doubtful[0].message or ""
        return context.doubt(job, Text(pt=reason, en=reason), verdict)
    state = _state_of(writes)
    freed = [write.position for write in writes if write.state.is_refused]
    detail: dict[str, Any] = {}
    if state is State.NEEDS_PERSON:
        proofs = {WriteState.APPLIED: True, WriteState.UNPROVEN: None}
        detail = {
            "proven": [proofs.get(write.state, False) for write in writes],
            "reason": asdict(_NEITHER),
        }
    return context.end(job, state, verdict, freed=freed, **detail), False


def _state_of(writes: list[RecordWrite]) -> State:
    states = {write.state for write in writes}
    if WriteState.UNPROVEN in states:
        return State.NEEDS_PERSON
    if states <= {WriteState.APPLIED}:
        return State.DONE
    return State.PARTIAL if WriteState.APPLIED in states else State.REJECTED


def verdict_of_writes(job: Job, writes: list[RecordWrite]) -> Verdict:
    """Return what is known of the rows of a job by the writes of their records."""
    refused = [write for write in writes if write.state.is_refused]
    return Verdict(
        read=len(job.what.rows),
        accepted=sum(write.state is WriteState.APPLIED for write in writes),
        unknown=sum(
            write.state is not WriteState.APPLIED and not write.state.is_refused for write in writes
        ),
        rejected_rows=tuple(
            rejected_row(
                job.what,
                job.what.rows[write.position],
                write.column,
                write.message or "",
                itself=write.state is WriteState.REJECTED,
            )
            for write in refused
        ),
    )


def _stopped(context: RunContext, job: Job, error: ApiError) -> ApiError:
    """Record where a run was stopped, and return the error that says how to go on."""
    writes = context.journal.writes.of(job.id)
    if all(write.state.is_waiting for write in writes):
        return context.not_sent(job, NotExecuted(error.message))
    verdict = verdict_of_writes(job, writes)
    context.journal.record(
        job, State.SENDING, reason=asdict(error.message), verdict=asdict(verdict)
    )
    return type(error)(error.message, _SOME_WRITTEN.format(job=job.id))
