"""What became of each row, in the analyst's own addresses."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xlbridge.errors import Complaint
from xlbridge.i18n import Text
from xlbridge.upload.job import NewJob
from xlbridge.wire.imports import ImportLog, RejectedLine
from xlbridge.workbook.address import cell_address

_FIRST_DATA_ROW = 2
_NAMED_LINE = re.compile(r"\blinha\s+(\d+)\s*:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A refused row: Excel's number and the cell in the analyst's sheet, where they are known.

    ``itself`` is false for a row that was not complained about and only fell with others.
    """

    row: int | None
    cell: str | None
    column: str | None
    message: str
    itself: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many rows were read, and what became of them: ``read`` is always the sum of the rest."""

    read: int
    accepted: int
    unknown: int
    rejected_rows: tuple[RejectedRow, ...] = ()

    @property
    def rejected(self) -> int:
        """How many rows were refused."""
        return self.read - self.accepted - self.unknown


def all_accepted(job: NewJob) -> Verdict:
    """Every row was applied."""
    return Verdict(read=len(job.rows), accepted=len(job.rows), unknown=0)


def all_unknown(job: NewJob) -> Verdict:
    """Nothing can be said of any row."""
    return Verdict(read=len(job.rows), accepted=0, unknown=len(job.rows))


def none_applied(job: NewJob) -> Verdict:
    """No row was applied, and none was complained about."""
    return Verdict(read=len(job.rows), accepted=0, unknown=0)


def refused_whole(job: NewJob, complaints: Sequence[Complaint]) -> Verdict:
    """The whole sheet was refused; the complaints name the rows and columns they are about."""
    return Verdict(
        read=len(job.rows),
        accepted=0,
        unknown=0,
        rejected_rows=tuple(_of_complaint(job, complaint) for complaint in complaints),
    )


def read_back(job: NewJob, proven: Sequence[bool | None]) -> Verdict:
    """Return what the records that were read back prove of each row; None proves nothing.

    A row that is not there, while others are, was not applied.
    """
    missing = [row for row, there in zip(job.rows, proven, strict=True) if there is False]
    return Verdict(
        read=len(job.rows),
        accepted=sum(there is True for there in proven),
        unknown=sum(there is None for there in proven),
        rejected_rows=tuple(
            RejectedRow(row, None, None, str(NOT_THERE), itself=False) for row in missing
        ),
    )


def of_log(job: NewJob, log: ImportLog) -> Verdict | None:
    """Return the verdict of a finished log, None when its counts do not prove one.

    A proof needs the log to have read as many rows as were sent, to account for each of them, and
    to name as many rejected lines as it counts.
    """
    lines = {line.linha for line in log.linhasRejeitadas}
    sums = log.registrosImportados + log.registrosRejeitados == log.totalDeRegistros
    if not sums or log.totalDeRegistros != len(job.rows) or len(lines) != log.registrosRejeitados:
        return None
    if any(_source_row(job, line) is None for line in lines):
        return None
    return Verdict(
        read=len(job.rows),
        accepted=log.registrosImportados,
        unknown=0,
        rejected_rows=tuple(_of_lines(job, log.linhasRejeitadas)),
    )


def _of_lines(job: NewJob, lines: Iterable[RejectedLine]) -> Iterable[RejectedRow]:
    for line in sorted(lines, key=lambda line: line.linha):
        yield _rejected(job, _source_row(job, line.linha), line.coluna, line.mensagem)


def _of_complaint(job: NewJob, complaint: Complaint) -> RejectedRow:
    named = _NAMED_LINE.search(complaint.value)
    row = _source_row(job, int(named[1])) if named else None
    message = _NAMED_LINE.sub("", complaint.value, count=1) if row else complaint.value
    return _rejected(job, row, complaint.key or None, message)


def _rejected(job: NewJob, row: int | None, column: str | None, message: str) -> RejectedRow:
    known = row is not None and column in job.columns
    cell = cell_address(row, job.columns[column]) if known else None  # type: ignore[arg-type,index]
    return RejectedRow(row, cell, column, message)


def _source_row(job: NewJob, line: int) -> int | None:
    """Return the analyst's row of a line of the payload, whose header stands in row 1."""
    position = line - _FIRST_DATA_ROW
    return job.rows[position] if 0 <= position < len(job.rows) else None


WHOLE_REFUSED = Text(
    pt="Não aplicada: o envio inteiro foi recusado.",
    en="Not applied: the whole upload was refused.",
)
"""The remark on a row that was itself not complained about."""

NOT_THERE = Text(
    pt="Não está no sistema: lida de novo duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""The remark on a row that was read back and is not there, while others of its upload are."""
