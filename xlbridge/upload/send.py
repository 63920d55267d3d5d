"""Sending a judged sheet: the job is written down, run, and its evidence left behind."""

from dataclasses import dataclass
from pathlib import Path

from xlbridge.api.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.resource import Resource
from xlbridge.settings import Settings
from xlbridge.upload.journal import Job, Journal, NewJob
from xlbridge.upload.lock import job_lock
from xlbridge.upload.payload import row_digests, sheet_digest, store_payload
from xlbridge.upload.plan import Plan
from xlbridge.upload.rejects import rejects_path, write_rejects_workbook
from xlbridge.upload.report import verdict_of
from xlbridge.upload.runner import Runner, RunOptions
from xlbridge.upload.states import State
from xlbridge.validation.validate import ValidatedSheet


@dataclass(frozen=True, slots=True)
class Desk:
    """What every upload needs at hand."""

    settings: Settings
    catalogue: Catalogue
    journal: Journal


@dataclass(frozen=True, slots=True)
class Retry:
    """What is sent once more: of which job, and the row numbers that the rows have there."""

    of: str
    origins: tuple[int, ...]


def write_down(
    desk: Desk,
    sheet: ValidatedSheet,
    resource: Resource,
    plan: Plan,
    profile: str,
    *,
    again: str | None = None,
    retry: Retry | None = None,
) -> Job:
    """Store the payload and write the job down, before anything is sent.

    A job with the same rows that was written down and not sent is taken up again. Raises
    ``JournalError`` when some of the rows were sent already and ``again`` gives no reason,
    ``UsageError`` when it gives an empty one.
    """
    if again is not None and not again.strip():
        raise UsageError(
            Text(pt="--again pede um motivo.", en="--again needs a reason."),
            Text(pt="Nada foi enviado.", en="Nothing was sent."),
        )
    digests = row_digests(resource, sheet.frame)
    new = NewJob(
        profile=profile,
        resource=resource.name,
        mode=plan.mode,
        file=str(sheet.file.resolve()),
        sheet=sheet.sheet,
        digest=sheet_digest(digests),
        payload=store_payload(desk.settings.payloads, resource, sheet.frame),
        rows=tuple(sheet.rows),
        columns=sheet.columns,
    )
    if retry is not None:
        return desk.journal.create(new, digests, retry_of=retry.of, origins=retry.origins)
    return desk.journal.unsent(new) or desk.journal.create(new, digests, again=again)


def run_job(desk: Desk, client: Client, job: Job, options: RunOptions) -> Job:
    """Take a job as far as it goes, and write its rejects workbook where rows were refused.

    Raises ``UsageError`` when the job belongs to another environment or runs elsewhere just now,
    and what ``Runner.run`` raises.
    """
    if job.what.profile != client.target.profile:
        raise UsageError(
            Text(
                pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                en="The upload {job} is of the environment {theirs}; {ours} is configured now.",
            ).format(job=job.id, theirs=job.what.profile, ours=client.target.profile)
        )
    with job_lock(desk.settings.home, job.id):
        runner = Runner(client, desk.journal, desk.settings.payloads, desk.catalogue, options)
        return with_evidence(desk, runner.run(desk.journal.job(job.id)))


def with_evidence(desk: Desk, job: Job) -> Job:
    """Write the rejects workbook of a job whose rows were refused, unless it is there already.

    It goes beside the analyst's file, or into the home folder where that is not possible.
    """
    if job.state not in {State.PARTIAL, State.REJECTED}:
        return job
    written = job.last("rejects_file")
    if written is not None and Path(written).exists():
        return job
    target = rejects_path(job)
    try:
        _write_rejects(desk, job, target)
    except UsageError:
        target = desk.settings.home / "rejects" / target.name
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_rejects(desk, job, target)
    return desk.journal.record(job, job.state, rejects_file=str(target))


def _write_rejects(desk: Desk, job: Job, target: Path) -> None:
    write_rejects_workbook(job, verdict_of(job), desk.catalogue, desk.settings.payloads, target)
