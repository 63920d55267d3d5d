"""What a proof lists one by one: cells that differ, rows that are open, rows that were refused."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from xlbridge.batch.closing.matching import different_cells
from xlbridge.batch.closing.proof import CellDifference, Open, OpenRow, RefusedRow, Seen
from xlbridge.batch.closing.read_back import SeenRow
from xlbridge.batch.closing.sent_rows import SentFile
from xlbridge.resources.catalogue import Catalogue
from xlbridge.upload.fates import Fate
from xlbridge.upload.report import verdict_of
from xlbridge.workbook.address import cell_address


def cell_differences(rows: Sequence[SeenRow], catalogue: Catalogue) -> Iterator[CellDifference]:
    """Yield each value of an accepted row that the system has otherwise."""
    for row in rows:
        if not row.accepted or row.match is None or row.reading is None:
            continue
        record = row.match.record
        if record is None:
            continue
        what = row.sent.job.what
        columns = catalogue.named(what.resource).by_name
        for name in different_cells(row.reading, record):
            at = what.columns.get(name)
            yield CellDifference(
                place=row.file.place(row.sent),
                cell=None if at is None else cell_address(row.sent.row, at),
                column=name,
                kind=columns[name].kind,
                sent=row.reading.sent[name],
                found=record.values.get(name),
                code=record.code,
            )


def open_rows(rows: Sequence[SeenRow]) -> Iterator[OpenRow]:
    """Yield the rows that are open."""
    for row in rows:
        state = _state(row)
        if state is not None:
            found = () if row.match is None else (row.match.record, *row.match.beyond)
            yield OpenRow(
                place=row.file.place(row.sent),
                state=state,
                key={} if row.reading is None else row.reading.key,
                codes=tuple(r.code for r in found if r is not None and (row.accepted or r.same)),
            )


def _state(row: SeenRow) -> Open | None:
    if row.sent.fate is Fate.UNKNOWN:
        return Open.UNKNOWN
    if row.accepted:
        return _OPEN.get(row.seen)
    return Open.WRITTEN if row.match is not None and row.match.record is not None else None


_OPEN = {Seen.MISSING: Open.MISSING, Seen.DOUBLED: Open.DOUBLED}


_FALLEN = frozenset({Fate.NOT_WRITTEN, Fate.UNSENT})


def refused_rows(file: SentFile) -> Iterator[RefusedRow]:
    """Yield what the system said of the rows of a workbook that are not written in the end.

    What it said of a sheet as a whole has no row.
    """
    refused = {(row.job.id, row.row) for row in file.rows if row.fate is Fate.REJECTED}
    fallen = {row.job.id for row in file.rows if row.fate in _FALLEN} | {job for job, _ in refused}
    for job in file.jobs:
        for said in verdict_of(job).rejected_rows:
            if (job.id, said.row) in refused or (said.row is None and job.id in fallen):
                yield RefusedRow(
                    file.step,
                    file.file.path,
                    file=Path(job.what.file),
                    sheet=job.what.sheet,
                    row=said.row,
                    cell=said.cell,
                    column=said.column,
                    message=said.message,
                )
