"""Read-back of the sent rows of a resource: the records that the system has for each.

Other records with the key of an accepted row are detected too: a late workbook, another program
or a person may have created them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf
from types import MappingProxyType
from typing import Any

from xlbridge.batch.proof_model import FileProof, ReadBackStatus
from xlbridge.client import Client
from xlbridge.errors import LocalFailure, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Kind, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.titles import row_text
from xlbridge.upload import UploadContext, sent_rows
from xlbridge.upload.lookup import (
    CODE_SEPARATOR,
    FoundRecord,
    RecordMatching,
    RowMatcher,
    RowSnapshot,
    comparable_value,
    record_reader,
)
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowChange
from xlbridge.validation.cross_sheet import unique_keys


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """The record of a row, None if it has none, and its duplicates in ``extra_records``.

    ``same_key`` are surplus records of the row's key, from any source. ``replaced`` is true if a
    later row with the same key has overwritten the record.
    """

    record: FoundRecord | None = None
    extra_records: tuple[FoundRecord, ...] = ()
    same_key: tuple[FoundRecord, ...] = ()
    replaced: bool = False

    @property
    def own_records(self) -> tuple[FoundRecord, ...]:
        """The records that belong to this row only."""
        return (*(() if self.record is None else (self.record,)), *self.extra_records)

    @property
    def all_records(self) -> tuple[FoundRecord, ...]:
        """The records of the row's key."""
        return (*self.own_records, *self.same_key)

    @property
    def status(self) -> ReadBackStatus:
        """The read-back status of the row."""
        if self.replaced:
            return ReadBackStatus.UNREAD
        if self.record is None:
            return ReadBackStatus.MISSING
        if self.extra_records or self.same_key:
            return ReadBackStatus.DOUBLED
        is_same = self.record.same and not self.record.items
        return ReadBackStatus.SAME if is_same else ReadBackStatus.DIFFERS


def match_rows(
    rows: Sequence[RowSnapshot],
    before: Mapping[str, Collection[str]],
    existing: ExistingPolicy,
    ranks: Mapping[int, int] = MappingProxyType({}),
) -> list[RecordMatch]:
    """Assign each row its record; ``rows`` are in the order in which they were written.

    No record is assigned twice: each row first gets an equal record, then the one with the fewest
    differences. Rows that may not have been written come last, by their ``ranks``, and only get
    equal records. ``before`` are the codes of the records that each ``key_text`` had before
    anything was sent; under ``ExistingPolicy.ADDED`` these are not assigned. Remaining records
    duplicate a row: if they are equal, and under ``ExistingPolicy.REFUSED`` in any case.
    """
    groups: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(key_text(row.key), []).append(position)
    if existing is ExistingPolicy.REPLACED:
        return _match_replaced(rows, groups, ranks)
    matchings = []
    for key, positions in groups.items():
        old = before.get(key, ()) if existing is ExistingPolicy.ADDED else ()
        matchings.append(_match_group(rows, positions, old, ranks))
    assigned = {code for matching in matchings for code in matching.matched.values()}
    matches: dict[int, RecordMatch] = {}
    for matching, positions in zip(matchings, groups.values(), strict=True):
        matches |= _with_duplicates(matching, positions, assigned, existing)
    return [matches[position] for position in range(len(rows))]


def key_text(key: Mapping[str, str]) -> str:
    """Return a row's key as one text."""
    return "\n".join(f"{name}={value}" for name, value in sorted(key.items()))


def different_cells(row: RowSnapshot, record: FoundRecord) -> Iterator[str]:
    """Yield the compared columns in which a record differs; empty cells are not compared."""
    for name, value in row.sent.items():
        if value is not None and record.values.get(name) != value:
            yield name


def _match_group(
    rows: Sequence[RowSnapshot],
    positions: Sequence[int],
    old: Collection[str],
    ranks: Mapping[int, int],
) -> RecordMatching:
    """Match the rows of one key; ``old`` are the codes of records that are not assigned."""

    def fullest_first(position: int) -> tuple[int, int]:
        filled = sum(value is not None for value in rows[position].sent.values())
        return ranks.get(position, 0), -filled

    def extra_values(row: RowSnapshot, record: FoundRecord) -> int:
        """Count the values in columns that the row leaves empty, and different items."""
        extra = sum(row.sent[n] is None and value is not None for n, value in record.values.items())
        return extra + len(record.items)

    matching = RecordMatching({at: rows[at].found for at in positions}, old)
    matching.match(
        lambda at, record: extra_values(rows[at], record) if record.same else None,
        sorted(positions, key=fullest_first),
    )
    matching.match(
        lambda at, record: len([*different_cells(rows[at], record)]),
        [at for at in positions if at not in ranks],
    )
    return matching


def _with_duplicates(
    matching: RecordMatching,
    positions: Sequence[int],
    assigned: Collection[str | int],
    existing: ExistingPolicy,
) -> dict[int, RecordMatch]:
    duplicates: dict[int, list[FoundRecord]] = {position: [] for position in positions}
    with_record = [position for position in positions if position in matching.matched]
    for code in matching.free:
        if isinstance(code, str) and code in assigned:
            continue
        for position in with_record:
            record = matching.found(position, code)
            if record and (record.same or existing is ExistingPolicy.REFUSED):
                duplicates[position].append(record)
                break
    return {at: RecordMatch(matching.record(at), tuple(duplicates[at])) for at in positions}


def _match_replaced(
    rows: Sequence[RowSnapshot], groups: Mapping[str, Sequence[int]], ranks: Mapping[int, int]
) -> list[RecordMatch]:
    """Match rows that replace each other: only the last one of a key has a record."""
    matches = [RecordMatch(replaced=True)] * len(rows)
    for positions in groups.values():
        remaining = list(positions)
        while remaining and remaining[-1] in ranks and not rows[remaining[-1]].same:
            matches[remaining.pop()] = RecordMatch()
        if remaining:
            found = rows[remaining[-1]].found
            record = next((r for r in found if r.same), found[0] if found else None)
            others = tuple(other for other in found if other is not record)
            matches[remaining[-1]] = RecordMatch(record, others)
    return matches


ShowText = Callable[[Text], None]
RowValues = Mapping[str, Any]

_NO_QUERY = Text(
    pt="o sistema não tem consulta que encontre esses registros",
    en="the system has no query that finds these records",
)
_REPLACED = Text(
    pt="uma linha posterior deste lote substituiu o registro",
    en="a later row of this batch replaced the record",
)
_REFUSED = Text(
    pt="o sistema não permitiu a leitura: {reason}",
    en="the system did not allow reading them: {reason}",
)
_READING = Text(
    pt="Lendo no sistema: {resource}, linhas: {rows}", en="Reading back {resource}, rows: {rows}"
)


@dataclass(frozen=True, slots=True)
class ReadBackRow:
    """A row that was accepted, rejected or is in doubt, and the records that the system has for it.

    ``labels`` and ``amount`` are its values for the resource's control totals, ``keys`` those of
    the resource's ``unique_keys``, in order. ``reason`` is why the row cannot be read back;
    ``match`` is then None. With ``payload_missing`` the sent values are lost. ``other_readings``
    are the records under further keys of the row.
    """

    file: FileProof
    sent: RowChange
    labels: tuple[str | None, ...]
    amount: Decimal = Decimal(0)
    keys: tuple[tuple[str | None, ...], ...] = ()
    reading: RowSnapshot | None = None
    other_readings: tuple[RowSnapshot, ...] = ()
    match: RecordMatch | None = None
    reason: Text | None = None
    payload_missing: bool = False

    @property
    def accepted(self) -> bool:
        """True if the row was accepted, or was in the system already."""
        return self.sent.in_system

    @property
    def refused(self) -> bool:
        """True if the row was not written, according to the system's answer or the plan."""
        return self.sent.is_refused

    @property
    def status(self) -> ReadBackStatus:
        """The read-back status of the row."""
        return ReadBackStatus.UNREAD if self.match is None else self.match.status


def read_back(
    context: UploadContext,
    client: Client,
    resource: Resource,
    rows: Sequence[tuple[FileProof, RowChange]],
    show: ShowText,
) -> list[ReadBackRow]:
    """Return the rows of a resource with their records, in the order in which they were sent.

    Rows that cannot be read back have a ``reason``. Accepted rows also have the other records of
    their keys. Raises ``TransportError`` and ``AuthenticationFailed`` if the system cannot be
    queried.
    """
    show(_READING.format(resource=resource.title, rows=len(rows)))
    by_job: dict[tuple[str, bool], list[tuple[FileProof, RowChange]]] = {}
    in_order = sorted(rows, key=lambda r: (r[1].job.order, r[1].position))
    for file, sent in in_order:
        by_job.setdefault((sent.job.id, sent.planned is None), []).append((file, sent))
    pending = [pair for pairs in by_job.values() for pair in _rows_of_job(context, resource, pairs)]
    read = _with_readings(client, resource, pending)
    # The codes of each key's records before anything of the batch was sent, but for those of the
    # records that its rows have changed.
    before: dict[str, frozenset[str]] = {}
    updates = {(sent.job.id, sent.position) for _, sent in rows if sent.updates and sent.in_system}
    changed = {
        write.task.record
        for job_id in {job_id for job_id, _ in updates}
        for write in context.journal.writes.iterate(job_id)
        if (job_id, write.position) in updates
    }
    jobs = {
        job.id: job for file in {id(file): file for file, _ in rows}.values() for job in file.jobs
    }
    for job in sorted(jobs.values(), key=lambda job: job.order):
        for snapshot in filter(None, context.journal.snapshots.first_before(job.id)):
            codes = frozenset(found.code for found in snapshot.found) - changed
            before.setdefault(key_text(snapshot.key), codes)
    return _with_repeated_keys(resource, _with_matches(resource, read, before))


def _with_readings(
    client: Client, resource: Resource, rows: Sequence[tuple[ReadBackRow, RowValues | None]]
) -> list[ReadBackRow]:
    """Add the records that the system has to each row whose values are known."""
    sent = [(position, values) for position, (_, values) in enumerate(rows) if values is not None]
    # A row is looked up by each further unique key too, without the key columns that precede it: by
    # keys that are not unique the system may have many records.
    lookups = () if resource.read_back is None else resource.read_back.lookups
    unique = [set(columns) for _, columns in unique_keys(resource)]
    further: list[tuple[int, RowValues]] = []
    for number, lookup in enumerate(lookups):
        earlier = {name for other in lookups[:number] for name in other.key}.difference(lookup.key)
        if any(map(set(lookup.key).issubset, unique)):
            further += (
                (position, {**values, **dict.fromkeys(earlier)})
                for position, values in sent
                if lookup.serves(values) and any(values.get(name) is not None for name in earlier)
            )
    snapshots, reason = _read_records(
        client, resource, [values for _, values in sent], [query for _, query in further]
    )
    other_readings: defaultdict[int, list[RowSnapshot]] = defaultdict(list)
    for (position, _), snapshot in zip(further, snapshots[len(sent) :], strict=True):
        if snapshot is not None:
            other_readings[position].append(snapshot)
    read = [row for row, _ in rows]
    for (position, _), snapshot in zip(sent, snapshots[: len(sent)], strict=True):
        read[position] = replace(
            read[position],
            reading=snapshot,
            other_readings=tuple(other_readings[position]),
            reason=reason if snapshot is None else None,
        )
    return read


def _read_records(
    client: Client, resource: Resource, rows: Sequence[RowValues], others: Sequence[RowValues]
) -> tuple[Sequence[RowSnapshot | None], Text | None]:
    """Return the snapshots of all rows and others, and the reason if they are None."""
    missing = (None,) * (len(rows) + len(others))
    if resource.read_back is None:
        return missing, _NO_QUERY
    try:
        matcher = RowMatcher(resource, resource.read_back, has_assigned_numbers=True)
        found = record_reader(client, resource, [*rows, *others], inf, matcher)()
    except RemoteRejected as error:
        if others:
            snapshots, reason = _read_records(client, resource, rows, ())
            return (*snapshots, *missing[len(rows) :]), reason
        return missing, _REFUSED.format(reason=error.message)
    return found.snapshot, found.why


def _rows_of_job(
    context: UploadContext, resource: Resource, pairs: Sequence[tuple[FileProof, RowChange]]
) -> list[tuple[ReadBackRow, RowValues | None]]:
    """Return a job's rows with their values, None if those are lost."""
    try:
        first = pairs[0][1]
        values = sent_rows(context, first.job, with_unsent=first.planned is not None).dicts()
    except LocalFailure as error:
        unknown = (None,) * len(resource.totals.by)
        return [
            (ReadBackRow(file, sent, unknown, reason=error.message, payload_missing=True), None)
            for file, sent in pairs
        ]
    keys = [columns for _, columns in unique_keys(resource)]
    amount, back = resource.totals.amount, resource.read_back
    # Records that have no other key are found by the numbers that the system has assigned.
    numbers = {}
    if back is not None and back.number_operations:
        numbers = {
            row: dict(zip(back.codes, code.split(CODE_SEPARATOR), strict=True))
            for row, code in context.journal.assigned_codes(first.job).items()
        }
    return [
        (
            ReadBackRow(
                file,
                sent,
                labels=tuple(_plain_value(resource, name, row) for name in resource.totals.by),
                amount=resource.totals.amount_of(
                    row if amount is None else {amount: _plain_value(resource, amount, row)}
                ),
                keys=tuple(
                    tuple(_plain_value(resource, name, row) for name in columns) for columns in keys
                ),
            ),
            row,
        )
        for file, sent in pairs
        for row in ({**values[sent.position], **numbers.get(sent.row, {})},)
    ]


def _plain_value(resource: Resource, column: str | None, row: RowValues) -> str | None:
    if column is None:
        return None
    read_back = resource.read_back
    value = row.get(column) if read_back is None else read_back.meant(row, column)
    return comparable_value(resource.by_name[column].kind, value)


def _with_matches(
    resource: Resource, rows: Sequence[ReadBackRow], before: Mapping[str, frozenset[str]]
) -> list[ReadBackRow]:
    """Assign each row its record; a refused row gets one only if it certainly is new."""
    if resource.read_back is None:
        return list(rows)
    existing = resource.read_back.existing
    written = [
        (position, row.reading)
        for position, row in enumerate(rows)
        if row.reading is not None
        and row.sent.planned is None
        and (not row.refused or existing is not ExistingPolicy.REPLACED)
    ]
    ranks = {
        number: 1 + rows[position].refused
        for number, (position, _) in enumerate(written)
        if not rows[position].accepted
    }
    matches = match_rows([reading for _, reading in written], before, existing, ranks)
    matched = list(rows)
    for (position, reading), match in zip(written, matches, strict=True):
        if match.replaced:
            matched[position] = replace(rows[position], reason=_REPLACED)
            continue
        codes = before.get(key_text(reading.key))
        is_new = match.record is not None and codes is not None and match.record.code not in codes
        if not rows[position].refused or is_new:
            matched[position] = replace(rows[position], match=match)
    for position, row in enumerate(matched):
        if row.sent.outcome is RowOutcome.UNCHANGED and row.reading is not None:
            # Other rows may have the same record.
            record = max(row.reading.found, key=lambda found: found.same, default=None)
            matched[position] = replace(row, match=RecordMatch(record))
    return matched


_Key = tuple[str, ...]
_Positions = Sequence[int]

_IN_SEVERAL_WORKBOOKS = Text(
    pt="{later}, linha {row}: a mesma chave de {earlier}, linha {first} ({columns}), e as duas "
    "foram aceitas{more}",
    en="{later}, row {row}: the same key as {earlier}, row {first} ({columns}), and both were "
    "accepted{more}",
)
_MORE = Text(
    pt="; mais {n} {n:linha|linhas} destes arquivos também",
    en="; and {n} more {n:row|rows} of these workbooks",
)


def _with_repeated_keys(resource: Resource, rows: Sequence[ReadBackRow]) -> list[ReadBackRow]:
    """Add the other records of its key to each accepted row, if the system has too many of them.

    Each row of a workbook may have created a record; of a row repeated in several workbooks only
    one may. Amounts do not count as part of a key. Rows that replace each other share one record.
    """
    marked = list(rows)
    if resource.read_back is None or resource.read_back.existing is ExistingPolicy.REPLACED:
        return marked
    for index, (_, columns) in enumerate(unique_keys(resource)):
        identity = tuple(n for n in columns if resource.by_name[n].kind is not Kind.MONEY)
        records = _records_by_key(rows, identity)
        for key, positions in _positions_by_key(rows, index, columns, identity).items():
            found = records.get(key, {})
            if max(len(found), len(positions)) < 2:
                continue
            key_rows = [marked[position] for position in positions]
            repeats = sum(len(later) for _, later in _repeats(key_rows, index))
            explained = sum(len(row.match.extra_records) for row in key_rows if row.match)
            if len(found) + repeats - len(positions) > explained:
                for position in positions:
                    row, match = marked[position], marked[position].match
                    if row.accepted and match is not None and match.record is not None:
                        own = {record.code for record in match.own_records}
                        others = tuple(one for code, one in found.items() if code not in own)
                        marked[position] = replace(row, match=replace(match, same_key=others))
    return marked


def repeated_key_breaches(resource: Resource, rows: Sequence[ReadBackRow]) -> Iterator[Text]:
    """Yield each pair of workbooks that share keys of accepted rows, with their first such rows."""
    if resource.read_back and resource.read_back.existing is ExistingPolicy.REPLACED:
        return
    examples: dict[tuple[int, int], tuple[ReadBackRow, ReadBackRow, Sequence[str]]] = {}
    counts: Counter[tuple[int, int]] = Counter()
    for index, (_, columns) in enumerate(unique_keys(resource)):
        for positions in _positions_by_key(rows, index, columns, columns).values():
            if len(positions) < 2:
                continue
            for first, repeats in _repeats([rows[position] for position in positions], index):
                for row in repeats:
                    pair = id(first.file), id(row.file)
                    examples.setdefault(pair, (first, row, columns))
                    counts[pair] += 1
    for pair, (first, later, key) in examples.items():
        more = counts[pair] - 1
        yield _IN_SEVERAL_WORKBOOKS.format(
            later=later.file.file.path.name,
            row=row_text(later.sent.origin),
            earlier=first.file.file.path.name,
            first=row_text(first.sent.origin),
            columns=", ".join(key),
            more=_MORE.format(n=more) if more else "",
        )


def _records_by_key(
    rows: Sequence[ReadBackRow], columns: Sequence[str]
) -> Mapping[_Key, Mapping[str, FoundRecord]]:
    """Return the records that were found, by key and code."""
    found: defaultdict[_Key, dict[str, FoundRecord]] = defaultdict(dict)
    readings = (
        reading for row in rows for reading in (row.reading, *row.other_readings) if reading
    )
    for reading in {key_text(reading.key): reading for reading in readings}.values():
        for record in reading.found:
            values = [record.values.get(name, reading.key.get(name)) for name in columns]
            if key := _complete_key(values):
                found[key][record.code] = record
    return found


def _positions_by_key(
    rows: Sequence[ReadBackRow], index: int, columns: Sequence[str], identity: Sequence[str]
) -> Mapping[_Key, _Positions]:
    """Return the positions of rows of a key that may each have created a record.

    If none of them was written, these are the unchanged rows of one workbook.
    """
    indexes = [columns.index(name) for name in identity]
    by_key: defaultdict[_Key, list[int]] = defaultdict(list)
    for position, row in enumerate(rows):
        if row.refused or not row.keys:
            continue
        if key := _complete_key([row.keys[index][i] for i in indexes]):
            by_key[key].append(position)
    creating = {}
    for key, positions in by_key.items():
        written = [position for position in positions if rows[position].sent.planned is None]
        first = rows[positions[0]].file
        same_file = [position for position in positions if rows[position].file is first]
        creating[key] = written or same_file
    return creating


def _complete_key(values: Sequence[str | None]) -> _Key | None:
    return None if None in values else tuple(map(str, values))


def _repeats(
    rows: Sequence[ReadBackRow], index: int
) -> Iterator[tuple[ReadBackRow, list[ReadBackRow]]]:
    """Yield each accepted row with the rows of later workbooks that have the same key."""
    by_key: defaultdict[_Key, list[ReadBackRow]] = defaultdict(list)
    for row in rows:
        if row.accepted and (key := _complete_key(row.keys[index])):
            by_key[key].append(row)
    for first, *others in by_key.values():
        path = first.file.file.path
        if repeats := [row for row in others if row.file.file.path != path]:
            yield first, repeats
