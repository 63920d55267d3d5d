"""Uploads: create the job of a validated sheet, run it, and write its evidence."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.files import lock_or_fail
from xlbridge.i18n import Text
from xlbridge.resources import Mode, Resource
from xlbridge.upload.context import UploadContext, UploadOptions, choose_mode
from xlbridge.upload.evidence import ensure_sheet_evidence
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.journal import SheetPart
from xlbridge.upload.payload import file_hash, row_digests, sheet_digest, store_payload
from xlbridge.upload.retry import CorrectedRows
from xlbridge.upload.run_context import RunContext
from xlbridge.upload.runner import JobRunner, run_split, update_parent
from xlbridge.validation import ValidatedSheet

_JOB_BUSY = Text(
    pt="O envio {job} está em execução em outro processo.",
    en="The upload {job} is being worked on by another process.",
)
_NO_ORIGIN: Mapping[str, Any] = MappingProxyType({})


class Uploads:
    """Uploads to one environment, for commands, batches and Python callers alike.

    Nothing here needs a terminal: consent and progress are callbacks of the options.
    """

    def __init__(self, context: UploadContext, client: Client) -> None:
        self._context = context
        self._client = client

    def send(self, sheet: ValidatedSheet, options: UploadOptions) -> Job:
        """Create the job of a sheet and run it. Raises what ``create`` and ``run`` raise."""
        return self.run(self.create(sheet, options), options)

    def create(self, sheet: ValidatedSheet, options: UploadOptions) -> Job:
        """Store the payload of a sheet and record its job, before anything is sent.

        A sheet of more than ``chunk_rows`` rows becomes a parent with parts. A job with the same
        rows that was recorded and not sent is taken up again. Raises ``JournalError`` when some of
        the rows were sent already and ``again`` gives no reason; ``UsageError`` when ``again`` is
        empty, the sheet has errors, or its resource does not take the mode.
        """
        if options.again is not None and not options.again.strip():
            raise UsageError(
                Text(pt="Informe o motivo em --again.", en="--again needs a reason."),
                Text(pt="Nada foi enviado.", en="Nothing was sent."),
            )
        resource = _valid_resource(sheet)
        mode = choose_mode(resource, options.mode).mode
        whole, parts = self._slices(sheet, resource, mode, options.chunk_rows)
        waiting = self._context.journal.unsent(whole[0], [len(part.rows) for part, _ in parts])
        if waiting is not None:
            return waiting
        return self._record(sheet, whole, parts, again=options.again)

    def create_retry(self, corrected: CorrectedRows, options: UploadOptions) -> Job:
        """Record the job that sends the corrected rows of an earlier one, in that one's mode.

        Raises ``JournalError`` when some of the rows were sent already, ``UsageError`` when the
        sheet has errors.
        """
        sheet, earlier = corrected.sheet, corrected.job
        resource = _valid_resource(sheet)
        whole, parts = self._slices(sheet, resource, earlier.what.mode, options.chunk_rows)
        # A retry that has sent nothing gives way: only the new one knows which rows are which.
        origin = {"retry_of": earlier.id, "origins": list(corrected.origins)}
        return self._record(sheet, whole, parts, origin=origin)

    def run(self, job: Job, options: UploadOptions) -> Job:
        """Take a job as far as it goes, and leave its evidence behind.

        Raises ``UsageError`` when the job belongs to another environment or is run by another
        process; ``AuthenticationFailed`` or ``TransportError`` when nothing was applied and the
        job can be resumed; ``InDoubt`` when the connection is lost while the outcome is awaited.
        """
        job.require_profile(self._client.target.profile)
        context = RunContext(self._context, self._client, options)
        hold = partial(job_lock, self._context.settings.home)
        with hold(job.parent or job.id):
            job = self._context.journal.job(job.id)
            if job.parts:
                ended = run_split(context, job, hold)
            elif job.parent is None:
                ended = JobRunner(context).run(job)
            else:
                ended = _run_part(context, job)
            return ensure_sheet_evidence(self._context, ended)

    def _slices(
        self, sheet: ValidatedSheet, resource: Resource, mode: Mode, chunk_rows: int | None
    ) -> tuple[SheetPart, list[SheetPart]]:
        """Store the payloads of a sheet, and return what to record of it and of its parts."""
        count = len(sheet.rows)
        whole = self._slice(sheet, resource, mode, 0, count)
        if chunk_rows is None or chunk_rows >= count:
            return whole, []
        starts = range(0, count, chunk_rows)
        return whole, [
            self._slice(sheet, resource, mode, start, start + chunk_rows) for start in starts
        ]

    def _slice(
        self, sheet: ValidatedSheet, resource: Resource, mode: Mode, start: int, end: int
    ) -> SheetPart:
        """Store the payload of some rows, and return what to record of them."""
        frame = sheet.frame.iloc[start:end].reset_index(drop=True)
        digests = row_digests(resource, frame)
        spec = JobSpec(
            profile=self._client.target.profile,
            resource=resource.name,
            mode=mode,
            file=str(sheet.file.resolve()),
            sheet=sheet.sheet,
            digest=sheet_digest(digests),
            payload=store_payload(self._context.settings.payloads, resource, frame),
            rows=tuple(sheet.rows[start:end]),
            columns=sheet.columns,
        )
        return spec, digests

    def _record(
        self,
        sheet: ValidatedSheet,
        whole: SheetPart,
        parts: list[SheetPart],
        *,
        again: str | None = None,
        origin: Mapping[str, Any] = _NO_ORIGIN,
    ) -> Job:
        spec, digests = whole
        note = {"file_hash": file_hash(sheet.file), **origin}
        journal = self._context.journal
        if parts:
            return journal.create_split(spec, parts, again=again, note=note)
        return journal.create(spec, digests, again=again, note=note)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block. Raises ``UsageError`` when another process does."""
    with lock_or_fail(home, job_id, _JOB_BUSY.format(job=job_id)):
        yield


def _run_part(context: RunContext, job: Job) -> Job:
    """Run one part of a split sheet by itself, and update its parent."""
    parent = context.journal.job(job.parent or "")
    if parent.state.is_unsent:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}, ainda não confirmado.",
                en="The upload {job} is a part of {parent}, which is not confirmed yet.",
            ).format(job=job.id, parent=parent.id),
            Text(
                pt="Continue o envio completo: xlbridge resume {p}", en="Go on: xlbridge resume {p}"
            ).format(p=parent.id),
        )
    try:
        return JobRunner(context).run(job)
    finally:
        update_parent(context.journal, parent)


def _valid_resource(sheet: ValidatedSheet) -> Resource:
    """Return the resource of a sheet. Raises ``UsageError`` when the sheet has errors."""
    if sheet.resource is None or not sheet.ok:
        raise UsageError(
            Text(pt="{file} tem {n} {n:erro|erros}.", en="{file} has {n} {n:error|errors}.").format(
                file=sheet.file, n=sheet.errors
            ),
            Text(
                pt="Nada foi enviado: corrija os erros primeiro.",
                en="Nothing was sent: fix the errors first.",
            ),
        )
    return sheet.resource
