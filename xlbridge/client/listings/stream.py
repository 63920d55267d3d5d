"""Streaming reader of a listing's answer: JSON in pieces, the envelope, the shape of its records.

Plain data only, without models: the processes that format export lines import it too. The standard
library's decoder does the reading; numbers with a point or an exponent are ``Decimal``, so that
money stays exact, unless the caller converts them.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.client.listings.picking import RecordPicker


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

_SAMPLE_STEP = 50
_SAMPLED_DIGITS = re.compile(rf"[0-9]{{{_MAX_DIGITS // _SAMPLE_STEP}}}")
"""Sampled characters of a whole number that is too long: digits, all of them."""

_OBJECT_OPENING = re.compile(r'\{"[^"\\]+"')

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


ParseNumber = Callable[[str], Any]


@cache
def exact_decoder(
    numbers: ParseNumber | None = None, *, short_wholes: bool = False
) -> json.JSONDecoder:
    """Return a decoder of exact numbers within bounds; it raises ``ValueError``.

    ``numbers`` makes a value of a number's text, whole ones included. ``short_wholes`` promises
    that no whole number is too long, which saves a call for each.
    """
    make_decimal, make_whole = numbers or Decimal, numbers or int

    def decimal(text: str) -> Any:
        if len(text) > _MAX_DIGITS or "e" in text or "E" in text:
            _require_bounded(text)
        return make_decimal(text)

    def whole(text: str) -> Any:
        if len(text) > _MAX_DIGITS:
            raise InvalidJson
        return make_whole(text)

    return json.JSONDecoder(
        parse_float=decimal,
        parse_int=numbers if short_wholes else whole,
        parse_constant=refuse_constant,
    )


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

    ``numbers`` makes a value of a number's text, whole ones included; ``picker`` drops items of
    lists. Every method raises ``InvalidJson``, and whatever ``pieces`` raises.
    """

    def __init__(
        self,
        pieces: Iterator[bytes],
        numbers: ParseNumber | None = None,
        picker: "RecordPicker | None" = None,
    ) -> None:
        self._pieces = pieces
        self._numbers = numbers
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
        self.expect("[")
        if self.accept("]"):
            return
        yield from self._objects_at_once()
        yield self.value()
        while self.accept(","):
            yield from self._objects_at_once()
            yield self.value()
        self.expect("]")

    def _objects_at_once(self) -> list[Any]:
        """Read the objects of a list that are whole in the text so far, but for the last.

        They go up to where an object seems to begin as the first did. What stands before that, put
        in brackets, is one list only where no text, no inner list and no number was cut. Nothing
        is read where it is not: then each item is read by itself.
        """
        self.peek()
        opening = None if self._one_by_one else _OBJECT_OPENING.match(self._text, self._at)
        end = -1 if opening is None else self._text.rfind(f"}},{opening[0]}", self._at)
        if end == -1:
            return []
        # Of what is left of this text, nothing is tried twice.
        self._one_by_one = True
        text = f"[{self._text[self._at : end + 1]}]"
        if self._picker is not None:
            text = self._picker.picked(text)
        short = _SAMPLED_DIGITS.search(text[::_SAMPLE_STEP]) is None
        try:
            items, length = exact_decoder(self._numbers, short_wholes=short).raw_decode(text)
        except (ValueError, RecursionError):
            return []
        if length != len(text):
            return []
        self._at = end + 2
        if self._picker is not None:
            self._picker.note(items)
        return list(items)

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
        piece = next(self._pieces, None)
        try:
            return self._utf8.decode(piece or b"", final=piece is None), piece is None
        except UnicodeDecodeError:
            raise InvalidJson(ended=piece is None) from None


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
        numbers: ParseNumber | None = None,
        picker: "RecordPicker | None" = None,
    ) -> None:
        self.envelope: dict[str, Any] = {}
        self.has_list = False
        self._names = names
        self._text = JsonReader(pieces, numbers, picker)

    def begins_with(self, mark: str) -> bool:
        """Say whether a mark comes first."""
        return self._text.peek() == mark

    def opening(self, length: int) -> str:
        """Return the text from where it is read now, as far as it has come in."""
        return self._text.opening(length)

    def records(self) -> Iterator[Any]:
        """Yield the items of ``data`` as they come in, unless the envelope has failed before."""
        text = self._text
        text.expect("{")
        while True:
            name = text.value()
            text.expect(":")
            member = self._names.get(name) if isinstance(name, str) else None
            if member == "data" and text.peek() == "[" and self.envelope.get("success", True):
                self.has_list = True
                yield from text.items()
            else:
                self.envelope[member or str(name)] = text.value()
            if not text.accept(","):
                break
        text.expect("}")
        text.expect("")


Record = dict[str, Any]

FieldTest = tuple[str, Callable[[Sequence[Any]], Sequence[bool]]]
"""Name of a field, and whether records with such values of it are wanted."""

_Convert = Callable[[Any], Record]
_Rename = Callable[[Record], Record]

_MAX_PLANS = 1_000
_MAX_SHOWN_LENGTH = 40


@dataclass(frozen=True, slots=True)
class RecordShape:
    """The fields of a record: every accepted spelling of their names, with the spec's own.

    ``nested`` are the fields that hold lists of further objects. ``keep_unknown`` keeps other
    fields as they came; else they are left out.
    """

    names: Mapping[str, str]
    nested: Mapping[str, "RecordShape"] = field(default_factory=dict)
    keep_unknown: bool = False

    def converter(self) -> _Convert:
        """Return what makes a record of a row; it raises ``UnexpectedContent`` for no object."""
        nested = {name: shape.converter() for name, shape in self.nested.items()}
        # Rows of an answer have the same fields nearly always: what to do is worked out once.
        plans: dict[tuple[str, ...], _Rename] = {}

        def convert(row: Any) -> Record:
            _require_object(row)
            fields = tuple(row)
            rename = plans.get(fields)
            if rename is None:
                if len(plans) >= _MAX_PLANS:
                    plans.clear()
                rename = plans[fields] = self._renaming(fields)
            record = rename(row)
            for name, convert_item in nested.items():
                items = record.get(name)
                if items is None or items == []:
                    continue
                _require_list(record, name)
                record[name] = list(map(convert_item, items))
            return record

        return convert

    def _renaming(self, fields: Sequence[str]) -> _Rename:
        """Return what makes a record of a row with these fields, which often is one already."""
        new = [self.names.get(name, name if self.keep_unknown else None) for name in fields]
        if new == list(fields):
            return lambda row: row
        kept = {old: name for old, name in zip(fields, new, strict=True) if name is not None}
        return lambda row: {name: row[old] for old, name in kept.items()}


def _require_list(record: Record, name: str) -> None:
    if not isinstance(record[name], list):
        raise UnexpectedContent(
            Text(
                pt="{place}: o campo {field} veio como {kind}, e a interface diz uma lista.",
                en="{place}: the field {field} came as {kind}, and the interface says a list.",
            ).format(
                place=_first_fields(record, name), field=name, kind=type(record[name]).__name__
            )
        )


def _first_fields(record: Record, but: str) -> str:
    """Name a record whose key is not known: an interface's objects begin with it."""
    plain = ((n, v) for n, v in record.items() if isinstance(v, str | int | Decimal) and n != but)
    return ", ".join(f"{name} {str(value)[:_MAX_SHOWN_LENGTH]}" for name, value in islice(plain, 3))


def _require_object(row: Any) -> None:
    if not isinstance(row, dict):
        raise UnexpectedContent(
            Text(
                pt="Um registro da listagem não é um objeto: veio {kind}.",
                en="A record of the listing is not an object: {kind} came.",
            ).format(kind=type(row).__name__)
        )
