"""Executor of writes of single records: creations, changes, removals and processings.

Each record is announced, sent once and proven, several at a time, over the channel of its write. A
record in doubt does not stop the others; it is settled by reading it back. Threads send; the main
one owns the journal and records for all of them, in one commit for messages that arrive together.
Writes that share a record or a key are sent one after another. A request is sent once, and repeated
only if it was certainly not executed. See the upload protocol, Updates, Record by record and
Processing.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

from xlbridge.client import NotExecuted
from xlbridge.errors import ApiError, InDoubt, LocalDatabaseError
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.executor import (
    CHECK_AGAIN,
    INTERRUPTED,
    PreparedWrite,
    Progress,
    RecordChannel,
    SharedPause,
    Withdrawn,
    await_settled,
    conclude,
    rejected_row,
    with_reason,
)
from xlbridge.upload.job import EVENTS_LOST, Job, planned_note
from xlbridge.upload.lookup.snapshot import Moment
from xlbridge.upload.record_changer import RecordChanger, change_of_row, removal_of_row
from xlbridge.upload.record_creator import RecordCreator
from xlbridge.upload.requests import State, Verdict
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
            from xlbridge.upload.record_processor import RecordProcessor

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


_MAX_CONSECUTIVE_DOUBTS = 10
"""Consecutive writes in doubt after which nothing more is sent until they are settled."""

_LAST_ANSWERS_SECONDS = 5.0
"""Longest wait for answers when a run ends; writes without an answer by then are in doubt."""

_BATCH_SECONDS = 0.005
"""Longest wait for further messages to record in the same commit."""

_TICK_SECONDS = 0.5
"""Longest wait for a thread without a check for interrupts, which Windows needs."""


class WriteOrder:
    """Order of writes: as listed, but each one after earlier writes with the same tokens.

    Writes with a ``blocked`` token, and those after them, are never ready.
    """

    def __init__(
        self,
        writes: Sequence[RecordWrite],
        tokens: Callable[[RecordWrite], Collection[str]],
        blocked: Collection[str] = (),
    ) -> None:
        self._writes = writes
        self._indexes = {write.position: index for index, write in enumerate(writes)}
        self._followers: defaultdict[int, list[int]] = defaultdict(list)
        self._awaited: list[int] = []
        last: dict[str, int] = {}
        for index, write in enumerate(writes):
            write_tokens = tokens(write)
            earlier = {last[token] for token in write_tokens if token in last}
            for other in earlier:
                self._followers[other].append(index)
            self._awaited.append(len(earlier) + any(token in blocked for token in write_tokens))
            last.update(dict.fromkeys(write_tokens, index))
        self._ready = [index for index, awaited in enumerate(self._awaited) if not awaited]

    @property
    def first(self) -> RecordWrite | None:
        """The first write that waits for no other, None if there is none."""
        return self._writes[self._ready[0]] if self._ready else None

    def start(self) -> None:
        """Remove the first write, which is being sent."""
        heapq.heappop(self._ready)

    def finish(self, write: RecordWrite) -> None:
        """Release the writes that waited for this one."""
        for index in self._followers.pop(self._indexes[write.position], ()):
            self._awaited[index] -= 1
            if not self._awaited[index]:
                heapq.heappush(self._ready, index)


@dataclass(slots=True)
class _Announcement:
    """Request that a thread is about to send, once it is granted."""

    write: RecordWrite
    result: WriteResult
    decided: Event = field(default_factory=Event)
    granted: bool = False

    def decide(self, *, granted: bool) -> None:
        self.granted = granted
        self.decided.set()


@dataclass(frozen=True, slots=True)
class _Finished:
    """Write that a thread has finished, with its result or failure."""

    write: RecordWrite
    result: WriteResult | None
    failure: BaseException | None


class RecordDispatch:
    """Dispatch of one job's writes to ``at_once`` threads.

    ``prepare`` is called while others are being sent, ``record`` stores states durably, ``count``
    is called for each write that has ended.
    """

    def __init__(
        self,
        prepare: Callable[[RecordWrite], PreparedWrite],
        record: Callable[[Sequence[tuple[RecordWrite, WriteResult]]], None],
        pause: SharedPause,
        at_once: int,
        count: Callable[[], None],
    ) -> None:
        self._prepare = prepare
        self._record = record
        self._pause = pause
        self._at_once = at_once
        self._count = count
        self._inbox: SimpleQueue[_Announcement | _Finished] = SimpleQueue()
        self._futures: list[Future[None]] = []
        self._active_count = 0
        self._doubts = 0
        self._closing = False
        self._received: list[_Announcement | _Finished] = []
        self._ahead: tuple[RecordWrite, PreparedWrite] | None = None
        self._commit_seconds = 0.0

    def run(self, order: WriteOrder) -> None:
        """Execute the writes of an order until an error or a series of doubts stops it.

        After an interrupt or a failure of the journal, answers to sent requests are awaited for a
        short time; a second interrupt ends that. Raises ``WriteResult.stop`` and the failures of
        threads.
        """
        threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="record")
        stop: BaseException | None = None
        try:
            self._start_writes(threads, order)
            while self._active_count:
                self._record_received()
                if stop is None and order.first is not None:
                    self._ahead = order.first, self._prepared(order.first)
                self._receive(_TICK_SECONDS)
                stop = self._conclude_received(order) or stop
                if stop is None:
                    self._start_writes(threads, order)
            self._record_received()
        except BaseException:
            self._drain()
            raise
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        if stop is not None:
            raise stop

    def _start_writes(self, threads: ThreadPoolExecutor, order: WriteOrder) -> None:
        """Start writes up to the number of threads.

        Those that start with their request are announced in the same commit as the last results.
        """
        self._futures = [future for future in self._futures if not future.done()]
        while self._active_count < self._at_once and self._doubts < _MAX_CONSECUTIVE_DOUBTS:
            write = order.first
            if write is None:
                return
            prepared, announcement = self._prepared(write), None
            if prepared.sends_first and self._pause.is_over:
                announcement = _Announcement(write, WriteResult(WriteState.SENDING))
                self._received.append(announcement)
            self._futures.append(threads.submit(self._execute, write, prepared, announcement))
            order.start()
            self._active_count += 1

    def _prepared(self, write: RecordWrite) -> PreparedWrite:
        """Return the prepared write, possibly prepared ahead of time."""
        ahead = self._ahead
        return ahead[1] if ahead is not None and ahead[0] is write else self._prepare(write)

    def _execute(
        self, write: RecordWrite, prepared: PreparedWrite, first: _Announcement | None
    ) -> None:
        def announce(detail: Mapping[str, Any]) -> None:
            nonlocal first
            announcement, first = first, None
            if announcement is None:
                announcement = _Announcement(write, WriteResult(WriteState.SENDING, detail))
                self._inbox.put(announcement)
            while not announcement.decided.wait(_TICK_SECONDS):
                if self._closing:
                    raise Withdrawn
            if not announcement.granted:
                raise Withdrawn

        result: WriteResult | None = None
        failure: BaseException | None = None
        try:
            result = prepared.work(announce)
        except Withdrawn:
            pass
        except BaseException as error:
            failure = error
        self._inbox.put(_Finished(write, result, failure))

    def _receive(self, seconds: float) -> None:
        """Receive the messages of threads, waiting for the first one.

        Further ones are awaited for as long as a commit of their own would take.
        """
        with suppress(Empty):
            self._received.append(self._inbox.get(timeout=seconds))
            end = time.monotonic() + min(self._commit_seconds, _BATCH_SECONDS)
            while len(self._received) < self._active_count:
                self._received.append(self._inbox.get(timeout=max(0.0, end - time.monotonic())))

    def _conclude_received(self, order: WriteOrder) -> BaseException | None:
        """Conclude the finished writes; return an error after which nothing more is sent."""
        stop: BaseException | None = None
        for message in self._received:
            if not isinstance(message, _Finished):
                continue
            self._active_count -= 1
            if message.result is None:
                stop = stop or message.failure
                continue
            self._count()
            if message.result.state is WriteState.DOUBTFUL:
                self._doubts += 1
            else:
                self._doubts = 0
                order.finish(message.write)
            stop = stop or message.result.stop
        return stop

    def _record_received(self) -> None:
        """Record all messages in one commit, then grant the announced requests."""
        announced = [message for message in self._received if isinstance(message, _Announcement)]
        results = [] if self._closing else [(one.write, one.result) for one in announced]
        results += [
            (message.write, message.result)
            for message in self._received
            if isinstance(message, _Finished) and message.result is not None
        ]
        granted = False
        started = time.monotonic()
        try:
            if results:
                self._record(results)
                self._commit_seconds = time.monotonic() - started
            granted = not self._closing
        finally:
            for announcement in announced:
                announcement.decide(granted=granted)
            self._received = []

    def _drain(self) -> None:
        """Record the last answers to sent requests; announce nothing more."""
        self._closing = True
        end = time.monotonic() + _LAST_ANSWERS_SECONDS
        while (
            self._received
            or not self._inbox.empty()
            or not all(future.done() for future in self._futures)
        ):
            if time.monotonic() > end:
                return
            with suppress(LocalDatabaseError):
                if not self._received:
                    self._receive(_TICK_SECONDS)
                self._record_received()
