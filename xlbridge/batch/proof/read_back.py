"""Read-back of the sent rows of one resource: what the system has for each, and for its keys.

A row's own record says nothing of another one with the same key, which a late workbook, another
program or a person may have brought.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from xlbridge.batch.proof.matches import RecordMatch, key_text, match_rows
from xlbridge.batch.proof.model import ReadBackStatus
from xlbridge.batch.proof.upload_history import SentFile, SentRow
from xlbridge.client import Client
from xlbridge.errors import LocalFailure, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Kind, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload import Job, UploadContext, sent_rows
from xlbridge.upload.lookup import (
    CODE_SEPARATOR,
    FoundRecord,
    RowSnapshot,
    comparable_value,
    look_up_rows,
)
from xlbridge.upload.results import RowOutcome, assigned_codes
from xlbridge.validation.cross_sheet import unique_keys

Tell = Callable[[Text], None]
RowValues = Mapping[str, Any]

_REFUSED_OUTCOMES = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.HELD})

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
    en="the system did not let them be read: {reason}",
)
_READING = Text(
    pt="Lendo de volta {resource}, linhas: {rows}", en="Reading back {resource}, rows: {rows}"
)


@dataclass(frozen=True, slots=True)
class ReadBackRow:
    """A row that was accepted, is in doubt or was refused, and what the system has for it.

    ``labels`` are the values of the columns that the resource's control totals are by, ``amount``
    what they add up, ``keys`` those of the resource's ``unique_keys``, in their order. ``reason``
    says why the row cannot be read back, ``match`` is None then; ``payload_missing`` that not even
    what was sent is known any more, nor are its ``keys``. ``other_readings`` are what the system
    has under other keys of the row than the one by which its record is found.
    """

    file: SentFile
    sent: SentRow
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
        return self.sent.outcome in (RowOutcome.ACCEPTED, RowOutcome.UNCHANGED)

    @property
    def refused(self) -> bool:
        """True if the system said that it did not write the row."""
        return self.sent.outcome in _REFUSED_OUTCOMES

    @property
    def status(self) -> ReadBackStatus:
        """The read-back status of the row."""
        return ReadBackStatus.UNREAD if self.match is None else self.match.status


def read_back(
    context: UploadContext,
    client: Client,
    resource: Resource,
    rows: Sequence[tuple[SentFile, SentRow]],
    tell: Tell,
) -> list[ReadBackRow]:
    """Return what the system has for the rows of a resource, in the order in which they were sent.

    A row whose payload is gone, that has no key, or that the system does not let be read says so.
    Accepted rows have the other records of their keys, too. Raises ``TransportError`` and
    ``AuthenticationFailed`` when the system cannot be asked.
    """
    tell(_READING.format(resource=resource.title, rows=len(rows)))
    by_job: dict[tuple[str, bool], list[tuple[SentFile, SentRow]]] = {}
    in_order = sorted(rows, key=lambda r: (r[1].job.created_at, r[1].job.id, r[1].position))
    for file, sent in in_order:
        by_job.setdefault((sent.job.id, sent.planned is None), []).append((file, sent))
    known = [pair for pairs in by_job.values() for pair in _rows_of_job(context, resource, pairs)]
    values = [sent for _, sent in known if sent is not None]
    others = [list(_with_other_keys(resource, sent)) for sent in values]
    snapshots, reason = _read_records(client, resource, values, list(chain(*others)))
    readings = iter(snapshots[: len(values)])
    other_readings = iter(snapshots[len(values) :])
    found_by_other = ([*islice(other_readings, len(each))] for each in others)
    read = [
        row if sent is None else _with_readings(row, next(readings), next(found_by_other), reason)
        for row, sent in known
    ]
    before = _codes_before(context, [file for file, _ in rows])
    return _with_repeated_keys(resource, _with_matches(resource, read, before))


def _with_other_keys(resource: Resource, row: RowValues) -> Iterator[RowValues]:
    """Yield a row as it is found by each further key, without those that come before it.

    Only keys that must not stand twice: by the others the system may have many records.
    """
    lookups = () if resource.read_back is None else resource.read_back.lookups
    unique = [set(columns) for _, columns in unique_keys(resource)]
    for number, lookup in enumerate(lookups):
        before = {name for each in lookups[:number] for name in each.key}.difference(lookup.key)
        found_otherwise = any(row.get(name) is not None for name in before)
        is_unique = any(map(set(lookup.key).issubset, unique))
        if lookup.serves(row) and found_otherwise and is_unique:
            yield {**row, **dict.fromkeys(before)}


def _read_records(
    client: Client, resource: Resource, rows: Sequence[RowValues], others: Sequence[RowValues]
) -> tuple[Sequence[RowSnapshot | None], Text | None]:
    """Return the snapshot of each row and of the others, and the reason where there is none."""
    nothing = (None,) * (len(rows) + len(others))
    if resource.read_back is None:
        return nothing, _NO_QUERY
    try:
        return look_up_rows(client, resource, [*rows, *others], most=None)
    except RemoteRejected as error:
        if others:
            snapshots, reason = _read_records(client, resource, rows, ())
            return (*snapshots, *nothing[len(rows) :]), reason
        return nothing, _REFUSED.format(reason=error.message)


def _with_readings(
    row: ReadBackRow,
    reading: RowSnapshot | None,
    others: Sequence[RowSnapshot | None],
    reason: Text | None,
) -> ReadBackRow:
    return replace(
        row,
        reading=reading,
        other_readings=tuple(filter(None, others)),
        reason=reason if reading is None else None,
    )


def _rows_of_job(
    context: UploadContext, resource: Resource, pairs: Sequence[tuple[SentFile, SentRow]]
) -> list[tuple[ReadBackRow, RowValues | None]]:
    """Return a job's rows with their values, None where those are lost."""
    try:
        first = pairs[0][1]
        values = sent_rows(context, first.job, with_unsent=first.planned is not None)
    except LocalFailure as error:
        unknown = (None,) * len(resource.totals.by)
        return [
            (ReadBackRow(file, sent, unknown, reason=error.message, payload_missing=True), None)
            for file, sent in pairs
        ]
    keys = [columns for _, columns in unique_keys(resource)]
    numbers = _given_numbers(context, resource, first.job)
    return [
        (
            ReadBackRow(
                file,
                sent,
                labels=tuple(_plain_value(resource, name, row) for name in resource.totals.by),
                amount=Decimal(_plain_value(resource, resource.totals.amount, row) or 0),
                keys=tuple(
                    tuple(_plain_value(resource, name, row) for name in columns) for columns in keys
                ),
            ),
            row,
        )
        for file, sent in pairs
        for row in ({**values[sent.position], **numbers.get(sent.row, {})},)
    ]


def _given_numbers(
    context: UploadContext, resource: Resource, job: Job
) -> Mapping[int, Mapping[str, str]]:
    """Return the numbers that the system gave to records which nothing else tells apart, by row."""
    declared = resource.read_back
    if declared is None or not declared.number_operations:
        return {}
    return {
        row: dict(zip(declared.codes, code.split(CODE_SEPARATOR), strict=True))
        for row, code in assigned_codes(context.journal, job).items()
    }


def _plain_value(resource: Resource, column: str | None, row: RowValues) -> str | None:
    if column is None:
        return None
    declared = resource.read_back
    value = row.get(column) if declared is None else declared.meant(row, column)
    return comparable_value(resource.by_name[column].kind, value)


def _codes_before(
    context: UploadContext, files: Sequence[SentFile]
) -> Mapping[str, frozenset[str]]:
    """Return the codes that each key's records had before anything of the batch was sent."""
    jobs = {
        job.id: job for file in {id(file): file for file in files}.values() for job in file.jobs
    }
    codes: dict[str, frozenset[str]] = {}
    for job in sorted(jobs.values(), key=lambda job: (job.created_at, job.id)):
        first = next(iter(context.journal.snapshots_before(job.id)), ())
        for row in filter(None, first):
            codes.setdefault(key_text(row.key), frozenset(found.code for found in row.found))
    return codes


def _with_matches(
    resource: Resource, rows: Sequence[ReadBackRow], before: Mapping[str, frozenset[str]]
) -> list[ReadBackRow]:
    """Give each row its record; one that was refused only if it was certainly not there before."""
    if resource.read_back is None:
        return list(rows)
    existing = resource.read_back.existing
    wanted = [
        (at, row.reading)
        for at, row in enumerate(rows)
        if row.reading is not None
        and row.sent.planned is None
        and (not row.refused or existing is not ExistingPolicy.REPLACED)
    ]
    ranks = {n: 1 + rows[at].refused for n, (at, _) in enumerate(wanted) if not rows[at].accepted}
    matches = match_rows([reading for _, reading in wanted], before, existing, ranks)
    matched = list(rows)
    for (at, reading), match in zip(wanted, matches, strict=True):
        if match.replaced:
            matched[at] = replace(rows[at], reason=_REPLACED)
        elif not rows[at].refused or _is_new(reading, match, before):
            matched[at] = replace(rows[at], match=match)
    return [_with_record_before(row) for row in matched]


def _with_record_before(row: ReadBackRow) -> ReadBackRow:
    """Give a row that was in the system before its record, which other rows may have too."""
    if row.sent.outcome is not RowOutcome.UNCHANGED or row.reading is None:
        return row
    same = [record for record in row.reading.found if record.same]
    return replace(row, match=RecordMatch(next(iter([*same, *row.reading.found]), None)))


def _is_new(reading: RowSnapshot, match: RecordMatch, before: Mapping[str, frozenset[str]]) -> bool:
    codes = before.get(key_text(reading.key))
    return match.record is not None and codes is not None and match.record.code not in codes


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
    en="; likewise {n} more {n:row|rows} of these workbooks",
)


def _with_repeated_keys(resource: Resource, rows: Sequence[ReadBackRow]) -> list[ReadBackRow]:
    """Give each accepted row the other records of its key, if the system has too many of them.

    Each row of one workbook may have brought a record, but of rows that several workbooks have
    only one. Amounts are no part of a key. Rows that replace each other have one record anyway.
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
            of_key = [marked[at] for at in positions]
            repeats = sum(len(again) for _, again in _repeats(of_key, index))
            explained = sum(len(row.match.extra_records) for row in of_key if row.match)
            if len(found) + repeats - len(positions) > explained:
                for at in positions:
                    marked[at] = _with_other_records(marked[at], found)
    return marked


def repeated_key_breaches(resource: Resource, rows: Sequence[ReadBackRow]) -> Iterator[Text]:
    """Yield the workbooks that share keys of accepted rows, each pair once with its first rows."""
    if resource.read_back and resource.read_back.existing is ExistingPolicy.REPLACED:
        return
    pairs: dict[tuple[int, int], tuple[Text, int]] = {}
    for index, (_, columns) in enumerate(unique_keys(resource)):
        for positions in _positions_by_key(rows, index, columns, columns).values():
            if len(positions) < 2:
                continue
            for first, repeats in _repeats([rows[at] for at in positions], index):
                for row in repeats:
                    pair = id(first.file), id(row.file)
                    text, count = pairs.get(pair, (_breach_text(first, row, columns), 0))
                    pairs[pair] = text, count + 1
    for text, count in pairs.values():
        yield text.format(more=_MORE.format(n=count - 1) if count > 1 else "")


def _records_by_key(
    rows: Sequence[ReadBackRow], columns: Sequence[str]
) -> Mapping[_Key, Mapping[str, FoundRecord]]:
    """Return the records that were found, by their keys and their codes."""
    found: defaultdict[_Key, dict[str, FoundRecord]] = defaultdict(dict)
    readings = (each for row in rows for each in (row.reading, *row.other_readings) if each)
    for reading in {key_text(each.key): each for each in readings}.values():
        for record in reading.found:
            values = [record.values.get(name, reading.key.get(name)) for name in columns]
            if key := _complete(values):
                found[key][record.code] = record
    return found


def _positions_by_key(
    rows: Sequence[ReadBackRow], index: int, columns: Sequence[str], identity: Sequence[str]
) -> Mapping[_Key, _Positions]:
    """Return the rows that were accepted, or may have been, by the columns of their key."""
    places = [columns.index(name) for name in identity]
    positions: defaultdict[_Key, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        if not row.refused and row.keys:
            values = row.keys[index]
            if key := _complete([values[place] for place in places]):
                positions[key].append(at)
    return {key: _bringing(rows, of_key) for key, of_key in positions.items()}


def _bringing(rows: Sequence[ReadBackRow], positions: _Positions) -> _Positions:
    """Return the rows of a key that may each have brought a record.

    Where none was written, those are the rows of one workbook that were in the system before.
    """
    written = [at for at in positions if rows[at].sent.planned is None]
    first = rows[positions[0]].file
    return written or [at for at in positions if rows[at].file is first]


def _complete(values: Sequence[str | None]) -> _Key | None:
    return None if None in values else tuple(map(str, values))


def _repeats(
    rows: Sequence[ReadBackRow], index: int
) -> Iterator[tuple[ReadBackRow, list[ReadBackRow]]]:
    """Yield each accepted row with those of later workbooks that have all of its key, too."""
    by_key: defaultdict[_Key, list[ReadBackRow]] = defaultdict(list)
    for row in rows:
        if row.accepted and (key := _complete(row.keys[index])):
            by_key[key].append(row)
    for first, *others in by_key.values():
        own = first.file.file.path
        if elsewhere := [row for row in others if row.file.file.path != own]:
            yield first, elsewhere


def _with_other_records(row: ReadBackRow, found: Mapping[str, FoundRecord]) -> ReadBackRow:
    if not row.accepted or row.match is None or row.match.record is None:
        return row
    own = {record.code for record in (row.match.record, *row.match.extra_records)}
    others = tuple(record for code, record in found.items() if code not in own)
    return replace(row, match=replace(row.match, same_key=others))


def _breach_text(first: ReadBackRow, later: ReadBackRow, columns: Sequence[str]) -> Text:
    return _IN_SEVERAL_WORKBOOKS.format(
        later=later.file.file.path.name,
        row=later.sent.origin,
        earlier=first.file.file.path.name,
        first=first.sent.origin,
        columns=", ".join(columns),
        more="{more}",
    )
