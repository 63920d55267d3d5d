"""What is looked at before anything is written: the records that are there, and a preview."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from xlbridge.api.outcome import Doubtful, Executed, NotExecuted, Rejected
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import State
from xlbridge.upload.proof import actions
from xlbridge.upload.reading import as_json
from xlbridge.upload.steps.bench import Bench, Step
from xlbridge.upload.told_rows import refused_whole
from xlbridge.upload.verdict import all_unknown
from xlbridge.upload.whole_reading import MOST_REQUESTS, read_rows
from xlbridge.wire.imports import ImportQuery

BEFORE = "before"
"""The moment of a reading that was made before anything was sent."""

_FRESH = timedelta(minutes=5)
"""How old a reading may be when the rows are sent: others work in the system, too."""

_IN_PARTS = Text(
    pt="; com --chunk-rows {most} cada parte é lida",
    en="; with --chunk-rows {most} each part is read",
).format(most=MOST_REQUESTS)
COUNT_DIFFERS = Text(
    pt="o sistema leu {n} {n:linha|linhas}, e a planilha tem {rows}",
    en="the system read {n} {n:row|rows}, and the sheet has {rows}",
)
_REFUSED = Text(
    pt="o sistema não deixou ler: {reason}", en="the system did not let them be read: {reason}"
)


def is_looked_at(bench: Bench, job: Job) -> bool:
    """Whether everything that is to be looked at before the first write has been."""
    return not (_wants_reading(bench, job) or _wants_preview(bench, job))


def look(bench: Bench, job: Job) -> Step:
    """Take the next look at a prepared job.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    if _wants_reading(bench, job):
        return _read_beforehand(bench, job), True
    return _preview(bench, job)


def _wants_reading(bench: Bench, job: Job) -> bool:
    if not bench.options.read_back:
        return False
    read = next((event.at for event in reversed(job.events) if "plan" in event.detail), None)
    return read is None or bench.journal.now() - read > _FRESH


def _wants_preview(bench: Bench, job: Job) -> bool:
    wanted = bench.options.preview or job.what.mode is Mode.PREVIEW
    return wanted and job.last("previewed") is None


def _read_beforehand(bench: Bench, job: Job) -> Job:
    bench.tell(job, Text(pt="lendo o que o sistema já tem", en="reading what the system has"))
    rows = bench.rows(job)
    try:
        reading, unread = read_rows(bench.client, bench.resource(job), rows, way_out=_IN_PARTS)
    except RemoteRejected as error:
        reading, unread = (None,) * len(rows), _REFUSED.format(reason=error.message)
    if any(reading):
        bench.journal.keep_reading(job, BEFORE, as_json(reading))
    note: dict[str, Any] = {} if unread is None else {"unread": asdict(unread)}
    return bench.journal.record(job, State.PREPARED, plan=dict(actions(reading)), **note)


def _preview(bench: Bench, job: Job) -> Step:
    bench.tell(job, Text(pt="prévia no sistema", en="preview by the system"))
    job = bench.announce(job, State.PREVIEWING)
    operation = bench.resource(job).paths.direct
    outcome = bench.repeat(lambda: bench.upload(job, operation, ImportQuery(preview=True)))
    match outcome:
        case Rejected(_, complaints):
            return bench.end(job, State.REJECTED, refused_whole(job.what, complaints)), False
        case Executed(data) if data.totalDeRegistros != len(job.what.rows):
            reason = asdict(COUNT_DIFFERS.format(n=data.totalDeRegistros, rows=len(job.what.rows)))
            return bench.end(
                job, State.ABANDONED, reason=reason, previewed=data.totalDeRegistros
            ), False
        case Executed(data) if job.what.mode is Mode.PREVIEW:
            verdict = all_unknown(job.what)
            return bench.end(job, State.PREVIEWED, verdict, previewed=data.totalDeRegistros), False
        case Executed(data):
            return bench.journal.record(job, State.PREPARED, previewed=data.totalDeRegistros), True
        case NotExecuted(reason) | Doubtful(reason):
            # A preview writes nothing: whatever became of it, nothing was applied.
            raise bench.not_sent(job, reason)
