"""JSON that comes in pieces, read value by value: what was read is let go of.

The standard library's decoder does the reading; numbers with a point or an exponent are
``Decimal``, so that money stays exact, unless the caller makes something else of them.
"""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

_LONGEST_VALUE = 64 * 2**20
"""Most characters of one value; a longer one is no record of anything."""

_LONGEST_TOKEN = 16
"""A mistake this far from the end of the text so far is none that more text could mend."""

_CUT = re.compile(r"\.?|[eE][+-]?")
"""What may follow the beginning of a number where a piece ends."""


class BadJson(ValueError):
    """The text is no JSON; ``ended`` says that it ended too early."""

    def __init__(self, *, ended: bool = False) -> None:
        super().__init__("JSON ended too early" if ended else "not JSON")
        self.ended = ended


def _refuse_constant(_name: str) -> Any:
    raise BadJson


ReadNumber = Callable[[str], Any]


@cache
def _decoder(numbers: ReadNumber | None) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_float=numbers or Decimal, parse_int=numbers, parse_constant=_refuse_constant
    )


class JsonText:
    """A JSON text in UTF-8 whose pieces are asked for as they are needed.

    ``numbers`` makes a value of a number's text, whole ones included. Every method raises
    ``BadJson``, and whatever ``pieces`` raises.
    """

    def __init__(self, pieces: Iterator[bytes], numbers: ReadNumber | None = None) -> None:
        self._pieces = pieces
        self._decode = _decoder(numbers).raw_decode
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._at = 0

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
            raise BadJson(ended=not self.peek())
        self._at += len(mark)

    def value(self) -> Any:
        """Read one whole value."""
        if not self.peek():
            raise BadJson(ended=True)
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_final(error):
                    raise BadJson from None
                if not self._more():
                    raise BadJson(ended=True) from None
                continue
            except RecursionError:
                raise BadJson from None
            # A number may go on in the next piece, behind its point too.
            may_go_on = isinstance(value, int | Decimal | str) and _CUT.fullmatch(self._text, end)
            if not may_go_on or not self._more():
                self._at = end
                return value

    def items(self) -> Iterator[Any]:
        """Read a list item by item."""
        self.expect("[")
        if self.accept("]"):
            return
        yield self.value()
        while self.accept(","):
            yield self.value()
        self.expect("]")

    def opening(self, length: int) -> str:
        """Return what comes next, as far as it has come in."""
        return self._text[self._at : self._at + length]

    def _is_final(self, error: json.JSONDecodeError) -> bool:
        unended = error.msg.startswith("Unterminated string")
        return not unended and error.pos < len(self._text) - _LONGEST_TOKEN

    def _more(self) -> bool:
        """Take in at least as much again as is there unread; say whether anything came.

        Doubling keeps a value that spans many pieces from being tried at each of them.
        """
        rest = self._text[self._at :]
        if len(rest) > _LONGEST_VALUE:
            raise BadJson
        came: list[str] = []
        missing = max(1, len(rest))
        while missing > 0:
            text, ended = self._decoded()
            came.append(text)
            missing -= len(text)
            if ended:
                break
        self._text, self._at = rest + "".join(came), 0
        return any(came)

    def _decoded(self) -> tuple[str, bool]:
        piece = next(self._pieces, None)
        try:
            return self._utf8.decode(piece or b"", final=piece is None), piece is None
        except UnicodeDecodeError:
            raise BadJson(ended=piece is None) from None
