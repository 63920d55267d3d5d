"""Sending a judged sheet: the job is written down, run, and its evidence left behind."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from xlbridge.api.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.resource import Resource
from xlbridge.upload.desk import Desk
from xlbridge.upload.evidencing import with_evidence
from xlbridge.upload.journal.job import Job, NewJob
from xlbridge.upload.journal.journal import Part
from xlbridge.upload.journal.lock import job_lock
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.options import RunOptions
from xlbridge.upload.payload import file_hash, row_digests, sheet_digest, store_payload
from xlbridge.upload.plan import Plan
from xlbridge.upload.resolving import Resolution, resolve
from xlbridge.upload.split import run_split, settle_parent
from xlbridge.upload.steps.bench import Bench
from xlbridge.upload.steps.runner import Runner
from xlbridge.validation.validate import ValidatedSheet


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
    chunk_rows: int | None = None,
) -> Job:
    """Store the payload and write the job down, before anything is sent.

    A sheet of more than ``chunk_rows`` rows becomes a parent with parts. A job with the same rows
    that was written down and not sent is taken up again. Raises ``JournalError`` when some of the
    rows were sent already and ``again`` gives no reason, ``UsageError`` when it gives an empty one.
    """
    if again is not None and not again.strip():
        raise UsageError(
            Text(pt="--again pede um motivo.", en="--again needs a reason."),
            Text(pt="Nada foi enviado.", en="Nothing was sent."),
        )
    book = _Slices(desk, sheet, resource, plan, profile)
    new, digests = book.slice(0, len(sheet.rows))
    note: dict[str, Any] = {"file_hash": file_hash(sheet.file)}
    if retry is not None:
        note |= {"retry_of": retry.of, "origins": list(retry.origins)}
    parts: list[Part] = []
    if chunk_rows is not None and chunk_rows < len(sheet.rows):
        parts = list(book.chunks(chunk_rows))
    # What a retry has not sent gives way to the next: only that one knows which rows are which.
    sizes = [len(part.rows) for part, _ in parts]
    waiting = desk.journal.unsent(new, parts=sizes) if retry is None else None
    if waiting is not None:
        return waiting
    if not parts:
        return desk.journal.create(new, digests, again=again, note=note)
    return desk.journal.create_split(new, parts, again=again, note=note)


def run_job(desk: Desk, client: Client, job: Job, options: RunOptions) -> Job:
    """Take a job as far as it goes, and leave its evidence behind.

    Raises ``UsageError`` when the job belongs to another environment or runs elsewhere just now,
    and what ``Runner.run`` raises.
    """
    require_profile(job, client.target.profile)
    settle = max(options.settle_seconds, client.least_settle)
    options = replace(options, settle_seconds=settle)
    bench = Bench(client, desk.journal, desk.settings.payloads, desk.catalogue, options)
    hold = partial(job_lock, desk.settings.home)
    with hold(job.parent or job.id):
        job = desk.journal.job(job.id)
        if job.parts:
            ended = run_split(bench, job, hold)
        elif job.parent is None:
            ended = Runner(bench).run(job)
        else:
            ended = _run_part(bench, job)
        return _evidenced(desk, ended)


def require_profile(job: Job, profile: str) -> None:
    """Raise ``UsageError`` when a job belongs to another environment."""
    if job.what.profile != profile:
        raise UsageError(
            Text(
                pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                en="The upload {job} is of the environment {theirs}; {ours} is configured now.",
            ).format(job=job.id, theirs=job.what.profile, ours=profile)
        )


def resolve_job(desk: Desk, job: Job, seen: Resolution, reason: str) -> Job:
    """Write down a person's word on a job, of a split sheet on each of its doubtful parts.

    Raises ``UsageError`` as ``resolve`` does.
    """
    hold = partial(job_lock, desk.settings.home)
    with hold(job.parent or job.id):
        job = desk.journal.job(job.id)
        parts = desk.journal.parts_of(job)
        doubtful = [part for part in parts if part.state is State.NEEDS_PERSON]
        for one in doubtful or parts or [job]:
            resolve(desk.journal, one, seen, reason, desk.settings.settle_seconds)
        parent = job.parent or (job.id if job.parts else None)
        if parent is not None:
            settle_parent(desk.journal, desk.journal.job(parent))
        ended = desk.journal.job(job.id)
        return _evidenced(desk, ended)


def _evidenced(desk: Desk, job: Job) -> Job:
    """Leave the evidence of a job behind, and of the whole sheet that it is a part of."""
    whole = desk.journal.job(job.parent or job.id)
    with_evidence(desk.settings, desk.catalogue, desk.journal, whole)
    return desk.journal.job(job.id)


def _run_part(bench: Bench, job: Job) -> Job:
    """Run one part of a split sheet by itself, and tell its parent."""
    parent = bench.journal.job(job.parent or "")
    if parent.state in UNSENT:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}, ainda não confirmado.",
                en="The upload {job} is a part of {parent}, which is not confirmed yet.",
            ).format(job=job.id, parent=parent.id),
            Text(pt="Continue o todo: xlbridge resume {p}", en="Go on: xlbridge resume {p}").format(
                p=parent.id
            ),
        )
    try:
        return Runner(bench).run(job)
    finally:
        settle_parent(bench.journal, parent)


@dataclass(frozen=True, slots=True)
class _Slices:
    """Makes jobs of a sheet's rows; each slice's payload is stored when it is made."""

    desk: Desk
    sheet: ValidatedSheet
    resource: Resource
    plan: Plan
    profile: str

    def chunks(self, size: int) -> Iterator[Part]:
        """Yield the sheet in slices of ``size`` rows; the last may be shorter."""
        for start in range(0, len(self.sheet.rows), size):
            yield self.slice(start, start + size)

    def slice(self, start: int, end: int) -> Part:
        """Return what is to be written down of some rows, with their digests."""
        frame: pd.DataFrame = self.sheet.frame.iloc[start:end].reset_index(drop=True)
        digests = row_digests(self.resource, frame)
        new = NewJob(
            profile=self.profile,
            resource=self.resource.name,
            mode=self.plan.mode,
            file=str(self.sheet.file.resolve()),
            sheet=self.sheet.sheet,
            digest=sheet_digest(digests),
            payload=store_payload(self.desk.settings.payloads, self.resource, frame),
            rows=tuple(self.sheet.rows[start:end]),
            columns=self.sheet.columns,
        )
        return new, digests
