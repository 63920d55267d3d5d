"""Which column of the sheet a refusal is about, where it names a field of the record instead.

A client's ``cnpj`` or ``cpf``, say, is its record's ``cnpjcpf``: the system complains about that.
Which field a column becomes is declared in the schema file, where its records are looked up.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from xlbridge.resources.resource import Resource
from xlbridge.upload.journal.job import NewJob
from xlbridge.upload.reading import Row, lookup_for
from xlbridge.upload.verdict import RejectedRow, Verdict
from xlbridge.workbook.address import cell_address


def with_own_columns(
    verdict: Verdict, job: NewJob, resource: Resource, rows: Callable[[], Sequence[Row]]
) -> Verdict:
    """Return a verdict whose refusals name the sheet's own columns wherever those are known.

    ``rows`` gives the rows as they were sent; it is asked only if need be.
    """
    if not any(_candidates(resource, job, refused.column) for refused in verdict.rejected_rows):
        return verdict
    sent = dict(zip(job.rows, rows(), strict=True))
    placed = tuple(_placed(refused, job, resource, sent) for refused in verdict.rejected_rows)
    return replace(verdict, rejected_rows=placed)


def _placed(
    refused: RejectedRow, job: NewJob, resource: Resource, sent: dict[int, Row]
) -> RejectedRow:
    row = None if refused.row is None else sent.get(refused.row)
    candidates = _candidates(resource, job, refused.column)
    if row is None or refused.row is None or not candidates:
        return refused
    lookup = lookup_for(resource, row)
    looked_up = [name for name in candidates if lookup is not None and name in lookup.key]
    filled = [name for name in candidates if row.get(name) is not None]
    column = [*looked_up, *filled, *candidates][0]
    return replace(refused, column=column, cell=cell_address(refused.row, job.columns[column]))


def _candidates(resource: Resource, job: NewJob, field: str | None) -> list[str]:
    """Return the sheet's columns that become a field of the record."""
    if field in job.columns or resource.read_back is None:
        return []
    return [
        column
        for lookup in resource.read_back.lookups
        for column, of_record in lookup.key.items()
        if of_record == field and column in job.columns
    ]
