"""Lookup of the remote records of many rows: each key by itself, or in whole listings.

Of what a listing holds, only the records of the rows' own keys stay in memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import compress, count
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.client.listings import FieldTest, complete_listings_for, listing_cap
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.remote import Lookup
from xlbridge.upload.lookup.comparison import ComparedRows
from xlbridge.upload.lookup.row_lookup import (
    HashSet,
    Key,
    RowMatcher,
    SeparateLists,
    SoughtRecords,
)
from xlbridge.upload.lookup.row_table import (
    PiecewiseColumn,
    RecordTable,
    RowValues,
    TypedRows,
    batched,
    values_of,
)
from xlbridge.upload.lookup.snapshot import LookupResult, Snapshot
from xlbridge.wire import Operation

MAX_REQUESTS = 500
"""Requests that one snapshot may take; where more are needed, none is taken."""

_MAX_SINGLE_REQUESTS = 50
"""Requests that are made one by one before whole listings are read."""

_PIECE = 1_000
"""Records whose keys are compared at once."""

_NO_KEY = Text(
    pt="as linhas não têm chave para o sistema localizá-las",
    en="the rows have no key by which the system finds them",
)
_TOO_MANY_REQUESTS = Text(
    pt="seriam necessárias {n} consultas, e o limite é {most}",
    en="it would take {n} requests, and the limit is {most}",
)
_NOT_SHOWN = Text(
    pt="o sistema não mostra os campos da chave nos registros",
    en="the system does not show the fields of the key in its records",
)
_NOT_PROVEN = Text(
    pt="a listagem do sistema não prova o que falta nela",
    en="the system's listing does not prove what it lacks",
)

_NOTHING: Mapping[str, object] = MappingProxyType({})

_Filters = tuple[tuple[str, str], ...]
"""Fields of a query and their values."""


def look_up_rows(
    client: Client,
    resource: Resource,
    rows: Sequence[RowValues],
    most: int | None = MAX_REQUESTS,
) -> tuple[Snapshot, Text | None]:
    """Return the remote records of each row, and the reason why some were not read.

    It takes ``most`` requests at most, if that is given. Raises what ``Client.records`` raises.
    """
    reading = read_records(client, resource, rows, most)
    return reading.snapshot, reading.reason


def read_records(
    client: Client,
    resource: Resource,
    rows: TypedRows,
    most: int | None = MAX_REQUESTS,
    matcher: RowMatcher | None = None,
) -> LookupResult:
    """Return the remote records of each row, as ``look_up_rows`` does, with a reason for each.

    A ``matcher`` that has compared the rows before is given on.
    """
    declared = resource.read_back
    if matcher is None and declared is not None:
        matcher = RowMatcher(resource, declared)
    lookups = () if matcher is None else matcher.lookups(rows)
    if matcher is None or not any(lookups):
        return LookupResult((None,) * len(rows), {}, _NO_KEY)
    reader = _RecordReader(client, matcher, rows, lookups, most)
    needed = reader.requests_needed()
    if needed > _MAX_SINGLE_REQUESTS or reader.needs_listings:
        affordable = most if reader.needs_listings or _exceeds(needed, most) else needed
        if reader.read_listings(affordable):
            return reader.reading(_NOT_SHOWN)
    if _exceeds(needed, most):
        why = _TOO_MANY_REQUESTS.format(n=needed, most=most)
        return reader.reading(why, answered=True)
    reader.read_one_by_one()
    return reader.reading(_NOT_PROVEN if reader.needs_listings else _NOT_SHOWN)


def _exceeds(needed: int, most: int | None) -> bool:
    return most is not None and needed > most


class _RecordReader:
    """Reader of the records of rows, which are kept by the rows' keys.

    ``needs_listings`` says that some rows can be found in whole listings only.
    """

    def __init__(
        self,
        client: Client,
        matcher: RowMatcher,
        rows: TypedRows,
        lookups: Sequence[Sequence[Lookup]],
        most: int | None,
    ) -> None:
        resource, declared = matcher.resource, matcher.declared
        self._client = client
        self._by_number = declared.by_number
        self._lists = SeparateLists(
            lambda operation, path: client.records(operation, path=path), declared, most
        )
        number = () if declared.by_number is None else (declared.by_number,)
        self._declared = (*number, *declared.lookups)
        self._matcher = matcher
        self._rows = rows
        self._lookups = lookups
        self._carried: set[str] = set()
        of_keys = [name for lookup in declared.lookups for name in lookup.key.values()]
        of_keys += declared.fields.values()
        of_keys += () if resource.change is None else resource.change.until
        lists = [one.sheet for one in resource.children if any(values_of(rows, one.sheet))]
        kept = dict.fromkeys((*declared.columns, *declared.codes, *of_keys))
        self._records = RecordTable(kept, lists)
        self._sought: dict[int, SoughtRecords] = {}
        for way in self._ways():
            asked = {} if way is self._by_number else way.filters
            fields = {**way.key, **{column: name for name, column in asked.items()}}
            columns = [self._matcher.column(column, rows) for column in fields]
            cases = {id(ways): way in ways for ways in self._cases()}
            served = [cases[id(ways)] for ways in lookups]
            self._sought[id(way)] = SoughtRecords(way, fields, columns, served)
        self.needs_listings = any(
            ways and not any(map(self._is_narrow, ways)) for ways in self._cases()
        )

    def requests_needed(self) -> int:
        """Return how many requests read each key by itself, as far as that can be."""
        return len({(o.name, one) for way, one, _ in self._questions() for o in way.operations})

    def _questions(self) -> Iterator[tuple[Lookup, _Filters, RowValues]]:
        """Yield each question that finds records of a row by itself, once, with such a row."""
        for way in filter(self._is_narrow, self._ways()):
            served = {id(ways) for ways in self._cases() if way in ways and not _covers(ways, way)}
            asked_by = [values_of(self._rows, column) for column in way.filters.values()]
            once: dict[tuple[object, ...], int] = {}
            for at, (ways, *values) in enumerate(zip(self._lookups, *asked_by, strict=True)):
                if id(ways) in served:
                    once.setdefault(tuple(values), at)
            rows = [self._rows[at] for at in once.values()]
            for filters, row in {_filters(way, row): row for row in rows}.items():
                yield way, filters, row

    def _cases(self) -> Collection[Sequence[Lookup]]:
        """Return the lookups of rows, once those that are the same."""
        return {id(ways): ways for ways in self._lookups}.values()

    def _ways(self) -> Collection[Lookup]:
        """Return the lookups that serve any row, in the order in which each row has them."""
        serving = {id(way) for ways in self._cases() for way in ways}
        return [way for way in self._declared if id(way) in serving]

    def read_listings(self, most: int | None) -> bool:
        """Read the listings that hold the records, ``most`` answers at most.

        Return whether they prove what is not there, for every row.
        """
        left = most
        listings = list(_listings_to_read(self._sought.values()))
        listed = {id(one) for _, sought in listings for one in sought}
        for operation, sought in listings:
            for records, whole in self._answers(operation, sought):
                if not whole or left == 0:
                    self._forget()
                    return False
                left = None if left is None else left - 1
                self._sort_in(records, operation, sought)
        for one in self._sought.values():
            one.proven = id(one) in listed and self._shows(one.fields.values())
        decided = all(
            not ways or any(self._sought[id(way)].proven for way in ways) for ways in self._lookups
        )
        if not decided:
            self._forget()
        return decided

    def read_one_by_one(self) -> None:
        """Ask for the records of each row, each question once; its number is looked for in them."""
        asked: dict[tuple[str, _Filters], bool] = {}
        number = self._sought.get(id(self._by_number))
        for way, filters, row in self._questions():
            for operation in way.operations:
                question = (operation.name, filters)
                if question not in asked:
                    asked[question] = self._ask(operation, way, row, number)
        answered = {name for (name, _), answer in asked.items() if answer}
        for one in self._sought.values():
            shown = set(one.fields.values()) - one.lookup.filters.keys()
            if self._is_narrow(one.lookup):
                one.proven = self._shows(shown) and not answered.isdisjoint(
                    one.lookup.operation_names
                )
        in_listings = number is not None and not self._is_narrow(number.lookup)
        if number is not None and in_listings and not number.all_found():
            self._read_numbers(number)

    def reading(self, why: Text, *, answered: bool = False) -> LookupResult:
        """Return what was found of each row; ``why`` is the reason for those not looked up.

        A row whose lookups are all assumed has no key where the system does not answer them;
        ``answered`` says that it was not asked.
        """
        proven = {
            id(ways): next((way for way in ways if self._sought[id(way)].proven), None)
            for ways in self._cases()
        }
        named = {id(way): self._named_columns(way) for way in self._ways()}
        ways_of_rows: list[Lookup | None] = [proven[id(ways)] for ways in self._lookups]
        found = self._match(ways_of_rows)
        for at, way in enumerate(ways_of_rows):
            if way is self._by_number is not None and not self._lists.read(
                self._rows[at], self._records, found[at]
            ):
                ways_of_rows[at], found[at] = None, ()
                why, answered = self._lists.too_many, True
        keys = [None if way is None else named[id(way)] for way in ways_of_rows]
        self._sought.clear()
        snapshot = ComparedRows(
            self._matcher, self._rows, keys, found, self._records, self._carried
        )
        reasons = {
            position: why
            for position, (key, ways) in enumerate(zip(keys, self._lookups, strict=True))
            if key is None and ways and (answered or not all(way.assumed for way in ways))
        }
        none = _NO_KEY if None in keys else None
        return LookupResult(snapshot, reasons, next(iter(reasons.values()), none))

    def _match(self, ways_of_rows: list[Lookup | None]) -> list[Sequence[int]]:
        """Return the records of the first of each row's lookups that finds any, and note that."""
        found: list[Sequence[int]] = [()] * len(self._lookups)
        for way in self._ways():
            matched: dict[int, Sequence[int]] = {}
            for at, record in self._sought[id(way)].pairs():
                if not found[at]:
                    matched[at] = (*matched.get(at, ()), record)
            for at, records in matched.items():
                ways_of_rows[at], found[at] = way, records
        return found

    def _named_columns(self, way: Lookup) -> Mapping[str, Sequence[str]]:
        """Return the comparable values of a lookup's key, of all rows, by their columns."""

        def filled(texts: Sequence[str | None]) -> Sequence[str]:
            return PiecewiseColumn(len(texts), lambda piece: [one or "" for one in texts[piece]])

        return {name: filled(self._matcher.column(name, self._rows)) for name in way.key}

    def _read_numbers(self, number: SoughtRecords) -> None:
        """Look in whole listings for the numbers that the answers do not have."""
        number.proven = True
        number.forget()
        for operation in number.lookup.operations:
            for records, whole in self._answers(operation, [number]):
                number.proven &= whole
                self._sort_in(records, operation, [number])

    def _answers(
        self, operation: Operation, sought: Iterable[SoughtRecords]
    ) -> Iterator[tuple[Iterable[Record], bool]]:
        """Yield the answers to a listing; one that the system does not find is empty."""
        cap, wanted = listing_cap(operation), self._wanted(sought)
        try:
            yield from self._client.all_records(operation, cap, wanted)
        except RemoteRejected as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def _ask(
        self, operation: Operation, way: Lookup, row: RowValues, number: SoughtRecords | None
    ) -> bool:
        """Ask for the records of a row; return whether the system answers such a question.

        The answer serves every lookup that asks the same.
        """
        filters = {name: row[column] for name, column in way.filters.items()}
        sought = [
            one
            for one in self._sought.values()
            if one is not number
            and one.lookup.filters == way.filters
            and operation.name in one.lookup.operation_names
        ]
        try:
            # What a record does not show is what it was asked for by.
            wanted = self._wanted(sought if number is None else [*sought, number])
            for records in self._asked_for(operation, way.counted, filters, wanted):
                self._sort_in(records, operation, sought, filters, number)
        except RemoteRejected as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return True
            if way.assumed:
                return False
            raise
        return True

    def _asked_for(
        self,
        operation: Operation,
        counted: str | None,
        filters: Mapping[str, object],
        wanted: Sequence[FieldTest],
    ) -> Iterator[Iterable[Record]]:
        """Yield the answers to a question: one, or as many as the ``counted`` parameter finds."""
        path = {name: filters[name] for name in operation.path_parameters if name != counted}
        if counted is None:
            query = operation.query(**filters) if operation.query and filters else None
            yield self._client.records(operation, query=query, path=path, wanted=wanted)
            return
        for number in count(1):
            found = list(self._client.records(operation, path={**path, counted: number}))
            if not found:
                return
            yield found

    def _wanted(self, sought: Iterable[SoughtRecords]) -> Sequence[FieldTest]:
        """Return the tests of records that may be of a sought key."""
        texts = self._matcher.texts

        def test(column: str, sought: HashSet) -> Callable[[Sequence[Any]], Sequence[bool]]:
            return lambda values: sought.which(texts(column, values))

        return [
            (name, test(column, values)) for column, name, values in (one.telling for one in sought)
        ]

    def _sort_in(
        self,
        records: Iterable[Record],
        operation: Operation,
        sought: Iterable[SoughtRecords],
        asked: Mapping[str, object] = _NOTHING,
        number: SoughtRecords | None = None,
    ) -> None:
        """Store the records whose keys are sought; ``asked`` are fields that they may leave out.

        A ``number`` is sought besides, in what the records themselves show.
        """
        ways = [(one, asked) for one in sought]
        if number is not None:
            ways.append((number, _NOTHING))
        carried = self._carried
        for piece in batched(records, _PIECE):
            for record in piece:
                if not record.keys() <= carried:
                    carried.update(record)
            kept: dict[int, int] = {}
            for one, known in ways:
                for at, key in self._with_sought_keys(piece, one, known):
                    if at not in kept:
                        kept[at] = self._records.add(piece[at], operation.name)
                    one.add(key, kept[at])

    def _with_sought_keys(
        self, records: Sequence[Record], sought: SoughtRecords, known: Mapping[str, object]
    ) -> Iterator[tuple[int, Key]]:
        """Yield the positions of records whose keys may be sought, with the keys.

        ``known`` are the values of fields that records leave out.
        """
        only = sought.lookup.only
        places = [
            at
            for at, record in enumerate(records)
            if not only or all(record.get(name) == value for name, value in only.items())
        ]
        columns = [
            self._matcher.texts(column, [records[at].get(name, known.get(name)) for at in places])
            for column, name in sought.fields.items()
        ]
        keys = list(zip(*columns, strict=True))
        return compress(zip(places, keys, strict=True), sought.keys.which(keys))

    def _shows(self, fields: Iterable[str]) -> bool:
        """Tell whether the records have the fields; where there is no record, nothing is there."""
        return not self._carried or self._carried.issuperset(fields)

    def _is_narrow(self, way: Lookup) -> bool:
        """Tell whether a request finds all records of a row: filters narrow it, or no cap does."""
        if way is self._by_number:
            return bool(way.filters)
        return bool(way.filters) or all(listing_cap(o) is None for o in way.operations)

    def _forget(self) -> None:
        for one in self._sought.values():
            one.forget()


def _filters(way: Lookup, row: RowValues) -> _Filters:
    return tuple((name, str(row[column])) for name, column in way.filters.items())


def _covers(ways: Iterable[Lookup], way: Lookup) -> bool:
    """Tell whether one of the lookups reads all records, from 1 on, that another reads one of."""
    return way.counted is None and any(
        one.counted and one.operation_names == way.operation_names for one in ways
    )


def _listings_to_read(
    sought: Iterable[SoughtRecords],
) -> Iterator[tuple[Operation, Sequence[SoughtRecords]]]:
    """Yield each listing once, with the lookups that it serves."""
    serves: dict[str, tuple[Operation, list[SoughtRecords]]] = {}
    for one in sought:
        listed = [listing for op in one.lookup.operations for listing in complete_listings_for(op)]
        for operation in {o.name: o for o in listed}.values():
            serves.setdefault(operation.name, (operation, []))[1].append(one)
    yield from serves.values()
