"""Listing: one declaration; its sheets, columns and filters follow from its operation's models."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from xlbridge.client.listings import UNBOUNDED_WINDOW, UPDATE_FIELD, Window
from xlbridge.export.filters import (
    Filter,
    Filters,
    InvalidFilter,
    ValueKind,
    option_names,
    query_field,
)
from xlbridge.export.record_filter import Criterion, Period, RecordFilter, comparable
from xlbridge.export.sheets import ExportColumn, Sheet
from xlbridge.export.totals import TotalsSpec
from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.wire import Operation, WireModel, fields_in_order, record_model


@dataclass(frozen=True, slots=True, kw_only=True)
class PerRecord:
    """One call for each record of another listing, as the interface reads these by key only.

    ``path`` gives the field of a source record for each parameter of the path. ``given`` is the
    filter that names the records in place of the source. Without a source that is ``ID``, or the
    records are those known from elsewhere; with ``known`` those are read besides the source's.
    ``counted`` is a further parameter that counts from 1 until nothing is found.
    """

    source: "Listing | None"
    path: Mapping[str, str]
    given: Filter | None = None
    known: bool = False
    counted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerValue:
    """One call for each value of a filter, of which the interface takes one in every call.

    Without the filter the values are those that ``field`` has in the ``sources``: perhaps not all.
    """

    filter: Filter
    field: str
    sources: tuple["Listing", ...]


@dataclass(frozen=True, slots=True)
class ListingCall:
    """One call of a listing; ``known`` are fields that all of its records have, as texts."""

    operation: Operation
    path: Mapping[str, object] = field(default_factory=dict)
    query: WireModel | None = None
    window: Window = UNBOUNDED_WINDOW
    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, object]:
        """The key that it asks for, if it does."""
        names = self.operation.single_record_filters
        by_query = {name: getattr(self.query, name, None) for name in names}
        return {**self.path, **{n: value for n, value in by_query.items() if value is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One listing.

    ``key`` identifies a record, ``inner_keys`` an item of a list within it that has lists of its
    own. ``of`` are the operations that take a filter's value in their path. ``cap`` is the most
    records that one answer can hold: an answer with that many may not be all. ``details`` are the
    operation that reads a record by its key, with what the listing itself leaves out, and the
    field for each parameter of its path. ``is_settled`` says that the records are settled titles,
    which an import would create anew. ``guessed`` are the filters that the interface's description
    does not show for it; ``local`` those that it does not have, and records are chosen by here.
    ``period_shown`` are a list within a record and its field in which a required period shows.
    """

    name: str
    title: Text
    operation: Operation
    key: tuple[str, ...]
    of: Mapping[Filter, Operation] = field(default_factory=dict)
    cap: int | None = None
    each: PerRecord | None = None
    details: tuple[Operation, Mapping[str, str]] | None = None
    inner_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: TotalsSpec | None = None
    is_settled: bool = False
    guessed: frozenset[Filter] = frozenset()
    local: frozenset[Filter] = frozenset()
    per_value: PerValue | None = None
    period_shown: tuple[str, str] | None = None

    @property
    def is_by_number(self) -> bool:
        """True when the interface lists the records nowhere, and their numbers must be known."""
        return self.each is not None and self.each.source is None

    def takes_known(self, filters: Filters) -> bool:
        """Tell whether records whose numbers are known from elsewhere belong to what is wanted."""
        is_open = self.each is not None and (self.each.source is None or self.each.known)
        return is_open and not filters.given

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters that can be given for this listing."""
        queries = [self.operation.query]
        given = {*self.of, *self.local}
        if self.each:
            queries += [self.each.source.operation.query] if self.each.source else []
            given |= {self.each.given} if self.each.given else set()
        return tuple(
            name
            for name in Filter
            if name in given or any(query_field(name, query) for query in queries)
            if name is not Filter.LIMIT or query_field(name, self.operation.query)
        )

    @property
    def required(self) -> tuple[Filter, ...]:
        """The filters without which it cannot be asked for."""
        fields = self.operation.query.model_fields if self.operation.query else {}
        return tuple(
            name
            for name in self.filters
            if (place := query_field(name, self.operation.query)) and fields[place].is_required()
            if self.per_value is None or self.per_value.filter is not name
        )

    @property
    def is_windowed(self) -> bool:
        """True when the time of the last update is a filter, and not a required one."""
        return Filter.FROM in self.filters and Filter.FROM not in self.required and not self.each

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """The records' own sheet, then one for each list of objects within a record."""
        names = set(self.model.model_fields)
        lacking = tuple(ExportColumn(name, Kind.INTEGER) for name in self.key if name not in names)
        own = Sheet(self.name, (*lacking, *columns_of(self.model)), (), self.key)
        return (own, *self._children(self.model, (), own.columns, self.key))

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
        each = PerRecord(source=self, path=path)
        return replace(self, operation=operation, each=each, details=None, cap=None)

    def check(self, filters: Filters, known: Sequence[int] | None = None) -> None:
        """Raise ``InvalidFilter`` for filters that the listing does not take, or not together.

        ``known`` are numbers of records that the interface lists nowhere, None where nobody
        knows any.
        """
        _require_offered(self, filters)
        if self.is_by_number and known is None and Filter.ID not in filters.given:
            raise InvalidFilter(_REQUIRED, [Filter.ID], listing=self.name)
        for name, value in filters.given.items():
            if name.type.is_repeatable and len(value) > 1 and not _takes_several(self, name):
                raise InvalidFilter(
                    Text(
                        pt="A listagem {listing} aceita um só {filters}.",
                        en="The listing {listing} takes only one {filters}.",
                    ),
                    [name],
                    listing=self.name,
                )
        in_path = [name for name in filters.given if name in self.of]
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
        """Yield the sheets below a model; rows lack no column of the key: it stands in front."""
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


def _require_offered(listing: Listing, filters: Filters) -> None:
    """Raise ``InvalidFilter`` for a filter that the listing lacks, or for one that is missing."""
    for name in filters.given:
        if name not in listing.filters:
            raise InvalidFilter(
                Text(
                    pt="A listagem {listing} não tem o filtro {filters}.",
                    en="The listing {listing} has no filter {filters}.",
                ),
                [name],
                _offered_filters(listing),
                listing=listing.name,
            )
    missing = [name for name in listing.required if name not in filters.given]
    if missing:
        raise InvalidFilter(_REQUIRED, missing, listing=listing.name)


_REQUIRED = Text(
    pt="A listagem {listing} precisa de {filters}.", en="The listing {listing} needs {filters}."
)


def _takes_several(listing: Listing, name: Filter) -> bool:
    by_path = name in listing.of or (listing.each is not None and listing.each.given is name)
    by_value = listing.per_value is not None and listing.per_value.filter is name
    return by_path or by_value or name in listing.local or name.type.kind is ValueKind.TEXTS


def record_filter(listing: Listing, filters: Filters) -> RecordFilter | None:
    """Return what a record of a listing is judged by, None where nothing is to be judged.

    Filters of a source are judged in its own records; a window of updates, which the interface
    documents, only where it is a guess.
    """
    criteria = tuple(_criteria(listing, filters))
    is_dated = {Filter.FROM, Filter.TO} & listing.guessed & filters.given.keys()
    updated = (filters.start, filters.end) if is_dated else None
    limit = filters.given.get(Filter.LIMIT)
    period = None
    if listing.period_shown and filters.start and filters.end:
        period = Period(*listing.period_shown, filters.start, filters.end)
    if criteria or updated or limit or period:
        return RecordFilter(criteria, updated, limit, period)
    return None


def _criteria(listing: Listing, filters: Filters) -> Iterator[Criterion]:
    fields = listing.model.model_fields
    for name, value in filters.given.items():
        shown = [one for one in name.type.of_record if one in fields]
        for field_name in shown if name.type.is_empty else shown[:1]:
            values = value if isinstance(value, tuple) else (value,)
            yield Criterion(
                name=name.value,
                field=field_name,
                values=frozenset(map(comparable, values)),
                is_sent=name not in listing.local,
                is_guessed=name in listing.guessed,
                is_nonzero=name.type.is_nonzero,
                is_empty=name.type.is_empty,
            )


def _offered_filters(listing: Listing) -> Text:
    if not listing.filters:
        return Text(pt="Ela não tem filtros.", en="It has no filters.")
    return Text(pt="Ela tem: {names}.", en="It has: {names}.").format(
        names=option_names(list(listing.filters))
    )


_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (Decimal, Kind.NUMBER),
    (datetime, Kind.DATE),
)
"""In this order: a bool is an int too. What is none of these is text."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def columns_of(model: type[WireModel]) -> tuple[ExportColumn, ...]:
    """Return a column for every field that is not itself a list of objects, in spec order."""
    fields = ((name, model.model_fields[name]) for name in fields_in_order(model))
    return tuple(
        _column(name, field.annotation, is_secret=not field.repr)
        for name, field in fields
        if record_model(field.annotation) is None
    )


def children_of(model: type[WireModel]) -> dict[str, type[WireModel]]:
    """Return the fields that are lists of objects, with the objects' models."""
    return {
        name: inner
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }


def _column(name: str, annotation: Any, *, is_secret: bool) -> ExportColumn:
    leaves = _leaves(annotation)
    kind = next((kind for python, kind in _KINDS if python in leaves), Kind.TEXT)
    if name == UPDATE_FIELD:
        kind = Kind.DATE  # Called a string in places, and the same moment everywhere.
    if kind is Kind.NUMBER and _is_money(name):
        kind = Kind.MONEY
    return ExportColumn(name, kind, is_list=list in leaves, is_secret=is_secret)


def _leaves(annotation: Any) -> set[Any]:
    """Return every type that an annotation mentions, the containers included."""
    found = {annotation, getattr(annotation, "__origin__", None)}
    return found.union(*(_leaves(part) for part in get_args(annotation) if _is_hashable(part)))


def _is_hashable(part: Any) -> bool:
    return type(part).__hash__ is not None


def _is_money(name: str) -> bool:
    """Tell an amount of money from a quantity, a weight or a rate by the words of its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    amount = "valor" in words or "base" in words or words[0] == "total"
    return amount and "percentual" not in words
