"""Lookup of the remote records of single rows, by the rows' natural keys."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pandas as pd

from xlbridge.client import Client, Record
from xlbridge.client.listings import listing_cap
from xlbridge.errors import RemoteRejected
from xlbridge.resources import Kind, Lookup, ReadBack, Resource
from xlbridge.resources.checks import bare_document
from xlbridge.upload.lookup.snapshot import FoundRecord, RowSnapshot, Snapshot
from xlbridge.wire import Operation

_NOT_FOUND = 404
_NUMBER_KINDS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})
_MAX_EXPONENT = 400
_DATE_LENGTH = 10  # of an ISO date and time

RowValues = Mapping[str, Any]
"""Row as it is sent: its columns with their typed values, None where a cell is empty."""


def rows_of(frame: pd.DataFrame) -> list[RowValues]:
    """Return the rows of a typed frame."""
    columns = {name: frame[name].astype(object) for name in frame}
    plain = pd.DataFrame({n: c.where(c.notna(), None) for n, c in columns.items()}, dtype=object)
    return [dict(zip(plain.columns, row, strict=True)) for row in plain.itertuples(index=False)]


def requests_needed(resource: Resource, rows: Sequence[RowValues]) -> int:
    """Return how many requests it takes to read the rows' records back; 0 where none can be."""
    asked = {
        (operation.name, _filter_values(lookup, row))
        for row in rows
        if (lookup := lookup_for(resource, row)) is not None and finds_all_of_row(lookup)
        for operation in lookup.operations
    }
    return len(asked)


class RowLookup:
    """Lookup of the records of single rows; each request is made once.

    Raises what ``Client.records`` raises.
    """

    def __init__(self, client: Client, resource: Resource, read_back: ReadBack) -> None:
        self._client = client
        self._resource = resource
        self._read_back = read_back
        self._compare = read_back.compare
        self._as_row = read_back.as_row
        self._answers: dict[tuple[str, str], dict[tuple[str | None, ...], list[Record]]] = {}

    def read(self, rows: Sequence[RowValues]) -> Snapshot:
        """Return the remote records of each row now."""
        self._answers.clear()
        return tuple(self._read_row(row) for row in rows)

    def _read_row(self, row: RowValues) -> RowSnapshot | None:
        lookup = lookup_for(self._resource, row)
        if lookup is None or not finds_all_of_row(lookup):
            return None
        wanted = tuple(self._plain(name, row[name]) or "" for name in lookup.key)
        found = [
            record
            for operation in lookup.operations
            for record in self._records(operation, lookup, row).get(wanted, ())
        ]
        return self.matched(row, lookup, found)

    def matched(self, row: RowValues, lookup: Lookup, found: Sequence[Record]) -> RowSnapshot:
        """Compare a row with the records of its key; the last one of a code counts."""
        key = {name: self._plain(name, row[name]) or "" for name in lookup.key}
        once = {self._code(record) or place: record for place, record in enumerate(found)}
        sent = {name: self._plain(name, row.get(name)) for name in self._compare}
        meant = self._meant(row)
        records = tuple(self._found(record, sent, meant) for record in once.values())
        return RowSnapshot(key, sent, records)

    def _code(self, record: Record) -> tuple[object, ...]:
        """Return the remote code of a record, empty where a part of it is missing."""
        code = tuple(record.get(name) for name in self._read_back.codes)
        return () if None in code else code

    def _meant(self, row: RowValues) -> Mapping[str, str | None]:
        """Return the values that a row gives its record, empty cells included."""
        declared = self._read_back
        meant = {}
        for name in (*self._compare, *declared.renamed):
            value = row.get(name)
            if value is None:
                value = declared.blank.get(name, row.get(declared.blank_as.get(name, "")))
            if name in row or value is not None:
                meant[name] = self._plain(name, value)
        return meant

    def _records(
        self, operation: Operation, lookup: Lookup, row: RowValues
    ) -> Mapping[tuple[str | None, ...], list[Record]]:
        question = (operation.name, _filter_values(lookup, row))
        if question not in self._answers:
            by_key: dict[tuple[str | None, ...], list[Record]] = {}
            for record in self._fetch(operation, lookup, row):
                key = tuple(self._plain(c, record.get(field)) for c, field in lookup.key.items())
                by_key.setdefault(key, []).append(record)
            self._answers[question] = by_key
        return self._answers[question]

    def _fetch(self, operation: Operation, lookup: Lookup, row: RowValues) -> Iterator[Record]:
        filters = {name: row[column] for name, column in lookup.filters.items()}
        query = operation.query(**filters) if operation.query and filters else None
        try:
            yield from self._client.records(operation, query=query)
        except RemoteRejected as error:
            if error.status != _NOT_FOUND:
                raise

    def _found(
        self, record: Record, sent: Mapping[str, str | None], meant: Mapping[str, str | None]
    ) -> FoundRecord:
        values = {name: self._plain(name, record.get(name)) for name in sent}
        there = self._as_row(record)
        return FoundRecord(
            code="/".join(str(record.get(name, "?")) for name in self._read_back.codes),
            values=values,
            same=all(values[name] == value for name, value in sent.items() if value is not None),
            unchanged=all(self._plain(n, there[n]) == value for n, value in meant.items()),
        )

    def _plain(self, column: str, value: Any) -> str | None:
        return comparable_value(self._resource.by_name[column].kind, value)


def comparable_value(kind: Kind, value: Any) -> str | None:
    """Return a value as text in which only what matters differs, None for an empty one."""
    if value is None or value == "":
        return None
    if kind in _NUMBER_KINDS:
        return _comparable_number(value)
    if kind is Kind.DATE:
        return (value if isinstance(value, str) else value.isoformat())[:_DATE_LENGTH]
    if kind in (Kind.CNPJ, Kind.CPF):
        return bare_document(str(value))
    return " ".join(str(value).split())


def lookup_for(resource: Resource, row: RowValues) -> Lookup | None:
    """Return the first way of finding a row's records, None where its keys are not filled in."""
    lookups = () if resource.read_back is None else resource.read_back.lookups
    for lookup in lookups:
        filled = all(row.get(name) is not None for name in lookup.key)
        fits = all(row.get(name) in allowed for name, allowed in lookup.when.items())
        if filled and fits:
            return lookup
    return None


def finds_all_of_row(lookup: Lookup) -> bool:
    """Tell whether one request finds all records of a row: filters narrow it, or no cap applies."""
    return bool(lookup.filters) or all(
        listing_cap(operation) is None for operation in lookup.operations
    )


def _filter_values(lookup: Lookup, row: RowValues) -> str:
    return json.dumps([str(row[column]) for column in lookup.filters.values()])


def _comparable_number(value: Any) -> str:
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    # Written out, a number with such a power of ten would take all memory.
    return f"{number.normalize():f}" if abs(number.adjusted()) <= _MAX_EXPONENT else str(value)
