"""Answers of listings as plain dicts, record by record while the body is received.

Large listings are fast, as no model is built per record, and need no more memory than small ones.
Names have the spec's spelling, values are as in the JSON (decimal numbers exact).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from itertools import chain, islice
from typing import Any

import httpx

from xlbridge.client import listing_stream as stream
from xlbridge.client.outcomes import (
    SecretRedactor,
    classify_envelope,
    data_or_raise,
    describe_reply,
)
from xlbridge.client.session import Target
from xlbridge.client.transport import answered_at
from xlbridge.errors import TransportError, TruncatedAnswer, UnknownFields
from xlbridge.i18n import Text
from xlbridge.resources.references import REFERENCES
from xlbridge.wire import Envelope, Operation, WireModel, record_model, spellings

__all__ = [
    "ListingAnswer",
    "RecordShape",
    "record_shape",
]

_MAX_LISTING, _PART_BYTES = 4 * 2**30, 2**16
"""Bytes of the longest listing, unpacked, and of its parts that must come in time."""

_MAX_OPENING_LENGTH = 10_000
"""Number of characters of a body from which an excerpt is taken for messages."""

_TRUNCATED = Text(
    pt="A resposta parou no meio, depois de {n} {n:registro|registros}: podem faltar outros.",
    en="The answer stopped midway, after {n} {n:record|records}: others may be missing.",
)
_MISSING_DATA = Text(
    pt="A resposta indica sucesso, mas não traz “data”: podem faltar registros.",
    en="The answer reports success but has no “data”: records may be missing.",
)
_NOT_JSON = Text(
    pt="A resposta deixou de ser JSON depois de {n} {n:registro|registros}.",
    en="The answer is not valid JSON after {n} {n:record|records}.",
)

_NOT_UNDERSTOOD = Text(
    pt="{n} {n:registro veio|registros vieram} sem {names}: não se entendem os campos {fields}.",
    en="{n} {n:record|records} came without {names}: the fields {fields} are not understood.",
)
_ANY_FIELD = Text(pt="nenhum dos campos documentados", en="any of the documented fields")
_HOW_TO_MAP = Text(
    pt="Em profiles.d/{profile}.quirks.yaml, na seção names, ligue cada nome ao da interface.",
    en="In profiles.d/{profile}.quirks.yaml, section names, map each name to the interface's.",
    page=Text(
        pt="Peça a quem cuida do ambiente {profile} que ligue cada nome ao da interface.",
        en="Ask the person who looks after the environment {profile} to map each name to the "
        "interface's.",
    ),
)

ENVELOPE_NAMES: Mapping[str, str] = spellings(Envelope)
"""Accepted spellings of the envelope's names, mapped to the spec's."""


_Convert = Callable[[list[Any]], list[stream.Record]]

_MAX_PLANS = 1_000
_MAX_SHOWN_LENGTH, _MAX_SHOWN_FIELDS = 40, 10


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Fields of a record: accepted spellings of their names, mapped to the spec's.

    ``nested`` are the fields that contain lists of objects, ``texts`` those documented as text.
    ``keep_unknown`` keeps other fields
    unchanged; otherwise they are dropped. ``naming`` are the fields of which a record needs at
    least one to be told from others, none if any field does.
    """

    names: Mapping[str, str]
    nested: Mapping[str, "RecordShape"] = field(default_factory=dict)
    keep_unknown: bool = False
    naming: tuple[str, ...] = ()
    texts: frozenset[str] = frozenset()

    def with_names(self, answered: Mapping[str, str]) -> "RecordShape":
        """Return the shape with an installation's names of its fields."""
        if not answered:
            return self
        fields = set(self.names.values())
        own = {other: name for other, name in answered.items() if name in fields}
        nested = {name: shape.with_names(answered) for name, shape in self.nested.items()}
        return replace(self, names={**self.names, **own}, nested=nested)

    def record_type(self) -> type[Any]:
        """Return a type of records with all fields of the spec, null by default, and no others.

        Decoding and reading them is faster than with dicts. No text has a decimal number, so that
        the others' digits need no mark.
        """
        import msgspec  # Imported late: most commands read no long listing.

        types: dict[str, Any] = dict.fromkeys(self.texts, str | int | None) | {
            name: list[shape.record_type()] | None  # type: ignore[misc]
            for name, shape in self.nested.items()
        }
        return msgspec.defstruct(
            "TypedRecord",
            [(name, types.get(name, Any), None) for name in dict.fromkeys(self.names.values())],
            namespace={"get": lambda record, name, default=None: getattr(record, name, default)},
            forbid_unknown_fields=True,
            gc=False,
        )

    def converter(self, unknown: dict[str, None] | None = None) -> _Convert:
        """Return a function from rows to records; it raises ``UnexpectedContent``.

        It adds the names of fields that are not understood to ``unknown``.
        """
        nested = {name: shape.converter(unknown) for name, shape in self.nested.items()}
        # The rows of an answer nearly always have the same fields: renaming is planned once.
        plans: dict[tuple[str, ...], dict[str, str] | None] = {}

        def rename_fields(rows: list[Any]) -> list[stream.Record]:
            for row in rows:
                if not isinstance(row, dict):
                    kind = type(row).__name__
                    raise stream.UnexpectedContent(_NO_OBJECT.format(kind=kind))
            fields = list(map(tuple, rows))
            if len(plans) >= _MAX_PLANS:
                plans.clear()
            if (
                fields[0] in plans
                and plans[fields[0]] is None
                and all(map(fields[0].__eq__, fields))
            ):
                return rows
            for names in set(fields) - plans.keys():
                new = [self.names.get(n, n if self.keep_unknown else None) for n in names]
                kept = {old: n for old, n in zip(names, new, strict=True) if n is not None}
                plans[names] = None if new == list(names) else kept
                if unknown is not None and not self.keep_unknown:
                    unknown.update(dict.fromkeys(n for n in names if n not in self.names))
            with_plans = zip(rows, map(plans.__getitem__, fields), strict=True)
            return [
                row if kept is None else {name: row[old] for old, name in kept.items()}
                for row, kept in with_plans
            ]

        def convert(rows: list[Any]) -> list[stream.Record]:
            records = rename_fields(rows) if rows else []
            for name, convert_items in nested.items():
                _require_lists(records, name)
                # Lists are short: the items of all records are converted together.
                parents = [record for record in records if record.get(name)]
                items = list(chain.from_iterable(record[name] for record in parents))
                converted = convert_items(items)
                if converted is not items:
                    rest = iter(converted)
                    for record in parents:
                        record[name] = list(islice(rest, len(record[name])))
            return records

        return convert


_NO_OBJECT = Text(
    pt="Um registro da listagem não é um objeto: veio {kind}.",
    en="A record of the listing is not an object but a {kind}.",
)


def _require_lists(records: Iterable[stream.Record], name: str) -> None:
    for record in records:
        items = record.get(name)
        if items is not None and not isinstance(items, list):
            # The record's key is unknown, but its first fields usually contain it.
            plain = (
                f"{field} {str(value)[:_MAX_SHOWN_LENGTH]}"
                for field, value in record.items()
                if isinstance(value, str | int | Decimal) and field != name
            )
            raise stream.UnexpectedContent(
                Text(
                    pt="{record}: o campo {field} veio como {type}; a interface documenta uma "
                    "lista.",
                    en="{record}: the field {field} is a {type}; the interface documents a list.",
                ).format(record=", ".join(islice(plain, 3)), field=name, type=type(items).__name__)
            )


@cache
def record_shape(model: type[WireModel], *, keep_unknown: bool = False) -> RecordShape:
    """Return the shape of the records described by a model."""
    nested = {
        name: record_shape(inner, keep_unknown=keep_unknown)
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }
    fields = model.model_fields.items()
    texts = frozenset(name for name, field in fields if field.annotation == str | None)
    return RecordShape(spellings(model), nested, keep_unknown, texts=texts)


class _UnreadRecords:
    """Records without a field that names them, whose other fields are not understood."""

    def __init__(self, shape: RecordShape) -> None:
        self._names = shape.names
        self._naming = shape.naming
        self._known = frozenset(shape.naming or shape.names.values())
        self.count = 0
        self._fields: dict[str, None] = {}

    def note(self, rows: Iterable[Any], records: Iterable[stream.Record]) -> None:
        """Note those of some records; ``rows`` are the same with their fields as received."""
        for row, record in zip(rows, records, strict=True):
            if self._known.isdisjoint(record):
                unknown = [name for name in row if name not in self._names]
                if unknown or not record:
                    self.count += 1
                    self._fields.update(dict.fromkeys(unknown))

    def error(self, profile: str) -> UnknownFields:
        """Return the error that names the fields, and where to map them."""
        names = ", ".join(self._naming) or _ANY_FIELD
        fields = ", ".join(islice(self._fields, _MAX_SHOWN_FIELDS)) or "{}"
        return UnknownFields(
            _NOT_UNDERSTOOD.format(n=self.count, names=names, fields=fields),
            _HOW_TO_MAP.format(profile=profile),
        )


def rows_of_data(data: Any) -> list[Any]:
    """Return the rows of a listing's ``data``: a single object is one row, null is none."""
    if data is None:
        return []
    return data if isinstance(data, list) else [data]


class ListingAnswer:
    """A successful reply to a listing's call whose body is still to be read. Close it.

    A body that is not a listing raises ``TransportError`` or ``RemoteRejected``. ``single``: one
    record was requested, which may not exist. The names of fields that are not understood are added
    to ``unknown``. ``seconds`` is how long each part of the body may take, however long it is as a
    whole.
    """

    def __init__(
        self,
        operation: Operation,
        reply: httpx.Response,
        target: Target,
        redactor: SecretRedactor,
        single: bool,
        unknown: dict[str, None],
        seconds: float,
    ) -> None:
        self._seconds = seconds
        self._operation = operation
        self._reply = reply
        self._target = target
        self._redactor = redactor
        self._single = single
        self._unknown = unknown

    def close(self) -> None:
        """Release the connection."""
        self._reply.close()

    @property
    def system_time(self) -> datetime | None:
        """The system's own time when it answered, in its zone and naive; None if it has none."""
        moment = answered_at(self._reply)
        return moment and moment.astimezone(self._target.zone).replace(tzinfo=None)

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed body as it is received, once.

        Raises ``TruncatedBody``, which ``records`` turns into ``TruncatedAnswer``, also if the body
        has no end, or comes byte by byte.
        """
        pieces = self._reply.iter_bytes()
        if int(self._reply.headers.get("Content-Length") or 0) > _MAX_LISTING:
            raise stream.TruncatedBody
        received, part, waited = 0, 0, 0.0
        while received <= _MAX_LISTING and waited <= self._seconds:
            begun = time.monotonic()
            try:
                piece = next(pieces, None)
            except httpx.RequestError:
                break
            if piece is None:
                return
            waited += time.monotonic() - begun
            received += len(piece)
            if received // _PART_BYTES > part:
                part, waited = received // _PART_BYTES, 0.0
            yield piece
        raise stream.TruncatedBody

    def records(
        self,
        pieces: Iterable[bytes],
        shape: RecordShape,
        numbers: stream.Numbers = stream.EXACT_NUMBERS,
        wanted: Sequence[stream.FieldTest] = (),
    ) -> Iterator[stream.Record]:
        """Yield the records in a body; ``pieces`` may come from another source than ``pieces()``.

        With ``wanted`` tests, records that fail them may be left out. Only an exhausted iterator
        has yielded all records.
        """
        return chain.from_iterable(self.batches(pieces, shape, numbers, wanted))

    def batches(
        self,
        pieces: Iterable[bytes],
        shape: RecordShape,
        numbers: stream.Numbers = stream.EXACT_NUMBERS,
        wanted: Sequence[stream.FieldTest] = (),
        record_type: type[Any] | None = None,
    ) -> Iterator[list[stream.Record]]:
        """Yield the records in lists, each of those decoded together.

        The records of a list may all be of ``record_type``, that of ``shape``: like dicts, they
        have ``get``. Raises ``UnknownFields`` at the end if records cannot be told from others.
        """
        shape = shape.with_names(self._target.quirks.names)
        selector = stream.RecordSelector(wanted, shape.names) if wanted else None
        reader = stream.ListingReader(iter(pieces), ENVELOPE_NAMES, numbers, selector, record_type)
        if not shape.naming and not self._operation.path_parameters:
            # The code and the name, if the operation lists a registry.
            listed = (r for r in REFERENCES.values() if r.listing is self._operation)
            naming = ((reference.key, reference.label) for reference in listed)
            shape = replace(shape, naming=tuple(dict.fromkeys(next(naming, ()))))
        convert, unread = shape.converter(self._unknown), _UnreadRecords(shape)
        is_object = False
        try:
            with suppress(stream.InvalidJson):
                is_object = reader.begins_with("{")
            opening = reader.opening(_MAX_OPENING_LENGTH)
            if not is_object:
                raise self._undocumented(opening)
            for rows in _read_records(reader, selector):
                if record_type is not None and isinstance(rows[0], record_type):
                    yield rows
                    continue
                records = convert(rows)
                unread.note(rows, records)
                yield records
            if remaining := self._remaining_rows(reader, opening):
                records = convert(remaining)
                unread.note(remaining, records)
                yield records
            if unread.count:
                raise unread.error(self._target.profile)
        except stream.TruncatedBody:
            reason = _TRUNCATED.format(n=0)
            raise TruncatedAnswer(reason, self._target.address_hint) from None
        except stream.UnexpectedContent as error:
            failure = TruncatedAnswer if error.truncated else TransportError
            raise failure(error.reason, self._target.address_hint) from None

    def _remaining_rows(self, reader: stream.ListingReader, opening: str) -> list[Any]:
        """Check the envelope around the records; return the rows if ``data`` is not a list."""
        try:
            envelope = Envelope.model_validate(reader.envelope)
        except ValueError:
            raise self._undocumented(opening) from None
        outcome = classify_envelope(envelope, rows_of_data, self._redactor)
        if outcome is None:
            raise self._undocumented(opening)
        hint, retryable = self._target.address_hint, self._operation.retryable
        rows: list[Any] = data_or_raise(outcome, hint, retryable=retryable)
        if not (rows or reader.has_list or self._single or "data" in reader.envelope):
            raise stream.UnexpectedContent(_MISSING_DATA)
        return rows

    def _undocumented(self, opening: str) -> TransportError:
        reason = describe_reply(self._reply, self._redactor, opening)
        return TransportError(reason, self._target.address_hint)


def _read_records(
    reader: stream.ListingReader, selector: stream.RecordSelector | None
) -> Iterator[list[Any]]:
    """Yield a reader's batches.

    Raises ``UnexpectedContent`` if the body is cut short or is not JSON.
    """
    count = 0
    try:
        for records in reader.batches():
            yield records
            count += len(records)
    except (stream.InvalidJson, stream.TruncatedBody) as error:
        truncated = isinstance(error, stream.TruncatedBody) or error.ended
        reason = _TRUNCATED if truncated else _NOT_JSON
        count += 0 if selector is None else selector.dropped
        raise stream.UnexpectedContent(reason.format(n=count), truncated=truncated) from None
