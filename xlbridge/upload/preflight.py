"""Preflight of a job: a snapshot of its remote records, and a preview by the system."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from xlbridge.client import Doubtful, Executed, NotExecuted, Rejected
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.job import Job, State
from xlbridge.upload.lookup.bulk_lookup import MAX_REQUESTS, look_up_rows
from xlbridge.upload.lookup.snapshot import Moment, count_actions
from xlbridge.upload.remote_row_results import ROW_COUNT_DIFFERS, verdict_of_rejection
from xlbridge.upload.run_context import RunContext, Step
from xlbridge.upload.verdict import Verdict
from xlbridge.wire.imports import ImportQuery

_MAX_SNAPSHOT_AGE = timedelta(minutes=5)
"""Age that a snapshot may have when the rows are sent: others work in the system, too."""

_CHUNK_ROWS_HINT = Text(
    pt="; com --chunk-rows {most}, cada parte é lida",
    en="; with --chunk-rows {most} each part is read",
).format(most=MAX_REQUESTS)
_LOOKUP_REJECTED = Text(
    pt="o sistema não permitiu a leitura: {reason}",
    en="the system did not let them be read: {reason}",
)


def preflight_is_done(context: RunContext, job: Job) -> bool:
    """Tell whether snapshot and preview are done, as far as the options ask for them."""
    return not (_needs_snapshot(context, job) or _needs_preview(context, job))


def preflight_step(context: RunContext, job: Job) -> Step:
    """Take the snapshot of a prepared job, or preview it, whichever comes next.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    if _needs_snapshot(context, job):
        return _take_snapshot(context, job), True
    return _preview(context, job)


def _needs_snapshot(context: RunContext, job: Job) -> bool:
    if not context.options.snapshot:
        return False
    read = next((event.at for event in reversed(job.events) if "plan" in event.detail), None)
    return read is None or context.journal.now() - read > _MAX_SNAPSHOT_AGE


def _needs_preview(context: RunContext, job: Job) -> bool:
    wanted = context.options.preview or job.what.mode is Mode.PREVIEW
    # Jobs of earlier versions have the count only.
    done = job.last("preview_done") or job.last("previewed") is not None
    return wanted and not done


def _take_snapshot(context: RunContext, job: Job) -> Job:
    context.report_progress(
        job, Text(pt="lendo o que o sistema já tem", en="reading what the system has")
    )
    rows = context.rows(job)
    try:
        snapshot, unread = look_up_rows(
            context.client, context.resource(job), rows, way_out=_CHUNK_ROWS_HINT
        )
    except RemoteRejected as error:
        snapshot, unread = (None,) * len(rows), _LOOKUP_REJECTED.format(reason=error.message)
    if any(snapshot):
        context.journal.store_snapshot(job, Moment.BEFORE, snapshot)
    note: dict[str, Any] = {} if unread is None else {"unread": asdict(unread)}
    return context.journal.record(job, State.PREPARED, plan=dict(count_actions(snapshot)), **note)


def _preview(context: RunContext, job: Job) -> Step:
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
