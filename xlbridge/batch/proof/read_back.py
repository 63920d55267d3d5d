"""Read-back of the sent rows of one resource: what the system has for each of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from xlbridge.batch.proof.inputs import SentFile, SentRow
from xlbridge.batch.proof.matches import RecordMatch, key_text, match_rows
from xlbridge.batch.proof.model import ReadBackStatus
from xlbridge.client import Client
from xlbridge.errors import LocalFailure, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload import Job, UploadContext, sent_rows
from xlbridge.upload.lookup import CODE_SEPARATOR, RowSnapshot, comparable_value, look_up_rows
from xlbridge.upload.results import RowOutcome, given_codes
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
    Raises ``TransportError`` and ``AuthenticationFailed`` when the system cannot be asked.
    """
    tell(_READING.format(resource=resource.title, rows=len(rows)))
    by_job: dict[tuple[str, bool], list[tuple[SentFile, SentRow]]] = {}
    for file, sent in sorted(rows, key=lambda pair: _sent_at(pair[1])):
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
    return _with_matches(resource, read, _codes_before(context, [file for file, _ in rows]))


def _sent_at(sent: SentRow) -> tuple[object, ...]:
    return (sent.job.created_at, sent.job.id, sent.position)


def _with_other_keys(resource: Resource, row: RowValues) -> Iterator[RowValues]:
    """Yield a row as it is found by each further key, without those that come before it.

    Only keys that must not stand twice: by the others the system may have many records.
    """
    lookups = () if resource.read_back is None else resource.read_back.lookups
    unique = [set(columns) for _, columns in unique_keys(resource)]
    for number, lookup in enumerate(lookups):
        before = {name for each in lookups[:number] for name in each.key}.difference(lookup.key)
        filled = all(row.get(name) is not None for name in lookup.key)
        fits = all(row.get(name) in allowed for name, allowed in lookup.when.items())
        found_otherwise = any(row.get(name) is not None for name in before)
        if filled and fits and found_otherwise and any(map(set(lookup.key).issubset, unique)):
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
        for row, code in given_codes(context.journal, job).items()
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
