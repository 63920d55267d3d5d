"""Upload history of a batch's workbooks: the outcome of each row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.proof.model import RowLocation, StepFile
from xlbridge.i18n import Text
from xlbridge.upload import (
    Job,
    Journal,
    State,
)
from xlbridge.upload.planning import PlannedRow, RowReason
from xlbridge.upload.results import RowOutcome

_ACCEPTED_TWICE = Text(
    pt="{file}, linha {row}: aceita por mais de um envio ({jobs})",
    en="{file}, row {row}: accepted by more than one upload ({jobs})",
)
_ROWS_DIFFER = Text(
    pt="{file}: a planilha tem {rows} {rows:linha|linhas}, e os envios dela têm {sent}",
    en="{file}: the sheet has {rows} {rows:row|rows}, and its uploads have {sent}",
)
_VERDICT_DIFFERS = Text(
    pt="{file}: a soma das linhas do envio {job} não fecha com o resultado dele",
    en="{file}: the rows of the upload {job} do not add up to its outcome",
)
_OTHER_CONTENT = Text(
    pt="{file}: nenhum envio é deste conteúdo ({sha})",
    en="{file}: no upload has this content ({sha})",
)


@dataclass(frozen=True, slots=True)
class SentRow:
    """Row of a job, with its position, its row number ``origin`` in the workbook, and its outcome.

    ``row`` is Excel's number in the sheet that the job was made from. ``planned`` is set for a row
    that the plan left out; its position is then among all rows of the sheet.
    """

    job: Job
    position: int
    origin: int
    outcome: RowOutcome
    row: int
    planned: PlannedRow | None = None

    @property
    def is_non_record(self) -> bool:
        """True if the row was held because it is not a record, such as a row of totals."""
        return self.planned is not None and self.planned.reason is RowReason.NO_RECORD


@dataclass(frozen=True, slots=True)
class SentFile:
    """A workbook, the jobs that sent rows of it, and the decisive sending of each row.

    ``jobs`` are oldest first, with retries, and with the parts of a split sheet instead of the
    whole.
    """

    step: str
    file: StepFile
    jobs: tuple[Job, ...]
    rows: tuple[SentRow, ...]
    breaches: tuple[Text, ...]

    def location(self, row: SentRow) -> RowLocation:
        """Return the location of a row."""
        spec = row.job.spec
        return RowLocation(
            step=self.step,
            workbook=self.file.path,
            origin=row.origin,
            file=Path(spec.file),
            sheet=spec.sheet,
            row=row.row,
        )


class UploadHistory:
    """Upload history of workbooks from the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def of(self, step: str, file: StepFile) -> SentFile:
        """Return the outcome of each row of a workbook that was sent.

        A row that is in doubt in any upload is in doubt; otherwise it is accepted if any upload
        wrote it. Raises ``UsageError`` if a job does not exist.
        """
        whole_jobs = list(self._with_retries(file.job_ids))
        jobs = [part for whole in whole_jobs for part in self._journal.parts_of(whole) or [whole]]
        by_origin: dict[int, list[SentRow]] = {}
        breaches: list[Text] = []
        for job in jobs:
            outcomes = job.outcomes
            if not _adds_up(job, outcomes):
                breaches.append(_VERDICT_DIFFERS.format(file=file.path.name, job=job.id))
            origins = self._origins(job)
            for position, (row, outcome) in enumerate(zip(job.spec.rows, outcomes, strict=True)):
                sent = SentRow(job, position, origins[row], outcome, row)
                by_origin.setdefault(sent.origin, []).append(sent)
        for whole in whole_jobs:
            for left_out in self._left_out(whole):
                by_origin.setdefault(left_out.origin, []).append(left_out)
        breaches += _contradictions(file, whole_jobs, by_origin)
        rows = tuple(_final_row(by_origin[origin]) for origin in sorted(by_origin))
        return SentFile(step, file, tuple(jobs), rows, tuple(breaches))

    def _left_out(self, whole: Job) -> Iterator[SentRow]:
        """Yield the rows of a sheet that its plan left out."""
        unsent = whole.state.is_unsent or whole.state.frees_rows
        origins = self._origins(whole)
        for position, row in enumerate(self._journal.plan_of(whole)):
            if not row.action.writes:
                outcome = RowOutcome.UNSENT if unsent else RowOutcome(row.action.value)
                yield SentRow(whole, position, origins[row.row], outcome, row.row, row)

    def _with_retries(self, ids: Sequence[str]) -> Iterator[Job]:
        """Yield the jobs and, recursively, their retries, oldest first."""
        found: dict[str, Job] = {}
        pending = [self._journal.job(job_id) for job_id in ids]
        while pending:
            job = pending.pop()
            if job.id not in found:
                found[job.id] = job
                pending += self._journal.retries_of(job.id)
        yield from sorted(found.values(), key=lambda job: (job.created_at, job.id))

    def _origins(self, job: Job) -> Mapping[int, int]:
        """Return the row numbers in the step's workbook, by row number in a job's sheet."""
        whole = job if job.parent is None else self._journal.job(job.parent)
        retried = whole.retry_of
        if retried is None:
            rows = [row.row for row in self._journal.plan_of(whole)] or whole.spec.rows
            return {row: row for row in rows}
        earlier = self._origins(self._journal.job(retried))
        return {row: earlier.get(origin, origin) for row, origin in whole.origins.items()}


def _adds_up(job: Job, outcomes: Sequence[RowOutcome]) -> bool:
    verdict = job.verdict
    if job.state is State.PREVIEWED or job.state.is_unsent:
        return verdict.read == len(outcomes)
    counts = (
        len(outcomes),
        outcomes.count(RowOutcome.ACCEPTED),
        outcomes.count(RowOutcome.UNKNOWN),
    )
    return counts == (verdict.read, verdict.accepted, verdict.unknown)


def _contradictions(
    file: StepFile, whole_jobs: Sequence[Job], by_origin: Mapping[int, Sequence[SentRow]]
) -> Iterator[Text]:
    name = file.path.name
    records = sum(not _final_row(sendings).is_non_record for sendings in by_origin.values())
    if whole_jobs and records != file.rows_in_sheet:
        yield _ROWS_DIFFER.format(file=name, rows=file.rows_in_sheet, sent=records)
    if whole_jobs and all(job.file_hash != file.sha256 for job in whole_jobs):
        yield _OTHER_CONTENT.format(file=name, sha=file.sha256)
    for origin, sendings in by_origin.items():
        jobs = [sent.job.id for sent in sendings if sent.outcome is RowOutcome.ACCEPTED]
        if len(jobs) > 1:
            yield _ACCEPTED_TWICE.format(file=name, row=origin, jobs=", ".join(jobs))


def _final_row(sendings: Sequence[SentRow]) -> SentRow:
    for outcome in (
        RowOutcome.UNKNOWN,
        RowOutcome.ACCEPTED,
        RowOutcome.UNCHANGED,
        RowOutcome.REJECTED,
        RowOutcome.HELD,
        RowOutcome.NOT_WRITTEN,
    ):
        with_outcome = [sent for sent in sendings if sent.outcome is outcome]
        if with_outcome:
            return with_outcome[-1]
    return sendings[-1]
