"""Figures of a proof: row counts, control totals, lists of open rows and different cells."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any

from xlbridge.batch.proof.model import (
    CellDifference,
    FileProof,
    OpenReason,
    OpenRow,
    ProofCounts,
    ReadBackStatus,
    RefusedRow,
    ResourceSummary,
    Total,
    TotalTable,
    UnreadRows,
)
from xlbridge.batch.proof.read_back import ReadBackRow, different_cells
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column, Kind, Resource
from xlbridge.upload.lookup import FoundRecord
from xlbridge.upload.results import RowOutcome
from xlbridge.workbook import cell_address


def count_rows(file: FileProof, rows: Sequence[ReadBackRow]) -> ProofCounts:
    """Count the rows of a workbook by outcome and by read-back status."""
    counts = Counter(row.outcome.value for row in file.rows if row.is_record)
    if not file.jobs:
        counts["unsent"] = file.file.rows_in_sheet
    counts.update(row.status.value for row in rows if row.accepted)
    counts["rejected"] += counts["not_written"]
    counts["read"] = file.file.rows_in_sheet
    return ProofCounts(**{field.name: counts[field.name] for field in fields(ProofCounts)})


def count_unread(resource: Resource, rows: Sequence[ReadBackRow]) -> Iterator[UnreadRows]:
    """Count the accepted rows that cannot be read back, by reason."""
    reasons: Counter[Text] = Counter(row.reason for row in rows if row.reason is not None)
    for reason, count in reasons.items():
        yield UnreadRows(resource.name, reason, count)


def summarize_resource(resource: Resource, rows: Sequence[ReadBackRow]) -> ResourceSummary:
    """Sum up the accepted rows of a resource, as they were sent and as the system has them."""
    amount = resource.totals.amount
    unread = bool(rows) and all(row.reason is not None for row in rows)
    returned = amount is not None and not unread and _is_returned(resource, amount)
    in_system = (
        _amount_of(_system_value(row, record, amount))
        for row in rows
        for record in _found_records(row)
    )
    return ResourceSummary(
        resource=resource.name,
        title=resource.title,
        accepted=len(rows),
        found=sum(row.match is not None and row.match.record is not None for row in rows),
        amount=None if amount is None else sum((row.amount for row in rows), _ZERO),
        found_amount=sum(in_system, _ZERO) if returned else None,
    )


_MONTH_LENGTH = 7  # of an ISO date
_BY_MONTH = Text(pt="{title}, por mês", en="{title}, by month")
_BY_DAY = Text(pt="{title}, por dia", en="{title}, by day")
_ZERO = Decimal(0)


def total_tables(resource: Resource, rows: Sequence[ReadBackRow]) -> Iterator[TotalTable]:
    """Yield the tables of a resource's control totals over its accepted rows, exact to the cent.

    Records are counted under the label that the system has. If the cell was sent empty, they stay
    under the empty label, as the system's value is not compared.
    """
    for index, name in enumerate(resource.totals.by):
        column = resource.by_name[name]
        if column.kind is Kind.DATE:
            by_month = _BY_MONTH.format(title=column.title)
            yield _total_table(resource, column, by_month, rows, index, _MONTH_LENGTH)
            yield _total_table(resource, column, _BY_DAY.format(title=column.title), rows, index)
        else:
            yield _total_table(resource, column, column.title, rows, index)


def _total_table(
    resource: Resource,
    column: Column,
    by: Text,
    rows: Sequence[ReadBackRow],
    index: int,
    length: int | None = None,
) -> TotalTable:
    sums: defaultdict[str | None, list[Any]] = defaultdict(lambda: [0, _ZERO] * 3)

    def add(label: str | None, side: int, amount: Decimal) -> None:
        of_label = sums[None if label is None else label[:length]]
        of_label[side] += 1
        of_label[side + 1] += amount

    amount = resource.totals.amount
    returned = all(name is None or _is_returned(resource, name) for name in (column.name, amount))
    for row in rows:
        add(row.labels[index], _SENT, row.amount)
        if row.status is ReadBackStatus.UNREAD:
            add(row.labels[index], _UNREAD, row.amount)
        for record in _found_records(row) if returned else ():
            label = row.labels[index] and _system_value(row, record, column.name)
            add(label, _FOUND, _amount_of(_system_value(row, record, amount)))

    def total(label: str | None, values: Sequence[Any]) -> Total:
        return Total(label, *values[:_FOUND], *(values[_FOUND:] if returned else (None, None)))

    numbers = sorted((one for one in sums if one and one.isdecimal()), key=int)
    texts = sorted(one for one in sums if one is not None and not one.isdecimal())
    labels = (*numbers, *texts, *(sums.keys() & {None}))
    return TotalTable(
        resource=resource.name,
        by=by,
        kind=column.kind,
        by_month=length is not None,
        amount=None if amount is None else resource.by_name[amount].title,
        totals=tuple(total(label, sums[label]) for label in labels),
        sum=total(None, list(map(sum, zip(*sums.values(), strict=True)))),
    )


_SENT, _UNREAD, _FOUND = 0, 2, 4
"""Positions of the row counts in the sums of a label; their amounts follow."""


def _found_records(row: ReadBackRow) -> Iterator[FoundRecord]:
    if row.match is not None:
        yield from row.match.own_records


def _system_value(row: ReadBackRow, record: FoundRecord, column: str | None) -> str | None:
    """Return the system's value of a column; a record has the key by which it was found."""
    if column is None or row.reading is None:
        return None
    return record.values.get(column, row.reading.key.get(column))


def _is_returned(resource: Resource, column: str) -> bool:
    read_back = resource.read_back
    if read_back is None:
        return False
    keys = [lookup.key for lookup in read_back.lookups]
    return column in read_back.compare or (bool(keys) and all(column in key for key in keys))


def _amount_of(text: str | None) -> Decimal:
    try:
        return Decimal(text or 0)
    except InvalidOperation:
        return _ZERO


def cell_differences(rows: Sequence[ReadBackRow], catalogue: Catalogue) -> Iterator[CellDifference]:
    """Yield each value of an accepted row that differs in the system."""
    for row in rows:
        if not row.accepted or row.match is None or row.reading is None:
            continue
        record = row.match.record
        if record is None:
            continue
        spec = row.sent.job.spec
        resource = catalogue.named(spec.resource)
        columns = resource.by_name
        item_cells = row.sent.job.items if record.items else {}
        for name, number, list_column, sent, found in record.items:
            (child,) = (child for child in resource.children if child.sheet == name)
            cells = item_cells.get(name) if number is not None else None
            yield CellDifference(
                location=row.file.location(row.sent.job, row.sent),
                cell=None if cells is None else cells.cell(row.sent.row, number, list_column),
                column=f"{name}.{list_column}" if list_column else name,
                kind=child.by_name[list_column].kind if list_column else Kind.INTEGER,
                sent=sent,
                found=found,
                code=record.code,
            )
        for name in different_cells(row.reading, record):
            number = spec.columns.get(name)
            yield CellDifference(
                location=row.file.location(row.sent.job, row.sent),
                cell=None if number is None else cell_address(row.sent.row, number),
                column=name,
                kind=columns[name].kind,
                sent=row.reading.sent[name],
                found=record.values.get(name),
                code=record.code,
            )


def open_rows(rows: Sequence[ReadBackRow]) -> Iterator[OpenRow]:
    """Yield the rows that are open."""
    for row in rows:
        reason = None
        if row.sent.outcome is RowOutcome.UNKNOWN:
            reason = OpenReason.UNKNOWN
        elif row.accepted:
            reason = _OPEN_REASONS.get(row.status)
        elif row.match is not None and row.match.record is not None:
            reason = OpenReason.WRITTEN
        if reason is not None:
            records = () if row.match is None else row.match.all_records
            yield OpenRow(
                location=row.file.location(row.sent.job, row.sent),
                state=reason,
                key={} if row.reading is None else row.reading.key,
                codes=tuple(record.code for record in records if row.accepted or record.same),
            )


_OPEN_REASONS = {
    ReadBackStatus.MISSING: OpenReason.MISSING,
    ReadBackStatus.DOUBLED: OpenReason.DOUBLED,
}


_NOT_WRITTEN = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


def refused_rows(file: FileProof, catalogue: Catalogue) -> Iterator[RefusedRow]:
    """Yield the held rows of a workbook, and those not written, with the reason or the system's
    answer."""
    if file.ledger is None:
        return
    for row in file.rows:
        if row.outcome is RowOutcome.HELD and row.planned is not None and row.is_record:
            columns = catalogue.named(row.job.spec.resource).by_path
            message = row.planned.full_text(columns)
            yield RefusedRow(file.location(row.job, row), None, None, message)
        elif row.outcome is RowOutcome.REJECTED:
            for found in file.ledger.rejections(row):
                location = file.location(row.job, row)
                yield RefusedRow(location, found.cell, found.column, str(found.message))
    incomplete = {row.job.id for row in file.rows if row.outcome in _NOT_WRITTEN}
    for job in file.jobs:
        for found in file.ledger.rejections_of(job, None) if job.id in incomplete else ():
            location = file.location(job, None)
            yield RefusedRow(location, found.cell, found.column, str(found.message))
