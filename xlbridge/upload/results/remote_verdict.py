"""Verdicts from the remote system's answers: finished logs and rejected requests."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from xlbridge.errors import ErrorDetail
from xlbridge.i18n import Text, untranslated
from xlbridge.upload.job import Job, JobSpec
from xlbridge.upload.results.verdict import (
    ItemAddresses,
    RejectedRow,
    RowOutcome,
    Verdict,
)
from xlbridge.wire.quirks import Quirks

if TYPE_CHECKING:
    from xlbridge.resources import Catalogue
    from xlbridge.wire.imports import ImportLog, ImportRecords

ROW_COUNT_DIFFERS = Text(
    pt="o sistema leu {n} {n:linha|linhas}, e a planilha tem {rows}",
    en="the system read {n} {n:row|rows}, and the sheet has {rows}",
)
"""Reason to doubt an upload that was executed."""

_FAILED = Text(
    pt="o sistema desistiu do arquivo (situação “{word}”: {message})",
    en="the system gave the file up (status “{word}”: {message})",
)

_NO_ITEMS: Mapping[str, ItemAddresses] = MappingProxyType({})


def verdict_of_rejection(job: JobSpec, details: Sequence[ErrorDetail], first_line: int) -> Verdict:
    """Return the verdict on a sheet that was rejected as a whole.

    ``first_line`` is the number of the first row.
    """
    # Imported here, as most commands only read verdicts from the journal.
    from xlbridge.wire.imports import split_line_number

    rejections = []
    for detail in details:
        number, rest = split_line_number(detail.value)
        row = _sheet_row(job, number, first_line)
        message = untranslated(rest if row else detail.value)
        rejections.append(rejected_row(job, row, detail.key or None, message))
    return Verdict.of_rejections(job.rows, rejections, RowOutcome.NOT_WRITTEN)


def verdict_of_log(
    job: JobSpec, log: "ImportLog | ImportRecords", quirks: Quirks, first_line: int | None = None
) -> Verdict | None:
    """Return the verdict of a finished log, or of an import's own answer; None if it proves none.

    The interface guarantees the status and the rejected lines. Optional counts must agree: rows
    read with rows sent, accepted plus rejected with the total, rejected lines with their count.
    ``first_line`` is the number of the first row, by default the declared one.
    """
    first = quirks.first_line if first_line is None else first_line
    lines = log.linhasRejeitadas or []
    named = {line.linha for line in lines}
    rejected = log.rejected
    if rejected is None and log.registrosImportados is not None:
        rejected = len(job.rows) - log.registrosImportados
    if rejected is None or len(named) != rejected:
        return None
    accepted = len(job.rows) - rejected
    agrees = log.totalDeRegistros in (None, len(job.rows))
    if not agrees or log.registrosImportados not in (None, accepted):
        return None
    if any(_sheet_row(job, line, first) is None for line in named):
        return None
    rejections = [
        rejected_row(job, _sheet_row(job, line.linha, first), line.coluna, untranslated(message))
        for line in sorted(lines, key=lambda line: line.linha or 0)
        for message in quirks.messages(line.mensagem)
    ]
    return Verdict.of_rejections(job.rows, rejections, RowOutcome.ACCEPTED)


def is_about(job: Job, log: "ImportLog", resources: "Catalogue", *, as_sent: bool) -> bool:
    """Return whether a log is that of a job's file, as far as it tells.

    Its id is the job's, its file name, if files are named ``as_sent``, bears the job's id, and its
    resource is not another one. The interface promises none of these.
    """
    is_named_otherwise = as_sent and log.nomeDoArquivo and job.id not in log.nomeDoArquivo
    if log.id not in (None, job.known.log_id) or is_named_otherwise:
        return False
    named = (log.recurso or "").strip().casefold()
    return named == job.spec.resource or named not in resources


def failure_of_log(log: "ImportLog") -> Text:
    """Return the reason that the log of a failed file gives."""
    return _FAILED.format(word=log.situacao or "–", message=log.mensagem or "–")


def accounts_for_every_row(job: JobSpec, log: "ImportLog") -> bool:
    """Return whether a log's counts cover every row, whatever its status."""
    counts = (log.totalDeRegistros, log.registrosImportados, log.registrosRejeitados)
    total, imported, rejected = counts
    if total is None or imported is None or rejected is None:
        return False
    return imported + rejected == total == len(job.rows)


def rejected_row(
    job: JobSpec,
    row: int | None,
    column: str | None,
    message: Text,
    *,
    itself: bool = True,
    items: Mapping[str, ItemAddresses] = _NO_ITEMS,
) -> RejectedRow:
    """Return a rejected row with its cell, if the sheet or the item's sheet has the column."""
    cell = None
    if row is not None and column is not None:
        cell = ItemAddresses.find(items, row, column) or job.cell(row, column)
    return RejectedRow(row, cell, column, message, itself)


def _sheet_row(job: JobSpec, line: int | None, first_line: int) -> int | None:
    """Return the analyst's row for a line of the payload."""
    if line is None:
        return None
    position = line - first_line
    return job.rows[position] if 0 <= position < len(job.rows) else None
