"""Rows and the remote records that may be theirs: keys, comparable values, and what differs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from json import dumps
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple

import pandas as pd

from xlbridge.client import Record
from xlbridge.resources import Kind, Lookup, ReadBack, Resource
from xlbridge.resources.checks import bare_document
from xlbridge.upload.lookup.row_table import RowValues, TypedRows, row_maker, values_of
from xlbridge.upload.lookup.snapshot import FoundRecord, ItemDifference, RowSnapshot

_NUMBER_KINDS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})
_PLAIN_KINDS = frozenset(Kind) - _NUMBER_KINDS - {Kind.DATE, Kind.CNPJ, Kind.CPF}
_DECIMAL_TYPES = (float, Decimal)
_MAX_EXPONENT = 400
_MOST_KNOWN = 20_000  # values whose comparable text is kept
_DATE_LENGTH = 10  # of an ISO date and time
_NUMBER_TYPES = frozenset({type(None), str, int, float, Decimal})
_TEXT_TYPES = frozenset({type(None), str, pd.Timestamp})
"""Types of whose values in one column equal ones have the same comparable text."""

_ALIKE: dict[str, Sequence[str | None]] = {}
"""Differences of all records that have none."""

Key = tuple[str | None, ...]
"""Comparable values of the columns of a lookup's key, in its order."""


class ListedRecord(NamedTuple):
    """Record, and the operation that listed it."""

    record: Record
    listing: str


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


def _comparable_number(value: Any) -> str:
    text = str(value)
    if type(value) is int:
        return text
    if value.__class__ in _DECIMAL_TYPES and not text.strip("-.0123456789"):
        return text.rstrip("0").rstrip(".") if "." in text else text
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # Written out, a number with such a power of ten would take all memory.
    return f"{number.normalize():f}" if abs(number.adjusted()) <= _MAX_EXPONENT else text


def lookups_for(resource: Resource, row: RowValues) -> list[Lookup]:
    """Return the lookups that serve a row, the one by the system's own number first."""
    declared = resource.read_back
    if declared is None:
        return []
    number = () if declared.by_number is None else (declared.by_number,)
    return [way for way in (*number, *declared.lookups) if _serves(way, row)]


def lookups_of_rows(resource: Resource, rows: TypedRows) -> list[Sequence[Lookup]]:
    """Return the lookups that serve each row, worked out once for rows with like cells empty."""
    declared = resource.read_back
    ways = () if declared is None else (declared.by_number, *declared.lookups)
    columns = list(dict.fromkeys(name for way in ways if way is not None for name in way.key))
    deciding = list(dict.fromkeys(name for way in ways if way is not None for name in way.when))
    known: dict[tuple[object, ...], Sequence[Lookup]] = {}
    found = []
    empty = [[value is None for value in values_of(rows, name)] for name in columns]
    cases = zip(range(len(rows)), *empty, *[values_of(rows, n) for n in deciding], strict=True)
    for at, *values in cases:
        case = tuple(values)
        serving = known.get(case)
        if serving is None:
            serving = known[case] = lookups_for(resource, rows[at])
        found.append(serving)
    return found


def _serves(way: Lookup, row: RowValues) -> bool:
    for name in way.key:
        if row.get(name) is None:
            return False
    return not way.when or all(row.get(name) in allowed for name, allowed in way.when.items())


class RowMatcher:
    """Comparison of rows with records of one resource.

    Fields that no record carries are not compared: ``carried`` are those that records have.
    """

    def __init__(self, resource: Resource, read_back: ReadBack) -> None:
        self._resource = resource
        self._read_back = read_back
        self._compare = read_back.compare
        self._kinds = {name: column.kind for name, column in resource.by_name.items()}
        self._numbers = {n for n, kind in self._kinds.items() if kind in _NUMBER_KINDS}
        self._plain_texts = {n for n, kind in self._kinds.items() if kind in _PLAIN_KINDS}
        self._meant_columns = tuple(dict.fromkeys((*self._compare, *read_back.renamed)))
        self._as_row = read_back.as_row if read_back.renamed else None
        own_names = {c: c for c in self._compare}
        renamed = {c: f for way in read_back.lookups for c, f in way.key.items() if c != f}
        self._field_of = own_names | renamed | dict(read_back.fields)
        self._lists = {
            child.sheet: {name: column.kind for name, column in child.by_name.items()}
            for child in resource.children
        }
        self._until = () if resource.change is None else resource.change.until
        self._known: dict[tuple[str, type, Any], str | None] = {}
        self._rows: TypedRows = ()
        self._columns: dict[str, list[str | None]] = {}
        self._shown: tuple[int, Sequence[str]] | None = None

    def keys_of_rows(self, rows: TypedRows, columns: Collection[str]) -> Iterable[Key]:
        """Return the comparable values of each row's columns."""
        return zip(*[self.column(name, rows) for name in columns], strict=True)

    def column(self, name: str, rows: TypedRows) -> list[str | None]:
        """Return the comparable values of a column of rows or records, None where one has none.

        Those of the rows that were asked for last are kept.
        """
        if rows is not self._rows:
            self._rows, self._columns = rows, {}
        if name not in self._columns:
            self._columns[name] = self._texts(name, values_of(rows, name))
        return self._columns[name]

    def _texts(self, name: str, values: Sequence[Any]) -> list[str | None]:
        """Return the comparable text of each value of a column."""
        comparable = self.comparable
        types = {value.__class__ for value in values}
        # Equal values may have other texts where they are of two types, as True and 1.
        if types <= (_NUMBER_TYPES if name in self._numbers else _TEXT_TYPES):
            # Most columns have few values, and comparing takes longer than looking one up.
            texts = {value: comparable(name, value) for value in set(values)}
            return [texts[value] for value in values]
        return [comparable(name, value) for value in values]

    def compared(self, rows: Sequence[RowValues]) -> Iterator[dict[str, str | None]]:
        """Return the compared values of each row."""
        names = self._compare
        of_rows = self.keys_of_rows(rows, names) if names else ((),) * len(rows)
        return (dict(zip(names, values, strict=True)) for values in of_rows)

    def key_of_record(self, record: Record, fields: Mapping[str, str]) -> Key:
        """Return the comparable values of a record; ``fields`` are its names of the columns."""
        return tuple(self.comparable(column, record.get(name)) for column, name in fields.items())

    def number_of(self, record: Record) -> Key:
        """Return the record's own number, empty where a part of it is missing."""
        number = tuple(self.comparable(name, record.get(name)) for name in self._read_back.codes)
        return () if None in number else number

    def comparable(self, column: str, value: Any) -> str | None:
        """Return a value of a column as text; a number of the system compares as a number."""
        if value is None:
            return None
        if value.__class__ is int:
            return str(value)
        if value.__class__ is str and column in self._plain_texts:
            text = " ".join(value.split())
            return (value if text == value else text) if value else None
        kind = self._kinds.get(column, Kind.INTEGER)
        # Most other values of a listing come again; equal ones of two types may differ.
        key = (column, value.__class__, value)
        try:
            return self._known[key]
        except KeyError:
            pass
        except TypeError:
            return comparable_value(kind, value)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        found = self._known[key] = comparable_value(kind, value)
        return found

    def snapshots(
        self,
        rows: TypedRows,
        keys: Iterable[Mapping[str, str] | None],
        found: Sequence[Sequence[ListedRecord]],
        carried: Collection[str],
    ) -> Iterator[RowSnapshot | None]:
        """Compare rows with the records of their keys; of a number, the last record counts.

        A row whose key is None was not looked up.
        """
        once = list(map(self._once, found))
        columns = {name: self.column(name, rows) for name in self._compare}
        row_of = row_maker(rows)
        values = self.compared([listed.record for records in once for listed in records])
        for at, (row, key, records) in enumerate(zip(rows, keys, once, strict=True)):
            if key is None:
                yield None
                continue
            own = row_of(columns, at)
            if not records:
                yield RowSnapshot(key, own, ())
                continue
            sent = dict(own.items())
            meant = self._meant(row, sent, carried)
            lists = {name: row[name] for name in self._lists if row.get(name)}
            there = [self._found(one, next(values), own, sent, meant, lists) for one in records]
            yield RowSnapshot(key, own, tuple(there))

    def _once(self, found: Sequence[ListedRecord]) -> Sequence[ListedRecord]:
        """Return each record once, by its number."""
        if len(found) < 2:
            return found
        once = {self.number_of(one.record) or place: one for place, one in enumerate(found)}
        return list(once.values())

    def _meant(
        self, row: RowValues, sent: Mapping[str, str | None], carried: Collection[str]
    ) -> Mapping[str, str | None]:
        """Return the values that a row gives its record, empty cells included."""
        declared = self._read_back
        meant: dict[str, str | None] = {}
        if self._shown is None or self._shown[0] != len(carried):
            shown = [name for name in self._meant_columns if self._field_of.get(name) in carried]
            self._shown = (len(carried), shown)
        for name in self._shown[1]:
            if sent.get(name) is not None:
                meant[name] = sent[name]
                continue
            value = declared.meant(row, name)
            if value is None and name in declared.codes:
                continue  # The system gives such a number itself.
            if name in row or value is not None:
                meant[name] = self.comparable(name, value)
        return meant

    def _found(
        self,
        listed: ListedRecord,
        values: Mapping[str, str | None],
        kept: Mapping[str, str | None],
        sent: Mapping[str, str | None],
        meant: Mapping[str, str | None],
        lists: Mapping[str, Sequence[Mapping[str, Any]]],
    ) -> FoundRecord:
        record, theirs = listed.record, values
        if self._as_row is not None:
            there = self._as_row(record)
            theirs = {name: self.comparable(name, there[name]) for name in meant}
        differing = {n: (value, theirs[n]) for n, value in meant.items() if theirs[n] != value}
        items: list[ItemDifference] = []
        for name, own in lists.items():
            listed_items = record.get(name)
            if not isinstance(listed_items, list):
                continue
            pair = self._differing_items(name, own, listed_items, items)
            if pair is not None:
                differing[name] = pair
        # Most records equal their rows: then there is nothing more to look at, and one to keep.
        if values == sent:
            values, alike = kept, True
        else:
            alike = all(values[name] == value for name, value in sent.items() if value is not None)
        return FoundRecord(
            code="/".join([str(record.get(name, "?")) for name in self._read_back.codes]),
            values=values,
            same=alike,
            unchanged=not differing,
            differing=differing or _ALIKE,
            listing=listed.listing,
            final=bool(self._until) and any(record.get(n) is not None for n in self._until),
            items=tuple(items),
        )

    def _differing_items(
        self,
        name: str,
        own: Sequence[Mapping[str, Any]],
        there: Sequence[Mapping[str, Any]],
        found: list[ItemDifference],
    ) -> tuple[str, str] | None:
        """Return a row's list and its record's as texts where they differ, and add to ``found`` in
        what; None where they are alike.

        The order of the items does not count; what an item leaves out is the system's to fill in,
        and fields that no item of the record carries are not compared.
        """
        kinds = self._lists[name]
        carried = {column for one in there for column in one}
        mine = [
            {c: comparable_value(kinds[c], v) for c, v in one.items() if not there or c in carried}
            for one in own
        ]
        shown = [{c: comparable_value(kinds[c], one.get(c)) for c in kinds} for one in there]
        free, left = list(range(len(shown))), []
        for number, item in enumerate(mine):
            same = next((at for at in free if item.items() <= shown[at].items()), None)
            if same is None:
                left.append(number)
            else:
                free.remove(same)
        if not left and not free:
            return None
        if len(mine) != len(shown):
            found.append((name, None, "", str(len(mine)), str(len(shown))))
        for number, at in zip(left, free, strict=False):
            found.extend(
                (name, number, column, value, shown[at][column])
                for column, value in mine[number].items()
                if shown[at][column] != value
            )
        filled = [{c: v for c, v in one.items() if v is not None} for one in shown]
        return _items_text(mine), _items_text(filled)


def _items_text(items: Sequence[Mapping[str, str | None]]) -> str:
    """Return the items of a list as a person reads them."""
    return "; ".join(" ".join(f"{name}={value}" for name, value in one.items()) for one in items)


def business_keys(
    resource: Resource, rows: TypedRows, matcher: RowMatcher | None = None
) -> list[tuple[str, ...]]:
    """Return the digests of each row's keys, the system's own number left out."""
    declared = resource.read_back
    if declared is None:
        return [()] * len(rows)
    matcher = matcher or RowMatcher(resource, declared)
    opening = f"[{dumps(resource.name)}"
    items: dict[str, list[str]] = {}
    for column in dict.fromkeys(column for way in declared.lookups for column in way.key):
        name = f", [{dumps(column)}, "
        items[column] = [
            f"{name}null]" if text is None else f"{name}{encode_basestring_ascii(text)}]"
            for text in matcher.column(column, rows)
        ]

    def digest(at: int, way: Lookup) -> str:
        key = "".join([items[column][at] for column in way.key])
        return blake2b(f"{opening}{key}]".encode(), digest_size=16).hexdigest()

    return [
        tuple([digest(at, way) for way in ways if way is not declared.by_number])
        for at, ways in enumerate(lookups_of_rows(resource, rows))
    ]
