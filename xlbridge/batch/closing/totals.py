"""Control totals: the accepted rows as they were sent, against what was read back of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from xlbridge.batch.closing.proof import Seen, Total, TotalTable
from xlbridge.batch.closing.read_back import SeenRow
from xlbridge.i18n import Text
from xlbridge.resources.column import Column, Kind
from xlbridge.resources.resource import Resource
from xlbridge.upload.reading import FoundRecord

_MONTH = 7  # of an ISO date
_BY_MONTH = Text(pt="{title}, por mês", en="{title}, by month")
_BY_DAY = Text(pt="{title}, por dia", en="{title}, by day")
_NOTHING = Decimal(0)


def total_tables(resource: Resource, rows: Sequence[SeenRow]) -> Iterator[TotalTable]:
    """Yield the tables of a resource's control totals, over its accepted rows.

    What is read back counts under the label that the system has. Exact to the cent.
    """
    for place, name in enumerate(resource.totals.by):
        column = resource.by_name[name]
        if column.kind is Kind.DATE:
            by_month = _BY_MONTH.format(title=column.title)
            yield _table(resource, column, by_month, rows, place, _MONTH)
            yield _table(resource, column, _BY_DAY.format(title=column.title), rows, place)
        else:
            yield _table(resource, column, column.title, rows, place)


class _Side:
    """How many rows fall under each label, and what they amount to."""

    def __init__(self, length: int | None) -> None:
        self._length = length
        self.rows: Counter[str | None] = Counter()
        self.cents: dict[str | None, Decimal] = {}

    def add(self, label: str | None, amount: Decimal) -> None:
        shown = label if label is None else label[: self._length]
        self.rows[shown] += 1
        self.cents[shown] = self.cents.get(shown, _NOTHING) + amount


def _table(
    resource: Resource,
    column: Column,
    by: Text,
    rows: Sequence[SeenRow],
    place: int,
    length: int | None = None,
) -> TotalTable:
    sent, unread, found = _Side(length), _Side(length), _Side(length)
    amount = resource.totals.amount
    for row in rows:
        sent.add(row.labels[place], row.amount)
        if row.seen is Seen.UNREAD:
            unread.add(row.labels[place], row.amount)
        for record in _records(row):
            found.add(_told(row, record, column.name), _cents(_told(row, record, amount)))
    told = all(name is None or _is_told(resource, name) for name in (column.name, amount))
    labels = {*sent.rows, *found.rows} if told else {*sent.rows}
    totals = tuple(
        Total(
            label,
            sent.rows[label],
            sent.cents.get(label, _NOTHING),
            unread.rows[label],
            unread.cents.get(label, _NOTHING),
            found.rows[label] if told else None,
            found.cents.get(label, _NOTHING) if told else None,
        )
        for label in sorted(labels, key=_order)
    )
    return TotalTable(
        resource=resource.name,
        by=by,
        kind=column.kind,
        by_month=length is not None,
        amount=None if amount is None else resource.by_name[amount].title,
        totals=totals,
        sum=_sum(totals, told),
    )


def _records(row: SeenRow) -> Iterator[FoundRecord]:
    if row.match is not None:
        if row.match.record is not None:
            yield row.match.record
        yield from row.match.beyond


def _told(row: SeenRow, record: FoundRecord, column: str | None) -> str | None:
    """Return what the system has in a column; what a record was found by, it has."""
    if column is None or row.reading is None:
        return None
    return record.values.get(column, row.reading.key.get(column))


def _is_told(resource: Resource, column: str) -> bool:
    declared = resource.read_back
    if declared is None:
        return False
    return column in declared.compare or all(column in way.key for way in declared.lookups)


def _cents(told: str | None) -> Decimal:
    try:
        return Decimal(told or 0)
    except InvalidOperation:
        return _NOTHING


def _sum(totals: Sequence[Total], told: bool) -> Total:
    return Total(
        None,
        sum(total.rows for total in totals),
        sum((total.amount for total in totals), _NOTHING),
        sum(total.unread_rows for total in totals),
        sum((total.unread for total in totals), _NOTHING),
        sum(total.found_rows or 0 for total in totals) if told else None,
        sum((total.found or _NOTHING for total in totals), _NOTHING) if told else None,
    )


def _order(label: str | None) -> tuple[int, int, str]:
    if label is None:
        return (2, 0, "")
    return (0, int(label), "") if label.isdecimal() else (1, 0, label)
