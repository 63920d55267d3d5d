"""Comparison of rows and remote records: comparable values, lookups and searches by key, and the
records found for rows, column by column.

Keys are searched by their near forms, and compared value by value once all records are read: equal
keys are the same record's, near ones may be.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from itertools import compress, count
from json import dumps
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd

from xlbridge.client import Record
from xlbridge.resources import Kind, Resource, strip_accents
from xlbridge.resources.checks import bare_document
from xlbridge.resources.remote import ExistingPolicy, Lookup, ReadBack
from xlbridge.upload.claims import claim_digest, named_values
from xlbridge.upload.lookup.snapshot import (
    FoundRecord,
    ItemDifference,
    RecordTable,
    RowValues,
    TypedRows,
    filled_columns,
    have_column,
    values_of,
)

_PLAIN_KINDS = frozenset({Kind.TEXT, Kind.CODE, Kind.BOOLEAN})
_DECIMAL_TYPES = (float, Decimal)
_MAX_EXPONENT = 400
_DATE_LENGTH = 10  # of an ISO date and time
_DAY_FIRST = re.compile(r"([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?![0-9])")
_NUMBER_TYPES = frozenset({type(None), str, int, float, Decimal})
_STRINGS = frozenset({type(None), str})
_TEXT_TYPES = frozenset({type(None), str, pd.Timestamp})
"""Types whose equal values in one column have the same comparable text."""

_TEXTS_OF_EMPTY: Mapping[Any, str | None] = {None: None, "": None}
"""Comparable texts of empty values."""

_SAMPLE = 10_000
"""Rows that are sampled for the most selective column of a key."""

Key = tuple[str | None, ...]
"""Comparable values of the columns of a lookup's key, in its order."""


def comparable_value(kind: Kind, value: Any) -> str | None:
    """Return a value as normalised text for comparison, None for an empty one.

    A date is in ISO form, or its text as it is if it does not begin with a date.
    """
    if value is None or value == "":
        return None
    if kind.is_number:
        return _comparable_number(value)
    if kind is Kind.DATE:
        text = value.isoformat() if isinstance(value, date) else str(value)
        iso = text
        if found := _DAY_FIRST.match(text):
            day, _, month, year = found.groups()
            iso = f"{year}-{month:0>2}-{day:0>2}"
        understood = _date_in(iso)
        return text if understood is None else understood.isoformat()
    if kind in (Kind.CNPJ, Kind.CPF):
        return bare_document(str(value))
    return unicodedata.normalize("NFC", " ".join(str(value).split()))


def _date_in(text: str) -> date | None:
    """Return the ISO date that a text begins with, None if there is none."""
    try:
        return date.fromisoformat(text[:_DATE_LENGTH])
    except ValueError:
        return None


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
    # A huge exponent, written out, would exhaust the memory.
    return f"{number.normalize():f}" if abs(number.adjusted()) <= _MAX_EXPONENT else text


def lookups_for(resource: Resource, row: RowValues) -> list[Lookup]:
    """Return the lookups that serve a row, the one by the system's own number first."""
    declared = resource.read_back
    lookups = () if declared is None else declared.all_lookups
    return [lookup for lookup in lookups if lookup.serves(row)]


def lookups_of_rows(resource: Resource, rows: TypedRows) -> list[Sequence[Lookup]]:
    """Return the lookups that serve each row, computed once for rows with the same empty cells."""
    if resource.read_back is None:
        return [()] * len(rows)
    lookups = resource.read_back.all_lookups
    columns = list(dict.fromkeys(name for lookup in lookups for name in lookup.key))
    deciding = list(dict.fromkeys(name for lookup in lookups for name in lookup.when))
    empty = [[value is None for value in values_of(rows, name)] for name in columns]
    cases = list(zip(*empty, *[values_of(rows, name) for name in deciding], strict=True))
    examples = dict(zip(cases, count()))
    serving = {case: lookups_for(resource, rows[at]) for case, at in examples.items()}
    return list(map(serving.__getitem__, cases))


class RowMatcher:
    """Comparable values of rows and records of one resource.

    ``dates`` are the columns of dates. ``has_assigned_numbers``: numbers of the rows come from the
    answers to their uploads, not from an export.
    """

    def __init__(
        self, resource: Resource, read_back: ReadBack, *, has_assigned_numbers: bool = False
    ) -> None:
        self.resource = resource
        self.has_assigned_numbers = has_assigned_numbers
        self.declared = read_back
        self._kinds = {name: column.kind for name, column in resource.by_name.items()}
        self._numbers = {n for n, kind in self._kinds.items() if kind.is_number}
        self._plain_texts = {n for n, kind in self._kinds.items() if kind in _PLAIN_KINDS}
        self._text_columns = {n for n, kind in self._kinds.items() if kind.is_text}
        self.dates = {n for n, kind in self._kinds.items() if kind is Kind.DATE}
        self._rows: TypedRows = ()
        self._columns: dict[str, Sequence[str | None]] = {}

    @cached_property
    def blank(self) -> Mapping[str, str | None]:
        """Comparable values that empty cells mean."""
        return {name: self.comparable(name, value) for name, value in self.declared.blank.items()}

    def column(self, name: str, rows: TypedRows) -> Sequence[str | None]:
        """Return the comparable values of a column of rows, None for empty ones.

        Those of the last rows are cached.
        """
        if rows is not self._rows:
            self._rows, self._columns = rows, {}
        if name not in self._columns:
            self._columns[name] = self.texts(name, values_of(rows, name))
        return self._columns[name]

    def texts(self, name: str, values: Sequence[Any]) -> Sequence[str | None]:
        """Return the comparable text of each value of a column."""
        types = set(map(type, values))
        if name in self._plain_texts and types <= _STRINGS and _have_plain_blanks(values):
            return values
        # Equal values of different types, such as True and 1, may have different texts.
        if types <= (_NUMBER_TYPES if name in self._numbers else _TEXT_TYPES):
            # Most columns have few distinct values; convert each once.
            kind = self._kinds.get(name, Kind.INTEGER)
            convert = _comparable_number if kind.is_number else partial(comparable_value, kind)
            distinct = set(values) - _TEXTS_OF_EMPTY.keys()
            texts = {**_TEXTS_OF_EMPTY, **{value: convert(value) for value in distinct}}
            return list(map(texts.__getitem__, values))
        return [self.comparable(name, value) for value in values]

    def near_forms(self, name: str, texts: Sequence[str | None]) -> Sequence[str | None]:
        """Return the near form of each comparable text of a column; empty for what is no date.

        That is the text without what keys easily lose or gain: case, accents, spaces, leading
        zeros. People and programs take keys with the same form for the same one.
        """
        if name in self.dates:
            known = {text: text if text is None or _date_in(text) else "" for text in {*texts}}
            return list(map(known.__getitem__, texts))
        if name not in self._text_columns or not texts:
            return texts
        # Folded together: NUL, which separates the texts, stays as it is.
        joined = "\0".join([text or "" for text in texts])
        folded = "".join(strip_accents(joined).casefold().split())
        forms = folded.split("\0")
        if len(forms) > len(texts):
            return self.near_forms(name, [text and text.replace("\0", "") for text in texts])
        if None not in texts and "\x000" not in f"\0{folded}":
            return forms
        pairs = zip(texts, forms, strict=True)
        return [text and (form.lstrip("0") or form[:1]) for text, form in pairs]

    def comparable(self, column: str, value: Any) -> str | None:
        """Return a value of a column as comparable text; integers compare as numbers."""
        if value.__class__ is int:
            return str(value)
        return comparable_value(self._kinds.get(column, Kind.INTEGER), value)


def blank_values(resource: Resource) -> Mapping[str, str | None]:
    """Return the comparable values that empty cells of a resource mean."""
    return {} if resource.read_back is None else RowMatcher(resource, resource.read_back).blank


def _have_plain_blanks(texts: Sequence[str | None]) -> bool:
    """Return whether texts are certainly normalised: composed, none empty, words with single
    spaces, no other blanks or control characters."""
    joined = f" {' . '.join(filter(None, texts))} "
    return (
        "  " not in joined
        and joined.isprintable()
        and "" not in texts
        and unicodedata.is_normalized("NFC", joined)
    )


def business_keys(resource: Resource, rows: TypedRows) -> Sequence[tuple[str, ...]]:
    """Return the digests of each row's keys, without the system's own number."""
    declared = resource.read_back
    if declared is None:
        return [()] * len(rows)
    matcher = RowMatcher(resource, declared)
    opening, lookups = f"[{dumps(resource.name)}", lookups_of_rows(resource, rows)
    columns = dict.fromkeys(column for lookup in declared.lookups for column in lookup.key)
    items = {name: named_values(name, matcher.column(name, rows), "null") for name in columns}
    keys = {
        id(lookup): list(map("".join, zip(*map(items.__getitem__, lookup.key), strict=True)))
        for lookup in declared.lookups
    }
    return [
        tuple(
            [
                claim_digest(f"{opening}{keys[id(lookup)][at]}]")
                for lookup in of_row
                if lookup is not declared.by_number
            ]
        )
        for at, of_row in enumerate(lookups)
    ]


class NearRecord(NamedTuple):
    """Record whose key is near a row's, by its position, with the values that differ in the key."""

    record: int
    differing: Mapping[str, str | None]


class SoughtRecords:
    """Search of one lookup for the records of the rows that it serves.

    ``fields`` maps the columns of the key to the record's fields. ``served`` has for each row
    whether the lookup serves it. ``proven``: records that were not found do not exist; ``hidden``
    are the fields of the key that the answers lack. ``found`` has the keys of records that are
    sought or near, with their near forms and the records' positions.
    """

    def __init__(
        self,
        matcher: RowMatcher,
        rows: TypedRows,
        lookup: Lookup,
        fields: Mapping[str, str],
        served: Sequence[bool],
    ) -> None:
        self.lookup = lookup
        self.fields = fields
        self.proven = False
        self.hidden: Sequence[str] = ()
        self._matcher = matcher
        self._columns = [matcher.column(column, rows) for column in fields]
        forms = list(map(matcher.near_forms, fields, self._columns))
        self._rows: defaultdict[Key, list[int]] = defaultdict(list)
        for at, form in compress(enumerate(zip(*forms, strict=True)), served):
            self._rows[form].append(at)
        best = max(range(len(fields)), key=lambda at: len(set(forms[at][:_SAMPLE])))
        self._best_column, self.best_field = list(fields.items())[best]
        self._best_values = set(compress(forms[best], served))
        if self._best_column in matcher.dates:
            self._best_values.add("")
        self.clear()

    @cached_property
    def _undated(self) -> Mapping[Key, Sequence[int]]:
        """Rows by their near forms without dates: a record whose date is not understood may be that
        of any row with the same other values."""
        undated: defaultdict[Key, list[int]] = defaultdict(list)
        dates = [name in self._matcher.dates for name in self.fields]
        for form, rows in self._rows.items():
            undated[tuple(["" if dates[at] else one for at, one in enumerate(form)])] += rows
        return undated

    def _rows_near(self, form: Key) -> Sequence[int]:
        """Return the rows whose key has a near form, or has it but for a date."""
        rows = self._rows.get(form, ())
        if "" not in form:
            return rows
        return list(dict.fromkeys((*rows, *self._undated.get(form, ()))))

    def clear(self) -> None:
        """Remove all results."""
        self.found: list[tuple[Key, Key, int]] = []

    def are_wanted(self, values: Sequence[Any]) -> Sequence[bool]:
        """Return for each value of ``best_field``, the most selective one of the key, whether its
        record may be sought."""
        texts = self._matcher.texts(self._best_column, values)
        forms = self._matcher.near_forms(self._best_column, texts)
        return [form in self._best_values for form in forms]

    def candidates(
        self, records: Sequence[Record], known: Mapping[str, object]
    ) -> Iterator[tuple[int, Key, Key]]:
        """Yield the position of each record whose key is sought or near, the key, and its near
        form.

        ``known`` are the values of fields that records may leave out.
        """
        only = self.lookup.only
        positions = [
            at
            for at, record in enumerate(records)
            if not only or all(record.get(name) == value for name, value in only.items())
        ]
        columns = []
        for column, name in self.fields.items():
            default = known.get(name)
            values = [records[at].get(name, default) for at in positions]
            columns.append(self._matcher.texts(column, values))
        near = map(self._matcher.near_forms, self.fields, columns)
        keys, forms = zip(*columns, strict=True), zip(*near, strict=True)
        for at, key, form in zip(positions, keys, forms, strict=True):
            if self._rows_near(form):
                yield at, key, form

    def pairs(self) -> tuple[list[tuple[int, int]], list[tuple[int, NearRecord]]]:
        """Return the positions of rows and of records with the same key, ordered by row, and the
        rows with the records whose keys are near."""
        exact: list[tuple[int, int]] = []
        near: list[tuple[int, NearRecord]] = []
        keys: list[Key] = list(zip(*self._columns, strict=True))
        for key, form, record in self.found:
            for at in self._rows_near(form):
                if keys[at] == key:
                    exact.append((at, record))
                else:
                    values = zip(self.fields, keys[at], key, strict=True)
                    differing = {name: that for name, this, that in values if this != that}
                    near.append((at, NearRecord(record, differing)))
        return sorted(exact, key=itemgetter(0)), sorted(near, key=itemgetter(0))

    def all_found(self) -> bool:
        """Return whether every served row has a record."""
        exact, _ = self.pairs()
        return len({at for at, _ in exact}) == sum(map(len, self._rows.values()))


_Values = Sequence[str | None]

_NO_DIFFERENCES: dict[str, _Values] = {}
"""Shared value for records without differences."""

_UNSTATED = "\0"
"""Value of a cell that does not state a value for its record."""


class Comparison:
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
