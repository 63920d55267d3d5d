"""Upload history of a batch's workbooks: their jobs, what became of each row, contradictions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from xlbridge.batch.proof.model import RowLocation, StepFile
from xlbridge.i18n import Text
from xlbridge.upload import Job, Journal, State
from xlbridge.upload.results import RowChange, RowLedger, RowOutcome

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
class SentFile:
    """A workbook, the jobs that sent rows of it, and what became of each row.

    ``jobs`` are oldest first, with retries, and with the parts of a split sheet instead of the
    whole.
    """

    step: str
    file: StepFile
    jobs: tuple[Job, ...]
    rows: tuple[RowChange, ...]
    breaches: tuple[Text, ...]

    def location(self, row: RowChange) -> RowLocation:
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


def sent_file(journal: Journal, step: str, file: StepFile) -> SentFile:
    """Return what became of each row of a workbook. Raises ``UsageError`` if a job is missing."""
    if file.job_id is None:
        return SentFile(step, file, (), (), ())
    ledger = RowLedger.of(journal, journal.job(file.job_id))
    jobs = [part for job in ledger.attempts for part in journal.parts_of(job) or [job]]
    rows = tuple(ledger.now[origin] for origin in sorted(ledger.now))
    breaches = (
        *(
            _VERDICT_DIFFERS.format(file=file.path.name, job=job.id)
            for job in jobs
            if not _adds_up(job, job.outcomes)
        ),
        *_contradictions(file, ledger),
    )
    return SentFile(step, file, tuple(jobs), rows, breaches)


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


def _contradictions(file: StepFile, ledger: RowLedger) -> Iterator[Text]:
    name = file.path.name
    records = sum(change.is_record for change in ledger.now.values())
    if records != file.rows_in_sheet:
        yield _ROWS_DIFFER.format(file=name, rows=file.rows_in_sheet, sent=records)
    if all(job.file_hash != file.sha256 for job in ledger.attempts):
        yield _OTHER_CONTENT.format(file=name, sha=file.sha256)
    for origin, changes in ledger.changes.items():
        jobs = [change.job.id for change in changes if change.outcome is RowOutcome.ACCEPTED]
        if len(jobs) > 1:
            yield _ACCEPTED_TWICE.format(file=name, row=origin, jobs=", ".join(jobs))
