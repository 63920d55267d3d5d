"""Sending of one record: announced, sent, and repeated only where it was certainly not executed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING

from xlbridge.client import Declined, Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import TransportError
from xlbridge.upload.record_dispatch import Withdrawn, WriteResult
from xlbridge.upload.record_writes import WriteState

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

MOST_ATTEMPTS = 3
"""Requests for one record whose answers are lost, after which it is left as it is."""


@dataclass(slots=True)
class SharedPause:
    """Pause that the system has asked for: one request that is put off puts off all others."""

    sleep: Callable[[float], None]
    _until: float = 0.0
    _lock: Lock = field(default_factory=Lock)

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
            problems = [(one.key or None, one.value) for one in details if one.value]
            return WriteResult(WriteState.REJECTED, {"problems": problems})
        case NotExecuted(reason):
            return WriteResult(WriteState.NOT_APPLIED, stop=TransportError(reason))
        case Doubtful(reason):
            return WriteResult(WriteState.DOUBTFUL, {"problems": [(None, str(reason))]})


def with_reason(state: WriteState, reason: object, column: str | None = None) -> WriteResult:
    """Return a result with one thing to be said of it, and its column where there is one."""
    return WriteResult(state, {"problems": [(column, str(reason))]})
