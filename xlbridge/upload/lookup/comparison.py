"""Comparison of rows with the remote records of their keys, column by column."""

from array import array
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from itertools import accumulate, chain, compress, count, pairwise
from operator import ne
from typing import Any, NamedTuple

import numpy as np

from xlbridge.resources import Kind, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup.row_lookup import Key, RowMatcher, comparable_value
from xlbridge.upload.lookup.row_table import (
    LazySequence,
    PackedColumn,
    RecordTable,
    TypedRows,
    dict_rows,
    have_column,
    row_maker,
    values_of,
)
from xlbridge.upload.lookup.snapshot import FoundRecord, ItemDifference, RowSnapshot, Snapshot

_Values = Sequence[str | None]

_ALIKE: dict[str, _Values] = {}
"""Differences of all records that have none."""

_NOT_MEANT = "\0"
"""Value of a cell that says nothing of its record."""

_NEAR = 4
"""Positions are near each other where every so-manieth is among them."""


class ComparedRows(LazySequence[RowSnapshot | None]):
    """Rows compared with the remote records of their keys; a row is made when it is asked for.

    ``keys`` has the comparable values of the key by which each row was looked up, by column, None
    for one that was not looked up. ``found`` are the positions of each row's records. Fields that
    no record carries are not compared: ``carried`` are those that records have.
    """

    def __init__(
        self,
        matcher: RowMatcher,
        rows: TypedRows,
        keys: Sequence[Mapping[str, Sequence[str]] | None],
        found: Sequence[Sequence[int]],
        records: RecordTable,
        carried: Collection[str],
    ) -> None:
        once = _once(matcher, found, records)
        self._keys = keys
        self._ends = array("L", accumulate(map(len, once), initial=0))
        pairs = _Pairs(
            array("L", (at for at, ones in enumerate(once) for _ in ones)),
            array("L", chain.from_iterable(once)),
        )
        self._compared = _Comparison(matcher, rows, records, pairs)
        self._compared.compare(carried)
        self._row_of = row_maker(rows)

    def __len__(self) -> int:
        return len(self._keys)

    def _item(self, at: int) -> RowSnapshot | None:
        key = self._keys[at]
        if key is None:
            return None
        own = self._row_of(self._compared.columns, at)
        return self._with_records(at, self._row_of(key, at), own)

    def at(self, places: Sequence[int]) -> list[RowSnapshot | None]:
        """Return the rows of some positions: their columns at once where those are near."""
        begin, end = min(places, default=0), max(places, default=-1) + 1
        if end - begin > _NEAR * len(places):
            return super().at(places)
        piece = slice(begin, end)
        own = dict_rows(self._compared.columns, piece)
        named = {id(key): key for key in self._keys[piece] if key is not None}
        keys = {one: dict_rows(key, piece) for one, key in named.items()}
        rows: list[RowSnapshot | None] = []
        for at in places:
            key, place = self._keys[at], at - begin
            known = key is not None
            rows.append(self._with_records(at, keys[id(key)][place], own[place]) if known else None)
        return rows

    def _with_records(
        self, at: int, key: Mapping[str, str], own: Mapping[str, str | None]
    ) -> RowSnapshot:
        places = range(self._ends[at], self._ends[at + 1])
        return RowSnapshot(key, own, tuple([self._compared.record(one, own) for one in places]))

    def key_at(self, at: int) -> tuple[tuple[str, str], ...]:
        """Return the key by which a row was looked up, as columns and values."""
        return tuple([(name, column[at]) for name, column in (self._keys[at] or {}).items()])

    @property
    def equal_records(self) -> Mapping[int, str]:
        """The codes of the records that rows leave as they are, by the positions of the rows.

        Only of rows with one record, which is no other row's, nor has another record its code.
        """
        return self._compared.equal_records()

    @property
    def unread(self) -> set[int]:
        """The positions of rows that were not looked up."""
        return {at for at, key in enumerate(self._keys) if key is None}

    @property
    def with_records(self) -> list[int]:
        """The positions of rows that have records."""
        return [at for at, (begin, end) in enumerate(pairwise(self._ends)) if begin < end]


def unread_rows(rows: Snapshot) -> set[int]:
    """Return the positions of rows that were not looked up."""
    if isinstance(rows, ComparedRows):
        return rows.unread
    return {at for at, row in enumerate(rows) if row is None}


RowsOfKey = tuple[Collection[str], Sequence[int]]
"""Columns by which rows of one key were looked up, and the positions of the rows."""


def equal_records(rows: Snapshot) -> Mapping[int, str]:
    """Return the codes of records that rows leave as they are, where that is told at once."""
    return rows.equal_records if isinstance(rows, ComparedRows) else {}


def rows_by_key(rows: Snapshot, but: Container[int]) -> Iterator[RowsOfKey]:
    """Yield the rows that have records, ``but`` some, key by key, in the order of first rows."""
    if isinstance(rows, ComparedRows):
        positions, key_at = rows.with_records, rows.key_at
    else:
        found = {at: row for at, row in enumerate(rows) if row is not None and row.found}
        positions, key_at = list(found), lambda at: tuple(found[at].key.items())
    of_key: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at in positions:
        if at not in but:
            of_key.setdefault(key_at(at), []).append(at)
    for key, places in of_key.items():
        yield [name for name, _ in key], places


class _ChosenRows(LazySequence[RowSnapshot | None]):
    """Some of compared rows, in an order of their own."""

    def __init__(self, rows: Snapshot, positions: Sequence[int]) -> None:
        self._rows = rows
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def _item(self, at: int) -> RowSnapshot | None:
        return self._rows[self._positions[at]]

    def at(self, places: Sequence[int]) -> list[RowSnapshot | None]:
        """Return the rows of some places, which may be near each other."""
        positions = [self._positions[at] for at in places]
        if isinstance(self._rows, LazySequence):
            return self._rows.at(positions)
        return [self._rows[at] for at in positions]


def select_rows(rows: Snapshot, positions: Sequence[int]) -> Snapshot:
    """Return the snapshot of some rows, in the order of their ``positions``."""
    return _ChosenRows(rows, array("L", positions))


def _once(
    matcher: RowMatcher, found: Sequence[Sequence[int]], records: RecordTable
) -> Sequence[Sequence[int]]:
    """Return each record of a row once, by its number, where no part of that is missing."""
    if all(len(ones) < 2 for ones in found):
        return found
    parts = [matcher.texts(name, records.column(name)) for name in matcher.declared.codes]

    def number(one: int) -> Key | int:
        key = tuple([part[one] for part in parts])
        return one if None in key or not key else key

    return [
        ones if len(ones) < 2 else tuple({number(one): one for one in ones}.values())
        for ones in found
    ]


class _Pairs(NamedTuple):
    """Pairs of a row and a record, each by its position."""

    rows: "array[int]"
    records: "array[int]"

    def unlike(self, mine: _Values, theirs: _Values) -> list[int]:
        """Return the places of the pairs that differ in a column."""
        if not any(mine) and not any(theirs):
            return []
        own, there = map(mine.__getitem__, self.rows), map(theirs.__getitem__, self.records)
        return list(compress(count(), map(ne, own, there)))


class _Comparison:
    """Comparison of pairs of a row and a record."""

    def __init__(
        self,
        matcher: RowMatcher,
        rows: TypedRows,
        records: RecordTable,
        pairs: _Pairs,
    ) -> None:
        self._matcher = matcher
        declared = self._declared = matcher.declared
        self._rows = rows
        self._records = records
        self._pairs = pairs
        self.columns = {name: matcher.column(name, rows) for name in declared.compare}
        change = matcher.resource.change
        until = () if change is None else change.until
        self._final = {
            at
            for name in until
            for at, value in enumerate(records.column(name))
            if value is not None
        }
        codes = zip(*map(records.column, declared.codes), strict=True)
        self._codes = PackedColumn(
            "/".join(["?" if part is None else str(part) for part in code]) for code in codes
        )
        self._unlike: dict[int, bool] = {}
        self._differing: dict[int, dict[str, _Values]] = {}
        self._items: dict[int, tuple[ItemDifference, ...]] = {}

    def compare(self, carried: Collection[str]) -> None:
        """Note in what the pairs differ, column by column.

        A row and its record are the same where filled cells are alike; what a row gives its record
        counts empty cells, too.
        """
        declared, texts = self._declared, self._matcher.texts
        fields = {c: f for way in declared.lookups for c, f in way.key.items() if c != f}
        fields = {c: c for c in declared.compare} | fields | dict(declared.fields)
        shown = {name for name, of_record in fields.items() if of_record in carried}
        renamed = shown.intersection(declared.renamed)
        records = map(self._records.__getitem__, range(len(self._records.listings)))
        as_rows = list(map(declared.as_row, records)) if renamed else []
        for name in dict.fromkeys((*declared.compare, *declared.renamed)):
            column = self._matcher.column(name, self._rows)
            own, unlike = list(column), None
            theirs = texts(name, list(self._records.column(name)))
            if name in self.columns:
                unlike = self._pairs.unlike(own, theirs)
                for place in unlike:
                    filled = own[self._pairs.rows[place]] is not None
                    self._unlike[place] = self._unlike.get(place, False) or filled
            if name not in shown:
                continue
            meant = self._meant(name)
            if not meant:
                continue
            there = texts(name, [row[name] for row in as_rows]) if name in renamed else theirs
            if unlike is None or meant is not column or there is not theirs:
                own = list(meant)
                unlike = self._pairs.unlike(own, there)
            # What an empty cell gives a new record does not go over what one that stays has.
            emptied = name in declared.blank and declared.existing is not ExistingPolicy.REPLACED
            for place in unlike:
                at, other = self._pairs.rows[place], there[self._pairs.records[place]]
                if own[at] is not _NOT_MEANT:
                    mine = column[at] if emptied else own[at]
                    self._differing.setdefault(place, {})[name] = (mine, other)
        for child in self._matcher.resource.children:
            self._compare_lists(child)

    def record(self, place: int, own: Mapping[str, str | None]) -> FoundRecord:
        """Return the record of a pair; ``own`` are the values of its row."""
        one = self._pairs.records[place]
        differing = self._differing.get(place, _ALIKE)
        if place in self._unlike:
            record, comparable = self._records[one], self._matcher.comparable
            own = {name: comparable(name, record.get(name)) for name in self.columns}
        return FoundRecord(
            code=self._codes[one],
            # Most records equal their rows: then there is one to keep.
            values=own,
            same=not self._unlike.get(place, False),
            unchanged=not differing,
            differing=differing,
            listing=self._records.listings[one],
            final=one in self._final,
            items=self._items.get(place, ()),
        )

    def equal_records(self) -> Mapping[int, str]:
        """Return what ``ComparedRows`` has under this name."""
        rows, records = (np.asarray(one, np.int64) for one in self._pairs)
        alone = (np.bincount(rows)[rows] == 1) & (np.bincount(records)[records] == 1)
        alone[list(self._differing)] = False
        codes = list(self._codes)
        counted = Counter(codes)
        pairs = zip(rows[alone].tolist(), records[alone].tolist(), strict=True)
        return {at: codes[one] for at, one in pairs if counted[codes[one]] == 1}

    def _meant(self, name: str) -> _Values:
        """Return what each row gives its record: of an empty cell, what that stands for.

        Nothing is returned of a column that gives no record anything.
        """
        declared, rows = self._declared, self._rows
        own = self._matcher.column(name, rows)
        # The system gives a code itself.
        of_row = have_column(rows, name) if name not in declared.codes else [False] * len(rows)
        replaced = declared.existing is ExistingPolicy.REPLACED
        if name in declared.blank and (replaced or any(of_row)):
            blank: Sequence[Any] = [declared.blank[name]] * len(rows)
        elif name in declared.blank_as:
            blank = values_of(rows, declared.blank_as[name])
        elif all(of_row):
            return own
        elif not any(of_row) and not any(own):
            return ()
        else:
            blank = [None] * len(rows)
        cases = zip(own, blank, self._matcher.texts(name, blank), of_row, strict=True)
        return [
            value
            if value is not None
            else text
            if there or (replaced and of is not None)
            else _NOT_MEANT
            for value, of, text, there in cases
        ]

    def _compare_lists(self, child: Resource) -> None:
        """Note what differs in the lists of the pairs."""
        kinds = {name: column.kind for name, column in child.by_name.items()}
        own, there = values_of(self._rows, child.sheet), self._records.column(child.sheet)
        for place, (at, one) in enumerate(zip(*self._pairs, strict=True)):
            if own[at] and isinstance(there[one], list):
                items: list[ItemDifference] = []
                pair = _differing_items(child.sheet, kinds, own[at], there[one], items)
                if pair is not None:
                    self._differing.setdefault(place, {})[child.sheet] = pair
                    self._items[place] = (*self._items.get(place, ()), *items)


def is_same_list(
    child: Resource, own: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]]
) -> bool:
    """Tell whether a record's list is the one that its row has."""
    kinds = {name: column.kind for name, column in child.by_name.items()}
    return _differing_items(child.sheet, kinds, own, there, []) is None


def _differing_items(
    name: str,
    kinds: Mapping[str, Kind],
    own: Sequence[Mapping[str, Any]],
    there: Sequence[Mapping[str, Any]],
    found: list[ItemDifference],
) -> tuple[str, str] | None:
    """Return a row's list and its record's as texts where they differ, and add to ``found`` in
    what; None where they are alike.

    The order of the items does not count; what an item leaves out is the system's to fill in,
    and fields that no item of the record carries are not compared.
    """
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
