"""What the system has for the accepted rows of one resource, read back at the end of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from xlbridge.api.client import Client
from xlbridge.api.listings import Listings
from xlbridge.batch.closing.matching import Match, key_text, match_rows
from xlbridge.batch.closing.proof import Seen
from xlbridge.batch.closing.sent_rows import SentFile, SentRow
from xlbridge.errors import JournalError, RemoteRejected
from xlbridge.i18n import Text
from xlbridge.online.known_records import MOST_QUESTIONS, KnownRecords
from xlbridge.resources.read_back import Existing
from xlbridge.resources.resource import Resource
from xlbridge.upload.desk import Desk
from xlbridge.upload.fates import Fate
from xlbridge.upload.looking import BEFORE
from xlbridge.upload.payload import load_payload, payload_frame
from xlbridge.upload.reading import (
    Reading,
    Row,
    RowReader,
    RowReading,
    from_json,
    plain_value,
    requests_needed,
    rows_of,
)

Tell = Callable[[Text], None]

_NO_WAY = Text(
    pt="o sistema não tem consulta que encontre esses registros",
    en="the system has no query that finds these records",
)
_NO_KEY = Text(
    pt="a linha não tem chave pela qual o sistema a encontre",
    en="the row has no key by which the system finds it",
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
    questions = _Questions(client, resource)
    read = [row for pairs in by_job.values() for row in _of_job(desk, resource, pairs, questions)]
    return _matched(resource, read, _before(desk, [file for file, _ in rows]))


def _sent_at(sent: SentRow) -> tuple[object, ...]:
    return (sent.job.created_at, sent.job.id, sent.position)


class _Questions:
    """Asks for the records of rows: one question each, from whole listings once there are many."""

    def __init__(self, client: Client, resource: Resource) -> None:
        self._client = client
        self._known = KnownRecords(client, Listings(client))
        self._resource = resource
        self._asked = 0
        self._refusal: Text | None = None

    def ask(self, rows: Sequence[Row]) -> Reading | Text:
        """Return what the system has for each row, or why it does not tell."""
        declared = self._resource.read_back
        if declared is None:
            return _NO_WAY
        if self._refusal is not None:
            return self._refusal
        self._asked += requests_needed(self._resource, rows)
        source = self._known if self._asked > MOST_QUESTIONS else self._client
        try:
            return RowReader(source, self._resource, declared).read(rows)
        except RemoteRejected as error:
            self._refusal = _REFUSED.format(reason=error.message)
            return self._refusal


def _of_job(
    desk: Desk, resource: Resource, pairs: Sequence[tuple[SentFile, SentRow]], asked: _Questions
) -> list[SeenRow]:
    payload = pairs[0][1].job.what.payload
    try:
        load_payload(desk.settings.payloads, payload)
    except JournalError as error:
        unknown = (None,) * len(resource.totals.by)
        return [SeenRow(file, sent, unknown, why=error.message, lost=True) for file, sent in pairs]
    all_rows = rows_of(payload_frame(desk.settings.payloads, payload, resource))
    rows = [all_rows[sent.position] for _, sent in pairs]
    told = asked.ask(rows)
    readings = (None,) * len(rows) if isinstance(told, Text) else told
    return [
        SeenRow(
            file,
            sent,
            labels=tuple(_plain(resource, name, row) for name in resource.totals.by),
            amount=Decimal(_plain(resource, resource.totals.amount, row) or 0),
            reading=reading,
            why=told if isinstance(told, Text) else _NO_KEY if reading is None else None,
        )
        for (file, sent), row, reading in zip(pairs, rows, readings, strict=True)
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
