"""Sending one workbook of a batch, or what is left of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.api.listings import Listings
from xlbridge.batch.batch import Batch
from xlbridge.batch.checking import JudgedFile, Target, judge
from xlbridge.batch.codes import Codes
from xlbridge.batch.ledger import SentAs
from xlbridge.batch.standing import Standing, UnitState, state_of
from xlbridge.batch.workbooks import digest_of
from xlbridge.errors import UsageError
from xlbridge.findings import Severity
from xlbridge.i18n import Text
from xlbridge.online.references import Registries
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.options import RunOptions
from xlbridge.upload.payload import row_digests, sheet_digest
from xlbridge.upload.plan import Plan, choose_mode
from xlbridge.upload.retry import MendedRows, mended_rows
from xlbridge.upload.send import run_job, write_down
from xlbridge.upload.sent_values import sent_digests
from xlbridge.validation.validate import ValidatedSheet

_RETRIED = frozenset({State.PARTIAL, State.REJECTED})


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the workbooks of a batch; ``options`` are those of each upload, but for the settle
    time, which is each environment's own."""

    batch: Batch
    options: RunOptions
    _codes: dict[str, Codes] = field(default_factory=dict)

    def send(self, target: Target) -> None:
        """Take a workbook as far as it goes: what was begun first, then what was never sent.

        Raises ``UsageError`` when the workbook cannot be sent as it is, ``JournalError`` when rows
        of it were sent otherwise, and what ``run_job`` raises.
        """
        state = self._state(target)
        self._go_on(target, state)
        state = self._state(target)
        if state.standing is Standing.CHANGED and state.jobs:
            self._accept_change(target, state)
        elif state.standing in {Standing.PARTIAL, Standing.INVALID, Standing.REFUSED}:
            if state.jobs:
                self._send_mended(target, state)
        elif not state.jobs or all(job.state in UNSENT for job in state.jobs):
            self._send_whole(target)

    def _state(self, target: Target) -> UnitState:
        batch = self.batch
        return state_of(batch.ledger, batch.sites, batch.id, target.step, target.workbook)

    def _go_on(self, target: Target, state: UnitState) -> None:
        """Continue the jobs that are not over; one that has sent nothing only if it is current."""
        sent = self._sent(target)
        current = sent is not None and sent.sha256 == target.workbook.sha256
        for job in state.jobs:
            if not job.state.is_final and (current or job.state not in UNSENT):
                self._run(target, job)

    def _send_whole(self, target: Target) -> None:
        judged = self._good(target)
        if judged.resource is None or target.step.sending is None:
            return
        plan = choose_mode(judged.resource, target.step.sending.mode)
        job = write_down(
            self.batch.sites.desk(target.step.profile),
            judged,
            judged.resource,
            plan,
            self.batch.sites.name(target.step.profile),
            chunk_rows=target.step.sending.chunk_rows,
        )
        self._note(target, job)
        self._run(target, job)

    def _send_mended(self, target: Target, state: UnitState) -> None:
        """Send rejected rows that were mended, in the workbook itself or in a rejects workbook."""
        sent = self._sent(target)
        first = state.jobs[0]
        gone = not target.workbook.sha256
        changed = not gone and (sent is None or sent.sha256 != target.workbook.sha256)
        if changed and first.state is State.REJECTED:
            self._send_whole(target)
            return
        if changed and first.state in _RETRIED:
            judged = self._good(target)
            desk = self.batch.sites.desk(target.step.profile)
            mended = mended_rows(desk, first, judged, in_place=True)
            self._retry(target, first, mended)
            self._note(target, first)
            return
        for job in reversed(state.jobs):
            for mended in self._from_rejects(target, job):
                self._retry(target, job, mended)

    def _from_rejects(self, target: Target, job: Job) -> Iterator[MendedRows]:
        """Yield the rows of a job's rejects workbook that were mended, if any were."""
        rejects = job.last("rejects_file")
        if job.state not in _RETRIED or rejects is None or not Path(rejects).exists():
            return
        desk = self.batch.sites.desk(target.step.profile)
        book = replace(target.workbook, path=Path(rejects), sha256=digest_of(Path(rejects)))
        step = replace(target.step, resource=job.what.resource, sheet=None, links={})
        judged = judge(self.batch, Target(step, book))
        if not isinstance(judged, ValidatedSheet) or not judged.ok:
            raise _unusable(Path(rejects), judged)
        try:
            yield mended_rows(desk, job, judged)
        except UsageError:
            # Nothing in it was mended, or all that was is sent already: the job stays as it is.
            return

    def _retry(self, target: Target, job: Job, mended: MendedRows) -> None:
        desk = self.batch.sites.desk(target.step.profile)
        plan = Plan(job.what.mode, Text(pt="como antes", en="as before"))
        resource = desk.catalogue.named(job.what.resource)
        again = write_down(
            desk,
            mended.sheet,
            resource,
            plan,
            job.what.profile,
            retry=mended.retry,
            chunk_rows=target.step.sending.chunk_rows if target.step.sending else None,
        )
        self._run(target, again)

    def _accept_change(self, target: Target, state: UnitState) -> None:
        """Take a workbook that was changed after it was sent as it is, if its rows are the same."""
        judged = self._judge(target)
        if isinstance(judged, ValidatedSheet) and judged.ok and judged.resource is not None:
            first = state.jobs[0]
            digests = row_digests(judged.resource, judged.frame)
            now = dict(zip(judged.rows, digests, strict=True))
            sent = sent_digests(self.batch.sites.desk(target.step.profile), first)
            mended = now.keys() == sent.keys() and all(now[row] in sent[row] for row in now)
            if mended or sheet_digest(digests) == first.what.digest:
                self._note(target, first)

    def _judge(self, target: Target) -> JudgedFile:
        """Judge a workbook, and fill in the codes of the records that its cells name."""
        judged = judge(self.batch, target)
        if not target.step.links or not isinstance(judged, ValidatedSheet) or not judged.ok:
            return judged
        if target.step.name not in self._codes:
            client = self.batch.sites.client(target.step.profile)
            self._codes[target.step.name] = Codes(Registries(client, Listings(client)))
        return self._codes[target.step.name].fill_in(judged)

    def _good(self, target: Target) -> ValidatedSheet:
        """Judge a workbook once more: what is sent is what was judged."""
        judged = self._judge(target)
        if not isinstance(judged, ValidatedSheet) or not judged.ok:
            raise _unusable(target.workbook.path, judged)
        if digest_of(target.workbook.path) != target.workbook.sha256:
            raise UsageError(
                Text(
                    pt="{file} mudou enquanto o lote corria; nada dela foi enviado.",
                    en="{file} was changed while the batch ran; nothing of it was sent.",
                ).format(file=target.workbook.path)
            )
        return judged

    def _sent(self, target: Target) -> SentAs | None:
        return self.batch.ledger.last_sent(*self._place(target))

    def _note(self, target: Target, job: Job) -> None:
        self.batch.ledger.sent(*self._place(target), SentAs(target.workbook.sha256, job.id))

    def _place(self, target: Target) -> tuple[str, str, str, str]:
        profile = self.batch.sites.name(target.step.profile)
        return self.batch.id, target.step.name, target.workbook.name, profile

    def _run(self, target: Target, job: Job) -> None:
        profile = target.step.profile
        desk = self.batch.sites.desk(profile)
        options = replace(self.options, settle_seconds=desk.settings.settle_seconds)
        run_job(desk, self.batch.sites.client(profile), job, options)


def _unusable(path: Path, judged: JudgedFile) -> UsageError:
    if not isinstance(judged, ValidatedSheet):
        return UsageError(judged.refusal.message, judged.refusal.hint)
    first = next(f for f in judged.findings if f.kind.severity is Severity.ERROR)
    return UsageError(
        Text(
            pt="{file} tem {n} {n:erro|erros}; o primeiro, em {cell}: {message}",
            en="{file} has {n} {n:error|errors}; the first, in {cell}: {message}",
        ).format(file=path.name, n=judged.errors, cell=first.cell or "–", message=first.message)
    )
