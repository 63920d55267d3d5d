"""Requests to import a job's file: preview, direct import, or staging, start and polling."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xlbridge.client import Declined, Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.errors import ApiError, InDoubt, RemoteRejected
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.claims import read_until
from xlbridge.upload.executor import (
    INTERRUPTED,
    ROW_COUNT_DIFFERS,
    Progress,
    accounts_for_every_row,
    await_settled,
    conclude,
    is_about,
    is_as_before,
    reconcile_by_snapshots,
    rows_written,
    send_once,
    verdict_of_log,
    verdict_of_rejection,
)
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import Moment
from xlbridge.upload.requests import RowOutcome, State, Verdict, failure_of_log, has_two_spellings
from xlbridge.wire.imports import (
    IMPORT_LOG,
    IMPORT_PROCESS,
    ImportLog,
    ImportQuery,
    ImportRecords,
    ImportState,
)

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step


_LOGGER = logging.getLogger(__name__)

_FIRST_POLL, _POLL_GROWTH = 0.03, 1.15
"""Seconds from the first poll of a log to the second, and growth of the pauses, which are in
proportion to the time elapsed."""

_LEAST_PENDING_SECONDS = 30.0
"""Seconds that a file may wait in a queue that runs by itself, if the settle time is shorter."""

_UNPROVEN = Text(
    pt="os totais do log não fecham com as linhas enviadas",
    en="the log's counts do not account for every row",
)
_NOT_STARTED = Text(
    pt="os registros do sistema mudaram depois do plano; o arquivo na fila não foi processado",
    en="records in the system have changed since the plan; the queued file was not started",
)
_CONTRADICTED = Text(
    pt="o sistema tem outras linhas do que o log diz",
    en="the system has other rows than the log says",
)
_OTHER_FILE = Text(
    pt="o log {id} é de outro arquivo ({file}); nada foi iniciado por ele",
    en="log {id} is that of another file ({file}); nothing was started by it",
)
_PROGRESS = Text(
    pt="Log {id}: {state}, {done} de {total} {total:linha|linhas}{pace}",
    en="Log {id}: {state}, {done} of {total} {total:row|rows}{pace}",
)
_STATE_WORDS = {
    ImportState.PENDING: State.STAGED.text,
    ImportState.RUNNING: Text(pt="processando", en="running"),
}
_ORPHAN = "the file of attempt {attempt} may be staged and was not started"


def _doubt_interrupted(context: "RunContext", job: Job) -> "Step":
    return context.doubt(job, INTERRUPTED)


def _resume_staging(context: "RunContext", job: Job) -> "Step":
    """Stage a file again after an interruption, if the first copy is not processed by itself."""
    if not context.needs_start(job):
        return _doubt_interrupted(context, job)
    orphan = _ORPHAN.format(attempt=job.requests[0].attempt)
    return _send_rows(context, context.journal.record(job, State.PREPARED, orphan=orphan))


def _start(context: "RunContext", job: Job) -> "Step":
    """Request that a staged file be processed, if it needs that, else poll its log.

    Raises ``TransportError`` if no request arrived.
    Keys are read again if the plan is old by then: a file whose rows were written by others is
    never started. If the request is declined for now, the log shows whether it was started anyway.
    """
    if job.state is State.STAGED and not context.needs_start(job):
        return context.journal.record(job, State.POLLING), True
    if context.plan_has_changed(job):
        orphan = _ORPHAN.format(attempt=job.requests[0].attempt)
        return context.end(
            job, State.ABANDONED, reason=_NOT_STARTED.languages, orphan=orphan
        ), False
    job = context.journal.job(job.id)
    context.report_progress(
        job, Text(pt="aguardando o início do processamento", en="awaiting the start")
    )
    log = _read_log(context, job)
    if isinstance(log, Text):
        return context.doubt(job, log)
    if context.quirks.state_of(log) not in (None, ImportState.PENDING):
        # The queue runs by itself: a second start might import the file twice.
        return context.journal.record(job, State.POLLING), True
    path = {"id": job.known.log_id}
    was_declined = False

    def read_back(_declined: Declined) -> Outcome | None:
        nonlocal was_declined
        was_declined = True
        found = _read_log(context, job)
        is_pending = (
            not isinstance(found, Text) and context.quirks.state_of(found) is ImportState.PENDING
        )
        return None if is_pending else Executed(None)

    job, outcome = _send(
        context,
        job,
        State.STARTING,
        lambda _: context.client.send(IMPORT_PROCESS, path=path),
        read_back,
    )
    match outcome:
        case Executed(_):
            return context.journal.record(job, State.POLLING), True
        case NotExecuted() if not was_declined:
            raise context.record_unsent(job, outcome, back_to=State.STAGED)
        case Rejected(_, details):
            message = "; ".join(detail.value for detail in details)
            return context.doubt(job, Text(pt=message, en=message), start_refused=True)
        case NotExecuted(reason) | Doubtful(reason):
            # Of a request that was declined, only the log shows whether it arrives later.
            return context.doubt(job, reason)


def _poll(context: "RunContext", job: Job) -> "Step":
    """Poll the log until it is finished.

    A log with an unknown status counts as finished once its counts cover every row; otherwise it is
    polled for the settle time. Raises ``InDoubt`` if the log cannot be read or its status stays
    unknown.
    """
    if not context.options.wait:
        return job, False
    starts_now = not job.was_started and context.needs_start(job)
    progress = Progress(context.options, len(job.spec.rows))
    known_at = 0.0

    def is_last(log: ImportLog | Text, waited: float) -> bool:
        nonlocal known_at
        if isinstance(log, Text):
            return True
        state = context.quirks.state_of(log)
        is_complete = state is None and accounts_for_every_row(job.spec, log)
        if is_complete or state in {ImportState.FINISHED, ImportState.FAILED}:
            return True
        if state is not None:
            known_at = waited
        elif waited - known_at >= context.patience.seconds:
            raise _unknown_status(job, log)
        if state is ImportState.PENDING and not job.was_started:
            if starts_now:
                return True
            if waited > max(context.patience.seconds, _LEAST_PENDING_SECONDS):
                raise _never_started(job, log)
        done = (log.registrosImportados or 0) + (log.registrosRejeitados or 0)
        status = untranslated(f"“{log.situacao or '–'}”")
        shown = status if state is None else _STATE_WORDS.get(state, status)
        progress.report(done, _PROGRESS, id=job.known.log_id, state=shown)
        _LOGGER.debug("job %s: log %s is %s", job.id, log, state)
        return False

    log = read_until(
        lambda: _read_log(context, job),
        is_last,
        context.options.sleep,
        first_pause=_FIRST_POLL,
        growth=_POLL_GROWTH,
    )
    if isinstance(log, Text):
        return context.doubt(job, log)
    match context.quirks.state_of(log):
        case ImportState.FAILED:
            return _fail(context, job, log)
        case ImportState.PENDING:
            # It was staged when its queue was taken for one that runs by itself.
            return _start(context, job)
    return _finish(context, job, log)


def _never_started(job: Job, log: ImportLog) -> InDoubt:
    return InDoubt(
        Text(
            pt="O log {id} continua “{word}”: o arquivo não foi processado; a fila talvez espere "
            "por processar-arquivo.",
            en="Log {id} still has the status “{word}”: the file was not processed; the queue may "
            "wait for processar-arquivo.",
        ).format(id=job.known.log_id, word=log.situacao),
        Text(
            pt="Se for assim neste sistema, declare no arquivo de particularidades do perfil "
            "(profiles.d/{profile}.quirks.yaml) queue: {{{resource}: waits}}, e depois xlbridge "
            "resume {job}; se a fila só demora: xlbridge resume {job}",
            en="If it does in this system, declare queue: {{{resource}: waits}} in the profile's "
            "quirks file (profiles.d/{profile}.quirks.yaml), then xlbridge resume {job}; if the "
            "queue is only slow: xlbridge resume {job}",
            page=Text(
                pt="Se a fila só demora, continue {job} em Envios; se neste sistema ela sempre "
                "espera, avise quem cuida do ambiente {profile}.",
                en="If the queue is only slow, continue {job} under Uploads; if it always waits "
                "in this system, tell the person who looks after the environment {profile}.",
            ),
        ).format(resource=job.spec.resource, profile=job.spec.profile, job=job.arguments()),
    )


def _unknown_status(job: Job, log: ImportLog) -> InDoubt:
    word = log.situacao or "–"
    return InDoubt(
        Text(
            pt="O log {id} tem a situação “{word}”, cujo significado não é conhecido.",
            en="Log {id} has the status “{word}”, whose meaning is unknown.",
        ).format(id=job.known.log_id, word=word),
        Text(
            pt="Se o sistema terminou: XLBRIDGE_LOG_WORDS='{word}=finished' (ou log_words no "
            "arquivo de particularidades do perfil), e depois xlbridge resume {job}",
            en="If the system has finished: XLBRIDGE_LOG_WORDS='{word}=finished' (or log_words in "
            "the profile's quirks file), then xlbridge resume {job}",
            page=Text(
                pt="Se o sistema terminou, peça a quem cuida do ambiente que informe o "
                "significado de “{word}”, e continue {job} em Envios.",
                en="If the system has finished, ask the person who looks after the environment to "
                "set the meaning of “{word}”, and continue {job} under Uploads.",
            ),
        ).format(word=word, job=job.arguments()),
    )


def _finish(context: "RunContext", job: Job, log: ImportLog | ImportRecords) -> "Step":
    """End a job by its finished log or answer, or doubt it if that proves no verdict."""
    quirks = context.quirks
    by_line = {line: verdict_of_log(job.spec, log, quirks, line) for line in quirks.first_lines}
    verdict = by_line[quirks.first_line]
    if not any(by_line.values()):
        return context.doubt(job, _UNPROVEN, ended=True)
    uncounted = log.registrosImportados is None and log.totalDeRegistros is None
    if verdict is None or verdict.rejections or uncounted:
        declared = verdict
        try:
            written = context.patience.read_until(
                lambda: rows_written(context, job),
                lambda found: declared is None or _agrees(declared, found),
            )
            # Another number of the first line than the declared one is believed only if no other
            # verdict agrees with rows that could be read.
            agreeing = {
                line: one
                for line, one in by_line.items()
                if one is not None and _agrees(one, written)
            }
            only = [*agreeing.values()] if len(agreeing) == 1 and any(written) else [None]
            verdict = agreeing.get(quirks.first_line, only[0])
        except ApiError as error:
            return context.doubt(job, error.message)
        if verdict is None:
            return context.doubt(job, _CONTRADICTED, ended=True)
    return conclude(context, job, verdict)


def _fail(context: "RunContext", job: Job, log: ImportLog) -> "Step":
    """End the job of a file that the system gave up: by its lines, else by what was written."""
    verdict = verdict_of_log(job.spec, log, context.quirks)
    if verdict is not None and verdict.rejections:
        return _finish(context, job, log)
    return context.doubt(job, failure_of_log(log), ended=True, refusal=True)


def _agrees(verdict: Verdict, written: Sequence[bool | None]) -> bool:
    """Return whether a verdict agrees with the rows written, as far as they are known."""
    return all(
        there is None or there is (outcome is not RowOutcome.REJECTED)
        for outcome, there in zip(verdict.outcomes or (), written, strict=True)
    )


def _read_log(context: "RunContext", job: Job) -> ImportLog | Text:
    """Return the log of a queued file, or why there is none: the system's message, or that the log
    is another file's.

    Raises ``InDoubt`` if there is no answer.
    """
    try:
        log: ImportLog = context.client.call(IMPORT_LOG, path={"id": job.known.log_id})
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
                page=Text(
                    pt="O envio está na fila. Continue {job} em Envios.",
                    en="The upload is queued. Continue {job} under Uploads.",
                ),
            ).format(job=job.arguments()),
        ) from error
    as_sent = context.quirks.file_names == "sent"
    if not is_about(job, log, context.catalogue, as_sent=as_sent):
        other = log.nomeDoArquivo or log.recurso or log.id
        return _OTHER_FILE.format(id=job.known.log_id, file=other)
    return log


def _send_direct(context: "RunContext", job: Job) -> "Step":
    context.report_progress(
        job, Text(pt="enviando, aguardando a resposta", en="sending, awaiting the answer")
    )
    operation = context.resource(job).paths.direct
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    readable = before is not None and None not in before

    def read_back(declined: Declined) -> Outcome | None:
        return None if is_as_before(context, job) else Doubtful(declined.reason)

    job, outcome = _send(
        context,
        job,
        State.SENDING,
        lambda sent: context.upload(sent, operation, ImportQuery()),
        read_back if readable else None,
    )
    match outcome:
        case Executed(data) if data.rejected:
            return _finish(context, job, data)
        case Executed(data) if data.count in (None, len(job.spec.rows)):
            verdict = Verdict.of_rejections(job.spec.rows, (), RowOutcome.ACCEPTED)
            return conclude(context, job, verdict)
        case Executed(data):
            return context.doubt(
                job, ROW_COUNT_DIFFERS.format(n=data.count, rows=len(job.spec.rows))
            )
        case Rejected(_, details):
            verdict = verdict_of_rejection(job.spec, details, context.quirks.first_line)
            # A balancer may repeat a request whose answer it has lost, and return the second one.
            try:
                is_certain = True not in rows_written(context, job)
            except ApiError:
                is_certain = False
            if is_certain:
                return conclude(context, job, verdict)
            return context.doubt(job, untranslated("; ".join(detail.value for detail in details)))
        case NotExecuted():
            raise context.record_unsent(job, outcome)
        case Doubtful(reason):
            return context.doubt(job, reason, refusal=outcome.refusal)


def _send(
    context: "RunContext",
    job: Job,
    state: State,
    send: Callable[[Job], Outcome],
    read_back: Callable[[Declined], Outcome | None] | None,
) -> tuple[Job, Outcome]:
    """Send a job's file, or the request to start it, as in ``send_once``; return the job, too."""

    def announce() -> None:
        nonlocal job
        job = context.announce(job, state)

    outcome = send_once(context, lambda: send(job), announce, read_back)
    return job, outcome


def _send_rows(context: "RunContext", job: Job) -> "Step":
    """Send a job's rows in its mode. Raises ``TransportError`` if nothing was applied."""
    if not job.spec.mode.channel.is_queued:
        return _send_direct(context, job)
    context.report_progress(job, Text(pt="enviando para a fila", en="sending to the queue"))
    needs_start = context.needs_start(job)
    queue = context.resource(job).paths.queue
    if needs_start:
        # Only processed on request, the file may be staged again. Each attempt is recorded first,
        # as is each file that may be orphaned.
        last: Outcome | None = None

        def attempt() -> Outcome:
            nonlocal job, last
            if isinstance(last, Doubtful):
                job = _record_orphan(context, job, last.reason)
            job = context.announce(job, State.STAGING)
            last = context.upload(job, queue)
            return last

        # An answer that reports success, with an id that cannot be read, is a doubt: the file may
        # run.
        outcome = context.repeat_while(attempt, lambda doubt: not doubt.executed)
    else:
        # As final as a direct import. Its records appear later, so that reading back proves nothing
        # before the settle time is over.
        job, outcome = _send(
            context, job, State.STAGING, lambda sent: context.upload(sent, queue), None
        )
    match outcome:
        case Executed(log_id):
            return context.journal.record(job, State.STAGED, log_id=log_id), True
        case Rejected(_, details):
            verdict = verdict_of_rejection(job.spec, details, context.quirks.first_line)
            return context.end(job, State.REJECTED, verdict), False
        case NotExecuted():
            raise context.record_unsent(job, outcome)
        case Doubtful(reason, executed=False) if needs_start:
            raise context.record_unsent(_record_orphan(context, job, reason), outcome)
        case Declined(reason):
            return context.doubt(job, reason, declined=True)
        case Doubtful(reason):
            return context.doubt(job, reason)


def _record_orphan(context: "RunContext", job: Job, reason: Text) -> Job:
    orphan = _ORPHAN.format(attempt=job.requests[0].attempt)
    return context.journal.record(job, State.PREPARED, orphan=orphan, reason=reason.languages)


def preview_is_done(context: "RunContext", job: Job) -> bool:
    """Return whether the preview is done or not wanted."""
    if job.spec.mode.channel.by_record:
        return True
    wanted = context.options.preview or not job.spec.mode.channel.writes
    return not wanted or job.requests[0].preview_done


def preview(context: "RunContext", job: Job) -> "Step":
    """Let the system preview the rows of a prepared job, which writes nothing.

    Raises ``TransportError`` or ``AuthenticationFailed`` if the system cannot be reached.
    """
    context.report_progress(job, Text(pt="prévia no sistema", en="preview by the system"))
    job = context.announce(job, State.PREVIEWING)
    operation = context.resource(job).paths.direct
    query = ImportQuery(preview=True)
    outcome = context.repeat_while(lambda: context.upload(job, operation, query, harmless=True))
    match outcome:
        case Rejected(_, details):
            verdict = verdict_of_rejection(job.spec, details, context.quirks.first_line)
            return context.end(job, State.REJECTED, verdict), False
        case Executed(data) if data.rejected and (
            found := verdict_of_log(job.spec, data, context.quirks)
        ):
            verdict = Verdict.of_rejections(job.spec.rows, found.rejections, RowOutcome.NOT_WRITTEN)
            return context.end(job, State.REJECTED, verdict), False
        case Executed(data) if data.count not in (None, len(job.spec.rows)):
            reason = ROW_COUNT_DIFFERS.format(n=data.count, rows=len(job.spec.rows)).languages
            return context.end(job, State.ABANDONED, reason=reason, previewed=data.count), False
        case Executed(data) if not job.spec.mode.channel.writes:
            return context.end(job, State.PREVIEWED, previewed=data.count), False
        case Executed(data):
            # Columns with an open spelling of which the preview shows values.
            doubted = [name for name in job.spec.columns if has_two_spellings(name)]
            shown = {
                name.casefold()
                for record in (
                    data.registros if doubted and isinstance(data, ImportRecords) else ()
                )
                for name, value in record.items()
                if value not in (None, "")
            }
            taken = [name for name in doubted if name.casefold() in shown]
            detail: dict[str, Any] = {"taken_fields": taken} if taken else {}
            return context.journal.record(
                job, State.PREPARED, previewed=data.count, preview_done=True, **detail
            ), True
        case NotExecuted() | Doubtful():
            # A preview writes nothing, so nothing was applied in either case.
            raise context.record_unsent(job, outcome)


def _settle_doubt(context: "RunContext", job: Job) -> "Step":
    """Settle the doubt about a job by the log of a queued file, else by reading back.

    Raises ``InDoubt`` if the system cannot be reached.
    """
    if not context.options.wait:
        return job, False
    if job.known.log_id is None or job.events[-1].detail.get("ended"):
        return reconcile_by_snapshots(context, job)
    log = _read_log(context, job)
    if isinstance(log, Text):
        return reconcile_by_snapshots(context, job)
    match context.quirks.state_of(log):
        case ImportState.FINISHED:
            return _finish(context, job, log)
        case ImportState.FAILED:
            return _fail(context, job, log)
        case ImportState.PENDING:
            pass
        case _:
            return context.journal.record(job, State.POLLING, reconciled="running"), True
    if job.events[-1].detail.get("start_refused"):
        # The start was refused; only the log shows whether the file runs anyway.
        return job, False
    # A lost start request may still arrive.
    job, is_settled = await_settled(context, job)
    return _start(context, job) if is_settled else (job, False)


STEPS: "Mapping[State, Callable[[RunContext, Job], Step]]" = {
    State.PREPARED: _send_rows,
    State.PREVIEWING: preview,
    State.SENDING: _doubt_interrupted,
    State.STAGING: _resume_staging,
    State.STAGED: _start,
    State.STARTING: _doubt_interrupted,
    State.POLLING: _poll,
    State.IN_DOUBT: _settle_doubt,
}
"""Step of a file's job in each of its states."""
