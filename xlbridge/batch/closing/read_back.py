"""What the system has for the accepted rows of one resource, read back at the end of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from xlbridge.api.client import Client
from xlbridge.batch.closing.matching import Match, key_text, match_rows
from xlbridge.batch.closing.proof import Seen
from xlbridge.batch.closing.sent_rows import SentFile, SentRow
from xlbridge.errors import JournalError, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources.read_back import Existing
from xlbridge.resources.resource import Resource
from xlbridge.upload.desk import Desk
from xlbridge.upload.fates import Fate
from xlbridge.upload.payload import load_payload, payload_frame
from xlbridge.upload.reading import (
    Reading,
    Row,
    RowReading,
    from_json,
    plain_value,
    rows_of,
)
from xlbridge.upload.steps.looking import BEFORE
from xlbridge.upload.whole_reading import read_rows

Tell = Callable[[Text], None]

_NO_WAY = Text(
    pt="o sistema não tem consulta que encontre esses registros",
    en="the system has no query that finds these records",
)
_REPLACED = Text(
    pt="uma linha posterior deste lote substituiu o registro",
    en="a later row of this batch replaced the record",
)
_REFUSED = Text(
    pt="o sistema não deixou ler: {reason}", en="the system did not let them be read: {reason}"
)
_READING = Text(
    pt="Lendo de volta {resource}, linhas: {rows}", en="Reading back {resource}, rows: {rows}"
)


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A row that was accepted, is in doubt or was refused, and what the system has for it.

    ``labels`` are the values of the columns that the resource's control totals are by, ``amount``
    what they add up. ``why`` says why the row cannot be read back, ``match`` is None then; ``lost``
    that not even what was sent is known any more.
    """

    file: SentFile
    sent: SentRow
    labels: tuple[str | None, ...]
    amount: Decimal = Decimal(0)
    reading: RowReading | None = None
    match: Match | None = None
    why: Text | None = None
    lost: bool = False

    @property
    def accepted(self) -> bool:
        """Whether the row was accepted."""
        return self.sent.fate is Fate.ACCEPTED

    @property
    def refused(self) -> bool:
        """Whether the row was not written, as far as the system said."""
        return self.sent.fate in (Fate.REJECTED, Fate.NOT_WRITTEN)

    @property
    def seen(self) -> Seen:
        """What the system has for the row."""
        return Seen.UNREAD if self.match is None else self.match.seen


def read_back(
    desk: Desk,
    client: Client,
    resource: Resource,
    rows: Sequence[tuple[SentFile, SentRow]],
    tell: Tell,
) -> list[SeenRow]:
    """Return what the system has for the rows of a resource, in the order in which they were sent.

    A row whose payload is gone, that has no key, or that the system does not let be read says so.
    Raises ``TransportError`` and ``AuthenticationFailed`` when the system cannot be asked.
    """
    tell(_READING.format(resource=resource.title, rows=len(rows)))
    by_job: dict[str, list[tuple[SentFile, SentRow]]] = {}
    for file, sent in sorted(rows, key=lambda pair: _sent_at(pair[1])):
        by_job.setdefault(sent.job.id, []).append((file, sent))
    known = [pair for pairs in by_job.values() for pair in _of_job(desk, resource, pairs)]
    told, why = _ask(client, resource, [values for _, values in known if values is not None])
    readings = iter(told)
    read = [row if values is None else _read(row, next(readings), why) for row, values in known]
    return _matched(resource, read, _before(desk, [file for file, _ in rows]))


def _sent_at(sent: SentRow) -> tuple[object, ...]:
    return (sent.job.created_at, sent.job.id, sent.position)


def _ask(client: Client, resource: Resource, rows: Sequence[Row]) -> tuple[Reading, Text | None]:
    """Return what the system has for each row, and why it does not tell."""
    nothing: Reading = (None,) * len(rows)
    if resource.read_back is None:
        return nothing, _NO_WAY
    try:
        return read_rows(client, resource, rows, most=None)
    except RemoteRejected as error:
        return nothing, _REFUSED.format(reason=error.message)


def _read(row: SeenRow, reading: RowReading | None, why: Text | None) -> SeenRow:
    return replace(row, reading=reading, why=why if reading is None else None)


def _of_job(
    desk: Desk, resource: Resource, pairs: Sequence[tuple[SentFile, SentRow]]
) -> list[tuple[SeenRow, Row | None]]:
    """Return a job's rows with their values, None where those are lost."""
    payload = pairs[0][1].job.what.payload
    try:
        load_payload(desk.settings.payloads, payload)
    except JournalError as error:
        unknown = (None,) * len(resource.totals.by)
        return [
            (SeenRow(file, sent, unknown, why=error.message, lost=True), None)
            for file, sent in pairs
        ]
    values = rows_of(payload_frame(desk.settings.payloads, payload, resource))
    return [
        (
            SeenRow(
                file,
                sent,
                labels=tuple(_plain(resource, name, row) for name in resource.totals.by),
                amount=Decimal(_plain(resource, resource.totals.amount, row) or 0),
            ),
            row,
        )
        for file, sent in pairs
        for row in (values[sent.position],)
    ]


def _plain(resource: Resource, column: str | None, row: Row) -> str | None:
    if column is None:
        return None
    return plain_value(resource.by_name[column].kind, row.get(column))


def _before(desk: Desk, files: Sequence[SentFile]) -> Mapping[str, frozenset[str]]:
    """Return the codes that each key's records had before anything of the batch was sent."""
    jobs = {
        job.id: job for file in {id(file): file for file in files}.values() for job in file.jobs
    }
    codes: dict[str, frozenset[str]] = {}
    for job in sorted(jobs.values(), key=lambda job: (job.created_at, job.id)):
        first = next((r for _, moment, r in desk.journal.readings(job.id) if moment == BEFORE), ())
        for row in filter(None, from_json(first)):
            codes.setdefault(key_text(row.key), frozenset(found.code for found in row.found))
    return codes


def _matched(
    resource: Resource, rows: Sequence[SeenRow], before: Mapping[str, frozenset[str]]
) -> list[SeenRow]:
    """Give each row its record; one that was refused only if it was certainly not there before."""
    if resource.read_back is None:
        return list(rows)
    existing = resource.read_back.existing
    wanted = [
        (at, row.reading)
        for at, row in enumerate(rows)
        if row.reading is not None and (not row.refused or existing is not Existing.REPLACED)
    ]
    ranks = {n: 1 + rows[at].refused for n, (at, _) in enumerate(wanted) if not rows[at].accepted}
    matches = match_rows([reading for _, reading in wanted], before, existing, ranks)
    matched = list(rows)
    for (at, reading), match in zip(wanted, matches, strict=True):
        if match.replaced:
            matched[at] = replace(rows[at], why=_REPLACED)
        elif not rows[at].refused or _is_new(reading, match, before):
            matched[at] = replace(rows[at], match=match)
    return matched


def _is_new(reading: RowReading, match: Match, before: Mapping[str, frozenset[str]]) -> bool:
    codes = before.get(key_text(reading.key))
    return match.record is not None and codes is not None and match.record.code not in codes
