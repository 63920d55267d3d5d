"""Request that writes one record: sent once, repeated only where it was certainly not executed.

What a write needs of those that send many at once is here, too: how a request is announced, the
pause that holds for all, and the result that is recorded.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ApiError, ErrorDetail, TransportError
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.records.write_journal import Problem, WriteState, problems_note

if TYPE_CHECKING:
    from xlbridge.upload.runner import RunContext

MOST_ATTEMPTS = 3
"""Requests for one record whose answers are lost, after which it is left as it is."""


class Withdrawn(Exception):
    """The run is ending: a request that was to be announced is not sent."""


Announce = Callable[[Mapping[str, Any]], None]
"""Records that a request is about to be sent, with details; raises ``Withdrawn``."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Result of the work on a write: its state and what is recorded of it.

    ``stop`` is the error for which nothing more is sent.
    """

    state: WriteState
    detail: Mapping[str, Any] = field(default_factory=dict)
    stop: ApiError | None = None


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Write that is ready: ``work`` takes it as far as it goes, in a thread of its own.

    ``sends_first`` says that the work begins with its request, announced without details.
    """

    work: Callable[[Announce], WriteResult]
    sends_first: bool = False


@dataclass(slots=True)
class SharedPause:
    """Pause that the system has asked for: one request that is put off puts off all others."""

    sleep: Callable[[float], None]
    _until: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_over(self) -> bool:
        """True where nothing needs to wait."""
        return time.monotonic() >= self._until

    def ask(self, seconds: float) -> None:
        """Let no request go out for some seconds."""
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

    ``announce`` records that it is about to be sent. ``read_back`` says what became of one that was
    put off, None where nothing was written; it is None where no reading tells.
    """

    send: Callable[[], Outcome]
    announce: Callable[[], None]
    read_back: Callable[[Declined], Outcome | None] | None


def send_record(context: "RunContext", pause: SharedPause, request: RecordRequest) -> Outcome:
    """Send a request once; again only where it was certainly not executed.

    That is so where it has not left this computer, and where it was put off and the record, read
    back, is as before; what cannot be read back is trusted where the client trusts the answer.
    Raises ``Withdrawn`` when nothing was sent, as the run is ending.
    """
    last: Outcome | None = None
    put_off: Declined | None = None

    def attempt() -> Outcome:
        nonlocal last, put_off
        if put_off is not None and request.read_back is not None:
            outcome = request.read_back(put_off)
            if outcome is not None:
                return outcome
        pause.wait()
        request.announce()
        last = request.send()
        if isinstance(last, Doubtful) and last.retry_after:
            pause.ask(last.retry_after)
        if isinstance(last, NotExecuted) and put_off is not None and request.read_back is None:
            # What came before it was never read back.
            return Doubtful(last.reason)
        put_off = last if isinstance(last, Declined) else put_off
        return last

    def may_repeat(doubt: Doubtful) -> bool:
        return isinstance(doubt, Declined) and (request.read_back is not None or doubt.trusted)

    try:
        outcome = context.repeat_while(attempt, may_repeat)
    except Withdrawn:
        if last is None:
            raise
        outcome = last
    return _outcome_of_put_off(outcome, request) if isinstance(outcome, Declined) else outcome


def _outcome_of_put_off(declined: Declined, request: RecordRequest) -> Outcome:
    """Return what became of a request that was put off and is not repeated any more."""
    not_executed = NotExecuted(declined.reason, answered=True)
    if request.read_back is not None:
        return request.read_back(declined) or not_executed
    busy = declined.status == HTTPStatus.TOO_MANY_REQUESTS
    return not_executed if busy and declined.trusted else Doubtful(declined.reason)


def result_of(outcome: Outcome) -> WriteResult:
    """Return the result of a write whose request has that outcome."""
    match outcome:
        case Executed():
            return WriteResult(WriteState.APPLIED)
        case Rejected(_, details):
            return WriteResult(WriteState.REJECTED, problems_note(told_problems(details)))
        case NotExecuted(reason):
            return WriteResult(WriteState.NOT_APPLIED, stop=TransportError(reason))
        case Doubtful(reason):
            return with_reason(WriteState.DOUBTFUL, reason)


def with_reason(state: WriteState, reason: Text, column: str | None = None) -> WriteResult:
    """Return a result with one thing to be said of it, and its column where there is one."""
    return WriteResult(state, problems_note([(column, reason)]))


def told_problems(details: Iterable[ErrorDetail]) -> list[Problem]:
    """Return what the system has said of a record that it refused, in its own words."""
    return [(one.key or None, untranslated(one.value)) for one in details if one.value]
