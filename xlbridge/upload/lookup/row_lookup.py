"""Matching of rows and remote records: lookups, comparable values, and searches by key.

Keys are searched by their near forms, and compared value by value once all records are read: equal
keys are the same record's, near ones may be.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from hashlib import blake2b
from itertools import compress, count
from json import dumps
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any, NamedTuple

import pandas as pd

from xlbridge.client import Record
from xlbridge.resources import Kind, Resource, strip_accents
from xlbridge.resources.checks import bare_document
from xlbridge.resources.remote import Lookup, ReadBack
from xlbridge.upload.lookup.snapshot import RowValues, TypedRows, values_of

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

_DIGEST_BYTES = 16

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


def claim_digest(text: str) -> str:
    """Return the digest by which a row or a key is claimed."""
    return blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


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


def named_values(name: str, values: Sequence[Any], empty: str | None = None) -> list[str]:
    """Return each value of a column as an item of a JSON list, with the column's name.

    An empty cell's value is ``empty``; without that, it has no item.
    """
    opening = f", [{dumps(name)}, "
    # Most columns have few distinct values, all of one type.
    items = {cell: f"{opening}{encode_basestring_ascii(str(cell))}]" for cell in {*values}}
    items[None] = "" if empty is None else f"{opening}{empty}]"
    return list(map(items.__getitem__, values))


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
