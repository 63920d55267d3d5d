"""Manual resolution of an upload in doubt by a person, if nothing can prove the outcome."""

import getpass
import socket
from contextlib import suppress

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.processes import Instant
from xlbridge.upload.claims import require_reason
from xlbridge.upload.context import UploadContext, job_lock
from xlbridge.upload.job import Job, Resolution
from xlbridge.upload.journal import Journal
from xlbridge.upload.requests import RejectedRow, RowOutcome, State, Verdict
from xlbridge.upload.results.result_files import ensure_evidence

_NOT_APPLIED = Text(
    pt="Não está no sistema, segundo {who}: {reason}",
    en="Not in the system according to {who}: {reason}",
)

_NEVER_SENT = Text(
    pt="não foi enviada: o envio foi encerrado por {who}: {reason}",
    en="was not sent: the upload was ended by {who}: {reason}",
)
_RESUME = Text(
    pt="Continue-o: xlbridge resume {job}",
    en="Continue it: xlbridge resume {job}",
    page=Text(
        pt="Continue {job} em Envios.",
        en="Continue {job} under Uploads.",
    ),
)


def resolve_job(context: UploadContext, job: Job, seen: Resolution, reason: str) -> Job:
    """Record a person's resolution of a job, or of each doubtful part of a split sheet.

    Raises ``UsageError`` if nothing is in doubt, there is no reason, or the resolution is that rows
    which may still arrive were not applied.
    """
    require_reason(reason, "--reason")
    journal = context.journal
    with job_lock(context.settings.home, job.whole):
        job = journal.job(job.id)
        requests = journal.requests_of(job)
        doubtful = [one for one in requests if one.state is State.NEEDS_PERSON]
        # A staged file is only started by its request, and a verdict is known once its records are
        # compared.
        certain = {State.STAGED, State.COMPARING}
        doubtful = doubtful or [
            one for one in requests if not one.state.is_settled and one.state not in certain
        ]
        if not doubtful:
            raise _not_in_doubt(job)
        for part in doubtful if seen is Resolution.NOT_APPLIED else ():
            _require_settled(part, journal.now(), context.settings.settle_seconds)
        with journal.as_one():
            for part in doubtful:
                _record_resolution(journal, part, seen, reason)
        return ensure_evidence(context, journal.job(job.id))


def _record_resolution(journal: Journal, job: Job, seen: Resolution, reason: str) -> None:
    """Record that a person found the doubtful rows of a job present, or absent.

    Rows that were already proven stay so, and records that were never sent are left out. Raises
    what ``resolve_job`` raises.
    """
    user = "?"
    with suppress(OSError, KeyError):
        user = getpass.getuser()
    who = f"{user}@{socket.gethostname()}"
    resolved = {"as": seen.value, "reason": reason, "by": who}
    rejections, known = journal.changes.rejections(job.id), None
    if job.spec.mode.channel.by_record and journal.writes.load(job.id):
        # Imported here, as imports of whole files do not need these modules.
        from xlbridge.upload.record_executor import leave_unsent_records

        verdict = leave_unsent_records(journal, job, _NEVER_SENT.format(who=who, reason=reason))
        if verdict is None:
            raise _not_in_doubt(job)
        # Stored messages name the columns of the sheet.
        told = {rejected.row for rejected in rejections}
        refused = {rejected.row for rejected in verdict.rejections}
        rejections = [rejected for rejected in rejections if rejected.row in refused]
        rejections += (rejected for rejected in verdict.rejections if rejected.row not in told)
        known = Verdict(rejections=rejections)
    outcomes = journal.changes.outcomes(job.id)
    if seen is Resolution.APPLIED:
        state = State.PARTIAL if rejections else State.DONE
        journal.record(job, state, verdict=known, unknown_as=RowOutcome.ACCEPTED, resolved=resolved)
        return
    missing = _NOT_APPLIED.format(who=who, reason=reason)
    if RowOutcome.ACCEPTED not in outcomes:
        journal.record(
            job,
            State.ABANDONED,
            verdict=known,
            unknown_as=RowOutcome.NOT_WRITTEN,
            resolved=resolved,
            reason=missing.languages,
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


def _require_settled(job: Job, now: Instant, settle_seconds: float) -> None:
    """Raise ``UsageError`` if rows in doubt of a job may still arrive."""
    if job.state in {State.SENDING, State.STAGING, State.STARTING}:
        raise UsageError(
            Text(
                pt="O envio {job} foi interrompido, e a última operação ainda pode ser gravada.",
                en="The upload {job} was interrupted, and its last request may still arrive.",
            ).format(job=job.id),
            _RESUME.format(job=job.arguments()),
        )
    left = job.settle_left(now, settle_seconds)
    if left:
        raise UsageError(
            Text(
                pt="As linhas ainda podem ser gravadas até {end}; antes disso, "
                "não dá para afirmar que não foram.",
                en="The rows may still arrive until {end}; before that, nobody can say that "
                "they were not written.",
            ).format(end=f"{now.at + left:%d/%m/%Y %H:%M:%S}"),
            Text(pt="Aguarde e depois execute: {go}", en="Wait, and then: {go}").format(
                go=f"xlbridge resume {job.arguments()}"
            ),
        )


def _not_in_doubt(job: Job) -> UsageError:
    """Return the error that nothing of a job is in doubt."""
    message = Text(
        pt="O envio {job} não está em dúvida (situação: {state}).",
        en="The upload {job} is not in doubt (state {state}).",
    ).format(job=job.id, state=job.state.text)
    return UsageError(message, None if job.state.is_final else _RESUME.format(job=job.arguments()))
