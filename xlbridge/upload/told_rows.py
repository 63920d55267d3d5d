"""What the remote system tells of each row: by a finished log, or by complaints of a refusal."""

import re
from collections.abc import Iterable, Sequence

from xlbridge.errors import Complaint
from xlbridge.upload.journal.job import NewJob
from xlbridge.upload.verdict import RejectedRow, Verdict
from xlbridge.wire.imports import ImportLog, RejectedLine
from xlbridge.workbook.address import cell_address

_FIRST_DATA_ROW = 2
_NAMED_LINE = re.compile(r"\blinha\s+(\d+)\s*:\s*", re.IGNORECASE)


def refused_whole(job: NewJob, complaints: Sequence[Complaint]) -> Verdict:
    """The whole sheet was refused; the complaints name the rows and columns they are about."""
    return Verdict(
        read=len(job.rows),
        accepted=0,
        unknown=0,
        rejected_rows=tuple(_of_complaint(job, complaint) for complaint in complaints),
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
    cell = None
    if row is not None and column is not None and column in job.columns:
        cell = cell_address(row, job.columns[column])
    return RejectedRow(row, cell, column, message)


def _source_row(job: NewJob, line: int) -> int | None:
    """Return the analyst's row of a line of the payload, whose header stands in row 1."""
    position = line - _FIRST_DATA_ROW
    return job.rows[position] if 0 <= position < len(job.rows) else None
