"""Steps of every request that writes: announced, sent once, proven, and its job concluded.

Batch files, single records and changes of their state are written by the same steps. A channel
declares how its requests are made and what proves them: a ``WriteRequest`` for sending, a look at
the records for a doubt. See the upload protocol.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, NotExecuted, Outcome
from xlbridge.i18n import Text
from xlbridge.upload.job import Job
from xlbridge.upload.requests import State
from xlbridge.upload.results.verdict import NO_VERDICT, RowOutcome, Verdict

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_LOGGER = logging.getLogger(__name__)

CHECK_AGAIN = Text(
    pt="Para conferir de novo: xlbridge resume {job}", en="To check again: xlbridge resume {job}"
)

INTERRUPTED = Text(
    pt="a execução foi interrompida antes da resposta",
    en="the run was interrupted before the answer",
)

MAX_SETTLE_WAIT = timedelta(seconds=30)
"""Longest settle time that a run waits out; longer ones are left to a later run."""


class Withdrawn(Exception):
    """The run is ending, and the request to be announced is not sent."""


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
class WriteRequest:
    """Request that writes: a file, the start of one, or a single record.

    ``announce`` records that it is about to be sent. ``read_back`` returns the outcome of a
    declined request, None if nothing was written; it is None if that cannot be read back. Requests
    that are sent at the same time share a ``pause``.
    """

    send: Callable[[], Outcome]
    announce: Callable[[], object]
    read_back: Callable[[Declined], Outcome | None] | None
    pause: SharedPause | None = None


def send_once(context: "RunContext", request: WriteRequest) -> Outcome:
    """Send a request once; again only if it was certainly not executed.

    That is so if it never left this computer, or if it was declined and, once it can no longer
    arrive, is read back as before. Without reading back, it depends on whether the client trusts
    the answer. Raises ``Withdrawn`` if the run is ending and nothing was sent.
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
        if request.pause is not None:
            request.pause.wait()
        request.announce()
        last = request.send()
        if request.pause is not None and isinstance(last, Doubtful):
            asked = last.retry_after or 0
            # A pause that ends the retries of this request holds no other: the run ends.
            if 0 < asked <= longest:
                request.pause.extend(asked)
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
    return not_executed if outcome.trusted else outcome


def await_settled(
    context: "RunContext", job: Job, is_proven: Callable[[], bool] = lambda: False
) -> tuple[Job, bool]:
    """Wait out the settle time of a doubt; return the job, and whether the doubt can be settled.

    It can be once no request may still arrive, and before that if ``is_proven``: what is there
    proves something at any time, what is missing only then. A long time is left to a later run. A
    doubt that a clock ahead of this one has recorded is recorded again, so that it ends.
    """
    now = context.journal.now()
    if now.seems_before(job.events[-1].instant):
        job = context.journal.record(job, State.IN_DOUBT, **job.events[-1].detail)
    left = job.settle_left(context.journal.now(), context.patience.seconds)
    if not left or is_proven():
        return job, True
    left = job.settle_left(context.journal.now(), context.patience.seconds) or timedelta()
    if timedelta() < left <= MAX_SETTLE_WAIT:
        context.report_progress(
            job,
            Text(
                pt="resposta perdida; aguardando até {end} para conferir no sistema",
                en="answer lost; waiting until {end} to check in the system",
            ).format(end=f"{now.at + left:%H:%M:%S}"),
        )
        _LOGGER.info("job %s: look in the system after %.1f s", job.id, left.total_seconds())
        context.options.sleep(left.total_seconds())
        left = job.settle_left(context.journal.now(), context.patience.seconds) or timedelta()
    return job, not left


def conclude(
    context: "RunContext", job: Job, verdict: Verdict, reason: Text | None = None, **detail: Any
) -> "Step":
    """End a job by what became of its rows: all, some or none were written.

    If that is unknown of one, a person decides, for the given ``reason``.
    """
    outcomes: Sequence[RowOutcome] | None = verdict.outcomes
    if outcomes is None:
        outcomes = context.journal.changes.outcomes(job.id)
    if RowOutcome.UNKNOWN in outcomes and reason is not None:
        return needs_person(context, job, reason, verdict)
    written = outcomes.count(RowOutcome.ACCEPTED)
    state = State.PARTIAL if written else State.REJECTED
    if written == len(outcomes):
        state = State.DONE
    return context.end(job, state, verdict, **detail), False


def needs_person(
    context: "RunContext", job: Job, reason: Text, verdict: Verdict = NO_VERDICT
) -> "Step":
    """End a job for now; a person must decide on the outcome of its rows."""
    return context.end(job, State.NEEDS_PERSON, verdict, reason=asdict(reason)), False
