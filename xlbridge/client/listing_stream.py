"""Streaming reader of a listing's answer: JSON in pieces, wanted records, and the envelope.

Builds plain data, no models. The standard library's decoder defines what is valid JSON; long texts
are decoded by msgspec if it can, in half the time. Numbers with a point or an exponent are
``Decimal`` unless the caller provides parsers, so that money stays exact.
"""

import codecs
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import compress
from typing import Any

from xlbridge.i18n import Text

__all__ = [
    "FieldTest",
    "Numbers",
]


class UnexpectedContent(ValueError):
    """A body is not what the interface documents; ``truncated`` if it was cut short."""

    def __init__(self, reason: Text, *, truncated: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.truncated = truncated


class TruncatedBody(Exception):
    """A body was cut short."""


_MAX_VALUE_LENGTH = 64 * 2**20
"""Maximum number of characters of one value, far above any record."""

_MAX_TOKEN_LENGTH = 16
"""A syntax error farther than this from the end of the text read cannot be due to the cut."""

_MAX_DIGITS, _MAX_EXPONENT = 400, 400
"""Limits of a number's digits and power of ten, far above any amount."""

_PIECE_SIZE = 2**17
"""Number of bytes in which smaller pieces of a body are collected."""

_MAX_CACHED_NUMBERS = 10_000

_LONG = 2**14
"""Number of characters from which a text is decoded by msgspec."""

_SAMPLE_STEP = 50
_SAMPLED_DIGITS = re.compile(rf"[0-9]{{{_MAX_DIGITS // _SAMPLE_STEP}}}")
"""Match in a sample of a text's characters if the text has an integer that is too long."""

_OBJECT_OPENING = re.compile(rb'(\{"[^"\\]+")(?::(?:"[^"\\]*"|[-+.0-9A-Za-z]+)(,"[^"\\]+"))?')
"""The first name of an object, and the second one if a plain value precedes it."""

_NUMBER_CONTINUATION = re.compile(r"\.?|[eE][+-]?")
"""Text between a decoded number and the end of a piece, after which the number may continue."""


class InvalidJson(ValueError):
    """The text is not JSON; ``ended`` if it ended too early."""

    def __init__(self, *, ended: bool = False) -> None:
        super().__init__("JSON ended too early" if ended else "not JSON")
        self.ended = ended


Numbers = tuple[Callable[[str], Any], Callable[[str], Any]]
"""Parsers of numbers: those with a point or an exponent, and integers."""

EXACT_NUMBERS: Numbers = (Decimal, int)


@cache
def exact_decoder(
    numbers: Numbers = EXACT_NUMBERS, *, short_integers: bool = False
) -> json.JSONDecoder:
    """Return a decoder of exact numbers within limits; it raises ``ValueError``.

    ``short_integers`` promises that no integer is too long, which saves a check for each.
    """
    parse_decimal, parse_integer = numbers
    keeps_digits = _keeps_digits(numbers)

    def refuse_constant(_name: str) -> Any:
        # JSON has no NaN or Infinity.
        raise InvalidJson

    def parse_limited_decimal(text: str) -> Any:
        return parse_decimal(_require_in_limits(text))

    def parse_limited_integer(text: str) -> Any:
        if len(text) <= _MAX_DIGITS:
            return parse_integer(text)
        if keeps_digits:
            return parse_decimal(text)
        raise InvalidJson

    return json.JSONDecoder(
        parse_float=parse_decimal if keeps_digits else parse_limited_decimal,
        parse_int=parse_integer if short_integers else parse_limited_integer,
        parse_constant=refuse_constant,
    )


def _keeps_digits(numbers: Numbers) -> bool:
    """Return whether numbers remain text, so that none takes excessive time or memory."""
    parse_decimal, _ = numbers
    return isinstance(parse_decimal, type) and issubclass(parse_decimal, str)


class _NumberCache(dict[str, Any]):
    """Parsed numbers by their text: most numbers of a listing occur many times."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def __missing__(self, text: str) -> Any:
        if len(self) >= _MAX_CACHED_NUMBERS:
            self.clear()
        value = self[text] = self._parse(_require_in_limits(text))
        return value


def decode_json(text: str, numbers: Numbers = EXACT_NUMBERS) -> Any:
    """Decode a text, long ones by msgspec, which is faster.

    Raises ``ValueError``, or ``RecursionError`` if it is nested too deeply.
    """
    short = _SAMPLED_DIGITS.search(text[::_SAMPLE_STEP]) is None
    if short and len(text) >= _LONG:
        with suppress(ValueError, RecursionError):
            return _fast_decoder(numbers)(text)
    return exact_decoder(numbers, short_integers=short).decode(text)


@cache
def _fast_decoder(numbers: Numbers) -> Callable[[str], Any]:
    """Return a function that decodes a text as the exact decoder does, without limiting integers.

    It raises ``ValueError`` for invalid JSON, and for some texts that the exact decoder accepts.
    """
    parse_decimal, parse_integer = numbers
    if parse_integer is not int:
        return exact_decoder(numbers).decode
    import msgspec  # Imported late: most commands read no long listing.

    # A number that remains text is faster made than looked up.
    parse = parse_decimal if _keeps_digits(numbers) else _NumberCache(parse_decimal).__getitem__
    return msgspec.json.Decoder(float_hook=parse).decode


def _typed_decoder(record_type: type[Any]) -> Callable[[bytes], list[Any]]:
    """Return a function that decodes a list of records of a type; others raise ``ValueError``.

    Decimal numbers become plain text: millions of objects of another class would each be known to
    the cyclic collector. Numbers are not limited, as integers have at most 4,300 digits.
    """
    import msgspec  # Imported late: most commands read no long listing.

    expected: Any = list[record_type]  # type: ignore[valid-type]
    # Returns texts unchanged, in half the time of ``str``.
    return msgspec.json.Decoder(expected, float_hook=os.fspath).decode


def _require_in_limits(text: str) -> str:
    """Raise ``InvalidJson`` for a number that would take excessive time or memory."""
    if len(text) > _MAX_DIGITS or "e" in text or "E" in text:
        try:
            in_limits = len(text) <= _MAX_DIGITS and abs(Decimal(text).adjusted()) <= _MAX_EXPONENT
        except InvalidOperation:
            in_limits = False
        if not in_limits:
            raise InvalidJson
    return text


Record = dict[str, Any]

FieldTest = tuple[str, Callable[[Sequence[Any]], Sequence[bool]]]
"""Name of a field, and a test of its values that selects records."""

_UNSET = object()
"""Value of a tested field that a record does not have."""


class RecordSelector:
    """Selection of the records that pass any of some tests, or lack a tested field.

    A record that may be the first to have a field is never dropped, so that the selected ones show
    all fields in use. ``names`` maps the accepted spellings of a record's fields.

    If few records of many are wanted, decoding the others would take most of the time: only the
    tested fields of each record are decoded first.
    """

    def __init__(self, tests: Sequence[FieldTest], names: Mapping[str, str]) -> None:
        import msgspec  # Imported late: most commands read no long listing.

        self.dropped = 0
        self._names = names
        self._unseen = {f'"{spelling}"': name for spelling, name in names.items()}
        fields = {name: f"field_{n}" for n, name in enumerate({name for name, _ in tests})}
        self._tests = [(fields[name], test) for name, test in tests]
        tested_fields = msgspec.defstruct(
            "TestedFields",
            [(field, Any, _UNSET) for field in fields.values()],
            rename={field: name for name, field in fields.items()},
            gc=False,
        )
        self._tested = msgspec.json.Decoder(list[tested_fields], float_hook=Decimal)  # type: ignore[valid-type]
        self._texts = msgspec.json.Decoder(list[msgspec.Raw])

    def select(self, text: str) -> str:
        """Return a JSON list of objects reduced to the wanted ones, or unchanged."""
        if any(map(text.__contains__, self._unseen)):
            return text
        try:
            wanted = self._are_wanted(self._tested.decode(text))
            selected = compress(self._texts.decode(text), wanted) if any(wanted) else ()
        except (ValueError, RecursionError):
            return text
        self.dropped += len(wanted) - sum(wanted)
        return f"[{','.join(bytes(item).decode() for item in selected)}]"

    def note_fields(self, records: Iterable[Any]) -> None:
        """Note the fields of decoded records as seen."""
        if self._unseen:
            objects = (record for record in records if isinstance(record, dict))
            seen = {self._names.get(key) for record in objects for key in record}
            self._unseen = {text: n for text, n in self._unseen.items() if n not in seen}

    def _are_wanted(self, rows: Sequence[Any]) -> list[bool]:
        wanted = [False] * len(rows)
        for name, test in self._tests:
            values = [getattr(row, name) for row in rows]
            passed = test([None if value is _UNSET else value for value in values])
            wanted = [
                before or now or value is _UNSET
                for before, now, value in zip(wanted, passed, values, strict=True)
            ]
        return wanted


def _last_object_end(data: bytes) -> int:
    """Return the position of the last ``},`` before an object that begins like the first one."""
    first = _OBJECT_OPENING.match(data)
    if first is None:
        return -1
    end = len(data)
    while (end := data.rfind(b"},%b" % first[1], 0, end)) != -1:
        other = _OBJECT_OPENING.match(data, end + 2)
        if other is not None and other[2] == first[2]:
            break
    return end


class JsonReader:
    """Reader of a JSON text in UTF-8 that is received in pieces.

    ``selector`` drops items of lists. Items decoded together are of ``record_type`` if all of them
    fit it and have a value; then decimal numbers are text. Every method raises
    ``InvalidJson``, and the exceptions of ``pieces``.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        numbers: Numbers = EXACT_NUMBERS,
        selector: RecordSelector | None = None,
        record_type: type[Any] | None = None,
    ) -> None:
        self._pieces = pieces
        self._numbers = numbers
        self._truncation: TruncatedBody | None = None
        self._decode_typed = _typed_decoder(record_type) if record_type else None
        self._empty_record = record_type() if record_type else None
        self._selector = selector
        self._decode = exact_decoder(numbers).raw_decode
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._unread = b""
        self._one_by_one = False

    def peek(self) -> str:
        """Return the next character that is not whitespace, "" at the end."""
        while True:
            character = self._text[self._position : self._position + 1]
            if character and character not in " \t\r\n":
                return character
            if character:
                self._position += 1
            elif not self._receive():
                return ""

    def accept(self, character: str) -> bool:
        """Skip ``character`` if it is next, and return whether it was."""
        found = self.peek() == character
        self._position += found
        return found

    def expect(self, character: str) -> None:
        """Skip ``character``, which must be next; "" is the end of the text."""
        if self.peek() != character:
            raise InvalidJson(ended=not self.peek())
        self._position += len(character)

    def value(self) -> Any:
        """Read one complete value."""
        if not self.peek():
            raise InvalidJson(ended=True)
        while True:
            # Searching for the end of an object is faster than a failed attempt to decode it.
            start = self._position
            if self._text[start] == "{" and self._text.find("}", start) < 0 and self._receive():
                continue
            try:
                # Receiving nothing more moves the text, too.
                value, end = self._decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_final(error):
                    raise InvalidJson from None
                if not self._receive():
                    raise InvalidJson(ended=True) from None
                continue
            except RecursionError:
                raise InvalidJson from None
            # A number may continue in the next piece, even after its point.
            may_continue = isinstance(
                value, int | Decimal | str
            ) and _NUMBER_CONTINUATION.fullmatch(self._text, end)
            if not may_continue or not self._receive():
                self._position = end
                return value

    def batches(self) -> Iterator[list[Any]]:
        """Read a list, and yield its items in lists, each of those decoded together."""
        self.expect("[")
        if self.accept("]"):
            return
        while True:
            yield from self._object_batches()
            yield [self.value()]
            if not self.accept(","):
                break
        self.expect("]")

    def _object_batches(self) -> Iterator[list[Any]]:
        """Yield the objects of a list while they are received, those of a piece decoded together.

        Those of a piece end where its last object seems to begin: with the same two names as the
        first one, as nested objects may share one name with it. If that guess is wrong, within a
        string or a nested list, the bytes up to there in brackets are not valid JSON; then the
        items of the piece are read one by one.
        """
        self.peek()
        if self._one_by_one:
            return
        # Objects are decoded from bytes: a text of them takes long to make and to read.
        data = self._text[self._position :].encode() + self._utf8.getstate()[0]
        self._utf8.setstate((b"", 0))
        while (end := _last_object_end(data)) != -1:
            items = self._decode_list(b"".join((b"[", memoryview(data)[: end + 1], b"]")))
            if items is None:
                break
            yield items
            data = data[end + 2 :]
            with suppress(TruncatedBody):  # Complete items in the rest are yielded first.
                data += self._next_piece() or b""
        self._text, self._position, self._unread = "", 0, data
        if data:
            self._receive()
        self._one_by_one = True  # until more is received

    def _decode_list(self, data: bytes) -> list[Any] | None:
        """Decode a list; return None if it is not one."""
        if self._decode_typed is not None:
            with suppress(ValueError, RecursionError):
                records = self._decode_typed(data)
                if self._empty_record not in records:
                    return records
            # Later records will probably have the same unknown fields.
            self._decode_typed = None
        try:
            text = data.decode()
            if self._selector is None:
                items: list[Any] = decode_json(text, self._numbers)
            else:
                items = decode_json(self._selector.select(text), self._numbers)
                self._selector.note_fields(items)
        except (ValueError, RecursionError):
            return None
        return items

    def opening(self, length: int) -> str:
        """Return up to ``length`` characters of the text received and not yet read."""
        return self._text[self._position : self._position + length]

    def _is_final(self, error: json.JSONDecodeError) -> bool:
        """Return whether an error remains, whatever is received next."""
        unended = error.msg.startswith("Unterminated string")
        return not unended and error.pos < len(self._text) - _MAX_TOKEN_LENGTH

    def _receive(self) -> bool:
        """Receive at least as much text as is unread; return whether there was any.

        Doubling avoids decoding a value that spans many pieces after each of them.
        """
        unread = self._text[self._position :]
        if len(unread) > _MAX_VALUE_LENGTH:
            raise InvalidJson
        received: list[str] = []
        missing = max(1, len(unread))
        while missing > 0:
            piece = self._next_piece()
            try:
                text = self._utf8.decode(piece or b"", final=piece is None)
            except UnicodeDecodeError:
                raise InvalidJson(ended=piece is None) from None
            received.append(text)
            missing -= len(text)
            if piece is None:
                break
        self._text, self._position, self._one_by_one = unread + "".join(received), 0, False
        return any(received)

    def _next_piece(self) -> bytes | None:
        """Return the next piece, None at the end."""
        if self._unread:
            piece, self._unread = self._unread, b""
            return piece
        if self._truncation is not None:
            raise self._truncation
        try:
            return next(self._pieces, None)
        except TruncatedBody as truncation:
            self._truncation = truncation
            raise


def _collect(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield larger pieces, including those received before an exception."""
    waiting: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= _PIECE_SIZE:
                yield b"".join(waiting)
                waiting.clear()
                size = 0
    except TruncatedBody:
        yield b"".join(waiting)
        raise
    if waiting:
        yield b"".join(waiting)


class ListingReader:
    """Reader of an envelope in pieces, which does not keep a list in ``data``.

    ``names`` maps the accepted spellings of the envelope's names. ``envelope`` is complete once
    ``batches`` is exhausted; it contains ``data`` only if that is not a list. ``has_list``: a list
    was read, from which ``selector`` drops records. Every method raises ``InvalidJson``, and the
    exceptions of ``pieces``.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        names: Mapping[str, str],
        numbers: Numbers = EXACT_NUMBERS,
        selector: RecordSelector | None = None,
        record_type: type[Any] | None = None,
    ) -> None:
        self.envelope: dict[str, Any] = {}
        self.has_list = False
        self._names = names
        self._json = JsonReader(_collect(pieces), numbers, selector, record_type)

    def begins_with(self, character: str) -> bool:
        """Return whether a character is next."""
        return self._json.peek() == character

    def opening(self, length: int) -> str:
        """Return up to ``length`` characters of the text received and not yet read."""
        return self._json.opening(length)

    def batches(self) -> Iterator[list[Any]]:
        """Yield the items of ``data``, unless the envelope has reported a failure before it.

        They come in lists, each of those decoded together.
        """
        reader = self._json
        reader.expect("{")
        while True:
            name = reader.value()
            reader.expect(":")
            member = self._names.get(name) if isinstance(name, str) else None
            if member == "data" and reader.peek() == "[" and self.envelope.get("success", True):
                self.has_list = True
                yield from reader.batches()
            else:
                self.envelope[member or str(name)] = reader.value()
            if not reader.accept(","):
                break
        reader.expect("}")
        reader.expect("")
