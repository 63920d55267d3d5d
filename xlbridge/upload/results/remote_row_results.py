"""Results that the remote system reports by row: in a finished log, or in a rejected request.

A rejection may name a field of the record where the sheet has a column of another name: a client's
``cnpj`` or ``cpf``, say, is its record's ``cnpjcpf``. The schema file declares which field a column
becomes, where it declares the lookup.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from xlbridge.errors import ErrorDetail
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.upload.job import ItemPlaces, JobSpec
from xlbridge.upload.lookup.row_lookup import lookups_for
from xlbridge.upload.lookup.row_table import RowValues
from xlbridge.upload.results.verdict import RejectedRow, Verdict, parse_item_column
from xlbridge.wire.imports import ImportLog, RejectedLine, split_line_number

ROW_COUNT_DIFFERS = Text(
    pt="o sistema leu {n} {n:linha|linhas}, e a planilha tem {rows}",
    en="the system read {n} {n:row|rows}, and the sheet has {rows}",
)

_FIRST_DATA_ROW = 2
_NO_ITEMS: Mapping[str, ItemPlaces] = MappingProxyType({})


def verdict_of_rejection(job: JobSpec, details: Sequence[ErrorDetail]) -> Verdict:
    """Return the verdict on a sheet that was rejected as a whole, with its ``details``."""
    return Verdict(
        read=len(job.rows),
        accepted=0,
        unknown=0,
        rejected_rows=tuple(_rejected_by_detail(job, detail) for detail in details),
    )


def verdict_of_log(job: JobSpec, log: ImportLog) -> Verdict | None:
    """Return the verdict of a finished log, None when what it tells does not prove one.

    The interface promises its status and the rejected lines. Whatever it counts besides must agree:
    as many rows read as were sent, each accounted for, as many lines named as are rejected.
    """
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
    if any(_sheet_row(job, line) is None for line in named):
        return None
    return Verdict(
        read=len(job.rows),
        accepted=accepted,
        unknown=0,
        rejected_rows=tuple(_rejected_lines(job, lines)),
    )


def accounts_for_every_row(job: JobSpec, log: ImportLog) -> bool:
    """Tell whether a log's counts alone say that no row is left to do, whatever its status is."""
    counts = (log.totalDeRegistros, log.registrosImportados, log.registrosRejeitados)
    total, imported, rejected = counts
    if total is None or imported is None or rejected is None:
        return False
    return imported + rejected == total == len(job.rows)


def _rejected_lines(job: JobSpec, lines: Iterable[RejectedLine]) -> Iterable[RejectedRow]:
    for line in sorted(lines, key=lambda line: line.linha or 0):
        yield rejected_row(job, _sheet_row(job, line.linha), line.coluna, line.mensagem)


def _rejected_by_detail(job: JobSpec, detail: ErrorDetail) -> RejectedRow:
    number, rest = split_line_number(detail.value)
    row = _sheet_row(job, number)
    return rejected_row(job, row, detail.key or None, rest if row else detail.value)


def rejected_row(
    job: JobSpec,
    row: int | None,
    column: str | None,
    message: str,
    *,
    itself: bool = True,
    items: Mapping[str, ItemPlaces] = _NO_ITEMS,
) -> RejectedRow:
    """Return a rejected row with its cell, where the sheet, or that of the item, has the column."""
    cell = None if row is None or column is None else job.cell(row, column)
    item = None if row is None or column is None else parse_item_column(column)
    if row is not None and item is not None and item[0] in items:
        name, number, of_item = item
        cell = items[name].cell(row, number, of_item)
    return RejectedRow(row, cell, column, message, itself)


def _sheet_row(job: JobSpec, line: int | None) -> int | None:
    """Return the analyst's row of a line of the payload, whose header stands in row 1."""
    if line is None:
        return None
    position = line - _FIRST_DATA_ROW
    return job.rows[position] if 0 <= position < len(job.rows) else None


def with_sheet_columns(
    verdict: Verdict, job: JobSpec, resource: Resource, rows: Callable[[], Sequence[RowValues]]
) -> Verdict:
    """Return a verdict whose rejected rows name the sheet's own columns wherever those are known.

    ``rows`` gives the rows as they were sent; it is called only if needed.
    """
    if not any(
        _candidate_columns(resource, job, rejected.column) for rejected in verdict.rejected_rows
    ):
        return verdict
    sent = dict(zip(job.rows, rows(), strict=True))
    placed = tuple(
        _with_sheet_column(rejected, job, resource, sent) for rejected in verdict.rejected_rows
    )
    return replace(verdict, rejected_rows=placed)


def _with_sheet_column(
    rejected: RejectedRow, job: JobSpec, resource: Resource, sent: dict[int, RowValues]
) -> RejectedRow:
    row = None if rejected.row is None else sent.get(rejected.row)
    candidates = _candidate_columns(resource, job, rejected.column)
    if row is None or rejected.row is None or not candidates:
        return rejected
    lookups = lookups_for(resource, row)
    looked_up = [name for name in candidates if any(name in way.key for way in lookups)]
    filled = [name for name in candidates if row.get(name) is not None]
    column = [*looked_up, *filled, *candidates][0]
    return replace(rejected, column=column, cell=job.cell(rejected.row, column))


def _candidate_columns(resource: Resource, job: JobSpec, field: str | None) -> list[str]:
    """Return the sheet's columns that become a field of the record."""
    if field in job.columns or resource.read_back is None:
        return []
    return [
        column
        for lookup in resource.read_back.lookups
        for column, of_record in lookup.key.items()
        if of_record == field and column in job.columns
    ]
