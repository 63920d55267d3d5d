"""Rows of a worksheet as XML, each a line with a mark for its number.

xlsxwriter makes everything of a workbook but these rows: writing each cell through its methods
costs several times as much as all the rest of an export together. Numbers go out with the digits
that they came with. What a workbook's cell cannot hold without loss is written as text: a number
that programs would read as another, a date before March 1900.

Source: ECMA-376, Part 1, 18.3.1 (``row``, ``c``, ``v``, ``is``).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any

from xlbridge.export.columns import ExportColumn
from xlbridge.export.lines import LineForm, TooLong, WriteValue
from xlbridge.export.values import reader_of
from xlbridge.limits import WorkbookLimits
from xlbridge.resources.column import Kind
from xlbridge.workbook.address import column_letters

_LONGEST_TEXT = WorkbookLimits().text_length
_SURE_DIGITS = 15
"""Programs read so many digits back as they are, wherever the decimal point is."""

_EPOCH = datetime(1899, 12, 30).toordinal()
_FIRST_SAFE_DAY = datetime(1900, 3, 1).toordinal()
"""Excel believes in 29 February 1900; earlier serial numbers mean different days to programs."""

_DAY = 86_400

_LINE_BREAK = "\n"
_ROW = "\0"
"""Stands for a row's number, which is known only when all rows are there."""

_SUSPECT = re.compile("[&<>_\x00-\x1f\x7f\ufffe\uffff]").search
"""What has none of these, and no spaces at its ends, is written as it is."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_MARKUP = {
    ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "_x000D_", ord("\n"): "&#10;",
}  # fmt: skip


class Style(StrEnum):
    """How a data cell looks."""

    TEXT = "text"
    LINES = "lines"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    DAY = "day"
    MOMENT = "moment"
    BOOLEAN = "boolean"


StyleIds = Mapping[Style, str]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_WITH_CENTS = re.compile(r"-?(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,2})?").fullmatch
_NUMBERS = {
    Kind.INTEGER: (Style.INTEGER, _WHOLE),
    Kind.NUMBER: (Style.NUMBER, _WITH_CENTS),
    Kind.MONEY: (Style.MONEY, _WITH_CENTS),
}
"""Nearly all numbers look like these, which need no second look."""


def row_form(styles: StyleIds) -> LineForm:
    """Return how a row becomes XML, on one line, its number still to be filled in."""
    return LineForm(
        partial(_cell, styles),
        partial(_around, styles),
        before=f'<row r="{_ROW}">',
        after="</row>\n",
    )


def numbered(lines: Iterable[bytes], first: int) -> bytes:
    """Give rows their numbers, from ``first`` on."""
    mark = _ROW.encode()
    return b"\n".join(
        line.replace(mark, b"%d" % number) for number, line in enumerate(lines, start=first)
    )


def _cell(styles: StyleIds, column: ExportColumn, place: int) -> WriteValue:
    return _writer(column, _begin(place), styles)


def _around(styles: StyleIds, column: ExportColumn, place: int) -> tuple[str, str]:
    style, _ = _NUMBERS[column.kind]
    return f'{_begin(place)}{styles[style]}"><v>', "</v></c>"


def _begin(place: int) -> str:
    return f'<c r="{column_letters(place)}{_ROW}" s="'


def _writer(column: ExportColumn, begin: str, styles: StyleIds) -> WriteValue:
    """Return what writes a column's values as cells, which ``begin`` with their address."""
    read: Callable[[Any], Any] = reader_of(column)
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
            return lambda value: f'{begin}{styles[Style.BOOLEAN]}" t="b"><v>{read(value):d}</v></c>'
        case _:
            return lambda value: text(read(value))


def _text_encoder(begin: str, styles: StyleIds) -> Callable[[str], str]:
    plain, lines = (f'{begin}{styles[s]}" t="inlineStr"><is>' for s in (Style.TEXT, Style.LINES))

    def encode(text: str) -> str:
        if len(text) > _LONGEST_TEXT // 2:
            length = len(text.encode("utf-16-le", "surrogatepass")) // 2
            if length > _LONGEST_TEXT:
                raise TooLong(length, _LONGEST_TEXT)
        if not _SUSPECT(text) and text.strip() == text:
            return f"{plain}<t>{text}</t></is></c>"
        kept = f'<t xml:space="preserve">{_escaped(text)}</t>'
        return f"{lines if _LINE_BREAK in text else plain}{kept}</is></c>"

    return encode


def _number_writer(
    kind: Kind, read: Callable[[Any], str], begin: str, styles: StyleIds
) -> WriteValue:
    style, is_usual = _NUMBERS[kind]
    as_text = _text_encoder(begin, styles)
    usual, finer = (f'{begin}{styles[one]}"><v>' for one in (style, Style.NUMBER))

    def write(value: Any) -> str:
        if isinstance(value, str) and is_usual(value):
            return f"{usual}{value}</v></c>"
        digits = read(value)
        if len(digits) > _SURE_DIGITS and not _reads_back(digits):
            return as_text(digits)
        more_than_cents = digits.rfind(".", 0, -3) >= 0
        return f"{finer if more_than_cents else usual}{digits}</v></c>"

    return write


def _moment_encoder(begin: str, styles: StyleIds) -> Callable[[str], str]:
    as_text = _text_encoder(begin, styles)
    day_only, with_time = (f'{begin}{styles[s]}"><v>' for s in (Style.DAY, Style.MOMENT))

    def encode(text: str) -> str:
        moment = datetime.fromisoformat(text)
        day = moment.toordinal()
        if day < _FIRST_SAFE_DAY:
            return as_text(text)
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        share = (seconds + moment.microsecond / 1e6) / _DAY
        if share:
            return f"{with_time}{day - _EPOCH + share}</v></c>"
        return f"{day_only}{day - _EPOCH}</v></c>"

    return encode


def _escaped(text: str) -> str:
    plain = _LOOKS_ESCAPED.sub("_x005F_", text)
    plain = plain.translate(_MARKUP)
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", plain)


def _reads_back(digits: str) -> bool:
    """Say whether programs, which read binary floating-point numbers, get the same digits."""
    return Decimal(digits) == Decimal(repr(float(digits)))
