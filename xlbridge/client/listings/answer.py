"""Answers of listings as plain dicts, record by record while the body is received.

Large listings are fast, as no model is built per record, and need no more memory than small ones.
Names have the spec's spelling, values are as in the JSON (decimal numbers exact).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import httpx

from xlbridge.client.listings.records import (
    FieldTest,
    Record,
    RecordSelector,
    RecordShape,
    UnexpectedContent,
)
from xlbridge.client.listings.stream import (
    EXACT_NUMBERS,
    InvalidJson,
    ListingReader,
    Numbers,
    TruncatedBody,
)
from xlbridge.client.outcomes import (
    SecretRedactor,
    classify_envelope,
    data_or_raise,
    describe_reply,
)
from xlbridge.client.transport import Target
from xlbridge.errors import TransportError, TruncatedAnswer
from xlbridge.i18n import Text
from xlbridge.wire import Envelope, Operation, WireModel, record_model, spellings

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

ENVELOPE_NAMES: Mapping[str, str] = spellings(Envelope)
"""Accepted spellings of the envelope's names, mapped to the spec's."""


@cache
def record_shape(model: type[WireModel], *, keep_unknown: bool = False) -> RecordShape:
    """Return the shape of the records described by a model."""
    nested = {
        name: record_shape(inner, keep_unknown=keep_unknown)
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }
    return RecordShape(spellings(model), nested, keep_unknown)


def rows_of_data(data: Any) -> list[Any]:
    """Return the rows of a listing's ``data``: a single object is one row, null is none."""
    if data is None:
        return []
    return data if isinstance(data, list) else [data]


class ListingAnswer:
    """A successful reply to a listing's call whose body is still to be read. Close it.

    A body that is not a listing raises ``TransportError`` or ``RemoteRejected``. ``single``: one
    record was requested, which may not exist.
    """

    def __init__(
        self,
        operation: Operation,
        reply: httpx.Response,
        target: Target,
        redactor: SecretRedactor,
        single: bool,
    ) -> None:
        self._operation = operation
        self._reply = reply
        self._target = target
        self._redactor = redactor
        self._single = single

    def close(self) -> None:
        """Release the connection."""
        self._reply.close()

    def pieces(self) -> Iterator[bytes]:
        """Yield the decompressed body as it is received, once.

        Raises ``TruncatedBody``, which ``records`` turns into ``TruncatedAnswer``.
        """
        try:
            yield from self._reply.iter_bytes()
        except httpx.RequestError:
            raise TruncatedBody from None

    def records(
        self,
        pieces: Iterable[bytes],
        shape: RecordShape,
        numbers: Numbers = EXACT_NUMBERS,
        wanted: Sequence[FieldTest] = (),
    ) -> Iterator[Record]:
        """Yield the records in a body; ``pieces`` may come from another source than ``pieces()``.

        With ``wanted`` tests, records that fail them may be left out. Only an exhausted iterator
        has yielded all records.
        """
        return chain.from_iterable(self.batches(pieces, shape, numbers, wanted))

    def batches(
        self,
        pieces: Iterable[bytes],
        shape: RecordShape,
        numbers: Numbers = EXACT_NUMBERS,
        wanted: Sequence[FieldTest] = (),
        record_type: type[Any] | None = None,
    ) -> Iterator[list[Record]]:
        """Yield the records in lists, each of those decoded together.

        The records of a list may all be of ``record_type``, that of ``shape``: like dicts, they
        have ``get``.
        """
        selector = RecordSelector(wanted, shape.names) if wanted else None
        reader = ListingReader(iter(pieces), ENVELOPE_NAMES, numbers, selector, record_type)
        convert = shape.converter()
        try:
            is_object, opening = _begins_with_object(reader), reader.opening(_MAX_OPENING_LENGTH)
            if not is_object:
                raise self._undocumented(opening)
            for records in _read_records(reader, selector):
                is_typed = record_type is not None and isinstance(records[0], record_type)
                yield records if is_typed else convert(records)
            if remaining := self._remaining_rows(reader, opening):
                yield convert(remaining)
        except UnexpectedContent as error:
            failure = TruncatedAnswer if error.truncated else TransportError
            raise failure(error.reason, self._target.address_hint) from None

    def _remaining_rows(self, reader: ListingReader, opening: str) -> list[Any]:
        """Check the envelope around the records; return the rows if ``data`` is not a list."""
        try:
            envelope = Envelope.model_validate(reader.envelope)
        except ValueError:
            raise self._undocumented(opening) from None
        outcome = classify_envelope(envelope, rows_of_data, self._redactor)
        if outcome is None:
            raise self._undocumented(opening)
        rows: list[Any] = data_or_raise(outcome, self._target, retryable=self._operation.retryable)
        if not (rows or reader.has_list or self._single or "data" in reader.envelope):
            raise UnexpectedContent(_MISSING_DATA)
        return rows

    def _undocumented(self, opening: str) -> TransportError:
        reason = describe_reply(self._reply, self._redactor, opening)
        return TransportError(reason, self._target.address_hint)


def _begins_with_object(reader: ListingReader) -> bool:
    try:
        return reader.begins_with("{")
    except InvalidJson:
        return False
    except TruncatedBody:
        raise UnexpectedContent(_TRUNCATED.format(n=0), truncated=True) from None


def _read_records(reader: ListingReader, selector: RecordSelector | None) -> Iterator[list[Any]]:
    """Yield a reader's batches.

    Raises ``UnexpectedContent`` if the body is cut short or is not JSON.
    """
    count = 0
    try:
        for records in reader.batches():
            yield records
            count += len(records)
    except (InvalidJson, TruncatedBody) as error:
        truncated = isinstance(error, TruncatedBody) or error.ended
        reason = _TRUNCATED if truncated else _NOT_JSON
        count += 0 if selector is None else selector.dropped
        raise UnexpectedContent(reason.format(n=count), truncated=truncated) from None
