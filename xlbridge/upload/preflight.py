"""Preflight of a job: a preview of its rows by the system."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from xlbridge.client import Doubtful, Executed, NotExecuted, Rejected
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.job import Job, State
from xlbridge.upload.remote_row_results import ROW_COUNT_DIFFERS, verdict_of_rejection
from xlbridge.upload.verdict import Verdict
from xlbridge.wire.imports import ImportQuery

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step


def preflight_is_done(context: "RunContext", job: Job) -> bool:
    """Tell whether the preview is done, as far as the options ask for one."""
    if job.what.mode.is_by_record:
        return True
    wanted = context.options.preview or job.what.mode is Mode.PREVIEW
    # Jobs of earlier versions have the count only.
    return not wanted or job.last("preview_done") or job.last("previewed") is not None


def preview(context: "RunContext", job: Job) -> "Step":
    """Have the system read the rows of a prepared job, and write nothing.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    context.report_progress(job, Text(pt="prévia no sistema", en="preview by the system"))
    job = context.announce(job, State.PREVIEWING)
    operation = context.resource(job).paths.direct
    query = ImportQuery(preview=True)
    outcome = context.repeat(lambda: context.upload(job, operation, query, harmless=True))
    match outcome:
        case Rejected(_, details):
            return context.end(job, State.REJECTED, verdict_of_rejection(job.what, details)), False
        case Executed(data) if data.count not in (None, len(job.what.rows)):
            reason = asdict(ROW_COUNT_DIFFERS.format(n=data.count, rows=len(job.what.rows)))
            return context.end(job, State.ABANDONED, reason=reason, previewed=data.count), False
        case Executed(data) if job.what.mode is Mode.PREVIEW:
            verdict = Verdict.all_unknown(job.what.rows)
            return context.end(job, State.PREVIEWED, verdict, previewed=data.count), False
        case Executed(data):
            return context.journal.record(
                job, State.PREPARED, previewed=data.count, preview_done=True
            ), True
        case NotExecuted() | Doubtful():
            # A preview writes nothing: whatever became of it, nothing was applied.
            raise context.not_sent(job, outcome)
