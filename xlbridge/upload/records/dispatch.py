"""Dispatch of record writes: several on their way, each on the disk before its request leaves.

One thread, which has the journal, records for all that send: what several have to record at the
same moment costs one commit. Writes that share a record or a key go one after another.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from xlbridge.errors import LocalDatabaseError
from xlbridge.i18n import Text
from xlbridge.upload.options import UploadOptions, pace_text
from xlbridge.upload.records.request import PreparedWrite, SharedPause, Withdrawn, WriteResult
from xlbridge.upload.records.write_journal import NewState, RecordWrite, WriteState

_MOST_DOUBTS_IN_A_ROW = 10
"""Writes in doubt, one after another, after which nothing more is sent until they are settled."""

_LAST_ANSWERS_SECONDS = 5.0
"""Longest wait for answers once a run is to end; what has none by then is in doubt."""

_REPORT_SECONDS = 0.1
_SOON_SECONDS = 0.005
"""Longest wait for what other threads have to record, too."""

_TICK_SECONDS = 0.5
"""Longest wait for a thread after which interrupts are looked for: Windows needs that."""


class WriteOrder:
    """Order of writes: as they stand, but for those that wait for another of the same tokens.

    Those with a ``blocked`` token, and what comes after them, are never next.
    """

    def __init__(
        self,
        writes: Sequence[RecordWrite],
        tokens: Callable[[RecordWrite], Collection[str]],
        blocked: Collection[str] = (),
    ) -> None:
        self._writes = writes
        self._place = {write.position: place for place, write in enumerate(writes)}
        self._followers: defaultdict[int, list[int]] = defaultdict(list)
        self._awaited: list[int] = []
        last: dict[str, int] = {}
        for place, write in enumerate(writes):
            own = tokens(write)
            earlier = {last[token] for token in own if token in last}
            for other in earlier:
                self._followers[other].append(place)
            self._awaited.append(len(earlier) + any(token in blocked for token in own))
            last.update(dict.fromkeys(own, place))
        self._ready = [place for place, awaited in enumerate(self._awaited) if not awaited]

    @property
    def first(self) -> RecordWrite | None:
        """The first write that waits for no other, None where there is none now."""
        return self._writes[self._ready[0]] if self._ready else None

    def begin(self) -> None:
        """Take the first write out: it is on its way."""
        heapq.heappop(self._ready)

    def finish(self, write: RecordWrite) -> None:
        """Let those go that waited for a write; without this they never do."""
        for place in self._followers.pop(self._place[write.position], ()):
            self._awaited[place] -= 1
            if not self._awaited[place]:
                heapq.heappush(self._ready, place)


class RecordProgress:
    """Progress of a job's records: how many are done, the rate of this run, the time left.

    ``total`` are all records of the job, ``waiting`` those that this run has to write.
    """

    def __init__(self, options: UploadOptions, total: int, waiting: int) -> None:
        self._report, self._counted = options.progress, options.on_count
        self._total = total
        self._waiting = waiting
        self._begun = self._reported = time.monotonic()
        self._done = 0

    def count(self) -> None:
        """Count a record that is done, and report that; seldom, where many are."""
        self._done += 1
        now = time.monotonic()
        if now - self._reported < _REPORT_SECONDS and self._done < self._waiting:
            return
        self._reported = now
        left = self._waiting - self._done
        self._counted(self._total - left, self._total)
        self._report(
            Text(
                pt="{done} de {total} {total:registro|registros}{pace}",
                en="{done} of {total} {total:record|records}{pace}",
            ).format(
                done=self._total - left,
                total=self._total,
                pace=pace_text(self._done, left, now - self._begun),
            )
        )


@dataclass(slots=True)
class _Announcement:
    """Request that a thread is about to send, once it is told that it may."""

    new: NewState
    decided: Event = field(default_factory=Event)
    granted: bool = False

    def decide(self, *, granted: bool) -> None:
        self.granted = granted
        self.decided.set()


@dataclass(frozen=True, slots=True)
class _Ended:
    """Write that a thread has ended with, and its result, or what it failed with."""

    write: RecordWrite
    result: WriteResult | None
    failure: BaseException | None


class RecordDispatch:
    """Dispatch of one job's writes to ``at_once`` threads.

    ``prepare`` is called while others are on their way, ``record`` puts states on the disk,
    ``count`` is told of each write that has ended.
    """

    def __init__(
        self,
        prepare: Callable[[RecordWrite], PreparedWrite],
        record: Callable[[Sequence[NewState]], None],
        pause: SharedPause,
        at_once: int,
        count: Callable[[], None],
    ) -> None:
        self._prepare = prepare
        self._record = record
        self._pause = pause
        self._at_once = at_once
        self._count = count
        self._inbox: SimpleQueue[_Announcement | _Ended] = SimpleQueue()
        self._in_flight: list[Future[None]] = []
        self._on_their_way = 0
        self._doubts = 0
        self._closing = False
        self._received: list[_Announcement | _Ended] = []
        self._ahead: tuple[RecordWrite, PreparedWrite] | None = None
        self._commit_seconds = 0.0

    def run(self, order: WriteOrder) -> None:
        """Carry out the writes of an order, as far as no error and no row of doubts stops it.

        An interrupt, or a failure of the journal, still waits a little for the answers to what was
        sent; a second interrupt does not. Raises what ``WriteResult.stop`` has, and what a thread
        fails with.
        """
        threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="record")
        stop: BaseException | None = None
        try:
            self._begin(threads, order)
            while self._on_their_way:
                self._record_received()
                if stop is None and order.first is not None:
                    self._ahead = order.first, self._prepared(order.first)
                self._receive(_TICK_SECONDS)
                stop = self._conclude_received(order) or stop
                if stop is None:
                    self._begin(threads, order)
            self._record_received()
        except BaseException:
            self._drain()
            raise
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        if stop is not None:
            raise stop

    def _begin(self, threads: ThreadPoolExecutor, order: WriteOrder) -> None:
        """Begin as many writes as may be on their way.

        What begins with its request is announced here: one commit with what has ended just before.
        """
        self._in_flight = [one for one in self._in_flight if not one.done()]
        while self._on_their_way < self._at_once and self._doubts < _MOST_DOUBTS_IN_A_ROW:
            write = order.first
            if write is None:
                return
            prepared, announcement = self._prepared(write), None
            if prepared.sends_first and self._pause.is_over:
                announcement = _Announcement(NewState(write, WriteState.SENDING, {}))
                self._received.append(announcement)
            self._in_flight.append(threads.submit(self._carry_out, write, prepared, announcement))
            order.begin()
            self._on_their_way += 1

    def _prepared(self, write: RecordWrite) -> PreparedWrite:
        """Return a write that is ready, from the time when there was nothing else to do."""
        ahead = self._ahead
        return ahead[1] if ahead is not None and ahead[0] is write else self._prepare(write)

    def _carry_out(
        self, write: RecordWrite, prepared: PreparedWrite, first: _Announcement | None
    ) -> None:
        def announce(detail: Mapping[str, Any]) -> None:
            nonlocal first
            announcement, first = first, None
            if announcement is None:
                announcement = _Announcement(NewState(write, WriteState.SENDING, detail))
                self._inbox.put(announcement)
            self._await(announcement)

        result: WriteResult | None = None
        failure: BaseException | None = None
        try:
            result = prepared.work(announce)
        except Withdrawn:
            pass
        except BaseException as error:
            failure = error
        self._inbox.put(_Ended(write, result, failure))

    def _await(self, announcement: _Announcement) -> None:
        while not announcement.decided.wait(_TICK_SECONDS):
            if self._closing:
                raise Withdrawn
        if not announcement.granted:
            raise Withdrawn

    def _receive(self, seconds: float) -> None:
        """Take the messages of threads so far, after a wait for the first of them.

        Others are waited for as long as their own commit would take.
        """
        with suppress(Empty):
            self._received.append(self._inbox.get(timeout=seconds))
            end = time.monotonic() + min(self._commit_seconds, _SOON_SECONDS)
            while len(self._received) < self._on_their_way:
                self._received.append(self._inbox.get(timeout=max(0.0, end - time.monotonic())))

    def _conclude_received(self, order: WriteOrder) -> BaseException | None:
        """Note the writes that have ended; return the error for which nothing more is sent."""
        stop: BaseException | None = None
        for one in self._received:
            if isinstance(one, _Ended):
                self._on_their_way -= 1
                stop = stop or self._conclude(one, order)
        return stop

    def _record_received(self) -> None:
        """Record all messages in one commit, then let the announced requests go."""
        announced = [one for one in self._received if isinstance(one, _Announcement)]
        states = [] if self._closing else [one.new for one in announced]
        states += [
            NewState(one.write, one.result.state, one.result.detail)
            for one in self._received
            if isinstance(one, _Ended) and one.result is not None
        ]
        granted = False
        begun = time.monotonic()
        try:
            if states:
                self._record(states)
                self._commit_seconds = time.monotonic() - begun
            granted = not self._closing
        finally:
            for announcement in announced:
                announcement.decide(granted=granted)
            self._received = []

    def _conclude(self, ended: _Ended, order: WriteOrder) -> BaseException | None:
        """Note the end of a write; return the error for which nothing more is sent."""
        if ended.result is None:
            return ended.failure
        self._count()
        if ended.result.state is WriteState.DOUBTFUL:
            self._doubts += 1
        else:
            self._doubts = 0
            order.finish(ended.write)
        return ended.result.stop

    def _drain(self) -> None:
        """Take down the answers that come soon to what was sent; nothing more is announced."""
        self._closing = True
        end = time.monotonic() + _LAST_ANSWERS_SECONDS
        while self._received or not self._inbox.empty() or not self._all_done():
            if time.monotonic() > end:
                return
            with suppress(LocalDatabaseError):
                if not self._received:
                    self._receive(_TICK_SECONDS)
                self._record_received()

    def _all_done(self) -> bool:
        return all(one.done() for one in self._in_flight)
