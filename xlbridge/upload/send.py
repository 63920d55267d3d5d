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
from xlbridge.upload.payload import rows_digest, store_payload
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


def write_down(
    desk: Desk,
    sheet: ValidatedSheet,
    resource: Resource,
    plan: Plan,
    profile: str,
    *,
    again: str | None = None,
    retry_of: str | None = None,
) -> Job:
    """Store the payload and write the job down, before anything is sent.

    A job with the same rows that was written down and not sent is taken up again. Raises
    ``JournalError`` when the same rows were sent already and ``again`` gives no reason.
    ``retry_of`` names the job whose rejected rows these are.
    """
    new = NewJob(
        profile=profile,
        resource=resource.name,
        mode=plan.mode,
        file=str(sheet.file.resolve()),
        sheet=sheet.sheet,
        digest=rows_digest(resource, sheet.frame),
        payload=store_payload(desk.settings.payloads, resource, sheet.frame),
        rows=tuple(sheet.rows),
        columns=sheet.columns,
    )
    return desk.journal.unsent(new) or desk.journal.create(new, again=again, retry_of=retry_of)


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
        job = runner.run(desk.journal.job(job.id))
        if job.state in {State.PARTIAL, State.REJECTED} and job.last("rejects_file") is None:
            return _with_rejects(desk, job, rejects_path(job))
    return job


def _with_rejects(desk: Desk, job: Job, target: Path) -> Job:
    verdict = verdict_of(job)
    write_rejects_workbook(job, verdict, desk.catalogue, desk.settings.payloads, target)
    return desk.journal.record(job, job.state, rejects_file=str(target))
