"""Undo of an upload: its plan, its job, and the rows that it leaves."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms
from xlbridge.resources import Mode
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, JobSpec, State
from xlbridge.upload.payload import frame_of_rows, store_payload
from xlbridge.upload.planning.planned_row import plan_token
from xlbridge.upload.results.retried_rows import undos_with_retries
from xlbridge.upload.results.undo_report import (
    LeftGroup,
    before_texts,
    empty_undo_report,
    grouped,
)
from xlbridge.upload.single_records.write_journal import WriteState
from xlbridge.upload.undo_rows import LeftRow, RowToUndo, plan_rows


@dataclass(frozen=True)
class UndoPlan:
    """Plan of the undo of a job: rows to reverse, rows that cannot be reversed, and the number of
    rows that each earlier undo has reversed."""

    job: Job
    rows: Sequence[RowToUndo]
    left: Sequence[LeftRow]
    undone_before: Mapping[str, int]

    @cached_property
    def digest(self) -> str:
        """Digest of rows, values and reasons."""
        plan = [[row.row, asdict(row.task)] for row in self.rows], [asdict(r) for r in self.left]
        return hashlib.sha256(json.dumps(plan).encode()).hexdigest()

    @property
    def token(self) -> str:
        """Token that confirms exactly this plan: ``ROWS:DIGEST8``."""
        return plan_token(len(self.rows), self.digest)

    @property
    def left_groups(self) -> list[LeftGroup]:
        """Rows that cannot be reversed, by reason."""
        return grouped((row.row, str(row.reason.text)) for row in self.left)

    def before_texts(self) -> Iterator[Text]:
        """Yield a text for each earlier undo."""
        return before_texts(self.undone_before)

    def report(self) -> ReportForms:
        """Return the report of a plan with no rows to reverse, for which no job is recorded."""
        return empty_undo_report(self)


def plan_undo(context: UploadContext, client: Client, job: Job) -> UndoPlan:
    """Plan the undo of a job, as ``Uploads.plan_undo`` does."""
    job.require_system(client.identity, client.target.profile)
    _require_reversible(context, job)
    before = _reversed_before(context, job)
    rows, left = plan_rows(context, client, job, before)
    return UndoPlan(job, rows, left, Counter(before.values()))


def create_undo(context: UploadContext, client: Client, plan: UndoPlan) -> Job:
    """Record the job of an undo, as ``Uploads.create_undo`` does."""
    job = plan.job
    for earlier in undos_with_retries(context.journal, job):
        if earlier.state.is_unsent:
            context.journal.record(earlier, State.ABANDONED)
    resource = context.catalogue.named(job.spec.resource)
    frame = frame_of_rows(resource, [row.values for row in plan.rows])
    spec = JobSpec(
        profile=client.target.profile,
        resource=job.spec.resource,
        mode=Mode.UNDO,
        file=job.spec.file,
        sheet=job.spec.sheet,
        digest=job.spec.digest,
        payload=store_payload(context, resource, frame),
        rows=tuple(row.row for row in plan.rows),
        columns=job.spec.columns,
        system=client.identity,
    )
    note = {
        "undo_of": job.id,
        "plan_digest": plan.digest,
        "writes": len(plan.rows),
        "left": [[row.row, row.reason] for row in plan.left],
        "undone_before": plan.undone_before,
    }
    return context.journal.create_from_tasks(spec, [row.task for row in plan.rows], note)


def _reversed_before(context: UploadContext, job: Job) -> dict[tuple[str, int], str]:
    """Return the undo that has reversed each row, by the row's job and position."""
    return {
        write.task.claim: undo.id
        for undo in undos_with_retries(context.journal, job)
        for write in context.journal.writes.load(undo.id)
        if write.state is WriteState.APPLIED and write.task.claim is not None
    }


def _require_reversible(context: UploadContext, job: Job) -> None:
    if job.spec.mode is Mode.PROCESS:
        raise UsageError(
            Text(
                pt="{job} é um processamento: é definitivo, e a interface não o desfaz.",
                en="{job} is a processing: it is final, and the interface cannot reverse it.",
            ).format(job=job.id)
        )
    if job.undo_of is not None or job.parent is not None:
        whole = job.undo_of or job.parent
        raise UsageError(
            Text(
                pt="{job} não é um envio inteiro; desfaça o envio {whole}.",
                en="{job} is not a whole upload; undo the upload {whole}.",
            ).format(job=job.id, whole=whole)
        )
    retries = context.journal.retries_of(job.id)
    undos = undos_with_retries(context.journal, job)
    for related in [job, *retries, *undos]:
        if related.state.is_unsent and related is not job:
            continue
        if not related.state.is_final or related.state is State.NEEDS_PERSON:
            raise UsageError(
                Text(
                    pt="O envio {job} não terminou (situação: {state}).",
                    en="The upload {job} is not finished (state {state}).",
                ).format(job=related.id, state=related.state.text),
                Text(
                    pt="Termine-o primeiro: xlbridge resume {job}",
                    en="Finish it first: xlbridge resume {job}",
                ).format(job=related.arguments()),
            )
