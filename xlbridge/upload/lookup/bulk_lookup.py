"""Lookup of the records of many rows, by key or in whole listings, of which no others are kept."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from math import inf
from types import MappingProxyType

from xlbridge.client import Client, Record
from xlbridge.client.listing_stream import FieldTest
from xlbridge.client.time_windows import complete_listings_for, listing_cap, numbered_records
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text, joined
from xlbridge.resources import Resource
from xlbridge.resources.remote import Lookup, operation_named
from xlbridge.upload.journal_database import batched
from xlbridge.upload.lookup.comparison import (
    Comparison,
    Key,
    NearRecord,
    RowMatcher,
    SoughtRecords,
    lookups_of_rows,
)
from xlbridge.upload.lookup.snapshot import (
    CODE_SEPARATOR,
    ColumnsRow,
    LookupResult,
    NearKey,
    RecordTable,
    RowSnapshot,
    RowValues,
    Snapshot,
    TypedRows,
    have_column,
    values_of,
)
from xlbridge.upload.options import CountCallback
from xlbridge.wire import Operation

MAX_REQUESTS = 500
"""Requests that one snapshot may take; if more are needed, it is not taken at all."""

_MAX_SINGLE_REQUESTS = 50
"""Requests for single keys beyond which whole listings are read."""

_PIECE = 1_000
"""Records whose keys are compared together."""

_NO_KEY = Text(
    pt="as linhas não têm chave para o sistema localizá-las",
    en="the rows have no key to be looked up by",
)
_TOO_MANY_REQUESTS = Text(
    pt="seriam necessárias {n} consultas, e o limite é {most}",
    en="it would take {n} requests, and the limit is {most}",
)
_BOTH_RECORDS = Text(
    pt="número: registro {number}; {key}: registro {other}",
    en="number: record {number}; {key}: record {other}",
)
_NOT_SHOWN = Text(
    pt="o sistema não mostra nos registros {n:o campo|os campos} da chave: {fields}",
    en="the system's records do not show {n:a field|fields} of the key: {fields}",
)
_NOT_UNDERSTOOD = Text(
    pt="{hidden}; não se entende {unknown}: se for um deles, ligue-o ao da interface em names, no "
    "arquivo de particularidades",
    en="{hidden}; {unknown} are not understood: if it is one of them, map it to the interface's "
    "name under names, in the quirks file",
)
_NOT_PROVEN = Text(
    pt="não há prova de que a listagem do sistema esteja completa",
    en="the system's listing is not proven complete",
)

_TOO_MANY_LISTS = Text(
    pt="ler as listas dos registros levaria mais de {most} consultas",
    en="reading the records' lists would take more than {most} requests",
)
_NEAR_RECORD = Text(pt="{key}: registro {code}", en="{key}: record {code}")
_MAX_NAMED, _MAX_UNKNOWN = 3, 10
"""Records with a near key, and fields that are not understood, that are named."""

_NOTHING: Mapping[str, object] = MappingProxyType({})

_Filters = tuple[tuple[str, str], ...]
"""Names and values of a query's fields."""


def read_snapshot(
    client: Client, resource: Resource, rows: TypedRows, most: float = inf
) -> Snapshot:
    """Return the remote records of each row, with as many requests as that takes, or at ``most``.

    Raises what ``Client.records`` raises.
    """
    return record_reader(client, resource, rows, most)().snapshot


def record_reader(
    client: Client,
    resource: Resource,
    rows: TypedRows,
    most: float = MAX_REQUESTS,
    matcher: RowMatcher | None = None,
    on_count: CountCallback = lambda _done, _total: None,
    left_out: Collection[int] = (),
) -> Callable[[], LookupResult]:
    """Return a function that reads the remote records of each row but those ``left_out``, by their
    positions; only that makes requests, at ``most`` as many. It raises what ``Client.records``
    raises.

    ``on_count`` receives the number of answers so far, and of all, 0 if that is unknown.
    """
    declared = resource.read_back
    if matcher is None and declared is not None:
        matcher = RowMatcher(resource, declared)
    lookups = lookups_of_rows(resource, rows)
    if left_out:
        lookups = [() if at in left_out else of_row for at, of_row in enumerate(lookups)]
    if matcher is None or not any(lookups):
        return lambda: LookupResult((None,) * len(rows), {}, _NO_KEY)
    return _RecordReader(client, matcher, rows, lookups, most, on_count, len(left_out)).read


class _RecordReader:
    """Reader of the records of rows."""

    def __init__(
        self,
        client: Client,
        matcher: RowMatcher,
        rows: TypedRows,
        lookups: Sequence[Sequence[Lookup]],
        most: float,
        on_count: CountCallback,
        left_out: int,
    ) -> None:
        self._on_count, self._left_out = on_count, left_out
        resource, declared = matcher.resource, matcher.declared
        self._client = client
        self._by_number = declared.by_number
        self._lists_left = most
        """Requests for lists that may still be made."""
        self._matcher = matcher
        self._rows = rows
        self._lookups = lookups
        self._most = most
        self._distinct_lookups = {id(row_lookups): row_lookups for row_lookups in lookups}.values()
        """Distinct sequences of lookups that rows have."""
        used = {id(lookup) for row_lookups in self._distinct_lookups for lookup in row_lookups}
        self._used_lookups = [one for one in declared.all_lookups if id(one) in used]
        """Lookups that serve any row, in their declared order."""
        self._seen_fields: defaultdict[str, set[str]] = defaultdict(set)
        """Fields of the records of each listing."""
        fields = [*declared.columns, *declared.codes, *declared.fields.values()]
        fields += [name for lookup in declared.lookups for name in lookup.key.values()]
        fields += () if resource.change is None else resource.change.until
        lists = [child.sheet for child in resource.children if any(have_column(rows, child.sheet))]
        self._records = RecordTable(dict.fromkeys(fields), lists)
        self._sought: dict[int, SoughtRecords] = {}
        for lookup in self._used_lookups:
            filters = {} if lookup is self._by_number else lookup.filters
            key = {**lookup.key, **{column: name for name, column in filters.items()}}
            serves = {id(lookups): lookup in lookups for lookups in self._distinct_lookups}
            served = [serves[id(row_lookups)] for row_lookups in lookups]
            self._sought[id(lookup)] = SoughtRecords(matcher, rows, lookup, key, served)
        self._needs_listings = any(
            row_lookups and not any(map(self._is_narrow, row_lookups))
            for row_lookups in self._distinct_lookups
        )
        # The requests that read each key by itself, where possible.
        needed = {(o.name, one) for lookup, one, _ in self._questions() for o in lookup.operations}
        self._needed = len(needed)

    def read(self) -> LookupResult:
        """Read the records by single keys or in whole listings, whichever takes fewer requests."""
        most, needed = self._most, self._needed
        if needed > _MAX_SINGLE_REQUESTS or self._needs_listings:
            affordable = most if self._needs_listings or needed > most else needed
            if self._read_listings(affordable):
                return self._result(_NOT_PROVEN)
        if needed > most:
            why = _TOO_MANY_REQUESTS.format(n=needed, most=most)
            return self._result(why, answered=True)
        self._read_one_by_one()
        return self._result(_NOT_PROVEN)

    def _questions(self) -> Iterator[tuple[Lookup, _Filters, RowValues]]:
        """Yield each distinct query that finds the records of single rows, with such a row."""
        for lookup in filter(self._is_narrow, self._used_lookups):
            served = {
                id(row_lookups)
                for row_lookups in self._distinct_lookups
                if lookup in row_lookups
                # Another lookup reads all records, of which this one reads one.
                and (
                    lookup.counted is not None
                    or not any(
                        other.counted and other.operation_names == lookup.operation_names
                        for other in row_lookups
                    )
                )
            }
            columns = [values_of(self._rows, column) for column in lookup.filters.values()]
            first: dict[tuple[object, ...], int] = {}
            for at, (row_lookups, *values) in enumerate(zip(self._lookups, *columns, strict=True)):
                if id(row_lookups) in served:
                    first.setdefault(tuple(values), at)
            rows = [self._rows[at] for at in first.values()]
            named = lookup.filters.items()
            queries = {tuple((name, str(row[c])) for name, c in named): row for row in rows}
            yield from ((lookup, filters, row) for filters, row in queries.items())

    def _read_listings(self, most: float) -> bool:
        """Read the listings that contain the records, with at most ``most`` answers.

        Return whether they prove the absence of records for every row.
        """
        left = most
        # Each listing once, with the searches that it serves.
        listings: dict[str, tuple[Operation, list[SoughtRecords]]] = {}
        for search in self._sought.values():
            of_search = map(complete_listings_for, search.lookup.operations)
            for operation in {o.name: o for o in chain.from_iterable(of_search)}.values():
                listings.setdefault(operation.name, (operation, []))[1].append(search)
        listed = {id(search) for _, sought in listings.values() for search in sought}
        answered = 0
        for operation, sought in listings.values():
            for records, whole in self._answers(operation, sought):
                answered += 1
                self._on_count(answered, 0)
                if not whole or not left:
                    self._clear()
                    return False
                left -= 1
                self._store_matches(records, operation, sought)
        for search in self._sought.values():
            if id(search) in listed:
                self._judge(search, search.fields.values())
        decided = all(
            not row_lookups or self._proving(row_lookups) is not None
            for row_lookups in self._distinct_lookups
        )
        if not decided:
            self._clear()
        return decided

    def _read_one_by_one(self) -> None:
        """Query the records of each row, each query once, and match its number among them."""
        answers: dict[tuple[str, _Filters], bool] = {}
        number = self._sought.get(id(self._by_number))
        for lookup, filters, row in self._questions():
            for operation in lookup.operations:
                question = (operation.name, filters)
                if question not in answers:
                    answers[question] = self._read_question(operation, lookup, row, number)
                    self._on_count(len(answers), self._needed)
        answered = {name for (name, _), is_answered in answers.items() if is_answered}
        for search in self._sought.values():
            shown = set(search.fields.values()) - search.lookup.filters.keys()
            if self._is_narrow(search.lookup) and not answered.isdisjoint(
                search.lookup.operation_names
            ):
                self._judge(search, shown)
        in_listings = number is not None and not self._is_narrow(number.lookup)
        if number is not None and in_listings and not number.all_found():
            # In whole listings, as the answers do not have all numbers.
            number.clear()
            is_whole = True
            for operation in number.lookup.operations:
                for records, whole in self._answers(operation, [number]):
                    is_whole &= whole
                    self._store_matches(records, operation, [number])
            self._judge(number, number.fields.values())
            number.proven &= is_whole

    def _result(self, why: Text, *, answered: bool = False) -> LookupResult:
        """Return the records found for each row; ``why`` is the reason for rows not looked up.

        A row whose lookups are all assumed counts as having no key if the system does not answer
        them, unless ``answered``: the system was not asked.
        """
        distinct = self._distinct_lookups
        proven = {id(row_lookups): self._proving(row_lookups) for row_lookups in distinct}
        # Comparable values of the key columns of each lookup, for all rows.
        named: dict[int, Mapping[str, Sequence[str]]] = {
            id(lookup): {
                name: [text or "" for text in self._matcher.column(name, self._rows)]
                for name in lookup.key
            }
            for lookup in self._used_lookups
        }
        proven_lookups: list[Lookup | None] = [
            proven[id(row_lookups)] for row_lookups in self._lookups
        ]
        found, disputed, near = self._match(proven_lookups)
        for at in near:
            proven_lookups[at] = None
        for at, lookup in enumerate(proven_lookups):
            if lookup is self._by_number is not None and not self._read_lists(at, found[at]):
                proven_lookups[at], found[at] = None, ()
                why, answered = _TOO_MANY_LISTS.format(most=self._most), True
        keys = [None if lookup is None else named[id(lookup)] for lookup in proven_lookups]
        hidden = {id(row_lookups): self._hidden(row_lookups) for row_lookups in distinct}
        self._sought.clear()
        shown = set().union(*self._seen_fields.values())
        snapshot = compare_rows(self._matcher, self._rows, keys, found, self._records, shown)
        reasons = {
            at: hidden[id(row_lookups)] or why
            for at, (key, row_lookups) in enumerate(zip(keys, self._lookups, strict=True))
            if key is None
            and row_lookups
            and at not in near
            and (
                answered
                or hidden[id(row_lookups)]
                or not all(lookup.assumed for lookup in row_lookups)
            )
        }
        none = _NO_KEY if keys.count(None) > len(near) + self._left_out else None
        reason = next(iter(reasons.values()), none)
        return LookupResult(snapshot, reasons, reason, disputed, near)

    def _read_lists(self, row_at: int, found: Iterable[int]) -> bool:
        """Add to the records found for a row the lists that it has and that are not part of them;
        False if that takes too many requests."""
        row, lists = self._rows[row_at], self._records.lists
        for name, declared in self._matcher.declared.lists.items():
            for at in [at for at in found if row.get(name) and lists[name][at] is None]:
                if not self._lists_left:
                    return False
                self._lists_left -= 1
                operation = operation_named(declared.operation_name)
                record = self._records[at]
                path = {parameter: record[parameter] for parameter in operation.path_parameters}
                lists[name][at] = declared.rows(self._client.records(operation, path=path))
        return True

    def _match(
        self, proven_lookups: list[Lookup | None]
    ) -> tuple[list[Sequence[int]], Mapping[int, Text], Mapping[int, NearKey]]:
        """Return the records of the first lookup of each row that finds any, and store it.

        Also return both records of the rows whose number finds another one than their key, and the
        records with near keys of those that find none.
        """
        found: list[Sequence[int]] = [()] * len(self._lookups)
        by_number: dict[int, str] = {}
        disputed: dict[int, Text] = {}
        all_near: defaultdict[int, list[NearRecord]] = defaultdict(list)
        for lookup in self._used_lookups:
            matched: defaultdict[int, list[int]] = defaultdict(list)
            by_key: defaultdict[int, list[str]] = defaultdict(list)
            pairs, near = self._sought[id(lookup)].pairs()
            for at, one in near:
                all_near[at].append(one)
            for at, record in pairs:
                if not found[at]:
                    matched[at].append(record)
                elif at in by_number:
                    by_key[at].append(self._code(record))
            for at, codes in by_key.items():
                number = by_number.pop(at)
                if number not in codes:
                    key = ", ".join(f"{name} {self._rows[at].get(name)}" for name in lookup.key)
                    other = ", ".join(dict.fromkeys(codes))
                    disputed[at] = _BOTH_RECORDS.format(number=number, key=key, other=other)
            for at, records in matched.items():
                proven_lookups[at], found[at] = lookup, records
            if lookup is self._by_number:
                by_number = {at: self._code(records[0]) for at, records in matched.items()}
        nearest: dict[int, NearKey] = {}
        for at, others in all_near.items():
            if found[at]:
                continue
            named = [
                _NEAR_RECORD.format(
                    key=", ".join(f"{name} {value}" for name, value in one.differing.items()),
                    code=self._code(one.record),
                )
                for one in others[:_MAX_NAMED]
            ]
            first = others[0]
            column = next(iter(first.differing))
            nearest[at] = NearKey(column, self._code(first.record), joined(named))
        return found, disputed, nearest

    def _code(self, record: int) -> str:
        values = self._records[record]
        return CODE_SEPARATOR.join(str(values[name]) for name in self._matcher.declared.codes)

    def _answers(
        self, operation: Operation, sought: Iterable[SoughtRecords]
    ) -> Iterator[tuple[Iterable[Record], bool]]:
        """Yield the answers of a listing, none if the system does not find it."""
        cap = listing_cap(operation)
        # Records with a sought key pass these tests.
        wanted = [(search.best_field, search.are_wanted) for search in sought]
        try:
            yield from self._client.all_records(operation, cap, wanted)
        except RemoteRejected as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    def _read_question(
        self, operation: Operation, lookup: Lookup, row: RowValues, number: SoughtRecords | None
    ) -> bool:
        """Query the records of a row; return whether the system answers such a query.

        The answer serves every lookup with the same filters.
        """
        filters = {name: row[column] for name, column in lookup.filters.items()}
        sought = [
            search
            for search in self._sought.values()
            if search is not number
            and search.lookup.filters == lookup.filters
            and operation.name in search.lookup.operation_names
        ]
        try:
            tested = sought if number is None else [*sought, number]
            tests = [(search.best_field, search.are_wanted) for search in tested]
            for records in self._query(operation, lookup.counted, filters, tests):
                # Records may leave out the fields they were filtered by.
                self._store_matches(records, operation, sought, filters, number)
        except RemoteRejected as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return True
            if lookup.assumed:
                return False
            raise
        return True

    def _query(
        self,
        operation: Operation,
        counted: str | None,
        filters: Mapping[str, object],
        tests: Sequence[FieldTest],
    ) -> Iterator[Iterable[Record]]:
        """Yield the answers to a query: one, or one for each value of the ``counted`` parameter."""
        path = {name: filters[name] for name in operation.path_parameters if name != counted}
        if counted is None:
            query = operation.query(**filters) if operation.query and filters else None
            yield self._client.records(operation, query=query, path=path, wanted=tests)
            return

        def read(number: int) -> list[Record]:
            try:
                return list(self._client.records(operation, path={**path, counted: number}))
            except RemoteRejected as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                return []

        yield from numbered_records(read)

    def _store_matches(
        self,
        records: Iterable[Record],
        operation: Operation,
        sought: Iterable[SoughtRecords],
        filters: Mapping[str, object] = _NOTHING,
        number: SoughtRecords | None = None,
    ) -> None:
        """Store the records whose keys are sought; ``filters`` are fields they may leave out.

        The ``number`` is only matched with the fields that records show.
        """
        searches = [(search, filters) for search in sought]
        if number is not None:
            searches.append((number, _NOTHING))
        seen_fields = self._seen_fields[operation.name]
        for batch in batched(records, _PIECE):
            for record in batch:
                if not record.keys() <= seen_fields:
                    seen_fields.update(record)
            stored: dict[int, int] = {}
            first = len(self._records.listings)
            for search, known in searches:
                for at, key, form in search.candidates(batch, known):
                    position = stored.setdefault(at, first + len(stored))
                    search.found.append((key, form, position))
            self._records.add([batch[at] for at in stored], operation.name)

    def _judge(self, search: SoughtRecords, fields: Iterable[str]) -> None:
        """Decide whether an answered search proves that the records it did not find are absent.

        They are, if each of its listings is empty or shows the ``fields`` of the key.
        """
        listings = {
            one.name
            for operation in search.lookup.operations
            for one in (operation, *complete_listings_for(operation))
        }
        seen = [shown for name, shown in self._seen_fields.items() if shown and name in listings]
        search.hidden = [name for name in fields if not all(name in shown for shown in seen)]
        search.proven = not search.hidden

    def _hidden(self, row_lookups: Sequence[Lookup]) -> Text | None:
        """Return that answers lack fields of the keys of rows, None if they have them all.

        Fields that are not understood may be the ones they seem to lack.
        """
        hidden = dict.fromkeys(n for one in row_lookups for n in self._sought[id(one)].hidden)
        if not hidden:
            return None
        text = _NOT_SHOWN.format(n=len(hidden), fields=", ".join(hidden))
        answered = (self._client.unknown_fields.get(name, ()) for name in self._seen_fields)
        unknown = list(dict.fromkeys(chain.from_iterable(answered)))
        if not unknown:
            return text
        named = ", ".join(unknown[:_MAX_UNKNOWN])
        return _NOT_UNDERSTOOD.format(hidden=text, unknown=named)

    def _proving(self, row_lookups: Sequence[Lookup]) -> Lookup | None:
        """Return the first lookup that proves the absence of rows' records, None if any other one
        could find them but the answers lack its key."""
        if any(self._sought[id(one)].hidden and not one.may_be_hidden for one in row_lookups):
            return None
        return next((lookup for lookup in row_lookups if self._sought[id(lookup)].proven), None)

    def _is_narrow(self, lookup: Lookup) -> bool:
        """Return whether one request finds all records of a row: it has filters, or no cap."""
        if lookup is self._by_number:
            return bool(lookup.filters)
        return bool(lookup.filters) or all(listing_cap(o) is None for o in lookup.operations)

    def _clear(self) -> None:
        for search in self._sought.values():
            search.clear()
            search.proven = False


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
    comparison = Comparison(matcher, rows, records, pairs)
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
