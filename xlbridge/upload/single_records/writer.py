"""Writer of single records, several at a time, each announced, sent once and proven.

A record in doubt does not stop the others; it is settled by reading it back. See the upload
protocol, Updates and Record by record.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xlbridge.errors import ApiError
from xlbridge.i18n import Text
from xlbridge.upload.job import Job, State, planned_note
from xlbridge.upload.progress import RecordProgress
from xlbridge.upload.reconcile import INTERRUPTED
from xlbridge.upload.single_records.changes import RecordChanger, change_of_row
from xlbridge.upload.single_records.creations import RecordCreator
from xlbridge.upload.single_records.dispatch import RecordDispatch, WriteOrder
from xlbridge.upload.single_records.job_outcome import (
    end_of_writes,
    first_reason,
    proofs_of_writes,
    settle_writes,
    stop_writes,
    verdict_of_writes,
)
from xlbridge.upload.single_records.request import SharedPause, with_reason
from xlbridge.upload.single_records.write_journal import (
    CREATION,
    NewState,
    RecordTask,
    RecordWrite,
    WriteState,
)

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_NEEDS_PERSON = Text(
    pt="{n:um registro está|{n} registros estão} em dúvida: {why}",
    en="{n:one record is|{n} records are} in doubt: {why}",
)
_BLOCKED = Text(
    pt="não foi enviada: outra linha da mesma chave está em dúvida",
    en="was not sent: another row of the same key is in doubt",
)


def write_records(context: "RunContext", job: Job) -> "Step":
    """Write the records of a job that are not written yet, and end it unless some are in doubt.

    Raises ``TransportError`` or ``AuthenticationFailed`` if the system cannot be reached; a later
    run continues.
    """
    if not context.journal.writes.load(job.id):
        context.journal.writes.plan(job.id, _tasks_of_plan(context, job))
    is_resumed = job.state is State.SENDING
    if not is_resumed:
        job = context.announce(job, State.SENDING)
    try:
        writer = _Writer(context, job)
        if is_resumed and job.plan_is_old(context.journal.now()):
            job = writer.refresh()
        writer.write_waiting()
    except ApiError as error:
        writes = context.journal.writes.load(job.id, answers=False)
        proven = proofs_of_writes(writes)
        raise stop_writes(context, job, error, writes, proven=proven) from error
    return _conclude(context, job)


def settle_records(context: "RunContext", job: Job) -> "Step":
    """Settle the records in doubt by reading them back; those certainly not written are sent again.

    Raises ``InDoubt`` if the system cannot be reached.
    """
    return settle_writes(context, job, lambda final: _Writer(context, job).settle(final=final))


def _tasks_of_plan(context: "RunContext", job: Job) -> list[RecordTask]:
    """Return the planned task of each row of a job."""
    by_number = {
        row.row: row for row in context.journal.plan_of(context.journal.job(job.parent or job.id))
    }
    planned = [by_number[number] for number in job.spec.rows]
    if all(row.is_created for row in planned):
        return [CREATION] * len(planned)
    rows = zip(planned, context.rows(job), strict=True)
    return [CREATION if row.is_created else change_of_row(row, values) for row, values in rows]


class _Writer:
    """Writer of the records of one job."""

    def __init__(self, context: "RunContext", job: Job) -> None:
        self._context = context
        self._job = job
        self._writes = context.journal.writes.load(job.id)
        rows = context.rows(job)
        resource = context.resource(job)
        self._pause = pause = SharedPause(context.options.sleep)
        self._creator = self._changer = None
        if resource.create is not None and any(write.task.creates for write in self._writes):
            self._creator = RecordCreator(context, job, rows, pause, resource.create, self._writes)
        if resource.read_back is not None and resource.change is not None:
            self._changer = RecordChanger(
                context, job, rows, pause, resource.read_back, resource.change
            )

    def refresh(self) -> Job:
        """Read the keys of the records still to be created again; leave out existing ones."""
        waiting = [write for write in self._writes if write.task.creates and write.state.is_waiting]
        if self._creator is not None and waiting:
            found = self._creator.find_appeared(waiting)
            self._record([result.state_of(write) for write, result in found])
        self._writes = self._context.journal.writes.load(self._job.id)
        planned = planned_note(self._context.journal.now())
        return self._context.journal.record(self._job, State.SENDING, **planned)

    def write_waiting(self) -> None:
        """Send the waiting writes; those that an earlier run was sending are in doubt."""
        interrupted = [write for write in self._writes if write.state is WriteState.SENDING]
        doubt = with_reason(WriteState.DOUBTFUL, INTERRUPTED)
        states = []
        for write in interrupted:
            # A created record whose lists are not registered yet has a code.
            known = {"record": write.record} if write.task.creates and write.record else {}
            states.append(NewState(write, doubt.state, {**doubt.detail, **known}))
        self._record(states)
        unsettled = [write for write in self._writes if write.state.is_open]
        waiting = [write for write in self._writes if write.state.is_waiting]
        blocked = {token for write in unsettled for token in self._tokens(write)}
        if self._creator is not None:
            self._creator.read_identical(self._writes)
        options = self._context.options
        progress = RecordProgress(options, len(self._writes), len(waiting))
        dispatch = RecordDispatch(
            lambda write: self._handler(write).prepare(write),
            self._record,
            self._pause,
            options.at_once,
            progress.count,
        )
        dispatch.run(WriteOrder(waiting, self._tokens, blocked))

    def settle(self, *, final: bool) -> bool:
        """Read back the records in doubt; return whether some still are."""
        doubtful = [write for write in self._writes if write.state is WriteState.DOUBTFUL]
        settled: set[int] = set()
        for handler in (self._creator, self._changer):
            handled = [write for write in doubtful if self._handler(write) is handler]
            if handler is None or not handled:
                continue
            for write, result in handler.settle(handled, final=final):
                self._record([result.state_of(write)])
                settled.add(write.position)
        return len(settled) < len(doubtful)

    def _handler(self, write: RecordWrite) -> RecordCreator | RecordChanger:
        handler = self._creator if write.task.creates else self._changer
        if handler is None:
            raise AssertionError(f"{self._job.spec.resource}: no operation for this write")
        return handler

    def _tokens(self, write: RecordWrite) -> frozenset[str]:
        return self._handler(write).tokens(write)

    def _record(self, states: Sequence[NewState]) -> None:
        if states:
            self._context.journal.writes.record(self._job.id, states)


def _conclude(context: "RunContext", job: Job) -> "Step":
    """End a job by the states of its writes, or doubt it if one of them is in doubt."""
    writes = context.journal.writes.load(job.id, answers=False)
    doubtful = [write for write in writes if write.state is WriteState.DOUBTFUL]
    if doubtful:
        return context.doubt(
            job,
            first_reason(doubtful),
            verdict_of_writes(job, writes),
            proven=proofs_of_writes(writes),
        )
    waiting = [write for write in writes if write.state.is_waiting]
    if waiting:
        result = with_reason(WriteState.CHANGED, _BLOCKED)
        context.journal.writes.record(job.id, [result.state_of(write) for write in waiting])
        writes = context.journal.writes.load(job.id, answers=False)
    verdict = verdict_of_writes(job, writes)
    state, detail = end_of_writes(
        writes, lambda unproven: _NEEDS_PERSON.format(n=len(unproven), why=first_reason(unproven))
    )
    return context.end(job, state, verdict, **detail), False
