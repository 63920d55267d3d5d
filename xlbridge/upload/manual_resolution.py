"""Manual resolution of an upload in doubt by a person, if nothing can prove the outcome."""

import getpass
import socket
from dataclasses import asdict

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.context import UploadContext, job_lock
from xlbridge.upload.job import Job, Resolution, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.result_files import ensure_sheet_evidence
from xlbridge.upload.results.verdict import RejectedRow, RowOutcome, Verdict
from xlbridge.upload.runner import update_parent

_NOT_APPLIED = Text(
    pt="Não está no sistema, segundo {who}: {reason}",
    en="Not in the system according to {who}: {reason}",
)


def resolve_job(context: UploadContext, job: Job, seen: Resolution, reason: str) -> Job:
    """Record a person's resolution of a job, or of each doubtful part of a split sheet.

    Raises ``UsageError`` if nothing is in doubt, there is no reason, or the resolution is that rows
    which may still arrive were not applied.
    """
    journal = context.journal
    with job_lock(context.settings.home, job.parent or job.id):
        job = journal.job(job.id)
        parts = journal.parts_of(job)
        doubtful = [part for part in parts if part.state is State.NEEDS_PERSON]
        for part in doubtful or parts or [job]:
            _record_resolution(journal, part, seen, reason, context.settings.settle_seconds)
        update_parent(journal, job)
        return ensure_sheet_evidence(context, journal.job(job.id))


def _record_resolution(
    journal: Journal, job: Job, seen: Resolution, reason: str, settle_seconds: float
) -> None:
    """Record that a person found the doubtful rows of a job present, or absent.

    Rows that were already proven stay so. Raises what ``resolve_job`` raises.
    """
    if not reason.strip():
        raise UsageError(Text(pt="Informe o motivo em --reason.", en="--reason needs a reason."))
    _require_in_doubt(job)
    now = journal.now()
    left = job.settle_left(now, settle_seconds)
    if seen is Resolution.NOT_APPLIED and left:
        raise UsageError(
            Text(
                pt="As linhas ainda podem ser gravadas até {end}; antes disso, "
                "não dá para afirmar que não foram.",
                en="The rows may still arrive until {end}; before that, they cannot be resolved as "
                "not applied.",
            ).format(end=f"{now.at + left:%d/%m/%Y %H:%M:%S}"),
            Text(pt="Aguarde e depois execute: {go}", en="Wait, and then: {go}").format(
                go=f"xlbridge resume {job.arguments()}"
            ),
        )
    who = f"{_user_name()}@{socket.gethostname()}"
    resolved = {"as": seen.value, "reason": reason, "by": who}
    rejections = journal.changes.rejections(job.id)
    outcomes = journal.changes.outcomes(job.id)
    if seen is Resolution.APPLIED:
        state = State.PARTIAL if rejections else State.DONE
        journal.record(job, state, unknown_as=RowOutcome.ACCEPTED, resolved=resolved)
        return
    missing = _NOT_APPLIED.format(who=who, reason=reason)
    if RowOutcome.ACCEPTED not in outcomes:
        journal.record(
            job,
            State.ABANDONED,
            unknown_as=RowOutcome.NOT_WRITTEN,
            resolved=resolved,
            reason=asdict(missing),
        )
        return
    named = {rejected.row for rejected in rejections}
    rejections += (
        RejectedRow(row, None, None, missing, itself=False)
        for row, outcome in zip(job.spec.rows, outcomes, strict=True)
        if outcome is not RowOutcome.ACCEPTED and row not in named
    )
    verdict = Verdict(rejections=rejections)
    journal.record(
        job, State.PARTIAL, verdict=verdict, unknown_as=RowOutcome.REJECTED, resolved=resolved
    )


def _require_in_doubt(job: Job) -> None:
    if job.state.is_settled:
        raise UsageError(
            Text(
                pt="O envio {job} não está em dúvida (situação: {state}).",
                en="The upload {job} is not in doubt (state {state}).",
            ).format(job=job.id, state=job.state.text)
        )


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "?"
