"""Run context: connection, journal and payloads, with the operations that all steps share."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from xlbridge.client import Client, Doubtful, NotExecuted, Outcome, UploadFile
from xlbridge.errors import TransportError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Resource
from xlbridge.upload.context import RunOptions
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup import RowValues, rows_of
from xlbridge.upload.payload import load_payload, payload_frame
from xlbridge.upload.remote_row_results import with_sheet_columns
from xlbridge.upload.verdict import Verdict, all_unknown, none_applied
from xlbridge.wire import Operation
from xlbridge.wire.imports import ImportQuery

MAX_TRIES = 3
_FIRST_WAIT, _MAX_WAIT = 0.5, 20.0

Step = tuple[Job, bool]
"""A job after a step, and whether there is a next one to take."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """The tools of a run, and the few moves that all steps share."""

    client: Client
    journal: Journal
    payloads: Path
    catalogue: Catalogue
    options: RunOptions

    def resource(self, job: Job) -> Resource:
        """Return the resource that a job is of."""
        return self.catalogue.named(job.what.resource)

    def rows(self, job: Job) -> list[RowValues]:
        """Return the rows of a job as they are sent."""
        return rows_of(payload_frame(self.payloads, job.what.payload, self.resource(job)))

    def tell(self, job: Job, text: Text) -> None:
        """Show what is being done with the rows of a job."""
        self.options.tell(
            Text(pt="Linhas: {rows} · {text}", en="Rows: {rows} · {text}").format(
                rows=len(job.what.rows), text=text
            )
        )

    def announce(self, job: Job, state: State) -> Job:
        """Write down that a request is about to be sent."""
        return self.journal.record(job, state, attempt=job.attempts + 1)

    def end(self, job: Job, state: State, verdict: Verdict | None = None, **detail: Any) -> Job:
        """Write down what became of a job; without a verdict, none of its rows was applied."""
        if verdict is not None:
            resource = self.resource(job)
            verdict = with_sheet_columns(verdict, job.what, resource, lambda: self.rows(job))
        evidence = asdict(verdict or none_applied(job.what))
        return self.journal.record(job, state, verdict=evidence, **detail)

    def doubt(self, job: Job, reason: Text, **detail: Any) -> Step:
        """Write down that the outcome is not known; it is then settled as far as possible."""
        evidence = asdict(all_unknown(job.what))
        settled = self.journal.now() + timedelta(seconds=self.options.settle_seconds)
        return self.journal.record(
            job,
            State.IN_DOUBT,
            reason=asdict(reason),
            verdict=evidence,
            address=self.client.target.base_url,
            settled=settled.isoformat(timespec="seconds"),
            **detail,
        ), True

    def not_sent(self, job: Job, reason: Text, back_to: State = State.PREPARED) -> TransportError:
        """Write down that a request was not executed, and return the error that says so."""
        self.journal.record(job, back_to, reason=asdict(reason))
        hint = Text(
            pt="Nada foi gravado. Quando o sistema responder: xlbridge resume {job}",
            en="Nothing was written. Once the system answers: xlbridge resume {job}",
        ).format(job=job.id)
        return TransportError(reason, hint)

    def upload(self, job: Job, operation: Operation, query: ImportQuery | None = None) -> Outcome:
        """Send a job's payload, once."""
        content = load_payload(self.payloads, job.what.payload)
        named = "resource" in operation.path_parameters
        path = {"resource": job.what.resource} if named else {}
        file = UploadFile(f"{job.what.resource}-{job.id}.xlsx", content)
        return self.client.send(operation, path=path, query=query, file=file)

    def until_executed(self, attempt: Callable[[], Outcome]) -> Outcome:
        """Try again only what was certainly not executed."""
        return self.retried(attempt, lambda outcome: isinstance(outcome, NotExecuted))

    def repeat(self, attempt: Callable[[], Outcome]) -> Outcome:
        """Try again whatever did not come through: the request changes nothing by itself."""
        return self.retried(attempt, lambda outcome: isinstance(outcome, NotExecuted | Doubtful))

    def retried(self, attempt: Callable[[], Outcome], again: Callable[[Outcome], bool]) -> Outcome:
        """Make up to ``MAX_TRIES`` attempts, as long as ``again`` says so of the outcome."""
        outcome = attempt()
        for number in range(1, MAX_TRIES):
            if not again(outcome):
                break
            asked = getattr(outcome, "retry_after", None)
            wait = _FIRST_WAIT * 2**number if asked is None else asked
            self.options.sleep(min(wait, _MAX_WAIT))
            outcome = attempt()
        return outcome
