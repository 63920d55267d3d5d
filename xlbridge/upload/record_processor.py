"""Channel of processings: a record is read, processed by one request, and proven by its state.

See the upload protocol, Processing.
"""

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, Executed, Outcome, Rejected
from xlbridge.i18n import Text, untranslated
from xlbridge.processes import Instant
from xlbridge.upload.claims import read_until
from xlbridge.upload.executor import (
    MAX_SETTLE_WAIT,
    Announce,
    PreparedWrite,
    RecordChannel,
    SharedPause,
    result_of,
    result_of_absence,
    send_once,
    with_reason,
)
from xlbridge.upload.job import Job
from xlbridge.upload.process_kinds import (
    ProcessKind,
    RecordState,
    RecordStatus,
    StateReader,
    find_kind,
)
from xlbridge.upload.row_changes import (
    RecordWrite,
    Results,
    WriteResult,
    WriteState,
    problems_note,
)

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_FRESH_SECONDS = 60.0
"""Time before the listing of all records is read again. See the product brief, Row actions."""

_NOT_SHOWN = Text(
    pt="o sistema aceitou a operação, mas o registro ainda não aparece como processado",
    en="the system accepted the request, but does not show the record as processed yet",
)
_UNPROVEN = Text(
    pt="a resposta se perdeu, e o registro não mostra se foi processado",
    en="the answer was lost, and the record does not show whether it was processed",
)
_LOST = Text(
    pt="não foi processado: o sistema não respondeu a {n} tentativas, e o registro está como antes",
    en="was not processed: the system did not answer {n} attempts, and the record is as before",
)
_CHANGED = Text(
    pt="mudou depois do plano, e não pode mais ser processado",
    en="has changed since the plan, and can no longer be processed",
)


class RecordProcessor(RecordChannel):
    """Processor of the records of one job."""

    def __init__(
        self,
        context: "RunContext",
        job: Job,
        pause: SharedPause,
        writes: Sequence[RecordWrite],
        at_once: int,
    ) -> None:
        self._context = context
        self._job = job
        self._kind: ProcessKind = find_kind(job.spec.resource)
        within = self._kind.within
        places = {_number(write): write.task.values[within] for write in writes} if within else {}
        self._reader = StateReader(context.client, self._kind, places, at_once)
        self._pause = pause
        self._listed = _ListedStates(context, self._reader, writes)

    def tokens(self, write: RecordWrite) -> frozenset[str]:
        """Return the number of the record."""
        return frozenset({write.task.record})

    def prepare(self, write: RecordWrite) -> PreparedWrite:
        """Return the processing of a record, whose state is read first."""
        return PreparedWrite(partial(self._process, write))

    def check_rejected(self, writes: Sequence[RecordWrite]) -> Results:
        """Yield the rejected records that are processed anyway."""
        states = self._reader.read([_number(write) for write in writes])
        for write in writes:
            state = states[_number(write)]
            if state.status is RecordStatus.DONE:
                yield write, _done(state, already=write.attempts == 1)

    def settle(self, writes: Sequence[RecordWrite], *, final: bool) -> Results:
        """Yield the records in doubt whose states prove a result.

        Records that the system is processing are awaited.
        """
        states = self._reader.read([_number(write) for write in writes])
        for write in writes:
            state = self._await(write, states)
            if state.status is RecordStatus.DONE:
                yield write, _done(state, already=write.attempts == 0)
            elif self._kind.is_queued and state.status is RecordStatus.CLOSED:
                yield write, self._result(WriteState.REJECTED, state.remark or _CHANGED)
            elif not final:
                continue
            elif state.status is not RecordStatus.OPEN or write.detail.get("accepted"):
                yield write, self._result(WriteState.UNPROVEN, state.remark or _UNPROVEN)
            else:
                yield write, result_of_absence(write, _LOST, self._kind.number)

    def _await(self, write: RecordWrite, states: dict[int, RecordState]) -> RecordState:
        """Poll a record until the system has processed it, and return its state.

        A queued file is awaited until it is done, other accepted records for the settle time.
        """
        number, accepted = _number(write), bool(write.detail.get("accepted"))
        longest = min(MAX_SETTLE_WAIT.total_seconds(), self._context.patience.seconds)

        def is_last(state: RecordState, waited: float) -> bool:
            is_awaited = state.status is RecordStatus.RUNNING or (
                accepted
                and state.status is RecordStatus.OPEN
                and (self._kind.is_queued or waited < longest)
            )
            if is_awaited:
                self._context.report_progress(
                    self._job,
                    Text(
                        pt="{noun} {number}: o sistema está processando",
                        en="{noun} {number}: the system is processing it",
                    ).format(noun=self._kind.noun, number=number),
                )
            return not is_awaited

        return read_until(
            lambda: states.pop(number, None) or self._read(write),
            is_last,
            self._context.options.sleep,
        )

    def _process(self, write: RecordWrite, announce: Announce) -> WriteResult:
        """Process a record, unless it is already done or can no longer be processed.

        Raises ``ApiError`` if it cannot be read, ``Withdrawn`` if the run is ending.
        """
        state = self._listed.of(_number(write)) if self._kind.is_listed else self._read(write)
        match state.status:
            case RecordStatus.DONE:
                return _done(state, already=write.attempts == 0)
            case RecordStatus.RUNNING:
                return self._accepted(state)
            case RecordStatus.OPEN | RecordStatus.UNKNOWN if (
                state.status is RecordStatus.OPEN or not self._kind.is_queued
            ):
                return self._send(write, state, announce)
        return self._result(WriteState.CHANGED, state.remark or _CHANGED)

    def _send(self, write: RecordWrite, state: RecordState, announce: Announce) -> WriteResult:
        operation, body_of = self._kind.process, self._kind.body
        path = dict.fromkeys(operation.path_parameters, _number(write))
        body = None if body_of is None else body_of(state.record)

        def read_back(declined: Declined) -> Outcome | None:
            status = self._read(write).status
            if status in {RecordStatus.DONE, RecordStatus.RUNNING}:
                return Executed(None)
            # A file that was started may wait in the queue, like one that was not.
            is_unchanged = status is RecordStatus.OPEN and not self._kind.is_queued
            return None if is_unchanged else Doubtful(declined.reason)

        outcome = send_once(
            self._context,
            send=lambda: self._context.client.send(operation, path=path, body=body),
            announce=lambda: announce({}),
            read_back=read_back,
            pause=self._pause,
        )
        match outcome:
            case Executed(data):
                # Done, if the record does not show otherwise.
                now = self._reader.of_answer(data)
                if now is None or now.status is not RecordStatus.DONE:
                    now = self._read(write)
                unknown = now.status is RecordStatus.UNKNOWN and not self._kind.is_queued
                is_done = unknown or now.status is RecordStatus.DONE
                return _done(now) if is_done else self._accepted(now)
            case Rejected(_, details):
                message = "; ".join(detail.value for detail in details if detail.value)
                return self._result(WriteState.REJECTED, untranslated(message))
        return result_of(outcome)

    def _accepted(self, state: RecordState) -> WriteResult:
        """Return the result of a record that the system does not show as done yet."""
        return with_reason(WriteState.DOUBTFUL, state.remark or _NOT_SHOWN, accepted=True)

    def _result(self, state: WriteState, reason: Text) -> WriteResult:
        return with_reason(state, reason, self._kind.number)

    def _read(self, write: RecordWrite) -> RecordState:
        return self._reader.read([_number(write)])[_number(write)]


class _ListedStates:
    """States of a job's records that can only be listed together, at most a minute old."""

    def __init__(
        self, context: "RunContext", reader: StateReader, writes: Sequence[RecordWrite]
    ) -> None:
        self._now = context.journal.now
        self._reader = reader
        self._numbers = [_number(write) for write in writes if write.state.is_waiting]
        self._states: dict[int, RecordState] = {}
        self._read_at: Instant | None = None
        self._lock = Lock()

    def of(self, number: int) -> RecordState:
        """Return the state of a record; thread-safe."""
        with self._lock:
            now = self._now()
            if self._read_at is None or now.uptime - self._read_at.uptime > _FRESH_SECONDS:
                self._states, self._read_at = self._reader.read(self._numbers), now
            return self._states[number]


def _number(write: RecordWrite) -> int:
    return int(write.task.record)


def _done(state: RecordState, *, already: bool = False) -> WriteResult:
    """Return the result of a processed record, with the values that the system has assigned."""
    detail: dict[str, Any] = {"assigned": dict(state.assigned), "already": already}
    if state.remark is not None:
        detail |= problems_note([(None, state.remark)])
    return WriteResult(WriteState.APPLIED, detail)
