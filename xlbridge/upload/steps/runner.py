"""The upload's state machine: one step a state, each written down before it is taken.

Source: the upload protocol (``docs/upload-protocol.md``).
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict

from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.steps import looking, settling, writing
from xlbridge.upload.steps.bench import Bench, Step

NO_CONSENT = Text(pt="sem confirmação", en="not confirmed")
_INTERRUPTED = Text(
    pt="o envio foi interrompido antes da resposta",
    en="the upload was interrupted before the answer",
)


class Runner:
    """Takes jobs from where the journal has them to where nothing more can be done."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._steps: Mapping[State, Callable[[Bench, Job], Step]] = {
            State.PREPARED: _begin,
            State.PREVIEWING: _begin,
            State.SENDING: _doubt_interrupted,
            State.STAGING: _stage_again,
            State.STAGED: writing.start_or_poll,
            State.STARTING: _doubt_interrupted,
            State.POLLING: writing.poll,
            State.IN_DOUBT: settling.settle,
        }

    def look(self, job: Job) -> Job:
        """Look at a job as far as nothing is written yet, and return it.

        Raises ``AuthenticationFailed`` or ``TransportError``.
        """
        while job.state in UNSENT and not looking.is_looked_at(self._bench, job):
            job, _ = looking.look(self._bench, job)
        return job

    def run(self, job: Job) -> Job:
        """Take the job as far as it goes and return it.

        Raises ``AuthenticationFailed`` or ``TransportError`` when nothing was applied and the job
        can be resumed, ``InDoubt`` when the connection is lost while the outcome is awaited.
        """
        if not job.state.is_final:
            self._bench.client.login()
        go_on = True
        while go_on and not job.state.is_final:
            job, go_on = self._steps[job.state](self._bench, job)
        return job


def _begin(bench: Bench, job: Job) -> Step:
    if not looking.is_looked_at(bench, job):
        return looking.look(bench, job)
    if not bench.options.consent(job, job.last("previewed")):
        return bench.end(job, State.ABANDONED, reason=asdict(NO_CONSENT)), False
    return writing.write(bench, job)


def _stage_again(bench: Bench, job: Job) -> Step:
    if not bench.resource(job).paths.needs_processar:
        return _doubt_interrupted(bench, job)
    return writing.stage_again(bench, job)


def _doubt_interrupted(bench: Bench, job: Job) -> Step:
    return bench.doubt(job, _INTERRUPTED)
