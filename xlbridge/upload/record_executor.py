"""Executor of writes of single records: creations, changes, removals and processings.

Each record is announced, sent once and proven, several at a time, over the channel of its write. A
record in doubt does not stop the others; it is settled by reading it back. See the upload protocol,
Updates, Record by record and Processing.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from xlbridge.client import NotExecuted
from xlbridge.errors import ApiError, InDoubt
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.executor import (
    CHECK_AGAIN,
    INTERRUPTED,
    Progress,
    SharedPause,
    await_settled,
    conclude,
    rejected_row,
)
from xlbridge.upload.job import EVENTS_LOST, Job, planned_note
from xlbridge.upload.lookup.snapshot import Moment
from xlbridge.upload.record_changer import RecordChanger, change_of_row, removal_of_row
from xlbridge.upload.record_creator import RecordCreator
from xlbridge.upload.record_dispatch import (
    RecordChannel,
    RecordDispatch,
    WriteOrder,
    with_reason,
)
from xlbridge.upload.requests import State
from xlbridge.upload.results.verdict import Verdict
from xlbridge.upload.row_changes import (
    CREATION,
    RecordTask,
    RecordWrite,
    Results,
    WriteResult,
    WriteState,
)

if TYPE_CHECKING:
    from xlbridge.upload.journal import Journal
    from xlbridge.upload.run_context import RunContext, Step


_REPORT_SECONDS = 0.1
_PROGRESS = Text(
    pt="{done} de {total} {total:registro|registros}{pace}",
    en="{done} of {total} {total:record|records}{pace}",
)
_NEEDS_PERSON = Text(
    pt="{n:um registro está|{n} registros estão} em dúvida: {why}",
    en="{n:one record is|{n} records are} in doubt: {why}",
)
_BLOCKED = Text(
    pt="não foi enviada: outra linha da mesma chave está em dúvida",
    en="was not sent: another row of the same key is in doubt",
)
_NO_REASON = Text(
    pt="rejeitada pelo sistema, sem motivo informado", en="rejected by the system without a reason"
)


def _write_records(context: "RunContext", job: Job) -> "Step":
    """Write the records of a job that are not written yet, and end it unless some are in doubt.

    Raises ``TransportError`` or ``AuthenticationFailed`` if the system cannot be reached,
    ``InDoubt`` if the outcome of a record is then unknown; a later run continues.
    """
    journal = context.journal
    if not journal.writes.load(job.id):
        journal.writes.plan(job.id, _tasks_of_plan(context, job))
    is_resumed = job.state is State.SENDING
    if not is_resumed:
        job = context.announce(job, State.SENDING)
    try:
        executor = _RecordExecutor(context, job)
        if is_resumed and job.plan_is_old(journal.now()):
            job = executor.refresh()
        executor.write_waiting()
        executor.check_rejected()
    except ApiError as error:
        writes = journal.writes.load(job.id, answers=False)
        raise _stopped(context, job, error, writes) from error
    writes = journal.writes.load(job.id, answers=False)
    doubtful = [write for write in writes if write.state is WriteState.DOUBTFUL]
    if doubtful:
        return context.doubt(job, _first_reason(doubtful), _verdict_of_writes(job, writes))
    writes = _leave_waiting(journal, job, writes, _BLOCKED)
    unproven = [write for write in writes if write.state is WriteState.UNPROVEN]
    why = _NEEDS_PERSON.format(n=len(unproven), why=_first_reason(unproven))
    return conclude(context, job, _verdict_of_writes(job, writes), why)


def _settle_records(context: "RunContext", job: Job) -> "Step":
    """Settle the records in doubt by reading them back; those certainly not written are sent again.

    What is still in doubt after the settle time is left to a person. Raises ``InDoubt`` if the
    system cannot be reached, ``TransportError`` if nothing was sent that the journal knows of, or
    applied.
    """
    if not context.options.wait:
        return job, False
    journal = context.journal
    if not journal.writes.load(job.id):
        # Entries of the journal were lost, and these with them.
        journal.writes.plan(job.id, _tasks_of_plan(context, job), in_doubt=EVENTS_LOST)
    try:
        job, is_over = await_settled(
            context, job, lambda: not _RecordExecutor(context, job).settle(final=False)
        )
        if not is_over:
            return job, False
        _RecordExecutor(context, job).settle(final=True)
    except ApiError as error:
        raise InDoubt(error.message, CHECK_AGAIN.format(job=job.arguments())) from error
    writes = journal.writes.load(job.id, answers=False)
    if not job.requests[0].attempt and any(write.state.is_waiting for write in writes):
        # The journal has lost entries, and nothing shows that the job was ever confirmed.
        if all(write.state.is_waiting for write in writes):
            raise context.record_unsent(job, NotExecuted(job.reason, answered=True))
        # Some records are there, whoever has written them.
        if (refusal := context.dissent(job)) is not None:
            _leave_waiting(journal, job, writes, refusal)
    return journal.record(job, State.SENDING, reconciled="read back"), True


def _tasks_of_plan(context: "RunContext", job: Job) -> list[RecordTask]:
    """Return the planned task of each row of a job."""
    planned = context.journal.sent_plan_of(job)
    if all(row.is_created for row in planned):
        return [CREATION] * len(planned)
    if job.deletes:
        before = context.journal.snapshots.newest(job.id, Moment.BEFORE) or ()
        return [removal_of_row(row, found) for row, found in zip(planned, before, strict=True)]
    rows = zip(planned, context.rows(job), strict=True)
    return [CREATION if row.is_created else change_of_row(row, values) for row, values in rows]


class _RecordExecutor:
    """Executor of the writes of one job."""

    def __init__(self, context: "RunContext", job: Job) -> None:
        self._context = context
        self._job = job
        self._writes = context.journal.writes.load(job.id)
        self._pause = SharedPause(context.options.sleep)
        self._at_once = int(job.notes.at_once or context.options.at_once)
        self._channels = self._open_channels()

    def _open_channels(self) -> dict[bool, RecordChannel]:
        """Return the channels of the writes that create records, and of the others."""
        context, job, pause = self._context, self._job, self._pause
        if job.spec.mode.channel.of_listing:
            from xlbridge.upload.processing.sending import RecordProcessor

            return {False: RecordProcessor(context, job, pause, self._writes, self._at_once)}
        resource, rows = context.resource(job), context.rows(job)
        channels: dict[bool, RecordChannel] = {}
        if resource.create is not None and any(write.task.creates for write in self._writes):
            channels[True] = RecordCreator(context, job, rows, pause, resource.create, self._writes)
        if resource.read_back is not None and resource.change is not None:
            channels[False] = RecordChanger(
                context, job, rows, pause, resource.read_back, resource.change
            )
        return channels

    def refresh(self) -> Job:
        """Read the keys of the records still to be created again; leave out existing ones."""
        waiting = [write for write in self._writes if write.task.creates and write.state.is_waiting]
        for creator, writes in self._by_channel(waiting):
            self._record(creator.find_appeared(writes))
        self._writes = self._context.journal.writes.load(self._job.id)
        planned = planned_note(self._context.journal.now())
        return self._context.journal.record(self._job, State.SENDING, **planned)

    def write_waiting(self) -> None:
        """Send the waiting writes; those that an earlier run was sending are in doubt."""
        results = []
        for write in self._in_state(WriteState.SENDING):
            # A created record whose lists are not registered yet has a code.
            known = {"record": write.record} if write.task.creates and write.record else {}
            results.append((write, with_reason(WriteState.DOUBTFUL, INTERRUPTED, **known)))
        self._store(results)
        unsettled = [write for write in self._writes if write.state.is_open]
        waiting = [write for write in self._writes if write.state.is_waiting]
        blocked = {token for write in unsettled for token in self._channel(write).tokens(write)}
        for channel in self._channels.values():
            channel.before_first(self._writes)
        done, reported = len(self._writes) - len(waiting), time.monotonic()
        progress = Progress(self._context.options, len(self._writes), done)

        def count() -> None:
            nonlocal done, reported
            done += 1
            now = time.monotonic()
            if now - reported >= _REPORT_SECONDS or done == len(self._writes):
                reported = now
                progress.report(done, _PROGRESS)

        dispatch = RecordDispatch(
            lambda write: self._channel(write).prepare(write),
            self._store,
            self._pause,
            self._at_once,
            count,
        )
        dispatch.run(WriteOrder(waiting, lambda write: self._channel(write).tokens(write), blocked))

    def check_rejected(self) -> None:
        """Read the records again that were sent and not written; those that are there are applied.

        A balancer may repeat a request whose answer it has lost, and return the second one.
        """
        self._writes = self._context.journal.writes.load(self._job.id)
        for channel, writes in self._by_channel(
            self._in_state(WriteState.REJECTED, WriteState.NOT_WRITTEN)
        ):
            self._record(channel.check_rejected(writes))

    def settle(self, *, final: bool) -> bool:
        """Read back the records in doubt; return whether some still are."""
        doubtful = self._in_state(WriteState.DOUBTFUL)
        settled = 0
        for channel, writes in self._by_channel(doubtful):
            settled += self._record(channel.settle(writes, final=final))
        return settled < len(doubtful)

    def _in_state(self, *states: WriteState) -> list[RecordWrite]:
        return [write for write in self._writes if write.state in states]

    def _by_channel(
        self, writes: Sequence[RecordWrite]
    ) -> Iterator[tuple[RecordChannel, list[RecordWrite]]]:
        for channel in self._channels.values():
            if own := [write for write in writes if self._channel(write) is channel]:
                yield channel, own

    def _channel(self, write: RecordWrite) -> RecordChannel:
        channel = self._channels.get(write.task.creates)
        if channel is None:
            raise AssertionError(f"{self._job.spec.resource}: no operation for this write")
        return channel

    def _record(self, results: Results) -> int:
        """Record results as they arrive, and return their number."""
        count = 0
        for write, result in results:
            self._store([(write, result)])
            count += 1
        return count

    def _store(self, results: Sequence[tuple[RecordWrite, WriteResult]]) -> None:
        if results:
            self._context.journal.writes.record(self._job.id, results)


def _stopped(
    context: "RunContext", job: Job, error: ApiError, writes: list[RecordWrite]
) -> ApiError:
    """Record the progress of a run stopped by an error, and return the error to raise."""
    if all(write.state.is_waiting for write in writes):
        return context.record_unsent(job, NotExecuted(error.message))
    verdict = _verdict_of_writes(job, writes)
    if any(write.state in {WriteState.DOUBTFUL, WriteState.SENDING} for write in writes):
        context.doubt(job, error.message, verdict)
        return InDoubt(error.message, CHECK_AGAIN.format(job=job.arguments()))
    context.journal.record(job, State.SENDING, verdict=verdict, reason=error.message.languages)
    return error


def leave_unsent_records(journal: "Journal", job: Job, reason: Text) -> Verdict | None:
    """Leave the records of a job out that were never sent, as a person ends it for a ``reason``.

    Return the verdict on all, None if no record is in doubt.
    """
    writes = journal.writes.load(job.id, answers=False)
    if not any(write.state.is_open for write in writes):
        return None
    return _verdict_of_writes(job, _leave_waiting(journal, job, writes, reason))


def _leave_waiting(
    journal: "Journal", job: Job, writes: list[RecordWrite], reason: Text
) -> list[RecordWrite]:
    """Leave the waiting writes of a job as they are, and return all."""
    waiting = [write for write in writes if write.state.is_waiting]
    if not waiting:
        return writes
    result = with_reason(WriteState.CHANGED, reason)
    journal.writes.record(job.id, [(write, result) for write in waiting])
    return journal.writes.load(job.id, answers=False)


def _first_reason(writes: Sequence[RecordWrite]) -> Text:
    """Return the first message about the given writes."""
    return next((text for write in writes for _, text in write.problems), untranslated("–"))


def _verdict_of_writes(job: Job, writes: list[RecordWrite]) -> Verdict:
    """Return the verdict on a job's rows, whose outcomes are recorded with each answer."""
    refused = [write for write in writes if write.state.is_refused]
    items = job.items if refused else {}
    return Verdict(
        rejections=[
            rejected_row(
                job.spec,
                job.spec.rows[write.position],
                column,
                message,
                itself=write.state is WriteState.REJECTED,
                items=items,
            )
            for write in refused
            for column, message in write.problems or [(None, _NO_REASON)]
        ]
    )


STEPS: "Mapping[State, Callable[[RunContext, Job], Step]]" = {
    State.PREPARED: _write_records,
    State.SENDING: _write_records,
    State.IN_DOUBT: _settle_records,
}
"""Step of a job of single records in each of its states."""
