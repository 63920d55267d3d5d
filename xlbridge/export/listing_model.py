"""Listing: a declaration whose sheets, columns and filters follow from its operation's models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, get_args

from xlbridge.client.time_windows import UNBOUNDED_WINDOW, UPDATE_FIELD, Window
from xlbridge.export.filters import Filter, Filters, InvalidFilter, ValueKind, query_field
from xlbridge.export.sheets import ExportColumn, Sheet, TotalsSpec
from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.wire import Operation, WireModel, fields_in_order, record_model

_ENTRIES = {
    Filter.FROM: Text(pt="Lançamentos desde", en="Entries since"),
    Filter.TO: Text(pt="Lançamentos até", en="Entries until"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRecord:
    """One call for each record of another listing: for records that can only be read by key.

    ``path`` maps each path parameter to a field of the source's records. ``filter`` names records
    instead of the source. Without a source, records come from that filter or from known ids;
    ``includes_known_ids`` adds these to the source's. ``counter`` is a further path parameter,
    counted from 1 until nothing is found.
    """

    source: "Listing | None"
    path: Mapping[str, str]
    filter: Filter | None = None
    includes_known_ids: bool = False
    counter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerValue:
    """One call for each value of a filter that is required and takes a single value.

    Without the filter, the values are those of ``field`` in the ``sources``: perhaps not all.
    """

    filter: Filter
    field: str
    sources: tuple["Listing", ...]


@dataclass(frozen=True, slots=True)
class ListingCall:
    """Call of a listing; all of its records have the ``known_fields``, as texts."""

    operation: Operation
    path: Mapping[str, object] = field(default_factory=dict)
    query: WireModel | None = None
    window: Window = UNBOUNDED_WINDOW
    known_fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def record_key(self) -> dict[str, object]:
        """Key of the requested record; empty if the call is not for a single one."""
        names = self.operation.single_record_filters
        by_query = {name: getattr(self.query, name, None) for name in names}
        return {**self.path, **{n: value for n, value in by_query.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class FetchedWindow:
    """Fetched window.

    ``saturated``: the answer was full and could not be split, so there may be more records;
    ``limited``: it was full because of the user's limit. ``digest`` is SHA-256 of the raw answers.
    ``keys`` are the first and the last key of records requested by key.
    """

    window: Window
    records: int
    saturated: bool
    digest: str = ""
    limited: bool = False
    keys: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class InferredValues:
    """Values assumed for a filter that was not given; there may be others."""

    filter: Filter
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Listing of the interface.

    ``key`` identifies a record, ``inner_keys`` an item of a list within it that has lists itself.
    ``path_filters`` are the operations with a filter's value in their path. ``cap`` is the maximum
    number of records of an answer: one that full may not be all. ``details`` are the operation
    that reads a whole record by its key, and the field for each parameter of its path.
    ``is_settled``: the records are settled titles, which an import would create anew.
    ``undocumented`` are filters whose names the interface's description does not show,
    ``local_filters`` those that it lacks and that are applied here. ``period_field`` is a list
    within a record and the field of its items that shows the requested period. ``leading`` names,
    by sheet, the columns with which a sheet for people begins: those worth a page on paper.
    """

    name: str
    title: Text
    operation: Operation
    key: tuple[str, ...]
    path_filters: Mapping[Filter, Operation] = field(default_factory=dict)
    cap: int | None = None
    per_record: PerRecord | None = None
    details: tuple[Operation, Mapping[str, str]] | None = None
    inner_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: TotalsSpec | None = None
    is_settled: bool = False
    undocumented: frozenset[Filter] = frozenset()
    local_filters: frozenset[Filter] = frozenset()
    per_value: PerValue | None = None
    period_field: tuple[str, str] | None = None
    leading: Mapping[str, str] = field(default_factory=dict)

    def accepts_known_ids(self, filters: Filters) -> bool:
        """Return whether records known from elsewhere are part of the export."""
        by_key = self.per_record
        return bool(
            by_key and (not by_key.source or by_key.includes_known_ids) and not filters.values
        )

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters that this listing accepts."""
        queries = [self.operation.query]
        declared = {*self.path_filters, *self.local_filters}
        if self.per_record:
            queries += [self.per_record.source.operation.query] if self.per_record.source else []
            declared |= {self.per_record.filter} if self.per_record.filter else set()
        return tuple(
            name
            for name in Filter
            if name in declared or any(query_field(name, query) for query in queries)
            if name is not Filter.LIMIT or query_field(name, self.operation.query)
        )

    def filter_label(self, name: Filter) -> Text:
        """Return the label of a filter; the period of a statement is that of its entries."""
        return _ENTRIES.get(name, name.label) if self.period_field else name.label

    @property
    def required(self) -> tuple[Filter, ...]:
        """The filters that must be set."""
        fields = self.operation.query.model_fields if self.operation.query else {}
        return tuple(
            name
            for name in self.filters
            if (found := query_field(name, self.operation.query)) and fields[found].is_required()
            if self.per_value is None or self.per_value.filter is not name
        )

    @property
    def is_windowed(self) -> bool:
        """True if the time of the last update is an optional filter."""
        return (
            Filter.FROM in self.filters and Filter.FROM not in self.required and not self.per_record
        )

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The records' own sheet, then one for each list of objects within a record."""
        names = set(self.model.model_fields)
        lacking = tuple(ExportColumn(name, Kind.INTEGER) for name in self.key if name not in names)
        own = Sheet(self.name, (*lacking, *columns_of(self.model)), (), self.key)
        sheets = (own, *self._children(self.model, (), own.columns, self.key))
        totals = self.totals
        if totals is None or not totals.directed:
            return sheets
        summed = [totals.sheet] if totals.sheet else []
        return tuple(replace(s, directed=[*s.within[: len(summed)]] == summed) for s in sheets)

    @property
    def model(self) -> type[WireModel]:
        """Model of a record."""
        model = record_model(self.operation.data)
        if model is None:
            raise TypeError(f"{self.operation.name} is not a listing")
        return model

    def in_detail(self) -> "Listing":
        """Return the same listing with each record read by its key."""
        if self.details is None:
            return self
        operation, path = self.details
        by_key = PerRecord(source=self, path=path)
        return replace(self, operation=operation, per_record=by_key, details=None, cap=None)

    def check(self, filters: Filters, known_ids: Sequence[int] | None = None) -> None:
        """Raise ``InvalidFilter`` for filters that the listing does not accept, or not together.

        ``known_ids`` are numbers of records that no listing names, None if they are unknown.
        """
        offered = self.filters
        for name in filters.values:
            if name not in offered:
                raise InvalidFilter(
                    Text(
                        pt="A listagem {listing} não tem o filtro {filters}.",
                        en="The listing {listing} has no filter {filters}.",
                    ),
                    [name],
                    offered,
                    listing=self.name,
                )
        missing = [name for name in self.required if name not in filters.values]
        # If no listing names the records, their numbers must be known.
        is_by_number = self.per_record is not None and self.per_record.source is None
        if not missing and is_by_number and known_ids is None:
            missing = [name for name in (Filter.ID,) if name not in filters.values]
        if missing:
            raise InvalidFilter(
                Text(
                    pt="A listagem {listing} precisa de {filters}.",
                    en="The listing {listing} needs {filters}.",
                ),
                missing,
                listing=self.name,
            )
        repeatable = {*self.path_filters, *self.local_filters}
        repeatable |= {
            one.filter for one in (self.per_record, self.per_value) if one and one.filter
        }
        for name, value in filters.values.items():
            takes_several = name in repeatable or name.type.kind is ValueKind.TEXTS
            if name.type.is_repeatable and len(value) > 1 and not takes_several:
                raise InvalidFilter(
                    Text(
                        pt="A listagem {listing} aceita um só {filters}.",
                        en="The listing {listing} takes only one {filters}.",
                    ),
                    [name],
                    listing=self.name,
                )
        in_path = [name for name in filters.values if name in self.path_filters]
        if len(in_path) > 1:
            raise InvalidFilter(
                Text(
                    pt="Os filtros {filters} não se combinam.",
                    en="The filters {filters} do not combine.",
                ),
                in_path,
            )

    def _children(
        self,
        model: type[WireModel],
        within: tuple[str, ...],
        above: tuple[ExportColumn, ...],
        key: tuple[str, ...],
    ) -> Iterator[Sheet]:
        """Yield the sheets of a model's lists, with the missing columns of the key in front."""
        for name, inner in children_of(model).items():
            own = columns_of(inner)
            names = {column.name for column in own}
            keys = tuple(c for c in above if c.name in key and c.name not in names)
            sheet = Sheet(name, (*keys, *own), (*within, name), key)
            yield sheet
            deeper = dict.fromkeys((*key, *self.inner_keys.get(name, ())))
            columns = (*(c for c in above if c.name in key), *own)
            for below in self._children(inner, sheet.within, columns, tuple(deeper)):
                yield replace(below, name=f"{name}.{below.name}")


_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (Decimal, Kind.NUMBER),
    (datetime, Kind.DATE),
)
"""In this order, as a bool is an int too. Any other type is text."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@cache
def columns_of(model: type[WireModel]) -> tuple[ExportColumn, ...]:
    """Return a column for every field that is not a list of objects, in the spec's order."""
    columns = []
    for name in fields_in_order(model):
        field = model.model_fields[name]
        if record_model(field.annotation) is not None:
            continue
        types = _types_in(field.annotation)
        kind = next((kind for python, kind in _KINDS if python in types), Kind.TEXT)
        if name == UPDATE_FIELD:
            kind = Kind.DATE  # Some models declare it as text.
        if kind is Kind.NUMBER:
            # By its name it is an amount of money, not a quantity or rate.
            words = [word.lower() for word in _WORD.findall(name)]
            is_amount = "valor" in words or "base" in words or words[0] == "total"
            kind = Kind.MONEY if is_amount and "percentual" not in words else kind
            # The interface has some numbers of documents as decimals.
            kind = Kind.INTEGER if words[0] == "numero" else kind
        columns.append(ExportColumn(name, kind, is_list=list in types, is_secret=not field.repr))
    return tuple(columns)


@cache
def children_of(model: type[WireModel]) -> Mapping[str, type[WireModel]]:
    """Return the fields that are lists of objects, with the objects' models."""
    return {
        name: inner
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }


def _types_in(annotation: Any) -> set[Any]:
    """Return every type in an annotation, containers included."""
    found = {annotation, getattr(annotation, "__origin__", None)}
    hashable = (part for part in get_args(annotation) if type(part).__hash__ is not None)
    return found.union(*map(_types_in, hashable))
