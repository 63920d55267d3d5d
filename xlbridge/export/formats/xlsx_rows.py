"""Rows of a worksheet as XML, written while others are being fetched.

Writing cells through xlsxwriter takes several times as long as the rest of an export. Numbers keep
their digits. A value that a cell cannot hold exactly is written as text: a number with too many
digits, a date before March 1900.

Source: ECMA-376, Part 1, 18.3.1 (``row``, ``c``, ``v``, ``is``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import partial
from itertools import count, repeat
from typing import Any

from xlbridge.export.formats.base import LineFormat, TextTooLong, WriteValue
from xlbridge.export.sheets import ExportColumn, value_reader
from xlbridge.resources import Kind
from xlbridge.workbook import MAX_TEXT_LENGTH, column_index, column_letters, escape_text

EXACT_DIGITS = 15
"""Digits of a number that programs read back unchanged, wherever the decimal point is."""

_EPOCH = datetime(1899, 12, 30).toordinal()
FIRST_SAFE_DAY = datetime(1900, 3, 1).toordinal()
"""Excel has a 29 February 1900: programs read earlier serial numbers as different days."""

_DAY = 86_400

_ROW_MARK = "\0"
"""Placeholder of a row's number, which is known only after all rows were fetched."""

_NEEDS_ESCAPING = re.compile("[&<>_\x00-\x1f\x7f\ufffe\uffff]").search
"""Finds characters to escape; texts without any, and without outer spaces, stay unchanged."""

_ESCAPED_IN_ASCII = bytes(c for c in range(128) if _NEEDS_ESCAPING(chr(c)))

_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\n"): "&#10;"}


class CellStyle(StrEnum):
    """Style of a data cell."""

    TEXT = "text"
    LINES = "lines"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    DAY = "day"
    MOMENT = "moment"
    BOOLEAN = "boolean"


StyleIds = Mapping[CellStyle, str]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_WITH_CENTS = re.compile(r"-?(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,2})?").fullmatch
_NUMBER_STYLES = {
    Kind.INTEGER: (CellStyle.INTEGER, _WHOLE),
    Kind.NUMBER: (CellStyle.NUMBER, _WITH_CENTS),
    Kind.MONEY: (CellStyle.MONEY, _WITH_CENTS),
}
"""Style and pattern of common numbers, which need no further check."""


def row_format(styles: StyleIds, summed: Sequence[int] = ()) -> LineFormat:
    """Return the format of a row as one line of XML, without its number."""
    return LineFormat(
        partial(_cell_writer, styles),
        partial(_affixes, styles),
        are_plain=_are_plain,
        numbers=_numbers,
        summed=summed,
        prefix=f'<row r="{_ROW_MARK}">',
        suffix="</row>\n",
    )


_NUMBER_CELL = re.compile(f'<c r="([A-Z]+){_ROW_MARK}" s="[0-9]+"><v>([^<]*)')


def _numbers(cells: str) -> Iterator[tuple[int, str]]:
    for letters, digits in _NUMBER_CELL.findall(cells):
        yield column_index(letters), digits


def _affixes(styles: StyleIds, column: ExportColumn, index: int) -> tuple[str, str]:
    if column.kind is Kind.TEXT:
        return f"{_text_start(_cell_start(index), CellStyle.TEXT, styles)}<t>", "</t></is></c>"
    style, _ = _NUMBER_STYLES[column.kind]
    return f'{_cell_start(index)}{styles[style]}"><v>', "</v></c>"


def _cell_start(index: int) -> str:
    return f'<c r="{column_letters(index)}{_ROW_MARK}" s="'


def _cell_writer(styles: StyleIds, column: ExportColumn, index: int) -> WriteValue:
    start = _cell_start(index)
    read: Callable[[Any], Any] = value_reader(column)
    encode = _text_encoder(start, styles)
    if column.is_list:
        return lambda value: encode("\n".join(read(value)))
    match column.kind:
        case Kind.INTEGER | Kind.NUMBER | Kind.MONEY:
            return _number_writer(column.kind, read, start, styles)
        case Kind.DATE:
            encode_moment = _moment_encoder(start, styles)
            return lambda value: encode_moment(read(value))
        case Kind.BOOLEAN:
            return lambda value: (
                f'{start}{styles[CellStyle.BOOLEAN]}" t="b"><v>{read(value):d}</v></c>'
            )
        case _:
            return lambda value: encode(read(value))


def _are_plain(texts: Sequence[str]) -> bool:
    """Return whether no text has a character to escape, or spaces to keep at its ends."""
    joined = "|".join(texts)
    if joined.isascii():
        # Deleting characters from bytes is faster than searching for them in text.
        if len(joined.encode().translate(None, _ESCAPED_IN_ASCII)) < len(joined):
            return False
        if " " not in joined:
            return True
    elif _NEEDS_ESCAPING(joined):
        return False
    return "|".join(map(str.strip, texts)) == joined


def _text_start(start: str, style: CellStyle, styles: StyleIds) -> str:
    return f'{start}{styles[style]}" t="inlineStr"><is>'


def has_exact_cell(digits: str) -> bool:
    """Return whether programs, which read binary floating-point numbers, read these digits."""
    return len(digits) <= EXACT_DIGITS or Decimal(digits) == Decimal(repr(float(digits)))


def require_fitting(text: str) -> None:
    """Raise ``TextTooLong`` if no cell can hold a text."""
    if len(text) > MAX_TEXT_LENGTH // 2:
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if length > MAX_TEXT_LENGTH:
            raise TextTooLong(length, MAX_TEXT_LENGTH)


def _text_encoder(start: str, styles: StyleIds) -> Callable[[str], str]:
    plain, lines = (_text_start(start, s, styles) for s in (CellStyle.TEXT, CellStyle.LINES))

    def encode(text: str) -> str:
        require_fitting(text)
        if not _NEEDS_ESCAPING(text) and text.strip() == text:
            return f"{plain}<t>{text}</t></is></c>"
        content = escape_text(text).translate(_MARKUP)
        start = lines if "\n" in text else plain
        return f'{start}<t xml:space="preserve">{content}</t></is></c>'

    return encode


def _number_writer(
    kind: Kind, read: Callable[[Any], str], start: str, styles: StyleIds
) -> WriteValue:
    style, is_common = _NUMBER_STYLES[kind]
    as_text = _text_encoder(start, styles)
    common, finer = (f'{start}{styles[s]}"><v>' for s in (style, CellStyle.NUMBER))

    def write(value: Any) -> str:
        if isinstance(value, str) and is_common(value):
            return f"{common}{value}</v></c>"
        digits = read(value)
        if not has_exact_cell(digits):
            return as_text(digits)
        more_than_cents = digits.rfind(".", 0, -3) >= 0
        return f"{finer if more_than_cents else common}{digits}</v></c>"

    return write


def _moment_encoder(start: str, styles: StyleIds) -> Callable[[str], str]:
    as_text = _text_encoder(start, styles)
    day_only, with_time = (f'{start}{styles[s]}"><v>' for s in (CellStyle.DAY, CellStyle.MOMENT))

    def encode(text: str) -> str:
        moment = datetime.fromisoformat(text)
        day = moment.toordinal()
        if day < FIRST_SAFE_DAY:
            return as_text(text)
        # Whole seconds: programs round fractions up, possibly to the next day.
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        if seconds:
            # Ten digits, rounded up as some programs cut, take a tenth of the time of a float's.
            share = -(-seconds * 10**10 // _DAY)
            return f"{with_time}{day - _EPOCH}.{share:010}</v></c>"
        return f"{day_only}{day - _EPOCH}</v></c>"

    return encode


def number_rows(lines: Iterable[bytes], first: int) -> bytes:
    """Return rows with their numbers, from ``first`` on."""
    numbers = map(b"%d".__mod__, count(first))
    return b"".join(map(bytes.replace, lines, repeat(_ROW_MARK.encode()), numbers))
