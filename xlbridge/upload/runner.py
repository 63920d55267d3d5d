"""The upload's state machine: one step a state, each written down before it is taken.

Source: the upload protocol (``docs/upload-protocol.md``).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.outcome import Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.api.upload import Upload
from xlbridge.errors import ApiError, InDoubt, TransportError
from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode, Resource
from xlbridge.upload.journal import Job, Journal
from xlbridge.upload.payload import load_payload
from xlbridge.upload.states import State
from xlbridge.upload.verdict import (
    Verdict,
    all_accepted,
    all_unknown,
    none_applied,
    of_log,
    refused_whole,
)
from xlbridge.wire.imports import ImportLog, ImportQuery, ImportState
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations.utilities import IMPORT_LOG, IMPORT_PROCESS

_TRIES = 3
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 20.0
_FIRST_POLL, _LONGEST_POLL = 0.1, 5.0

_NO_CONSENT = Text(pt="sem confirmação", en="not confirmed")
_COUNT = Text(
    pt="o sistema leu {n} linhas, e a planilha tem {rows}",
    en="the system read {n} rows, and the sheet has {rows}",
)
_UNPROVEN = Text(
    pt="as contagens do log não dão conta de todas as linhas",
    en="the log's counts do not account for every row",
)
_INTERRUPTED = Text(
    pt="o envio foi interrompido antes da resposta",
    en="the upload was interrupted before the answer",
)

Step = tuple[Job, bool]
"""A job after a step, and whether there is a next one to take."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run goes about it.

    ``preview`` asks the remote system to read the sheet before anything is written; ``wait``
    polls until the outcome is known. ``settle_seconds`` is how long a start whose answer was lost
    may still be on its way. ``consent`` is asked once, right before the first write.
    """

    consent: Callable[[Job, int | None], bool]
    tell: Callable[[Text], None] = lambda _text: None
    preview: bool = True
    wait: bool = True
    settle_seconds: float = 900.0
    sleep: Callable[[float], None] = time.sleep


class Runner:
    """Takes jobs from where the journal has them to where nothing more can be done."""

    def __init__(
        self,
        client: Client,
        journal: Journal,
        payloads: Path,
        resources: Mapping[str, Resource],
        options: RunOptions,
    ) -> None:
        self._client = client
        self._journal = journal
        self._payloads = payloads
        self._resources = resources
        self._options = options
        self._steps: Mapping[State, Callable[[Job], Step]] = {
            State.PREPARED: self._begin,
            State.PREVIEWING: self._begin,
            State.SENDING: self._doubt_interrupted,
            State.STAGING: self._stage_again,
            State.STAGED: self._start_or_poll,
            State.STARTING: self._doubt_interrupted,
            State.POLLING: self._poll,
            State.IN_DOUBT: self._reconcile,
        }

    def run(self, job: Job) -> Job:
        """Take the job as far as it goes and return it.

        Raises ``AuthenticationFailed`` or ``TransportError`` when nothing was applied and the job
        can be resumed, ``InDoubt`` when the connection is lost while the outcome is awaited.
        """
        if not job.state.is_final:
            self._client.login()
        go_on = True
        while go_on and not job.state.is_final:
            job, go_on = self._steps[job.state](job)
        return job

    def _begin(self, job: Job) -> Step:
        if self._wants_preview(job):
            return self._preview(job)
        if not self._options.consent(job, job.last("previewed")):
            return self._end(job, State.ABANDONED, reason=asdict(_NO_CONSENT)), False
        if job.what.mode is Mode.QUEUE:
            return self._stage(job)
        return self._send(job)

    def _wants_preview(self, job: Job) -> bool:
        wanted = self._options.preview or job.what.mode is Mode.PREVIEW
        return wanted and job.last("previewed") is None

    def _preview(self, job: Job) -> Step:
        self._options.tell(Text(pt="Prévia no sistema", en="Preview by the system"))
        job = self._announce(job, State.PREVIEWING)
        operation = self._resource(job).paths.direct
        outcome = self._repeat(lambda: self._upload(job, operation, ImportQuery(preview=True)))
        match outcome:
            case Rejected(_, complaints):
                return self._reject(job, refused_whole(job.what, complaints))
            case Executed(data) if data.totalDeRegistros != len(job.what.rows):
                reason = asdict(_COUNT.format(n=data.totalDeRegistros, rows=len(job.what.rows)))
                return self._end(
                    job, State.ABANDONED, reason=reason, previewed=data.totalDeRegistros
                ), False
            case Executed(data) if job.what.mode is Mode.PREVIEW:
                verdict = all_unknown(job.what)
                done = self._journal.record(
                    job, State.PREVIEWED, previewed=data.totalDeRegistros, **_evidence(verdict)
                )
                return done, False
            case Executed(data):
                return self._journal.record(
                    job, State.PREPARED, previewed=data.totalDeRegistros
                ), True
            case NotExecuted(reason) | Doubtful(reason):
                # A preview writes nothing: whatever became of it, nothing was applied.
                raise self._not_sent(job, reason)

    def _send(self, job: Job) -> Step:
        self._options.tell(Text(pt="Enviando", en="Sending"))
        job = self._announce(job, State.SENDING)
        operation = self._resource(job).paths.direct
        outcome = self._until_executed(lambda: self._upload(job, operation, ImportQuery()))
        match outcome:
            case Executed(data) if data.totalDeRegistros == len(job.what.rows):
                done = self._end(job, State.DONE, all_accepted(job.what))
                return done, False
            case Executed(data):
                return self._doubt(
                    job, _COUNT.format(n=data.totalDeRegistros, rows=len(job.what.rows))
                )
            case Rejected(_, complaints):
                return self._reject(job, refused_whole(job.what, complaints))
            case NotExecuted(reason):
                raise self._not_sent(job, reason)
            case Doubtful(reason):
                return self._doubt(job, reason)

    def _stage(self, job: Job) -> Step:
        self._options.tell(Text(pt="Enviando para a fila", en="Sending to the queue"))
        job = self._announce(job, State.STAGING)
        paths = self._resource(job).paths
        if paths.queue is None:
            raise AssertionError(f"{job.what.resource} has no queue")
        operation = paths.queue
        # A file that waits for processar-arquivo has done nothing yet: it may be staged again.
        attempt = self._repeat if paths.needs_processar else self._until_executed
        outcome = attempt(lambda: self._upload(job, operation))
        match outcome:
            case Executed(log_id):
                return self._journal.record(job, State.STAGED, log_id=log_id), True
            case Rejected(_, complaints):
                return self._reject(job, refused_whole(job.what, complaints))
            case NotExecuted(reason):
                raise self._not_sent(job, reason)
            case Doubtful(reason) if paths.needs_processar:
                raise self._not_sent(job, reason)
            case Doubtful(reason):
                return self._doubt(job, reason)

    def _stage_again(self, job: Job) -> Step:
        if not self._resource(job).paths.needs_processar:
            return self._doubt_interrupted(job)
        return self._stage(self._journal.record(job, State.PREPARED, orphan="earlier staging"))

    def _start_or_poll(self, job: Job) -> Step:
        if not self._resource(job).paths.needs_processar:
            return self._journal.record(job, State.POLLING), True
        return self._start(job)

    def _start(self, job: Job) -> Step:
        self._options.tell(Text(pt="Iniciando o processamento", en="Starting the processing"))
        job = self._announce(job, State.STARTING)
        path = {"id": job.last("log_id")}
        outcome = self._until_executed(lambda: self._client.send(IMPORT_PROCESS, path=path))
        match outcome:
            case Executed(_):
                return self._journal.record(job, State.POLLING), True
            case NotExecuted(reason):
                self._journal.record(job, State.STAGED, reason=asdict(reason))
                raise TransportError(reason, self._resume_hint(job))
            case Rejected(_, complaints):
                told = "; ".join(item.value for item in complaints)
                return self._doubt(job, Text(pt=told, en=told))
            case Doubtful(reason):
                return self._doubt(job, reason)

    def _poll(self, job: Job) -> Step:
        if not self._options.wait:
            return job, False
        wait = _FIRST_POLL
        while True:
            log = self._log(job)
            if log.situacao is ImportState.FINISHED:
                return self._finish(job, log)
            self._options.tell(_progress(log, len(job.what.rows)))
            self._options.sleep(wait)
            wait = min(wait * 1.5, _LONGEST_POLL)

    def _finish(self, job: Job, log: ImportLog) -> Step:
        verdict = of_log(job.what, log)
        if verdict is None:
            return self._doubt(job, _UNPROVEN)
        if verdict.rejected == 0:
            return self._end(job, State.DONE, verdict), False
        state = State.PARTIAL if verdict.accepted else State.REJECTED
        refused = {row.row for row in verdict.rejected_rows}
        freed = [place for place, row in enumerate(job.what.rows) if row in refused]
        return self._end(job, state, verdict, freed=freed), False

    def _reconcile(self, job: Job) -> Step:
        """Settle a doubt by the log, where there is one; anything else needs a person."""
        if job.last("log_id") is None or not self._options.wait:
            return job, False
        log = self._log(job)
        if log.situacao is ImportState.FINISHED:
            if of_log(job.what, log) is None:
                return job, False
            return self._finish(job, log)
        if log.situacao is ImportState.RUNNING:
            return self._journal.record(job, State.POLLING, reconciled="running"), True
        settled = job.events[-1].at + timedelta(seconds=self._options.settle_seconds)
        if datetime.now() < settled:
            return job, False
        return self._start(job)

    def _doubt_interrupted(self, job: Job) -> Step:
        return self._doubt(job, _INTERRUPTED)

    def _doubt(self, job: Job, reason: Text) -> Step:
        evidence = _evidence(all_unknown(job.what))
        doubted = self._journal.record(job, State.IN_DOUBT, reason=asdict(reason), **evidence)
        return doubted, doubted.last("log_id") is not None and job.state is not State.POLLING

    def _reject(self, job: Job, verdict: Verdict) -> Step:
        return self._end(job, State.REJECTED, verdict), False

    def _end(self, job: Job, state: State, verdict: Verdict | None = None, **detail: Any) -> Job:
        evidence = _evidence(verdict or none_applied(job.what))
        return self._journal.record(job, state, **evidence, **detail)

    def _announce(self, job: Job, state: State) -> Job:
        return self._journal.record(job, state, attempt=job.attempts + 1)

    def _not_sent(self, job: Job, reason: Text) -> TransportError:
        self._journal.record(job, State.PREPARED, reason=asdict(reason))
        return TransportError(reason, self._resume_hint(job))

    def _resume_hint(self, job: Job) -> Text:
        return Text(
            pt="Nada foi gravado. Quando o sistema responder: xlbridge resume {job}",
            en="Nothing was written. Once the system answers: xlbridge resume {job}",
        ).format(job=job.id)

    def _log(self, job: Job) -> ImportLog:
        try:
            log: ImportLog = self._client.call(IMPORT_LOG, path={"id": job.last("log_id")})
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

    def _upload(self, job: Job, operation: Operation, query: ImportQuery | None = None) -> Outcome:
        content = load_payload(self._payloads, job.what.payload)
        named = "resource" in operation.path_parameters
        path = {"resource": job.what.resource} if named else {}
        file = Upload(f"{job.what.resource}-{job.id}.xlsx", content)
        return self._client.send(operation, path=path, query=query, file=file)

    def _until_executed(self, attempt: Callable[[], Outcome]) -> Outcome:
        """Try again only what was certainly not executed."""
        return self._retried(attempt, NotExecuted)

    def _repeat(self, attempt: Callable[[], Outcome]) -> Outcome:
        """Try again whatever did not come through: the request changes nothing by itself."""
        return self._retried(attempt, NotExecuted | Doubtful)

    def _retried(self, attempt: Callable[[], Outcome], again: Any) -> Outcome:
        outcome = attempt()
        for number in range(1, _TRIES):
            if not isinstance(outcome, again):
                break
            asked = getattr(outcome, "retry_after", None)
            wait = _FIRST_WAIT * 2**number if asked is None else asked
            self._options.sleep(min(wait, _LONGEST_WAIT))
            outcome = attempt()
        return outcome

    def _resource(self, job: Job) -> Resource:
        return self._resources[job.what.resource]


def _evidence(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": asdict(verdict)}


def _progress(log: ImportLog, rows: int) -> Text:
    waited = Text(pt="na fila", en="queued")
    state = waited if log.situacao is ImportState.PENDING else Text(pt="processando", en="running")
    done = log.registrosImportados + log.registrosRejeitados
    return Text(
        pt="Log {id}: {state}, {done} de {rows} linhas",
        en="Log {id}: {state}, {done} of {rows} rows",
    ).format(id=log.id, state=state, done=done, rows=rows)
