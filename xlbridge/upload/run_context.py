"""Run context: connection, journal and payloads, with the operations that all steps share."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from xlbridge.client import Client, Declined, Doubtful, NotExecuted, Outcome, UploadFile
from xlbridge.errors import TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode, Resource
from xlbridge.upload.consent import ConsentRequest
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.lookup.row_table import RowValues
from xlbridge.upload.options import UploadOptions
from xlbridge.upload.payload import frame_of_rows, load_payload, sent_rows, store_payload
from xlbridge.upload.plan_builder import plan_still_holds
from xlbridge.upload.results.remote_row_results import with_sheet_columns
from xlbridge.upload.results.verdict import Verdict
from xlbridge.wire import Operation
from xlbridge.wire.imports import ImportQuery

_ONCE_IT_ANSWERS = Text(
    pt="Nada foi gravado. Quando o sistema responder: xlbridge resume {job}",
    en="Nothing was written. Once the system answers: xlbridge resume {job}",
)
_TRY_AGAIN = Text(
    pt="Nada foi gravado. Para tentar de novo: xlbridge resume {job}",
    en="Nothing was written. To try again: xlbridge resume {job}",
)
NO_CONSENT = Text(pt="sem confirmação", en="not confirmed")
_PLAN_CHANGED = Text(
    pt="os registros do sistema mudaram depois do plano; nada destas linhas foi enviado",
    en="records in the system have changed since the plan; nothing of these rows was sent",
)
_SEE_NEW_PLAN = Text(
    pt="Veja o novo plano e confirme de novo: xlbridge resume {job}",
    en="See the new plan and confirm again: xlbridge resume {job}",
)

Step = tuple[Job, bool]
"""Job after a step, and whether there is a next one to take."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Connection, journal and options of one run, with the operations that all steps share."""

    environment: UploadContext
    client: Client
    options: UploadOptions

    @property
    def journal(self) -> Journal:
        """Journal of the environment."""
        return self.environment.journal

    @property
    def settle_seconds(self) -> float:
        """Seconds for which a request whose answer was lost may still be on its way."""
        own = self.options.settle_seconds
        wanted = self.environment.settings.settle_seconds if own is None else own
        return max(wanted, self.client.least_settle)

    def resource(self, job: Job) -> Resource:
        """Return the resource that a job is of."""
        return self.environment.catalogue.named(job.spec.resource)

    def rows(self, job: Job) -> Sequence[RowValues]:
        """Return the rows of a job as they are sent."""
        return sent_rows(self.environment, job)

    def workbook_of(self, resource: Resource, rows: Sequence[RowValues]) -> bytes:
        """Return a workbook of some rows, kept as every payload is."""
        folder = self.environment.settings.payloads
        return load_payload(folder, store_payload(folder, resource, frame_of_rows(resource, rows)))

    def refusal(self, job: Job) -> Text | None:
        """Ask for consent to write the rows of a job; return why they are not written, if so.

        Keys are read again where the plan is old by then. Raises ``UsageError`` when the plan of a
        whole sheet has changed.
        """
        request = ConsentRequest.of(self.environment, job, self.client.target)
        if not self.options.consent(request):
            return NO_CONSENT
        # What changes single records reads each of them just before.
        changes = job.parent is not None and not job.last("creates")
        reads_each = job.spec.mode in {Mode.UNDO, Mode.PROCESS} or (
            changes and job.spec.mode is Mode.RECORDS
        )
        if reads_each or not self.plan_has_changed(job):
            return None
        if job.parent is not None:
            return _PLAN_CHANGED
        raise UsageError(_PLAN_CHANGED, _SEE_NEW_PLAN.format(job=job.id))

    def plan_has_changed(self, job: Job) -> bool:
        """Read the keys of a job again where its plan is old; return whether it has changed."""
        if not job.plan_is_old(self.journal.now()):
            return False
        return not plan_still_holds(self.environment, self.client, job)

    def report_progress(self, job: Job, text: Text) -> None:
        """Report what is being done with the rows of a job."""
        self.options.progress(
            Text(pt="Linhas: {rows} · {text}", en="Rows: {rows} · {text}").format(
                rows=len(job.spec.rows), text=text
            )
        )

    def announce(self, job: Job, state: State) -> Job:
        """Record that a request is about to be sent."""
        return self.journal.record(job, state, attempt=job.attempts + 1)

    def end(self, job: Job, state: State, verdict: Verdict | None = None, **detail: Any) -> Job:
        """Record the end of a job; without a verdict, none of its rows was applied."""
        if verdict is not None:
            resource = self.resource(job)
            verdict = with_sheet_columns(verdict, job.spec, resource, lambda: self.rows(job))
        evidence = asdict(verdict or Verdict.none_applied(job.spec.rows))
        return self.journal.record(job, state, verdict=evidence, **detail)

    def doubt(self, job: Job, reason: Text, verdict: Verdict | None = None, **detail: Any) -> Step:
        """Record that the outcome is not known; the next step settles it as far as possible.

        ``verdict`` is what is known all the same.
        """
        evidence = asdict(verdict or Verdict.all_unknown(job.spec.rows))
        settled = self.journal.now() + timedelta(seconds=self.settle_seconds)
        return self.journal.record(
            job,
            State.IN_DOUBT,
            reason=asdict(reason),
            verdict=evidence,
            address=self.client.target.base_url,
            settled=settled.isoformat(timespec="seconds"),
            **detail,
        ), True

    def not_sent(
        self, job: Job, outcome: NotExecuted | Doubtful, back_to: State = State.PREPARED
    ) -> TransportError:
        """Record that nothing was applied, and return the error that says so."""
        self.journal.record(job, back_to, reason=asdict(outcome.reason))
        hint = _TRY_AGAIN if outcome.answered else _ONCE_IT_ANSWERS
        return TransportError(outcome.reason, hint.format(job=job.id))

    def upload(
        self,
        job: Job,
        operation: Operation,
        query: ImportQuery | None = None,
        *,
        harmless: bool = False,
    ) -> Outcome:
        """Send a job's payload, once; one that is ``harmless`` writes nothing."""
        content = load_payload(self.environment.settings.payloads, job.spec.payload)
        named = "resource" in operation.path_parameters
        path = {"resource": job.spec.resource} if named else {}
        file = UploadFile(f"{job.spec.resource}-{job.id}.xlsx", content)
        return self.client.send(operation, path=path, query=query, file=file, harmless=harmless)

    def repeat(self, attempt: Callable[[], Outcome]) -> Outcome:
        """Repeat a request that changes nothing by itself, even while its outcome is doubtful."""

        return self.repeat_while(attempt, lambda _doubt: True)

    def repeat_while(
        self, attempt: Callable[[], Outcome], may_repeat: Callable[[Doubtful], bool]
    ) -> Outcome:
        """Repeat an attempt by the client's policy while it was certainly not executed.

        ``may_repeat`` says whether one in doubt is repeated. After a token that had expired there
        is one more attempt, with a new one.
        """
        expired = 0

        def least_pause(outcome: Outcome) -> float | None:
            nonlocal expired
            match outcome:
                case NotExecuted(permanent=False):
                    return 0.0
                case Declined(status=HTTPStatus.UNAUTHORIZED) if may_repeat(outcome):
                    expired += 1
                    return None if expired > 1 else 0.0
                case Doubtful(retry_after=asked) if may_repeat(outcome):
                    return asked or 0.0
            return None

        policy = replace(self.client.retry_policy, sleep=self.options.sleep)
        return policy.repeat(attempt, least_pause)
