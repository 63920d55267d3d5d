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
    RecordTable,
    TypedRows,
    have_column,
    row_maker,
    values_of,
)
from xlbridge.upload.lookup.snapshot import (
    ColumnarSnapshot,
    FoundRecord,
    ItemDifference,
    RowSnapshot,
    Snapshot,
    SnapshotColumns,
)

_Values = Sequence[str | None]

_NO_DIFFERENCES: dict[str, _Values] = {}
"""Shared value for records without differences."""

_UNSTATED = "\0"
"""Value of a cell that does not state a value for its record."""


class ComparedRows(ColumnarSnapshot):
    """Rows compared with the remote records found for them; rows are created on access.

    ``keys`` has the columns of comparable values by which each row was looked up, None for a row
    that was not. ``found`` are the positions of each row's records. Only ``fields`` that the
    records have are compared.
    """

    def __init__(
        self,
        matcher: RowMatcher,
        rows: TypedRows,
        keys: Sequence[Mapping[str, Sequence[str]] | None],
        found: Sequence[Sequence[int]],
        records: RecordTable,
        fields: Collection[str],
    ) -> None:
        found = _deduplicate(matcher, found, records)
        self._keys = keys
        self._ends = array("L", accumulate(map(len, found), initial=0))
        pairs = _Pairs(
            array("L", (at for at, positions in enumerate(found) for _ in positions)),
            array("L", chain.from_iterable(found)),
        )
        self._comparison = _Comparison(matcher, rows, records, pairs)
        if pairs.rows:
            self._comparison.compare(fields)
        self._make_row = row_maker(rows)

    def __len__(self) -> int:
        return len(self._keys)

    def _item(self, at: int) -> RowSnapshot | None:
        key = self._keys[at]
        if key is None:
            return None
        values = self._make_row(self._comparison.columns, at)
        pairs = range(self._ends[at], self._ends[at + 1])
        records = tuple([self._comparison.record(pair, values) for pair in pairs])
        return RowSnapshot(self._make_row(key, at), values, records)

    def columns(self) -> SnapshotColumns:
        """Return the columns of the rows."""
        return self.columns_at(range(len(self)))

    def columns_at(self, positions: Sequence[int]) -> SnapshotColumns:
        """Return the columns of the rows at the given positions."""
        begin, end = min(positions, default=0), max(positions, default=-1) + 1
        is_range = list(positions) == list(range(begin, end))

        def select(column: Sequence[Any]) -> Sequence[Any]:
            values = column[begin:end]
            return values if is_range else [values[at - begin] for at in positions]

        def select_all(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
            return {name: select(column) for name, column in columns.items()}

        distinct = {id(key): key for key in self._keys if key is not None}
        numbers = {identity: number for number, identity in enumerate(distinct)}
        return SnapshotColumns(
            [numbers.get(id(self._keys[at])) for at in positions],
            [select_all(key) for key in distinct.values()],
            select_all(self._comparison.columns),
            {
                number: row.found
                for number, at in enumerate(positions)
                if self._ends[at] < self._ends[at + 1] and (row := self._item(at)) is not None
            },
        )

    def key_at(self, at: int) -> tuple[tuple[str, str], ...]:
        """Return the columns and values of the key by which a row was looked up."""
        return tuple([(name, column[at]) for name, column in (self._keys[at] or {}).items()])

    @property
    def equal_records(self) -> Mapping[int, str]:
        """Codes of the records that rows leave unchanged, by row position.

        Only for rows with a single record that has no other row and a unique code.
        """
        return self._comparison.equal_records()

    @property
    def unread(self) -> set[int]:
        """Positions of rows that were not looked up."""
        return {at for at, key in enumerate(self._keys) if key is None}

    @property
    def with_records(self) -> list[int]:
        """Positions of rows that have records."""
        return [at for at, (begin, end) in enumerate(pairwise(self._ends)) if begin < end]


def unread_rows(rows: Snapshot) -> set[int]:
    """Return the positions of rows that were not looked up."""
    if isinstance(rows, ComparedRows):
        return rows.unread
    return {at for at, row in enumerate(rows) if row is None}


RowsOfKey = tuple[Collection[str], Sequence[int]]
"""Columns of a key by which rows were looked up, and the positions of the rows."""


def equal_records(rows: Snapshot) -> Mapping[int, str]:
    """Return the codes of records that rows leave unchanged, as far as they are easily found."""
    return rows.equal_records if isinstance(rows, ComparedRows) else {}


def rows_by_key(rows: Snapshot, excluded: Container[int]) -> Iterator[RowsOfKey]:
    """Yield the rows that have records, except ``excluded`` ones, grouped by key."""
    if isinstance(rows, ComparedRows):
        positions, key_at = rows.with_records, rows.key_at
    else:
        found = {at: row for at, row in enumerate(rows) if row is not None and row.found}
        positions, key_at = list(found), lambda at: tuple(found[at].key.items())
    by_key: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at in positions:
        if at not in excluded:
            by_key.setdefault(key_at(at), []).append(at)
    for key, group in by_key.items():
        yield [name for name, _ in key], group


class _SelectedRows(ColumnarSnapshot):
    """Selection of compared rows, in any order."""

    def __init__(self, rows: ComparedRows, positions: Sequence[int]) -> None:
        self._rows = rows
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def _item(self, at: int) -> RowSnapshot | None:
        return self._rows[self._positions[at]]

    def columns(self) -> SnapshotColumns:
        """Return the columns of the selected rows."""
        return self._rows.columns_at(self._positions)


def select_rows(rows: Snapshot, positions: Sequence[int]) -> Snapshot:
    """Return the snapshot of the rows at the given positions, in that order."""
    if isinstance(rows, ComparedRows):
        return _SelectedRows(rows, array("L", positions))
    return tuple(rows[at] for at in positions)


def _deduplicate(
    matcher: RowMatcher, found: Sequence[Sequence[int]], records: RecordTable
) -> Sequence[Sequence[int]]:
    """Return the records of each row without repetitions of a complete code."""
    if all(len(positions) < 2 for positions in found):
        return found
    parts = [matcher.texts(name, records.column(name)) for name in matcher.declared.codes]

    def code(position: int) -> Key | int:
        key = tuple([part[position] for part in parts])
        return position if None in key or not key else key

    return [
        positions if len(positions) < 2 else tuple({code(at): at for at in positions}.values())
        for positions in found
    ]


class _Pairs(NamedTuple):
    """Pairs of a row and a record, by their positions."""

    rows: "array[int]"
    records: "array[int]"

    def differing(self, mine: _Values, theirs: _Values) -> list[int]:
        """Return the indexes of the pairs that differ in a column."""
        if not any(mine) and not any(theirs):
            return []
        mine_of_pairs = map(mine.__getitem__, self.rows)
        theirs_of_pairs = map(theirs.__getitem__, self.records)
        return list(compress(count(), map(ne, mine_of_pairs, theirs_of_pairs)))


class _Comparison:
    """Comparison of pairs of a row and a record.

    Everything found is stored by the indexes of pairs.
    """

    def __init__(
        self, matcher: RowMatcher, rows: TypedRows, records: RecordTable, pairs: _Pairs
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
        self._codes = [
            "/".join(["?" if part is None else str(part) for part in code]) for code in codes
        ]
        self._unequal: dict[int, bool] = {}
        self._differing: dict[int, dict[str, _Values]] = {}
        self._items: dict[int, tuple[ItemDifference, ...]] = {}
        self._unlisted: dict[int, tuple[str, ...]] = {}

    def compare(self, record_fields: Collection[str]) -> None:
        """Store the differences of the pairs, column by column.

        Whether a pair is the same depends only on filled cells; whether the row changes the record
        also on empty cells.
        """
        declared, texts = self._declared, self._matcher.texts
        fields = {c: f for lookup in declared.lookups for c, f in lookup.key.items() if c != f}
        fields = {c: c for c in declared.compare} | fields | dict(declared.fields)
        shown = {name for name, field in fields.items() if field in record_fields}
        renamed = shown.intersection(declared.renamed)
        records = map(self._records.__getitem__, range(len(self._records.listings)))
        as_rows = list(map(declared.as_row, records)) if renamed else []
        for name in dict.fromkeys((*declared.compare, *declared.renamed)):
            column = self._matcher.column(name, self._rows)
            mine, differing = list(column), None
            raw = texts(name, list(self._records.column(name)))
            if name in self.columns:
                differing = self._pairs.differing(mine, raw)
                for pair in differing:
                    filled = mine[self._pairs.rows[pair]] is not None
                    self._unequal[pair] = self._unequal.get(pair, False) or filled
            if name not in shown:
                continue
            intended = self._intended_values(name)
            if not intended:
                continue
            theirs = texts(name, [row[name] for row in as_rows]) if name in renamed else raw
            if differing is None or intended is not column or theirs is not raw:
                mine = list(intended)
                differing = self._pairs.differing(mine, theirs)
            # Blank values for new records do not overwrite those of existing ones.
            emptied = name in declared.blank and declared.existing is not ExistingPolicy.REPLACED
            for pair in differing:
                at, other = self._pairs.rows[pair], theirs[self._pairs.records[pair]]
                if mine[at] is not _UNSTATED:
                    value = column[at] if emptied else mine[at]
                    self._differing.setdefault(pair, {})[name] = (value, other)
        for child in self._matcher.resource.children:
            self._compare_lists(child)

    def record(self, pair: int, row_values: Mapping[str, str | None]) -> FoundRecord:
        """Return the record of a pair; it shares the values of its row if they are equal."""
        at = self._pairs.records[pair]
        differing = self._differing.get(pair, _NO_DIFFERENCES)
        values = row_values
        if pair in self._unequal:
            record, comparable = self._records[at], self._matcher.comparable
            values = {name: comparable(name, record.get(name)) for name in self.columns}
        return FoundRecord(
            code=self._codes[at],
            values=values,
            same=not self._unequal.get(pair, False),
            unchanged=not differing,
            differing=differing,
            listing=self._records.listings[at],
            final=at in self._final,
            items=self._items.get(pair, ()),
            unlisted=self._unlisted.get(pair, ()),
        )

    def equal_records(self) -> Mapping[int, str]:
        """Return the value of ``ComparedRows.equal_records``."""
        rows, records = (np.asarray(one, np.int64) for one in self._pairs)
        single = (np.bincount(rows)[rows] == 1) & (np.bincount(records)[records] == 1)
        single[list(self._differing)] = False
        codes = self._codes
        counts = Counter(codes)
        pairs = zip(rows[single].tolist(), records[single].tolist(), strict=True)
        return {row: codes[record] for row, record in pairs if counts[codes[record]] == 1}

    def _intended_values(self, name: str) -> _Values:
        """Return the value that each row states for its record, with blank values for empty cells.

        Empty if the column states nothing for any record.
        """
        declared, rows = self._declared, self._rows
        values = self._matcher.column(name, rows)
        # Codes are assigned by the system, not stated by rows.
        stated = have_column(rows, name) if name not in declared.codes else [False] * len(rows)
        replaced = declared.existing is ExistingPolicy.REPLACED
        if name in declared.blank and (replaced or any(stated)):
            blanks: Sequence[Any] = [declared.blank[name]] * len(rows)
        elif name in declared.blank_as:
            blanks = values_of(rows, declared.blank_as[name])
        elif all(stated):
            return values
        elif not any(stated) and not any(values):
            return ()
        else:
            blanks = [None] * len(rows)
        cases = zip(values, blanks, self._matcher.texts(name, blanks), stated, strict=True)
        return [
            value
            if value is not None
            else text
            if is_stated or (replaced and blank is not None)
            else _UNSTATED
            for value, blank, text, is_stated in cases
        ]

    def _compare_lists(self, child: Resource) -> None:
        """Store the differences in the lists of the pairs."""
        kinds = {name: column.kind for name, column in child.by_name.items()}
        own, theirs = values_of(self._rows, child.sheet), self._records.column(child.sheet)
        has_list = any(have_column(self._rows, child.sheet))
        removed = self._have_number() if has_list else [False] * len(own)
        for pair, (row, record) in enumerate(zip(*self._pairs, strict=True)):
            mine = own[row] or ([] if removed[row] else None)
            if mine is None:
                continue
            shown = theirs[record]
            if isinstance(shown, list):
                items: list[ItemDifference] = []
                lists = _differing_items(child.sheet, kinds, mine, shown, items)
                if lists is not None:
                    self._differing.setdefault(pair, {})[child.sheet] = lists
                    self._items[pair] = (*self._items.get(pair, ()), *items)
            if shown != []:
                names = filled_columns(child.sheet, mine) - filled_columns(child.sheet, shown)
                if names:
                    self._unlisted[pair] = (*self._unlisted.get(pair, ()), *sorted(names))

    def _have_number(self) -> Sequence[bool]:
        """Return for each row whether it carries the system's number, as exported rows do.

        Such a row had the items of its record: without any, they were removed.
        """
        if self._matcher.has_assigned_numbers:
            return [False] * len(self._rows)
        names = self._declared.number_columns
        numbers = zip(*(values_of(self._rows, name) for name in names), strict=True)
        given = [None not in number for number in numbers]
        return given or [False] * len(self._rows)


def filled_columns(name: str, items: Sequence[Mapping[str, Any]] | None) -> set[str]:
    """Return the columns in which items of a list have a value, as ``list.column``."""
    filled = (column for item in items or () for column, v in item.items() if v is not None)
    return {f"{name}.{column}" for column in filled}


def differing_lists(
    child: Resource, mine: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> tuple[str | None, str | None] | None:
    """Return a row's list and its record's as texts if they differ, None if they are the same."""
    kinds = {name: column.kind for name, column in child.by_name.items()}
    return _differing_items(child.sheet, kinds, mine, theirs, [])


def _differing_items(
    name: str,
    kinds: Mapping[str, Kind],
    mine: Sequence[Mapping[str, Any]],
    theirs: Sequence[Mapping[str, Any]],
    found: list[ItemDifference],
) -> tuple[str | None, str | None] | None:
    """Return a row's list and its record's as texts if they differ, and add the differences to
    ``found``; return None if they are the same.

    The order of items is ignored, as are fields that an item of the row leaves out or that no item
    of the record has.
    """
    fields = {column for item in theirs for column in item}
    row_items = [
        {c: comparable_value(kinds[c], v) for c, v in item.items() if not theirs or c in fields}
        for item in mine
    ]
    items = [{c: comparable_value(kinds[c], item.get(c)) for c in kinds} for item in theirs]
    unmatched, left = list(range(len(items))), []
    for number, item in enumerate(row_items):
        same = next((at for at in unmatched if item.items() <= items[at].items()), None)
        if same is None:
            left.append(number)
        else:
            unmatched.remove(same)
    if not left and not unmatched:
        return None
    if len(row_items) != len(items):
        found.append((name, None, "", str(len(row_items)), str(len(items))))
    for number in left[: len(unmatched)]:
        item = row_items[number]
        # The most similar one; of several, the first.
        nearest = max(unmatched, key=lambda at: len(item.items() & items[at].items()))
        unmatched.remove(nearest)
        found.extend(
            (name, number, column, value, items[nearest][column])
            for column, value in item.items()
            if items[nearest][column] != value
        )
    filled = [{c: v for c, v in item.items() if v is not None} for item in items]
    return _items_text(row_items) or None, _items_text(filled) or None


def _items_text(items: Sequence[Mapping[str, str | None]]) -> str:
    """Return the items of a list as readable text."""
    return "; ".join(" ".join(f"{name}={value}" for name, value in item.items()) for item in items)
