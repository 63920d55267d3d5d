"""Steps of every request that writes: announced, sent once, proven, and its job concluded.

Batch files, single records and changes of their state are written by the same steps. A channel
declares how its requests are made and what proves them: its sending and a look at the records for
a doubt, for single records a ``RecordChannel``; that of a file is settled here, by reading its
records back. Progress is reported as rows or records done, with the time left. Verdicts are those
of the system's answers: finished logs and rejected requests. See the upload protocol.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ApiError, ErrorDetail, InDoubt, RemoteRejected, TransportError
from xlbridge.i18n import Text, count_text, localized_number, untranslated
from xlbridge.upload.lookup.snapshot import Moment, applied_rows
from xlbridge.upload.options import UploadOptions
from xlbridge.upload.requests import (
    NO_VERDICT,
    ItemAddresses,
    RejectedRow,
    RowOutcome,
    State,
    Verdict,
)
from xlbridge.upload.row_changes import (
    Problem,
    RecordWrite,
    Results,
    WriteResult,
    WriteState,
    problems_note,
)
from xlbridge.wire.imports import ImportLog, Quirks

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue
    from xlbridge.upload.job import Job, JobSpec
    from xlbridge.upload.run_context import RunContext, Step
    from xlbridge.wire.imports import ImportRecords

_LOGGER = logging.getLogger(__name__)

CHECK_AGAIN = Text(
    pt="Para conferir de novo: xlbridge resume {job}",
    en="To check again: xlbridge resume {job}",
    page=Text(
        pt="Para conferir de novo, continue {job} em Envios.",
        en="To check again, continue {job} under Uploads.",
    ),
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


def send_once(
    context: "RunContext",
    send: Callable[[], Outcome],
    announce: Callable[[], object],
    read_back: Callable[[Declined], Outcome | None] | None,
    pause: SharedPause | None = None,
) -> Outcome:
    """Send a request that writes once; again only if it was certainly not executed.

    That is so if it never left this computer, or if it was declined and, once it can no longer
    arrive, is read back as before. Without reading back, it depends on whether the client trusts
    the answer. ``announce`` records that it is about to be sent. ``read_back`` returns the outcome
    of a declined request, None if nothing was written; it is None if that cannot be read back.
    Requests that are sent at the same time share a ``pause``. Raises ``Withdrawn`` if the run is
    ending and nothing was sent.
    """
    last: Outcome | None = None
    declined: Declined | None = None
    longest = context.client.retry_policy.total

    def attempt() -> Outcome:
        nonlocal last, declined
        if declined is not None and read_back is not None:
            context.await_declined(declined)
            outcome = read_back(declined)
            if outcome is not None:
                return outcome
        if pause is not None:
            pause.wait()
        announce()
        last = send()
        if pause is not None and isinstance(last, Doubtful):
            asked = last.retry_after or 0
            # A pause that ends the retries of this request holds no other: the run ends.
            if 0 < asked <= longest:
                pause.extend(asked)
        if isinstance(last, NotExecuted) and declined is not None and read_back is None:
            # The declined request before it could not be checked.
            return Doubtful(last.reason)
        declined = last if isinstance(last, Declined) else declined
        return last

    def may_repeat(doubt: Doubtful) -> bool:
        return isinstance(doubt, Declined) and (read_back is not None or doubt.trusted)

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
    if read_back is not None:
        context.await_declined(outcome)
        return read_back(outcome) or not_executed
    return not_executed if outcome.trusted else outcome


def await_settled(
    context: "RunContext", job: "Job", is_proven: Callable[[], bool] = lambda: False
) -> "tuple[Job, bool]":
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
    context: "RunContext", job: "Job", verdict: Verdict, reason: Text | None = None, **detail: Any
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
    context: "RunContext", job: "Job", reason: Text, verdict: Verdict = NO_VERDICT
) -> "Step":
    """End a job for now; a person must decide on the outcome of its rows."""
    return context.end(job, State.NEEDS_PERSON, verdict, reason=reason.languages), False


_BETWEEN_SNAPSHOTS = 1.0
_LOOKING = Text(pt="conferindo no sistema", en="checking the system")
_NO_PROOF = Text(
    pt="não há prova de que as linhas foram ou não gravadas: {why}",
    en="nothing proves whether the rows were written: {why}",
)
_NOT_READ = Text(
    pt="os registros não foram lidos antes do envio", en="the records were not read before sending"
)
_NO_CHANGE = Text(
    pt="os registros estão como antes do envio", en="the records are unchanged since before sending"
)
_NO_KEY = Text(
    pt="há linhas sem chave para localizá-las", en="some rows have no key to look them up by"
)
_UNREADABLE = Text(
    pt="o sistema não permitiu nova leitura: {reason}",
    en="the system did not let them be read again: {reason}",
)


def reconcile_by_snapshots(context: "RunContext", job: "Job") -> "Step":
    """End a job by what two snapshots of its records prove, compared with the one before sending.

    Records that are there prove something at any time; missing ones only after the settle time, as
    the request may still arrive, and a reading may be late. Raises ``InDoubt`` if the system cannot
    be reached, ``TransportError`` if nothing was applied and the job can be resumed.
    """
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    declared, detail = context.resource(job).read_back, job.events[-1].detail

    def is_proven() -> bool:
        """Return whether all records are there, or none if the system gave the file up."""
        with suppress(ApiError):
            if before is not None and declared is not None:
                proven = applied_rows(before, context.read_snapshot(job), declared.existing)
                given_up = detail.get("ended") and detail.get("refusal")
                return all(proven) or bool(given_up and not any(proven))
        return False

    job, is_over = await_settled(context, job, is_proven)
    if not is_over:
        return job, False
    if before is None or declared is None:
        return needs_person(context, job, _NO_PROOF.format(why=_NOT_READ))
    context.report_progress(job, _LOOKING)
    try:
        snapshots = [context.read_snapshot(job)]
        context.options.sleep(_BETWEEN_SNAPSHOTS)
        snapshots.append(context.read_snapshot(job))
    except RemoteRejected as error:
        why = _UNREADABLE.format(reason=error.message)
        return needs_person(context, job, _NO_PROOF.format(why=why))
    except ApiError as error:
        raise InDoubt(error.message, CHECK_AGAIN.format(job=job.arguments())) from error
    for snapshot in snapshots:
        context.journal.snapshots.store(job.id, Moment.AFTER, snapshot)
    if list(snapshots[0]) != list(snapshots[1]):
        # Something is still arriving.
        return job, False
    return _end_by_proof(context, job, applied_rows(before, snapshots[0], declared.existing))


def is_as_before(context: "RunContext", job: "Job") -> bool:
    """Return whether the records of a job that can be read back are as before sending.

    False if the system does not answer.
    """
    context.report_progress(job, _LOOKING)
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE) or ()
    try:
        now = context.read_snapshot(job)
    except ApiError:
        return False
    return [row and row.contents for row in now] == [row and row.contents for row in before]


def rows_written(context: "RunContext", job: "Job") -> list[bool | None]:
    """Return for each row of a job whether its record is in the system by now, None if unknown.

    Raises ``TransportError`` or ``AuthenticationFailed`` if the system does not answer.
    """
    unknown: list[bool | None] = [None] * len(job.spec.rows)
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    declared = context.resource(job).read_back
    if before is None or declared is None:
        return unknown
    try:
        now = context.read_snapshot(job)
    except RemoteRejected:
        return unknown
    proven = applied_rows(before, now, declared.existing)
    # A row that was there before as it is now proves nothing.
    return [
        None if was is not None and was.same else one
        for was, one in zip(before, proven, strict=True)
    ]


def _end_by_proof(context: "RunContext", job: "Job", proven: list[bool | None]) -> "Step":
    """End a job by proof: all rows present, done; some, partial; none after a refusal, rejected;
    else a person decides.

    Raises ``TransportError`` if the system had declined the request and no row is present.
    """
    if None in proven:
        seen = [True if present else None for present in proven]
        why, verdict = _NO_PROOF.format(why=_NO_KEY), Verdict.of_proof(job.spec.rows, seen)
        return needs_person(context, job, why, verdict)
    if not any(proven) and job.events[-1].detail.get("declined"):
        raise context.record_unsent(job, NotExecuted(job.reason, answered=True))
    if not any(proven) and job.events[-1].detail.get("refusal"):
        refused = RejectedRow(None, None, None, job.reason)
        verdict = Verdict.of_rejections(job.spec.rows, [refused], RowOutcome.NOT_WRITTEN)
        return conclude(context, job, verdict)
    if not any(proven):
        return needs_person(context, job, _NO_PROOF.format(why=_NO_CHANGE))
    verdict = Verdict.of_proof(job.spec.rows, proven)
    return conclude(context, job, verdict, reconciled="read back")


class Progress:
    """Progress of the rows or records of a job: number done, rate of this run, time left.

    ``initial`` is the number done before this run, by default that of the first report.
    """

    def __init__(self, options: UploadOptions, total: int, initial: int | None = None) -> None:
        self._options = options
        self._total = total
        self._initial = initial
        self._started = time.monotonic()

    def report(self, done: int, text: Text, **values: object) -> None:
        """Report the number done in a ``text``, and the time left at the rate of this run."""
        if self._initial is None:
            self._initial = done
        newly_done, left = done - self._initial, self._total - done
        pace = untranslated("")
        if newly_done > 0:
            rate = newly_done / max(time.monotonic() - self._started, 0.001)
            shown = localized_number(f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}")
            pace = (_TIME_LEFT if left else _RATE).format(
                rate=shown, time=timedelta(seconds=round(left / rate))
            )
        self._options.progress(
            text.format(done=count_text(done), total=count_text(self._total), pace=pace, **values)
        )
        self._options.on_count(done, self._total)


_RATE = Text(pt=" · {rate}/s", en=" · {rate}/s")
_TIME_LEFT = Text(pt=" · {rate}/s · faltam {time}", en=" · {rate}/s · {time} left")


ROW_COUNT_DIFFERS = Text(
    pt="o sistema leu {n} {n:linha|linhas}, e a planilha tem {rows}",
    en="the system read {n} {n:row|rows}, and the sheet has {rows}",
)
"""Reason to doubt an upload that was executed."""

_NO_ITEMS: Mapping[str, ItemAddresses] = MappingProxyType({})


def verdict_of_rejection(
    job: "JobSpec", details: Sequence[ErrorDetail], first_line: int
) -> Verdict:
    """Return the verdict on a sheet that was rejected as a whole.

    ``first_line`` is the number of the first row.
    """
    # Imported here, as most commands only read verdicts from the journal.
    from xlbridge.wire.imports import split_line_number

    rejections = []
    for detail in details:
        number, rest = split_line_number(detail.value)
        row = _sheet_row(job, number, first_line)
        message = untranslated(rest if row else detail.value)
        rejections.append(rejected_row(job, row, detail.key or None, message))
    return Verdict.of_rejections(job.rows, rejections, RowOutcome.NOT_WRITTEN)


def verdict_of_log(
    job: "JobSpec", log: "ImportLog | ImportRecords", quirks: Quirks, first_line: int | None = None
) -> Verdict | None:
    """Return the verdict of a finished log, or of an import's own answer; None if it proves none.

    The interface guarantees the status and the rejected lines. Optional counts must agree: rows
    read with rows sent, accepted plus rejected with the total, rejected lines with their count.
    ``first_line`` is the number of the first row, by default the declared one.
    """
    first = quirks.first_line if first_line is None else first_line
    lines = log.linhasRejeitadas or []
    named = {line.linha for line in lines}
    rejected = log.rejected
    if rejected is None and log.registrosImportados is not None:
        rejected = len(job.rows) - log.registrosImportados
    if rejected is None or len(named) != rejected:
        return None
    accepted = len(job.rows) - rejected
    agrees = log.totalDeRegistros in (None, len(job.rows))
    if not agrees or log.registrosImportados not in (None, accepted):
        return None
    if any(_sheet_row(job, line, first) is None for line in named):
        return None
    rejections = [
        rejected_row(job, _sheet_row(job, line.linha, first), line.coluna, untranslated(message))
        for line in sorted(lines, key=lambda line: line.linha or 0)
        for message in quirks.messages(line.mensagem)
    ]
    return Verdict.of_rejections(job.rows, rejections, RowOutcome.ACCEPTED)


def is_about(job: "Job", log: "ImportLog", resources: "Catalogue", *, as_sent: bool) -> bool:
    """Return whether a log is that of a job's file, as far as it tells.

    Its id is the job's, its file name, if files are named ``as_sent``, bears the job's id, and its
    resource is not another one. The interface promises none of these.
    """
    is_named_otherwise = as_sent and log.nomeDoArquivo and job.id not in log.nomeDoArquivo
    if log.id not in (None, job.known.log_id) or is_named_otherwise:
        return False
    named = (log.recurso or "").strip().casefold()
    return named == job.spec.resource or named not in resources


def accounts_for_every_row(job: "JobSpec", log: "ImportLog") -> bool:
    """Return whether a log's counts cover every row, whatever its status."""
    counts = (log.totalDeRegistros, log.registrosImportados, log.registrosRejeitados)
    total, imported, rejected = counts
    if total is None or imported is None or rejected is None:
        return False
    return imported + rejected == total == len(job.rows)


def rejected_row(
    job: "JobSpec",
    row: int | None,
    column: str | None,
    message: Text,
    *,
    itself: bool = True,
    items: Mapping[str, ItemAddresses] = _NO_ITEMS,
) -> RejectedRow:
    """Return a rejected row with its cell, if the sheet or the item's sheet has the column."""
    cell = None
    if row is not None and column is not None:
        cell = ItemAddresses.find(items, row, column) or job.cell(row, column)
    return RejectedRow(row, cell, column, message, itself)


def _sheet_row(job: "JobSpec", line: int | None, first_line: int) -> int | None:
    """Return the analyst's row for a line of the payload."""
    if line is None:
        return None
    position = line - first_line
    return job.rows[position] if 0 <= position < len(job.rows) else None


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
