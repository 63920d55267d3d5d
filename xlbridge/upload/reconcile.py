"""Reconciliation of a job in doubt by reading its records back.

See the upload protocol, Reconcile.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from xlbridge.client import NotExecuted
from xlbridge.errors import ApiError, InDoubt, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.upload.executor import CHECK_AGAIN, await_settled, conclude, needs_person
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import Moment, applied_rows
from xlbridge.upload.results.verdict import RejectedRow, RowOutcome, Verdict

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_BETWEEN_SNAPSHOTS = 1.0
_NO_PROOF = Text(
    pt="não há prova de que as linhas foram ou não gravadas: {why}",
    en="nothing proves whether the rows were written: {why}",
)
_NOT_READ = Text(
    pt="os registros não foram lidos antes do envio", en="the records were not read before sending"
)
_NO_CHANGE = Text(
    pt="os registros estão como antes do envio", en="the records are unchanged since before sending"
)
_NO_KEY = Text(
    pt="há linhas sem chave para localizá-las", en="some rows have no key to look them up by"
)
_UNREADABLE = Text(
    pt="o sistema não permitiu nova leitura: {reason}",
    en="the system did not let them be read again: {reason}",
)


def reconcile_by_snapshots(context: "RunContext", job: Job) -> "Step":
    """End a job by what two snapshots of its records prove, compared with the one before sending.

    Records that are there prove something at any time; missing ones only after the settle time, as
    the request may still arrive, and a reading may be late. Raises ``InDoubt`` if the system cannot
    be reached, ``TransportError`` if nothing was applied and the job can be resumed.
    """
    job, is_over = await_settled(context, job, lambda: _is_proven(context, job))
    if not is_over:
        return job, False
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    declared = context.resource(job).read_back
    if before is None or declared is None:
        return needs_person(context, job, _NO_PROOF.format(why=_NOT_READ))
    context.report_progress(job, Text(pt="conferindo no sistema", en="looking in the system"))
    try:
        snapshots = [context.read_snapshot(job)]
        context.options.sleep(_BETWEEN_SNAPSHOTS)
        snapshots.append(context.read_snapshot(job))
    except RemoteRejected as error:
        why = _UNREADABLE.format(reason=error.message)
        return needs_person(context, job, _NO_PROOF.format(why=why))
    except ApiError as error:
        raise InDoubt(error.message, CHECK_AGAIN.format(job=job.arguments())) from error
    for snapshot in snapshots:
        context.journal.snapshots.store(job.id, Moment.AFTER, snapshot)
    if list(snapshots[0]) != list(snapshots[1]):
        # Something is still arriving.
        return job, False
    return _end_by_proof(context, job, applied_rows(before, snapshots[0], declared.existing))


def _is_proven(context: "RunContext", job: Job) -> bool:
    """Return whether all records of a job are there, or none if the system gave its file up."""
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    declared = context.resource(job).read_back
    detail = job.events[-1].detail
    with suppress(ApiError):
        if before is not None and declared is not None:
            proven = applied_rows(before, context.read_snapshot(job), declared.existing)
            return all(proven) or bool(
                detail.get("ended") and detail.get("refusal") and not any(proven)
            )
    return False


def can_be_read_back(context: "RunContext", job: Job) -> bool:
    """Return whether every record of a job was looked up before sending."""
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    return before is not None and None not in before


def is_as_before(context: "RunContext", job: Job) -> bool:
    """Return whether the records of a job that can be read back are as before sending.

    False if the system does not answer.
    """
    context.report_progress(job, Text(pt="conferindo no sistema", en="looking in the system"))
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE) or ()
    try:
        now = context.read_snapshot(job)
    except ApiError:
        return False
    return [row and row.contents for row in now] == [row and row.contents for row in before]


def rows_written(context: "RunContext", job: Job) -> list[bool | None]:
    """Return for each row of a job whether its record is in the system by now, None if unknown.

    Raises ``TransportError`` or ``AuthenticationFailed`` if the system does not answer.
    """
    unknown: list[bool | None] = [None] * len(job.spec.rows)
    before = context.journal.snapshots.newest(job.id, Moment.BEFORE)
    declared = context.resource(job).read_back
    if before is None or declared is None:
        return unknown
    try:
        now = context.read_snapshot(job)
    except RemoteRejected:
        return unknown
    proven = applied_rows(before, now, declared.existing)
    # A row that was there before as it is now proves nothing.
    return [
        None if was is not None and was.same else one
        for was, one in zip(before, proven, strict=True)
    ]


def _end_by_proof(context: "RunContext", job: Job, proven: list[bool | None]) -> "Step":
    """End a job by proof: all rows present, done; some, partial; none after a refusal, rejected;
    else a person decides.

    Raises ``TransportError`` if the system had declined the request and no row is present.
    """
    if None in proven:
        seen = [True if present else None for present in proven]
        why, verdict = _NO_PROOF.format(why=_NO_KEY), Verdict.of_proof(job.spec.rows, seen)
        return needs_person(context, job, why, verdict)
    if not any(proven) and job.events[-1].detail.get("declined"):
        raise context.record_unsent(job, NotExecuted(job.reason, answered=True))
    if not any(proven) and job.events[-1].detail.get("refusal"):
        refused = RejectedRow(None, None, None, job.reason)
        verdict = Verdict.of_rejections(job.spec.rows, [refused], RowOutcome.NOT_WRITTEN)
        return conclude(context, job, verdict)
    if not any(proven):
        return needs_person(context, job, _NO_PROOF.format(why=_NO_CHANGE))
    verdict = Verdict.of_proof(job.spec.rows, proven)
    return conclude(context, job, verdict, reconciled="read back")
