"""Rows of a worksheet as XML, one line each with a mark for the row number.

Writing each cell through xlsxwriter costs several times as much as all the rest of an export.
Numbers keep the digits that they came with. A value that a cell cannot hold without loss is
written as text: a number that programs would read as another one, a date before March 1900.

Source: ECMA-376, Part 1, 18.3.1 (``row``, ``c``, ``v``, ``is``).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any

from xlbridge.export.lines import LineFormat, TextTooLong, WriteValue
from xlbridge.export.sheets import ExportColumn, naive_moment, value_reader
from xlbridge.resources import Kind
from xlbridge.workbook import MAX_TEXT_LENGTH, column_letters, escape_text

EXACT_DIGITS = 15
"""Programs read so many digits back as they are, wherever the decimal point is."""

_EPOCH = datetime(1899, 12, 30).toordinal()
FIRST_SAFE_DAY = datetime(1900, 3, 1).toordinal()
"""Excel believes in 29 February 1900; earlier serial numbers mean different days to programs."""

_DAY = 86_400

_LINE_BREAK = "\n"
_ROW_MARK = "\0"
"""Stands for a row's number, which is known only when all rows are there."""

_NEEDS_ESCAPING = re.compile("[&<>_\x00-\x1f\x7f\ufffe\uffff]").search
"""Finds what is escaped; a text without, and without spaces at its ends, is written as it is."""

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
"""Nearly all numbers look like these, which need no second look."""


def row_format(styles: StyleIds) -> LineFormat:
    """Return how a row becomes XML, on one line, its number still to be filled in."""
    return LineFormat(
        partial(_cell, styles),
        partial(_around, styles),
        are_plain=_are_plain,
        before=f'<row r="{_ROW_MARK}">',
        after="</row>\n",
    )


def number_rows(lines: Iterable[bytes], first: int) -> bytes:
    """Give rows their numbers, from ``first`` on."""
    mark = _ROW_MARK.encode()
    return b"\n".join(
        line.replace(mark, b"%d" % number) for number, line in enumerate(lines, start=first)
    )


def _cell(styles: StyleIds, column: ExportColumn, place: int) -> WriteValue:
    return _writer(column, _cell_start(place), styles)


def _around(styles: StyleIds, column: ExportColumn, place: int) -> tuple[str, str]:
    if column.kind is Kind.TEXT:
        return f"{_text_start(_cell_start(place), CellStyle.TEXT, styles)}<t>", "</t></is></c>"
    style, _ = _NUMBER_STYLES[column.kind]
    return f'{_cell_start(place)}{styles[style]}"><v>', "</v></c>"


def _cell_start(place: int) -> str:
    return f'<c r="{column_letters(place)}{_ROW_MARK}" s="'


def _writer(column: ExportColumn, begin: str, styles: StyleIds) -> WriteValue:
    """Return what writes a column's values as cells, which ``begin`` with their address."""
    read: Callable[[Any], Any] = value_reader(column)
    text = _text_encoder(begin, styles)
    if column.is_list:
        return lambda value: text("\n".join(read(value)))
    match column.kind:
        case Kind.INTEGER | Kind.NUMBER | Kind.MONEY:
            return _number_writer(column.kind, read, begin, styles)
        case Kind.DATE:
            moment = _moment_encoder(begin, styles)
            return lambda value: moment(read(value))
        case Kind.BOOLEAN:
            return lambda value: (
                f'{begin}{styles[CellStyle.BOOLEAN]}" t="b"><v>{read(value):d}</v></c>'
            )
        case _:
            return lambda value: text(read(value))


def _are_plain(texts: Sequence[str]) -> bool:
    """Say whether none of some texts has anything to escape, or spaces to keep at its ends."""
    joined = "|".join(texts)
    if joined.isascii():
        # Taking characters out of bytes is quicker than looking for them in a text.
        if len(joined.encode().translate(None, _ESCAPED_IN_ASCII)) < len(joined):
            return False
        if " " not in joined:
            return True
    elif _NEEDS_ESCAPING(joined):
        return False
    return "|".join(map(str.strip, texts)) == joined


def _text_start(begin: str, style: CellStyle, styles: StyleIds) -> str:
    return f'{begin}{styles[style]}" t="inlineStr"><is>'


def _text_encoder(begin: str, styles: StyleIds) -> Callable[[str], str]:
    plain, lines = (_text_start(begin, s, styles) for s in (CellStyle.TEXT, CellStyle.LINES))

    def encode(text: str) -> str:
        if len(text) > MAX_TEXT_LENGTH // 2:
            length = len(text.encode("utf-16-le", "surrogatepass")) // 2
            if length > MAX_TEXT_LENGTH:
                raise TextTooLong(length, MAX_TEXT_LENGTH)
        if not _NEEDS_ESCAPING(text) and text.strip() == text:
            return f"{plain}<t>{text}</t></is></c>"
        kept = f'<t xml:space="preserve">{_escaped(text)}</t>'
        return f"{lines if _LINE_BREAK in text else plain}{kept}</is></c>"

    return encode


def _number_writer(
    kind: Kind, read: Callable[[Any], str], begin: str, styles: StyleIds
) -> WriteValue:
    style, is_usual = _NUMBER_STYLES[kind]
    as_text = _text_encoder(begin, styles)
    usual, finer = (f'{begin}{styles[one]}"><v>' for one in (style, CellStyle.NUMBER))

    def write(value: Any) -> str:
        if isinstance(value, str) and is_usual(value):
            return f"{usual}{value}</v></c>"
        digits = read(value)
        if len(digits) > EXACT_DIGITS and not _reads_back(digits):
            return as_text(digits)
        more_than_cents = digits.rfind(".", 0, -3) >= 0
        return f"{finer if more_than_cents else usual}{digits}</v></c>"

    return write


def _moment_encoder(begin: str, styles: StyleIds) -> Callable[[str], str]:
    as_text = _text_encoder(begin, styles)
    day_only, with_time = (f'{begin}{styles[s]}"><v>' for s in (CellStyle.DAY, CellStyle.MOMENT))

    def encode(text: str) -> str:
        moment = naive_moment(text)
        day = moment.toordinal()
        if day < FIRST_SAFE_DAY:
            return as_text(text)
        # Whole seconds: programs round a fraction to the next second, and so to the next day.
        share = (moment.hour * 3600 + moment.minute * 60 + moment.second) / _DAY
        if share:
            return f"{with_time}{day - _EPOCH + share}</v></c>"
        return f"{day_only}{day - _EPOCH}</v></c>"

    return encode


def _escaped(text: str) -> str:
    return escape_text(text).translate(_MARKUP)


def _reads_back(digits: str) -> bool:
    """Say whether programs, which read binary floating-point numbers, get the same digits."""
    return Decimal(digits) == Decimal(repr(float(digits)))
