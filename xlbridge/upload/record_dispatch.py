"""Dispatch of record writes to threads; each write is on disk before its request is sent.

The main thread owns the journal and records for all sending threads, in one commit for messages
that arrive together. Writes that share a record or a key are sent one after another. A request is
sent once, and repeated only if it was certainly not executed.
"""

import heapq
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from xlbridge.client import Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ErrorDetail, LocalDatabaseError, TransportError
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.executor import SharedPause, Withdrawn
from xlbridge.upload.row_changes import (
    Problem,
    RecordWrite,
    Results,
    WriteResult,
    WriteState,
    problems_note,
)

_MAX_ATTEMPTS = 3
"""Requests for one record with lost answers before it is given up."""


Announce = Callable[[Mapping[str, Any]], None]
"""Records, with details, that a request is about to be sent; raises ``Withdrawn``."""


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Write that is ready: ``work`` executes it in a thread.

    ``sends_first``: the work starts with its request, announced without details.
    """

    work: Callable[[Announce], WriteResult]
    sends_first: bool = False


class RecordChannel(ABC):
    """Channel over which single records are written: creation, change or processing.

    It says how a record is written and what proves that it was; all methods raise ``ApiError`` if
    the system cannot be reached.
    """

    def before_first(self, writes: Sequence[RecordWrite]) -> None:  # noqa: B027
        """Read what must be known before the first of a job's ``writes`` is sent."""

    def find_appeared(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the writes that must not be sent, since others have written their records."""
        yield from ()

    @abstractmethod
    def tokens(self, write: RecordWrite) -> frozenset[str]:
        """Return the keys of a record, which concurrent writes must not share."""

    @abstractmethod
    def prepare(self, write: RecordWrite) -> PreparedWrite:
        """Return a write that is ready to be sent."""

    @abstractmethod
    def settle(self, writes: Sequence[RecordWrite], *, final: bool) -> Results:
        """Yield the writes in doubt that reading back settles.

        A record that is not as wanted proves something only with ``final``, once no request can
        still arrive.
        """

    @abstractmethod
    def check_rejected(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rejected writes that were made anyway."""


def result_of(outcome: Outcome) -> WriteResult:
    """Return the result of a write from the outcome of its request."""
    match outcome:
        case Executed():
            return WriteResult(WriteState.APPLIED)
        case Rejected(_, details):
            return WriteResult(WriteState.REJECTED, problems_note(problems_of(details)))
        case NotExecuted(reason):
            return WriteResult(WriteState.NOT_APPLIED, stop=TransportError(reason))
        case Doubtful(reason):
            return with_reason(WriteState.DOUBTFUL, reason, refusal=outcome.refusal)


def result_of_absence(write: RecordWrite, lost: Text, column: str | None = None) -> WriteResult:
    """Return the result of a write in doubt whose record proves to be as before.

    After a refusal as plain text it is rejected for that reason. Else it may be sent again, three
    times at most in one upload; ``lost`` says that the system did not answer ``{n}`` requests.
    """
    if write.detail.get("refusal"):
        return WriteResult(WriteState.REJECTED, problems_note(write.problems))
    if write.attempts < _MAX_ATTEMPTS:
        return WriteResult(WriteState.NOT_APPLIED)
    return with_reason(WriteState.NOT_WRITTEN, lost.format(n=write.attempts), column)


def with_reason(
    state: WriteState, reason: Text, column: str | None = None, **detail: Any
) -> WriteResult:
    """Return a result with a single problem, and further details."""
    return WriteResult(state, {**problems_note([(column, reason)]), **detail})


def problems_of(details: Iterable[ErrorDetail]) -> list[Problem]:
    """Return the system's messages about a rejected record."""
    return [(detail.key or None, untranslated(detail.value)) for detail in details if detail.value]


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
