"""Context of a run: connection, journal and options, and the operations that all steps share."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import pandas as pd

from xlbridge.client import Client, Declined, Doubtful, NotExecuted, Outcome, UploadFile
from xlbridge.errors import TransportError
from xlbridge.i18n import Text, count_text
from xlbridge.resources import Resource
from xlbridge.upload.claims import Patience
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.bulk_lookup import read_snapshot
from xlbridge.upload.lookup.comparison import lookups_for
from xlbridge.upload.lookup.snapshot import RowTable, RowValues, Snapshot
from xlbridge.upload.options import UploadOptions
from xlbridge.upload.payload import frame_of_rows, payload_of, sent_rows, store_payload
from xlbridge.upload.planning.consent import ConsentRequest
from xlbridge.upload.planning.plan_builder import changed_plan
from xlbridge.upload.requests import NO_VERDICT, RejectedRow, RowOutcome, State, Verdict
from xlbridge.wire import Operation
from xlbridge.wire.imports import ImportQuery, Quirks

_LOGGER = logging.getLogger(__name__)

_ONCE_IT_ANSWERS = Text(
    pt="Nada foi gravado. Quando o sistema responder: xlbridge resume {job}",
    en="Nothing was written. Once the system answers: xlbridge resume {job}",
    page=Text(
        pt="Nada foi gravado. Quando o sistema responder, continue {job} em Envios.",
        en="Nothing was written. Once the system answers, continue {job} under Uploads.",
    ),
)
_TRY_AGAIN = Text(
    pt="Nada foi gravado. Para tentar de novo: xlbridge resume {job}",
    en="Nothing was written. To try again: xlbridge resume {job}",
    page=Text(
        pt="Nada foi gravado. Para tentar de novo, continue {job} em Envios.",
        en="Nothing was written. To try again, continue {job} under Uploads.",
    ),
)
_NO_CONSENT = Text(pt="sem confirmação", en="not confirmed")
_DECLINED_SECONDS = 30.0
"""Longest time for which a request that was declined (401, 429) may still be on its way."""

Step = tuple[Job, bool]
"""Job after a step, and whether another step follows."""


@dataclass(frozen=True, slots=True)
class RunContext(UploadContext):
    """Connection and options of one run in an environment, and the operations that all steps share.

    ``patience`` is the time in which a request may still arrive after its answer was lost, and for
    which readings may lag behind writes. ``frames`` are the rows of payloads that were stored just
    before, by their content hashes.
    """

    client: Client
    options: UploadOptions
    patience: Patience
    frames: Mapping[str, pd.DataFrame]

    def await_declined(self, declined: Declined) -> None:
        """Wait until a declined request can no longer arrive.

        A gateway may decline a request that it has passed on, or that waits in another one. A
        profile may promise that it does not for 429.
        """
        if not declined.trusted:
            seconds = min(self.patience.seconds, _DECLINED_SECONDS)
            _LOGGER.info("request declined: wait %.1f s until it can no longer arrive", seconds)
            self.options.sleep(seconds)

    def resource(self, job: Job) -> Resource:
        """Return the resource of a job."""
        return self.catalogue.named(job.spec.resource)

    @property
    def quirks(self) -> Quirks:
        """Quirks of the installation."""
        return self.client.target.quirks

    def needs_start(self, job: Job) -> bool:
        """Return whether a job's file, once queued, waits for processar-arquivo."""
        resource = self.resource(job)
        return self.quirks.needs_start(resource.name, resource.paths.needs_processar)

    def rows(self, job: Job) -> Sequence[RowValues]:
        """Return the rows of a job as they are sent."""
        frame = self.frames.get(job.spec.payload)
        return sent_rows(self, job) if frame is None else RowTable.of(frame)

    def read_snapshot(self, job: Job) -> Snapshot:
        """Return the remote records of a job's rows. Raises what ``Client.records`` raises."""
        return read_snapshot(self.client, self.resource(job), self.rows(job))

    def workbook_of(self, resource: Resource, rows: Sequence[RowValues]) -> bytes:
        """Return a workbook with the given rows, stored like any payload."""
        payload = payload_of(resource, frame_of_rows(resource, rows))
        store_payload(self, payload)
        return payload

    def dissent(self, job: Job) -> Text | None:
        """Ask for consent to the plan of a job; return the reason not to write, if any.

        The sheet of a part is asked about as a whole, before.
        """
        if job.parent is not None:
            return _NO_CONSENT if self.journal.job(job.parent).state.is_unsent else None
        request = ConsentRequest.of(self, job, self.client.target)
        return None if self.options.consent(request) else _NO_CONSENT

    def plan_has_changed(self, job: Job) -> bool:
        """Plan a job again if its plan is old; return whether the plan has changed."""
        is_old = job.plan_is_old(self.journal.now())
        return is_old and changed_plan(self, self.client, job, self.patience) is not None

    def report_progress(self, job: Job, text: Text) -> None:
        """Report a step of the rows of a job, of which nothing is counted yet."""
        self.options.progress(
            Text(pt="Linhas: {rows} · {text}", en="Rows: {rows} · {text}").format(
                rows=count_text(len(job.spec.rows)), text=text
            )
        )
        self.options.on_count(0, 0)

    def announce(self, job: Job, state: State) -> Job:
        """Record that a request is about to be sent."""
        return self.journal.record(job, state, attempt=job.requests[0].attempt + 1)

    def end(self, job: Job, state: State, verdict: Verdict = NO_VERDICT, **detail: Any) -> Job:
        """Record the end of a job; without a verdict, none of its rows was applied.

        If any was, the job ends as the given state once its records are compared with its rows.
        """
        if verdict.rejections:
            verdict = self._with_sheet_columns(job, verdict)
        if not job.is_task and not job.deletes:
            is_applied = RowOutcome.ACCEPTED in (verdict.outcomes or ())
            if is_applied or self.journal.changes.has_accepted(job.id):
                state, detail = State.COMPARING, {**detail, "ends_as": state}
        return self.journal.record(job, state, verdict=verdict, **detail)

    def _with_sheet_columns(self, job: Job, verdict: Verdict) -> Verdict:
        """Return a verdict whose rejected rows name the sheet's columns, as far as they are known:
        the likeliest of those that are written to the named field of a record.

        The rows that were sent are loaded only if needed.
        """
        spec = job.spec
        declared = None if spec.mode.channel.of_listing else self.resource(job).read_back
        columns: defaultdict[str, list[str]] = defaultdict(list)
        for lookup in () if declared is None else declared.lookups:
            for column, record_field in lookup.key.items():
                if column in spec.columns and record_field not in spec.columns:
                    columns[record_field].append(column)
        if not any(rejected.column in columns for rejected in verdict.rejections):
            return verdict
        sent = dict(zip(spec.rows, self.rows(job), strict=True))

        def with_column(rejected: RejectedRow) -> RejectedRow:
            number, candidates = rejected.row, columns.get(rejected.column or "")
            row = None if number is None else sent.get(number)
            if number is None or row is None or not candidates:
                return rejected
            lookups = lookups_for(self.resource(job), row)
            looked_up = [name for name in candidates if any(name in one.key for one in lookups)]
            filled = [name for name in candidates if row.get(name) is not None]
            column = [*looked_up, *filled, *candidates][0]
            return rejected._replace(column=column, cell=spec.cell(number, column))

        return replace(verdict, rejections=list(map(with_column, verdict.rejections)))

    def doubt(self, job: Job, reason: Text, verdict: Verdict = NO_VERDICT, **detail: Any) -> Step:
        """Record that the outcome is unknown, except for the ``verdict``; the next step settles it
        as far as possible."""
        return self.journal.record(
            job,
            State.IN_DOUBT,
            reason=reason.languages,
            verdict=verdict,
            target=self.client.target.to_json(),
            settle_seconds=self.patience.seconds,
            **detail,
        ), True

    def record_unsent(
        self, job: Job, outcome: NotExecuted | Doubtful, back_to: State = State.PREPARED
    ) -> TransportError:
        """Record that nothing was applied, and return the error to raise."""
        self.journal.record(job, back_to, reason=outcome.reason.languages)
        hint = _TRY_AGAIN if outcome.answered else _ONCE_IT_ANSWERS
        return TransportError(outcome.reason, hint.format(job=job.arguments()))

    def upload(
        self,
        job: Job,
        operation: Operation,
        query: ImportQuery | None = None,
        *,
        harmless: bool = False,
    ) -> Outcome:
        """Send a job's payload once; a ``harmless`` request writes nothing."""
        content = self.load_payload(job.spec.payload)
        if spelled := self.quirks.spellings:
            from xlbridge.workbook.edit import with_headers  # Few installations need it.

            content = with_headers(content, lambda header: spelled.get(header, header))
        has_resource = "resource" in operation.path_parameters
        path = {"resource": job.spec.resource} if has_resource else {}
        file = UploadFile(f"{job.spec.resource}-{job.id}.xlsx", content)
        return self.client.send(operation, path=path, query=query, file=file, harmless=harmless)

    def repeat_while(
        self,
        attempt: Callable[[], Outcome],
        may_repeat: Callable[[Doubtful], bool] = lambda _doubt: True,
    ) -> Outcome:
        """Repeat an attempt by the client's policy while it was certainly not executed.

        ``may_repeat`` decides on attempts in doubt; the default suits requests that change nothing.
        After an expired token there is one more attempt, with a new token.
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
