"""Outcome of a job from the writes of its records: doubts to settle, verdict and final state."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xlbridge.client import NotExecuted
from xlbridge.errors import ApiError, InDoubt
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.job import Job, State
from xlbridge.upload.reconcile import CHECK_AGAIN, has_settled
from xlbridge.upload.results.remote_verdict import rejected_row
from xlbridge.upload.results.verdict import Verdict
from xlbridge.upload.single_records.write_journal import RecordWrite, WriteState

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_NO_REASON = Text(
    pt="rejeitada pelo sistema, sem motivo informado", en="rejected by the system without a reason"
)


def settle_writes(context: "RunContext", job: Job, settle: Callable[[bool], bool]) -> "Step":
    """Settle the writes of a job that are in doubt, and let the job proceed.

    ``settle`` reads records back and returns whether any is still in doubt; called with True, the
    final time, it leaves those to a person. Raises ``InDoubt`` if the system cannot be reached.
    """
    if not context.options.wait:
        return job, False
    try:
        if settle(False):
            if not has_settled(context, job):
                return job, False
            settle(True)
    except ApiError as error:
        raise InDoubt(error.message, CHECK_AGAIN.format(job=job.arguments())) from error
    return context.journal.record(job, State.SENDING, reconciled="read back"), True


def stop_writes(
    context: "RunContext", job: Job, error: ApiError, writes: list[RecordWrite], **detail: Any
) -> ApiError:
    """Record the progress of a run stopped by an error, and return the error to raise."""
    if all(write.state.is_waiting for write in writes):
        return context.record_unsent(job, NotExecuted(error.message))
    verdict = verdict_of_writes(job, writes).to_json()
    reason = asdict(error.message)
    context.journal.record(job, State.SENDING, reason=reason, verdict=verdict, **detail)
    return error


def end_of_writes(
    writes: Sequence[RecordWrite], unproven_text: Callable[[Sequence[RecordWrite]], Text]
) -> tuple[State, dict[str, Any]]:
    """Return the state of a job whose writes have all ended, and its details.

    ``unproven_text`` returns the reason why a person must decide on the given writes.
    """
    detail: dict[str, Any] = {
        "freed": [write.position for write in writes if write.state.is_refused]
    }
    unproven = [write for write in writes if write.state is WriteState.UNPROVEN]
    if unproven:
        detail["proven"] = proofs_of_writes(writes)
        detail["reason"] = asdict(unproven_text(unproven))
        return State.NEEDS_PERSON, detail
    states = {write.state for write in writes}
    if states <= {WriteState.APPLIED}:
        return State.DONE, detail
    return (State.PARTIAL if WriteState.APPLIED in states else State.REJECTED), detail


def proofs_of_writes(writes: Sequence[RecordWrite]) -> list[bool | None]:
    """Return for each write whether it is proven to be applied, None if that is unknown."""
    return [
        True if write.state is WriteState.APPLIED else False if write.state.is_refused else None
        for write in writes
    ]


def first_reason(writes: Sequence[RecordWrite]) -> Text:
    """Return the first message about the given writes."""
    return next((text for write in writes for _, text in write.problems), untranslated("–"))


def verdict_of_writes(job: Job, writes: list[RecordWrite]) -> Verdict:
    """Return the verdict on a job's rows from the writes of their records."""
    refused = [write for write in writes if write.state.is_refused]
    items = job.items if refused else {}
    return Verdict(
        read=len(job.spec.rows),
        accepted=sum(write.state is WriteState.APPLIED for write in writes),
        unknown=sum(
            write.state is not WriteState.APPLIED and not write.state.is_refused for write in writes
        ),
        rejected_rows=tuple(
            rejected_row(
                job.spec,
                job.spec.rows[write.position],
                column,
                message,
                itself=write.state is WriteState.REJECTED,
                items=items,
            )
            for write in refused
            for column, message in write.problems or [(None, _NO_REASON)]
        ),
    )
