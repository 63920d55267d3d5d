"""Uploads: create the job of a validated sheet, run it, resolve it, and write its evidence."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.files import lock_or_fail
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.upload.context import ModeChoice, RunOptions, UploadContext
from xlbridge.upload.evidence import write_evidence
from xlbridge.upload.job import UNSENT, Job, JobSpec, State
from xlbridge.upload.journal import SheetPart
from xlbridge.upload.manual_resolution import Resolution, record_resolution
from xlbridge.upload.payload import file_hash, row_digests, sheet_digest, store_payload
from xlbridge.upload.retry import RetryOrigin
from xlbridge.upload.run_context import RunContext
from xlbridge.upload.runner import JobRunner, run_split, update_parent
from xlbridge.upload.verdict import Verdict
from xlbridge.validation import ValidatedSheet

_JOB_BUSY = Text(
    pt="O envio {job} está sendo tratado por outro processo.",
    en="The upload {job} is being worked on by another process.",
)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block. Raises ``UsageError`` as ``held`` does."""
    with lock_or_fail(home, job_id, _JOB_BUSY.format(job=job_id)):
        yield


def create_job(
    desk: UploadContext,
    sheet: ValidatedSheet,
    resource: Resource,
    plan: ModeChoice,
    profile: str,
    *,
    again: str | None = None,
    retry: RetryOrigin | None = None,
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
    book = _SheetSlices(desk, sheet, resource, plan, profile)
    new, digests = book.slice(0, len(sheet.rows))
    note: dict[str, Any] = {"file_hash": file_hash(sheet.file)}
    if retry is not None:
        note |= {"retry_of": retry.of, "origins": list(retry.origins)}
    parts: list[SheetPart] = []
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


def run_job(desk: UploadContext, client: Client, job: Job, options: RunOptions) -> Job:
    """Take a job as far as it goes, and leave its evidence behind.

    Raises ``UsageError`` when the job belongs to another environment or runs elsewhere just now,
    and what ``Runner.run`` raises.
    """
    require_profile(job, client.target.profile)
    settle = max(options.settle_seconds, client.least_settle)
    options = replace(options, settle_seconds=settle)
    bench = RunContext(client, desk.journal, desk.settings.payloads, desk.catalogue, options)
    hold = partial(job_lock, desk.settings.home)
    with hold(job.parent or job.id):
        job = desk.journal.job(job.id)
        if job.parts:
            ended = run_split(bench, job, hold)
        elif job.parent is None:
            ended = JobRunner(bench).run(job)
        else:
            ended = _run_part(bench, job)
        return _with_evidence(desk, ended)


def require_profile(job: Job, profile: str) -> None:
    """Raise ``UsageError`` when a job belongs to another environment."""
    if job.what.profile != profile:
        raise UsageError(
            Text(
                pt="O envio {job} é do ambiente {theirs}; agora está configurado {ours}.",
                en="The upload {job} is of the environment {theirs}; {ours} is configured now.",
            ).format(job=job.id, theirs=job.what.profile, ours=profile)
        )


def resolve_job(desk: UploadContext, job: Job, seen: Resolution, reason: str) -> Job:
    """Write down a person's word on a job, of a split sheet on each of its doubtful parts.

    Raises ``UsageError`` as ``resolve`` does.
    """
    hold = partial(job_lock, desk.settings.home)
    with hold(job.parent or job.id):
        job = desk.journal.job(job.id)
        parts = desk.journal.parts_of(job)
        doubtful = [part for part in parts if part.state is State.NEEDS_PERSON]
        for one in doubtful or parts or [job]:
            record_resolution(desk.journal, one, seen, reason, desk.settings.settle_seconds)
        parent = job.parent or (job.id if job.parts else None)
        if parent is not None:
            update_parent(desk.journal, desk.journal.job(parent))
        ended = desk.journal.job(job.id)
        return _with_evidence(desk, ended)


def _with_evidence(desk: UploadContext, job: Job) -> Job:
    """Leave the evidence of a job behind, and of the whole sheet that it is a part of."""
    whole = desk.journal.job(job.parent or job.id)
    write_evidence(desk.settings, desk.catalogue, desk.journal, whole)
    return desk.journal.job(job.id)


def _run_part(bench: RunContext, job: Job) -> Job:
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
        return JobRunner(bench).run(job)
    finally:
        update_parent(bench.journal, parent)


@dataclass(frozen=True, slots=True)
class _SheetSlices:
    """Makes jobs of a sheet's rows; each slice's payload is stored when it is made."""

    desk: UploadContext
    sheet: ValidatedSheet
    resource: Resource
    plan: ModeChoice
    profile: str

    def chunks(self, size: int) -> Iterator[SheetPart]:
        """Yield the sheet in slices of ``size`` rows; the last may be shorter."""
        for start in range(0, len(self.sheet.rows), size):
            yield self.slice(start, start + size)

    def slice(self, start: int, end: int) -> SheetPart:
        """Return what is to be written down of some rows, with their digests."""
        frame: pd.DataFrame = self.sheet.frame.iloc[start:end].reset_index(drop=True)
        digests = row_digests(self.resource, frame)
        new = JobSpec(
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


def invalid_sheet_json(sheet: ValidatedSheet, mode: str) -> dict[str, Any]:
    """Return the answer for a sheet that local validation stops: no row of it is accepted."""
    rows = len(sheet.rows)
    return {
        "version": 1,
        "job": None,
        "state": "rejected",
        "mode": mode,
        "resource": sheet.resource.name if sheet.resource else None,
        "log_id": None,
        "rows": Verdict(read=rows, accepted=0, unknown=0).counted,
        "rejected": [
            {"row": f.row, "cell": f.cell, "column": f.column, "message": str(f.message)}
            for f in sheet.error_findings()
        ],
        "rejects_file": None,
    }
