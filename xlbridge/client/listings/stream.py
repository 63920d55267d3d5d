"""Streaming reader of a listing's answer: JSON in pieces, and the envelope.

Plain data only, without models. The standard library's decoder says what is JSON; of long texts
msgspec decodes what it can, which takes half the time. Numbers with a point or an exponent are
``Decimal``, so that money stays exact, unless the caller converts them.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.client.listings.records import RecordPicker


class UnexpectedContent(ValueError):
    """A body that is not what the interface documents; ``reason`` says what came instead.

    ``truncated`` says that it broke off before its end.
    """

    def __init__(self, reason: Text, *, truncated: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.truncated = truncated


class TruncatedBody(Exception):
    """A body broke off before its end."""


_MAX_VALUE_LENGTH = 64 * 2**20
"""Maximum number of characters of one value; a longer one is no record of anything."""

_MAX_TOKEN_LENGTH = 16
"""An error farther than this from the end of the text so far stays one, whatever follows."""

_MAX_DIGITS, _MAX_EXPONENT = 400, 400
"""Limits of a number: digits, and power of ten; none of a business comes near."""

_PIECE_SIZE = 2**17
"""Bytes of a body that are read at once, where they come in smaller pieces."""

_MAX_CACHED_NUMBERS = 10_000

_SAMPLE_STEP = 50
_SAMPLED_DIGITS = re.compile(rf"[0-9]{{{_MAX_DIGITS // _SAMPLE_STEP}}}")
"""Sampled characters of a whole number that is too long: digits, all of them."""

_OBJECT_OPENING = re.compile(r'(\{"[^"\\]+")(?::(?:"[^"\\]*"|[-+.0-9A-Za-z]+)(,"[^"\\]+"))?')
"""The first name of an object, and the second where a plain value stands between them."""

_NUMBER_CONTINUATION = re.compile(r"\.?|[eE][+-]?")
"""Text that may follow the beginning of a number where a piece ends."""


class InvalidJson(ValueError):
    """The text is no JSON; ``ended`` says that it ended too early."""

    def __init__(self, *, ended: bool = False) -> None:
        super().__init__("JSON ended too early" if ended else "not JSON")
        self.ended = ended


def refuse_constant(_name: str) -> Any:
    """Raise ``InvalidJson`` for NaN and Infinity, which JSON does not have."""
    raise InvalidJson


Numbers = tuple[Callable[[str], Any], Callable[[str], Any]]
"""Parsers of a number's text: of one with a point or an exponent, and of a whole one."""

EXACT_NUMBERS: Numbers = (Decimal, int)


@cache
def exact_decoder(
    numbers: Numbers = EXACT_NUMBERS, *, short_wholes: bool = False
) -> json.JSONDecoder:
    """Return a decoder of exact numbers within bounds; it raises ``ValueError``.

    ``short_wholes`` promises that no whole number is too long, which saves a call for each.
    """
    make_decimal, make_whole = numbers

    def decimal(text: str) -> Any:
        return make_decimal(_bounded(text))

    def whole(text: str) -> Any:
        if len(text) > _MAX_DIGITS:
            raise InvalidJson
        return make_whole(text)

    return json.JSONDecoder(
        parse_float=decimal,
        parse_int=make_whole if short_wholes else whole,
        parse_constant=refuse_constant,
    )


def has_short_wholes(text: str) -> bool:
    """Tell whether no whole number of a JSON text can be too long, by a sample of its digits."""
    return _SAMPLED_DIGITS.search(text[::_SAMPLE_STEP]) is None


class _KnownNumbers(dict[str, Any]):
    """Values of numbers by their text: most numbers of a listing come many times."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make

    def __missing__(self, text: str) -> Any:
        if len(self) >= _MAX_CACHED_NUMBERS:
            self.clear()
        value = self[text] = self._make(_bounded(text))
        return value


def _quick_decoder(numbers: Numbers) -> Callable[[str], Any]:
    """Return what decodes a text as the exact decoder does, but for whole numbers that are long.

    It raises ``ValueError`` where it cannot, also for some of what the exact one can.
    """
    make_decimal, make_whole = numbers
    if make_whole is not int:
        return exact_decoder(numbers).decode
    import msgspec  # Here, not above: most commands read no long listing.

    # What stays a text is checked in less time than it is looked up.
    make = _bounded if make_decimal is str else _KnownNumbers(make_decimal).__getitem__
    return msgspec.json.Decoder(float_hook=make).decode


def _bounded(text: str) -> str:
    if len(text) > _MAX_DIGITS or "e" in text or "E" in text:
        _require_bounded(text)
    return text


def _require_bounded(text: str) -> None:
    """Raise ``InvalidJson`` for a number that takes ages, or all memory, to write out."""
    try:
        bounded = len(text) <= _MAX_DIGITS and abs(Decimal(text).adjusted()) <= _MAX_EXPONENT
    except InvalidOperation:
        bounded = False
    if not bounded:
        raise InvalidJson


class JsonReader:
    """A JSON text in UTF-8 whose pieces are asked for as they are needed.

    ``picker`` drops items of lists. Every method raises ``InvalidJson``, and whatever ``pieces``
    raises.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        numbers: Numbers = EXACT_NUMBERS,
        picker: "RecordPicker | None" = None,
    ) -> None:
        self._pieces = pieces
        self._numbers = numbers
        self._broken: TruncatedBody | None = None
        self._quick: Callable[[str], Any] | None = None
        self._picker = picker
        self._decode = exact_decoder(numbers).raw_decode
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0
        self._one_by_one = False

    def peek(self) -> str:
        """Return the next character that is no blank, "" at the end."""
        while True:
            rest = self._text[self._at : self._at + 1]
            if rest and rest not in " \t\r\n":
                return rest
            if rest:
                self._at += 1
            elif not self._more():
                return ""

    def accept(self, mark: str) -> bool:
        """Pass over ``mark`` if it comes next, and say whether it did."""
        found = self.peek() == mark
        self._at += found
        return found

    def expect(self, mark: str) -> None:
        """Pass over ``mark``, which must come next; "" is the end of the text."""
        if self.peek() != mark:
            raise InvalidJson(ended=not self.peek())
        self._at += len(mark)

    def value(self) -> Any:
        """Read one whole value."""
        if not self.peek():
            raise InvalidJson(ended=True)
        while True:
            # An object that has come in half is not tried: the failure takes longer than this.
            if self._text[self._at] == "{" and self._text.find("}", self._at) < 0 and self._more():
                continue
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_final(error):
                    raise InvalidJson from None
                if not self._more():
                    raise InvalidJson(ended=True) from None
                continue
            except RecursionError:
                raise InvalidJson from None
            # A number may go on in the next piece, behind its point too.
            may_go_on = isinstance(value, int | Decimal | str) and _NUMBER_CONTINUATION.fullmatch(
                self._text, end
            )
            if not may_go_on or not self._more():
                self._at = end
                return value

    def items(self) -> Iterator[Any]:
        """Read a list, and yield its items."""
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        """Read a list, and yield its items, as many at a time as are decoded at once."""
        self.expect("[")
        if self.accept("]"):
            return
        while True:
            while objects := self._objects_at_once():
                yield objects
                with suppress(TruncatedBody):  # What is whole of the rest comes first.
                    self._more()
            yield [self.value()]
            if not self.accept(","):
                break
        self.expect("]")

    def _objects_at_once(self) -> list[Any]:
        """Read the objects of a list that are whole in the text so far, but for the last.

        They go up to where an object seems to begin as the first did: with the same two names, as
        objects within it may begin with the same one. What stands before that, put in brackets,
        is one list only where no text, no inner list and no number was cut. Nothing is read where
        it is not: then each item is read by itself.
        """
        self.peek()
        end = -1 if self._one_by_one else self._last_opening()
        if end == -1:
            return []
        # Of what is left of this text, nothing is tried twice.
        self._one_by_one = True
        text = f"[{self._text[self._at : end + 1]}]"
        if self._picker is not None:
            text = self._picker.picked(text)
        items = self._decoded_list(text)
        if items is None:
            return []
        self._at = end + 2
        if self._picker is not None:
            self._picker.note(items)
        return items

    def _last_opening(self) -> int:
        """Return where the text has the last ``},`` before an object that begins as this one."""
        first = _OBJECT_OPENING.match(self._text, self._at)
        if first is None:
            return -1
        end = len(self._text)
        while (end := self._text.rfind(f"}},{first[1]}", self._at, end)) != -1:
            other = _OBJECT_OPENING.match(self._text, end + 2)
            if other is not None and other[2] == first[2]:
                break
        return end

    def _decoded_list(self, text: str) -> list[Any] | None:
        """Decode a list, None where the text is none."""
        short = has_short_wholes(text)
        if self._quick is None:
            self._quick = _quick_decoder(self._numbers)
        if short:
            with suppress(ValueError, RecursionError):
                found: list[Any] = self._quick(text)
                return found
        try:
            items, length = exact_decoder(self._numbers, short_wholes=short).raw_decode(text)
        except (ValueError, RecursionError):
            return None
        return list(items) if length == len(text) else None

    def opening(self, length: int) -> str:
        """Return what comes next, as far as it has come in."""
        return self._text[self._at : self._at + length]

    def _is_final(self, error: json.JSONDecodeError) -> bool:
        unended = error.msg.startswith("Unterminated string")
        return not unended and error.pos < len(self._text) - _MAX_TOKEN_LENGTH

    def _more(self) -> bool:
        """Take in at least as much again as is there unread; say whether anything came.

        Doubling keeps a value that spans many pieces from being tried at each of them.
        """
        rest = self._text[self._at :]
        if len(rest) > _MAX_VALUE_LENGTH:
            raise InvalidJson
        came: list[str] = []
        missing = max(1, len(rest))
        while missing > 0:
            text, ended = self._decoded()
            came.append(text)
            missing -= len(text)
            if ended:
                break
        self._text, self._at, self._one_by_one = rest + "".join(came), 0, False
        return any(came)

    def _decoded(self) -> tuple[str, bool]:
        if self._broken is not None:
            raise self._broken
        try:
            piece = next(self._pieces, None)
        except TruncatedBody as broken:
            self._broken = broken
            raise
        try:
            return self._utf8.decode(piece or b"", final=piece is None), piece is None
        except UnicodeDecodeError:
            raise InvalidJson(ended=piece is None) from None


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield larger pieces; those that came before an exception too."""
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
    """An envelope while it comes in, piece by piece, whose ``data`` is not kept.

    ``names`` has every accepted spelling of the envelope's own names. ``envelope`` is whole once
    ``records`` has come to its end; ``data`` is in it only where it is no list. ``has_list`` says
    whether a list came; of it ``picker`` drops records. Every method raises ``InvalidJson``, and
    whatever ``pieces`` raises.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        names: Mapping[str, str],
        numbers: Numbers = EXACT_NUMBERS,
        picker: "RecordPicker | None" = None,
    ) -> None:
        self.envelope: dict[str, Any] = {}
        self.has_list = False
        self._names = names
        self._text = JsonReader(_gathered(pieces), numbers, picker)

    def begins_with(self, mark: str) -> bool:
        """Say whether a mark comes first."""
        return self._text.peek() == mark

    def opening(self, length: int) -> str:
        """Return the text from where it is read now, as far as it has come in."""
        return self._text.opening(length)

    def records(self) -> Iterator[Any]:
        """Yield the items of ``data`` as they come in, unless the envelope has failed before."""
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Any]]:
        """Yield the same, as many at a time as are decoded at once."""
        text = self._text
        text.expect("{")
        while True:
            name = text.value()
            text.expect(":")
            member = self._names.get(name) if isinstance(name, str) else None
            if member == "data" and text.peek() == "[" and self.envelope.get("success", True):
                self.has_list = True
                yield from text.batches()
            else:
                self.envelope[member or str(name)] = text.value()
            if not text.accept(","):
                break
        text.expect("}")
        text.expect("")


Record = dict[str, Any]

FieldTest = tuple[str, Callable[[Sequence[Any]], Sequence[bool]]]
"""Name of a field, and whether records with such values of it are wanted."""
