"""Comparison of rows with the remote records of their keys, column by column."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from xlbridge.resources import Kind, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup.row_lookup import Key, RowMatcher, comparable_value
from xlbridge.upload.lookup.snapshot import (
    ColumnsRow,
    FoundRecord,
    ItemDifference,
    RecordTable,
    RowSnapshot,
    TypedRows,
    have_column,
    values_of,
)

_Values = Sequence[str | None]

_NO_DIFFERENCES: dict[str, _Values] = {}
"""Shared value for records without differences."""

_UNSTATED = "\0"
"""Value of a cell that does not state a value for its record."""


def compare_rows(
    matcher: RowMatcher,
    rows: TypedRows,
    keys: Sequence[Mapping[str, Sequence[str]] | None],
    found: Sequence[Sequence[int]],
    records: RecordTable,
    fields: Collection[str],
) -> list[RowSnapshot | None]:
    """Return the rows with the remote records found for them, compared column by column.

    ``keys`` has the columns of comparable values by which each row was looked up, None for a row
    that was not. ``found`` are the positions of each row's records. Only ``fields`` that the
    records have are compared.
    """
    if any(len(positions) > 1 for positions in found):
        found = _deduplicate(matcher, found, records)
    pairs = [(at, record) for at, positions in enumerate(found) for record in positions]
    comparison = _Comparison(matcher, rows, records, pairs)
    if pairs:
        comparison.compare(fields)
    snapshot: list[RowSnapshot | None] = []
    end = 0
    for at, (key, positions) in enumerate(zip(keys, found, strict=True)):
        begin, end = end, end + len(positions)
        if key is None:
            snapshot.append(None)
            continue
        values = ColumnsRow(comparison.columns, at)
        of_row = tuple([comparison.record(pair, values) for pair in range(begin, end)])
        snapshot.append(RowSnapshot(ColumnsRow(key, at), of_row, values))
    return snapshot


def _deduplicate(
    matcher: RowMatcher, found: Sequence[Sequence[int]], records: RecordTable
) -> Sequence[Sequence[int]]:
    """Return the records of each row without repetitions of a complete code."""
    parts = [matcher.texts(name, records.column(name)) for name in matcher.declared.codes]

    def code(position: int) -> Key | int:
        key = tuple([part[position] for part in parts])
        return position if None in key or not key else key

    return [
        positions if len(positions) < 2 else tuple({code(at): at for at in positions}.values())
        for positions in found
    ]


class _Comparison:
    """Comparison of pairs of a row and a record.

    Everything found is stored by the indexes of pairs.
    """

    def __init__(
        self,
        matcher: RowMatcher,
        rows: TypedRows,
        records: RecordTable,
        pairs: Sequence[tuple[int, int]],
    ) -> None:
        self._matcher = matcher
        declared = self._declared = matcher.declared
        self._rows = rows
        self._records = records
        self._pairs = pairs
        self.columns = {name: matcher.column(name, rows) for name in declared.compare}
        change = matcher.resource.change
        self._final: set[int] = set()
        for name in () if change is None else change.until:
            filled = enumerate(records.column(name))
            self._final.update(at for at, value in filled if value is not None)
        for at, listing in enumerate(records.listings):
            if change is not None and listing in change.not_listed:
                self._final.add(at)
        codes = zip(*map(records.column, declared.codes), strict=True)
        self._codes = [
            "/".join(["?" if part is None else str(part) for part in code]) for code in codes
        ]
        self._unequal: dict[int, bool] = {}
        self._differing: dict[int, dict[str, _Values]] = {}
        self._items: dict[int, tuple[ItemDifference, ...]] = {}
        self._unlisted: dict[int, tuple[str, ...]] = {}
        self._amounts: dict[int, str] = {}

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
                differing = self._differing_pairs(mine, raw)
                for pair in differing:
                    filled = mine[self._pairs[pair][0]] is not None
                    self._unequal[pair] = self._unequal.get(pair, False) or filled
            if name not in shown:
                continue
            intended = self._intended_values(name)
            if not intended:
                continue
            theirs = texts(name, [row[name] for row in as_rows]) if name in renamed else raw
            if differing is None or intended is not column or theirs is not raw:
                mine = list(intended)
                differing = self._differing_pairs(mine, theirs)
            # Blank values for new records do not overwrite those of existing ones.
            emptied = name in declared.blank and declared.existing is not ExistingPolicy.REPLACED
            for pair in differing:
                at, record = self._pairs[pair]
                if mine[at] is not _UNSTATED:
                    value = column[at] if emptied else mine[at]
                    self._differing.setdefault(pair, {})[name] = (value, theirs[record])
        for child in self._matcher.resource.children:
            if any(have_column(self._rows, child.sheet)):
                self._compare_lists(child)
        if (products := self._matcher.resource.totals.products) is not None:
            own = values_of(self._rows, products.sheet)
            lists = self._records.column(products.sheet)
            for pair, (row, at) in enumerate(self._pairs):
                prices = [*products.prices(lists[at])]
                if prices and None not in (*prices, *products.prices(own[row])):
                    self._amounts[pair] = str(sum(filter(None, prices)))

    def _differing_pairs(self, mine: _Values, theirs: _Values) -> list[int]:
        """Return the indexes of the pairs that differ in a column."""
        if not any(mine) and not any(theirs):
            return []
        pairs = enumerate(self._pairs)
        return [pair for pair, (at, record) in pairs if mine[at] != theirs[record]]

    def record(self, pair: int, row_values: Mapping[str, str | None]) -> FoundRecord:
        """Return the record of a pair; it shares the values of its row if they are equal."""
        _, at = self._pairs[pair]
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
            final=at in self._final,
            items=self._items.get(pair, ()),
            unlisted=self._unlisted.get(pair, ()),
            amount=self._amounts.get(pair),
        )

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
        removed = [False] * len(own)
        numbers = self._declared.number_columns
        if numbers and not self._matcher.has_assigned_numbers:
            # A row that carries the system's number had the items of its record: without any, they
            # were removed.
            columns = (values_of(self._rows, name) for name in numbers)
            removed = [None not in number for number in zip(*columns, strict=True)]
        for pair, (row, record) in enumerate(self._pairs):
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
    return _items_text(row_items) or None, _items_text(items) or None


def _items_text(items: Sequence[Mapping[str, str | None]]) -> str:
    """Return the items of a list as readable text, without empty fields."""
    return "; ".join(
        " ".join(f"{name}={value}" for name, value in item.items() if value is not None)
        for item in items
    )
