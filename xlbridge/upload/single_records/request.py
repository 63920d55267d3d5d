"""Request that writes one record: sent once, repeated only if it was certainly not executed.

Also what all channels of single records share: announcements, the common pause, and results.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ApiError, ErrorDetail, TransportError
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.single_records.write_journal import (
    NewState,
    Problem,
    RecordWrite,
    WriteState,
    problems_note,
)

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_MAX_ATTEMPTS = 3
"""Requests for one record with lost answers before it is given up."""


class Withdrawn(Exception):
    """The run is ending, and the request to be announced is not sent."""


Announce = Callable[[Mapping[str, Any]], None]
"""Records, with details, that a request is about to be sent; raises ``Withdrawn``."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of a write: its new state and details.

    ``stop`` is an error after which nothing more is sent.
    """

    state: WriteState
    detail: Mapping[str, Any] = field(default_factory=dict)
    stop: ApiError | None = None

    def state_of(self, write: RecordWrite) -> NewState:
        """Return the new state of a write that had this result."""
        return NewState(write, self.state, self.detail)


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Write that is ready: ``work`` executes it in a thread.

    ``sends_first``: the work starts with its request, announced without details.
    """

    work: Callable[[Announce], WriteResult]
    sends_first: bool = False


Results = Iterator[tuple[RecordWrite, WriteResult]]
"""Writes with their results, yielded as they become known."""


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

    def check_rejected(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rejected writes whose records are there anyway."""
        yield from ()


@dataclass(slots=True)
class SharedPause:
    """Pause requested by the system, common to all requests."""

    sleep: Callable[[float], None]
    _until: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_over(self) -> bool:
        """True if no request has to wait."""
        return time.monotonic() >= self._until

    def extend(self, seconds: float) -> None:
        """Hold all requests for at least ``seconds`` from now."""
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def wait(self) -> None:
        """Wait for the end of the pause."""
        left = self._until - time.monotonic()
        if left > 0:
            self.sleep(left)


@dataclass(frozen=True, slots=True)
class RecordRequest:
    """Request that writes one record.

    ``announce`` records that it is about to be sent. ``read_back`` returns the outcome of a
    declined request, None if nothing was written; it is None if records cannot be read back.
    """

    send: Callable[[], Outcome]
    announce: Callable[[], None]
    read_back: Callable[[Declined], Outcome | None] | None


def send_record(context: "RunContext", pause: SharedPause, request: RecordRequest) -> Outcome:
    """Send a request once; again only if it was certainly not executed.

    That is so if it never left this computer, or if it was declined and the record, read back, is
    as before. Without reading back, it depends on whether the client trusts the answer. Raises
    ``Withdrawn`` if the run is ending and nothing was sent.
    """
    last: Outcome | None = None
    declined: Declined | None = None
    longest = context.client.retry_policy.total

    def attempt() -> Outcome:
        nonlocal last, declined
        if declined is not None and request.read_back is not None:
            context.await_declined(declined)
            outcome = request.read_back(declined)
            if outcome is not None:
                return outcome
        pause.wait()
        request.announce()
        last = request.send()
        # A pause that ends the retries of this request holds no other: the run ends.
        if isinstance(last, Doubtful) and 0 < (last.retry_after or 0) <= longest:
            pause.extend(last.retry_after or 0)
        if isinstance(last, NotExecuted) and declined is not None and request.read_back is None:
            # The declined request before it could not be checked.
            return Doubtful(last.reason)
        declined = last if isinstance(last, Declined) else declined
        return last

    def may_repeat(doubt: Doubtful) -> bool:
        return isinstance(doubt, Declined) and (request.read_back is not None or doubt.trusted)

    try:
        outcome = context.repeat_while(attempt, may_repeat)
    except Withdrawn:
        if last is None:
            raise
        outcome = last
    if not isinstance(outcome, Declined):
        return outcome
    # A declined request that is not repeated again.
    not_executed = NotExecuted(outcome.reason, answered=True)
    if request.read_back is not None:
        context.await_declined(outcome)
        return request.read_back(outcome) or not_executed
    return not_executed if outcome.trusted else Doubtful(outcome.reason)


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
            doubt = with_reason(WriteState.DOUBTFUL, reason)
            return WriteResult(doubt.state, {**doubt.detail, "refusal": outcome.refusal})


def result_of_absence(write: RecordWrite, lost: Text, column: str | None = None) -> WriteResult:
    """Return the result of a write in doubt whose record proves to be as before.

    After a refusal as plain text it is rejected for that reason. Else it may be sent again, three
    times at most; ``lost`` says that the system did not answer ``{n}`` requests.
    """
    if write.detail.get("refusal"):
        return WriteResult(WriteState.REJECTED, problems_note(write.problems))
    if write.attempts < _MAX_ATTEMPTS:
        return WriteResult(WriteState.NOT_APPLIED)
    return with_reason(WriteState.REJECTED, lost.format(n=write.attempts), column)


def with_reason(state: WriteState, reason: Text, column: str | None = None) -> WriteResult:
    """Return a result with a single problem."""
    return WriteResult(state, problems_note([(column, reason)]))


def problems_of(details: Iterable[ErrorDetail]) -> list[Problem]:
    """Return the system's messages about a rejected record."""
    return [(detail.key or None, untranslated(detail.value)) for detail in details if detail.value]
