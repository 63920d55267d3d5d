"""Requests that write: a direct import, or a file that is staged, started and polled."""

from dataclasses import asdict

from xlbridge.client import Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ApiError, InDoubt, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.job import Job, State
from xlbridge.upload.remote_row_results import (
    ROW_COUNT_DIFFERS,
    verdict_of_log,
    verdict_of_rejection,
)
from xlbridge.upload.run_context import RunContext, Step
from xlbridge.upload.verdict import Verdict
from xlbridge.wire.imports import IMPORT_LOG, IMPORT_PROCESS, ImportLog, ImportQuery, ImportState

_FIRST_POLL, _MAX_POLL = 0.1, 5.0

_UNPROVEN = Text(
    pt="os totais do log não fecham com as linhas enviadas",
    en="the log's counts do not account for every row",
)
_ORPHAN = "the file of attempt {attempt} may be staged and was not started"


def send_rows(context: RunContext, job: Job) -> Step:
    """Send a job's rows in its mode. Raises ``TransportError`` when nothing was applied."""
    return _stage(context, job) if job.what.mode is Mode.QUEUE else _send_direct(context, job)


def stage_again(context: RunContext, job: Job) -> Step:
    """Stage a file whose staging was interrupted, where the first does nothing by itself."""
    orphan = _ORPHAN.format(attempt=job.attempts)
    return _stage(context, context.journal.record(job, State.PREPARED, orphan=orphan))


def start_or_poll(context: RunContext, job: Job) -> Step:
    """Go on with a staged file: start it where it waits for that."""
    if not context.resource(job).paths.needs_processar:
        return context.journal.record(job, State.POLLING), True
    return start(context, job)


def start(context: RunContext, job: Job) -> Step:
    """Ask for a staged file to be processed. Raises ``TransportError`` when it was not asked."""
    context.report_progress(
        job, Text(pt="aguardando o início do processamento", en="awaiting the start")
    )
    job = context.announce(job, State.STARTING)
    path = {"id": job.last("log_id")}
    outcome = context.until_executed(lambda: context.client.send(IMPORT_PROCESS, path=path))
    match outcome:
        case Executed(_):
            return context.journal.record(job, State.POLLING), True
        case NotExecuted(reason):
            raise context.not_sent(job, reason, back_to=State.STAGED)
        case Rejected(_, details):
            message = "; ".join(detail.value for detail in details)
            return context.doubt(job, Text(pt=message, en=message), start_refused=True)
        case Doubtful(reason):
            return context.doubt(job, reason)


def poll(context: RunContext, job: Job) -> Step:
    """Ask for the log until it is finished. Raises ``InDoubt`` when it does not answer."""
    if not context.options.wait:
        return job, False
    wait = _FIRST_POLL
    while True:
        log = read_log(context, job)
        if isinstance(log, Text):
            return context.doubt(job, log)
        if log.situacao is ImportState.FINISHED:
            return finish(context, job, log)
        context.options.progress(_progress(log, len(job.what.rows)))
        context.options.sleep(wait)
        wait = min(wait * 1.5, _MAX_POLL)


def finish(context: RunContext, job: Job, log: ImportLog) -> Step:
    """Take the verdict of a finished log, or doubt one that proves none."""
    verdict = verdict_of_log(job.what, log)
    if verdict is None:
        return context.doubt(job, _UNPROVEN)
    if verdict.rejected == 0:
        return context.end(job, State.DONE, verdict), False
    state = State.PARTIAL if verdict.accepted else State.REJECTED
    rejected = {row.row for row in verdict.rejected_rows}
    freed = [place for place, row in enumerate(job.what.rows) if row in rejected]
    return context.end(job, state, verdict, freed=freed), False


def read_log(context: RunContext, job: Job) -> ImportLog | Text:
    """Return the log of a queued file, or why the system says that it has none.

    Raises ``InDoubt`` when no answer came.
    """
    try:
        log: ImportLog = context.client.call(IMPORT_LOG, path={"id": job.last("log_id")})
    except RemoteRejected as error:
        return error.message
    except ApiError as error:
        raise InDoubt(
            Text(
                pt="O resultado ainda não é conhecido: {reason}",
                en="The outcome is not known yet: {reason}",
            ).format(reason=error.message),
            Text(
                pt="O envio está na fila. Continue com: xlbridge resume {job}",
                en="The upload is queued. Continue with: xlbridge resume {job}",
            ).format(job=job.id),
        ) from error
    return log


def _send_direct(context: RunContext, job: Job) -> Step:
    context.report_progress(
        job, Text(pt="enviando, aguardando a resposta", en="sending, awaiting the answer")
    )
    job = context.announce(job, State.SENDING)
    operation = context.resource(job).paths.direct
    outcome = context.until_executed(lambda: context.upload(job, operation, ImportQuery()))
    match outcome:
        case Executed(data) if data.totalDeRegistros == len(job.what.rows):
            return context.end(job, State.DONE, Verdict.all_accepted(job.what.rows)), False
        case Executed(data):
            return context.doubt(
                job, ROW_COUNT_DIFFERS.format(n=data.totalDeRegistros, rows=len(job.what.rows))
            )
        case Rejected(_, details):
            return context.end(job, State.REJECTED, verdict_of_rejection(job.what, details)), False
        case NotExecuted(reason):
            raise context.not_sent(job, reason)
        case Doubtful(reason):
            return context.doubt(job, reason)


def _stage(context: RunContext, job: Job) -> Step:
    context.report_progress(job, Text(pt="enviando para a fila", en="sending to the queue"))
    waits = context.resource(job).paths.needs_processar
    job, outcome = _stage_file(context, job)
    match outcome:
        case Executed(log_id):
            return context.journal.record(job, State.STAGED, log_id=log_id), True
        case Rejected(_, details):
            return context.end(job, State.REJECTED, verdict_of_rejection(job.what, details)), False
        case NotExecuted(reason):
            raise context.not_sent(job, reason)
        case Doubtful(reason) if waits:
            raise context.not_sent(_record_orphan(context, job, reason), reason)
        case Doubtful(reason):
            return context.doubt(job, reason)


def _stage_file(context: RunContext, job: Job) -> tuple[Job, Outcome]:
    """Stage a job's file; each attempt is recorded first, and each that may be an orphan.

    A file that waits for processar-arquivo has done nothing yet: it may be staged again.
    """
    paths = context.resource(job).paths
    if paths.queue is None:
        raise AssertionError(f"{job.what.resource} has no queue")
    operation, current = paths.queue, job
    last: Outcome | None = None

    def attempt() -> Outcome:
        nonlocal current, last
        if isinstance(last, Doubtful):
            current = _record_orphan(context, current, last.reason)
        current = context.announce(current, State.STAGING)
        last = context.upload(current, operation)
        return last

    again = context.repeat if paths.needs_processar else context.until_executed
    outcome = again(attempt)
    return current, outcome


def _record_orphan(context: RunContext, job: Job, reason: Text) -> Job:
    orphan = _ORPHAN.format(attempt=job.attempts)
    return context.journal.record(job, State.PREPARED, orphan=orphan, reason=asdict(reason))


def _progress(log: ImportLog, rows: int) -> Text:
    waited = Text(pt="na fila", en="queued")
    state = waited if log.situacao is ImportState.PENDING else Text(pt="processando", en="running")
    done = log.registrosImportados + log.registrosRejeitados
    return Text(
        pt="Log {id}: {state}, {done} de {rows} {rows:linha|linhas}",
        en="Log {id}: {state}, {done} of {rows} {rows:row|rows}",
    ).format(id=log.id, state=state, done=done, rows=rows)
