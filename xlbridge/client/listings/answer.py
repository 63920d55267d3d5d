"""Listing answers as plain dicts, record by record while the body comes in.

No object is built per record, so large listings stay fast, and none is kept, so they need no
more memory than small ones. Names are in the spec's own spelling, values stay as JSON has them
(decimal numbers exact).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import httpx

from xlbridge.client.listings.records import RecordPicker, RecordShape
from xlbridge.client.listings.stream import (
    EXACT_NUMBERS,
    FieldTest,
    InvalidJson,
    ListingReader,
    Numbers,
    Record,
    TruncatedBody,
    UnexpectedContent,
)
from xlbridge.client.outcomes import (
    CHECK_ADDRESS,
    SecretRedactor,
    classify_envelope,
    data_or_raise,
    describe_reply,
)
from xlbridge.errors import TransportError, TruncatedAnswer
from xlbridge.i18n import Text
from xlbridge.wire import Envelope, Operation, WireModel, record_model, spellings

_MAX_OPENING_LENGTH = 10_000
"""Maximum number of characters of a body that are shown, without secrets."""

_TRUNCATED = Text(
    pt="A resposta parou no meio, depois de {n} {n:registro|registros}: nada diz que foram todos.",
    en="The answer stopped midway, after {n} {n:record|records}: nothing says that they were all.",
)
_MISSING_DATA = Text(
    pt="A resposta diz sucesso e não traz “data”: nada diz que não há registros.",
    en="The answer says success and brings no “data”: nothing says that there are no records.",
)
_NOT_JSON = Text(
    pt="A resposta deixou de ser JSON depois de {n} {n:registro|registros}.",
    en="The answer stopped being JSON after {n} {n:record|records}.",
)

ENVELOPE_NAMES: Mapping[str, str] = spellings(Envelope)
"""Every accepted spelling of the envelope's own names."""


@cache
def shape_of(model: type[WireModel], *, keep_unknown: bool = False) -> RecordShape:
    """Return the shape of the records that a model describes."""
    nested = {
        name: shape_of(inner, keep_unknown=keep_unknown)
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }
    return RecordShape(spellings(model), nested, keep_unknown)


def rows_of_data(data: Any) -> list[Any]:
    """Return the rows of a listing's whole data: one object is one row, null is none."""
    if data is None:
        return []
    return data if isinstance(data, list) else [data]


class ListingAnswer:
    """A successful reply to a listing's call, whose body is still to be read. Close it.

    A body that is no listing raises ``TransportError`` or ``RemoteRejected``.
    ``is_of_one`` says that a single record was asked for, which may not be there.
    """

    def __init__(
        self, operation: Operation, reply: httpx.Response, redactor: SecretRedactor, is_of_one: bool
    ) -> None:
        self._operation = operation
        self._reply = reply
        self._redactor = redactor
        self._is_of_one = is_of_one

    def close(self) -> None:
        """Release the connection."""
        self._reply.close()

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes in, after any decompression, once.

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
        """Yield the records in a body: in ``pieces``, which may be noted as they pass.

        With tests of ``wanted`` ones, others may be left out. Only an iterator that came to its end
        has told all.
        """
        return chain.from_iterable(self.batches(pieces, shape, numbers, wanted))

    def batches(
        self,
        pieces: Iterable[bytes],
        shape: RecordShape,
        numbers: Numbers = EXACT_NUMBERS,
        wanted: Sequence[FieldTest] = (),
    ) -> Iterator[list[Record]]:
        """Yield the same, as many at a time as are decoded at once."""
        picker = RecordPicker(wanted, shape.names) if wanted else None
        text = ListingReader(iter(pieces), ENVELOPE_NAMES, numbers, picker)
        convert = shape.converter()
        try:
            is_object, opening = _begins_with_object(text), text.opening(_MAX_OPENING_LENGTH)
            if not is_object:
                raise self._undocumented(opening)
            yield from map(convert, _complete_records(text, picker))
            if rest := self._rest(text, opening):
                yield convert(rest)
        except UnexpectedContent as error:
            failure = TruncatedAnswer if error.truncated else TransportError
            raise failure(error.reason, CHECK_ADDRESS) from None

    def _rest(self, text: ListingReader, opening: str) -> list[Any]:
        """Check the envelope around the records; return the rows of data that is no list."""
        try:
            judged = Envelope.model_validate(text.envelope)
        except ValueError:
            raise self._undocumented(opening) from None
        outcome = classify_envelope(judged, rows_of_data, self._redactor)
        if outcome is None:
            raise self._undocumented(opening)
        rows: list[Any] = data_or_raise(outcome, retryable=self._operation.retryable)
        if not (rows or text.has_list or self._is_of_one or "data" in text.envelope):
            raise UnexpectedContent(_MISSING_DATA)
        return rows

    def _undocumented(self, opening: str) -> TransportError:
        return TransportError(describe_reply(self._reply, self._redactor, opening), CHECK_ADDRESS)


def _begins_with_object(text: ListingReader) -> bool:
    try:
        return text.begins_with("{")
    except InvalidJson:
        return False
    except TruncatedBody:
        raise UnexpectedContent(_TRUNCATED.format(n=0), truncated=True) from None


def _complete_records(text: ListingReader, picker: RecordPicker | None) -> Iterator[list[Any]]:
    """Yield a reader's records, many at a time.

    Raises ``UnexpectedContent`` where the body breaks off or is not JSON.
    """
    count = 0
    try:
        for records in text.batches():
            yield records
            count += len(records)
    except (InvalidJson, TruncatedBody) as error:
        truncated = isinstance(error, TruncatedBody) or error.ended
        reason = _TRUNCATED if truncated else _NOT_JSON
        count += 0 if picker is None else picker.dropped
        raise UnexpectedContent(reason.format(n=count), truncated=truncated) from None
