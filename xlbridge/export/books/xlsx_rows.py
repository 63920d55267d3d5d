"""Rows of a worksheet as XML, into a file beside the workbook that is being made.

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
from types import NoneType
from typing import Any, TextIO

from xlbridge.errors import UsageError
from xlbridge.export.columns import ExportColumn, Row
from xlbridge.export.listing import Sheet
from xlbridge.i18n import Text
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
_SAMPLE = 200
"""So many rows of a sheet decide its columns' widths."""

_REMEMBERED, _SHORT = 1_000, 200
"""So many different short cells of a column are kept ready: most columns repeat a few values."""

_SELDOM_REPEATED = (Kind.NUMBER, Kind.MONEY)

_ROW = "\0"
"""Stands for a row's number in its shape."""

_SPECIAL = re.compile("[&<>\x00-\x1f\x7f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_|^\\s|\\s$").search
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_MARKUP = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("\r"): "_x000D_"}


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
_Encode = Callable[[Any], str]
"""Returns a cell from its style on: what follows its address."""


class _Ready(dict[Any, str]):
    """Cells of one column, made when they are first asked for; not more than a bounded number."""

    def __init__(self, encode: _Encode) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, cell: Any) -> str:
        made = self._encode(cell)
        if len(made) <= _SHORT:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[cell] = made
        return made


class SheetRows:
    """Writes the rows of one worksheet, from row 2 on; remembers how wide its columns are."""

    def __init__(self, stream: TextIO, sheet: Sheet, styles: StyleIds) -> None:
        self.rows = 0
        self._number = 0
        self.widths = [len(column.name) for column in sheet.columns]
        self._stream = stream
        self._sheet = sheet
        self._styles = styles
        self._shapes: dict[tuple[type, ...], str] = {}
        self._ready = [
            self._encoder(column)
            if column.is_list or column.kind in _SELDOM_REPEATED
            else _Ready(self._encoder(column)).__getitem__
            for column in sheet.columns
        ]

    def write(self, rows: Iterable[Row]) -> None:
        """Write rows. Raises ``UsageError`` for a text that no cell holds."""
        write, ready, shapes = self._stream.write, self._ready, self._shapes
        number = self.rows + 2
        for row in rows:
            self._number = number
            if number < _SAMPLE:
                self._measure(row)
            kinds = tuple(map(type, row))
            shape = shapes.get(kinds) or self._shape(kinds)
            cells = [make(cell) for make, cell in zip(ready, row, strict=True) if cell is not None]
            write(shape.replace(_ROW, str(number)) % tuple(cells))
            number += 1
        self.rows = number - 2

    def _shape(self, kinds: tuple[type, ...]) -> str:
        """Return a row whose cells that are there, told by their types, are still to be filled."""
        if len(self._shapes) >= _REMEMBERED:
            self._shapes.clear()
        places = [column_letters(n) for n, kind in enumerate(kinds) if kind is not NoneType]
        cells = "".join(f'<c r="{letters}{_ROW}"%s' for letters in places)
        shape = self._shapes[kinds] = f'<row r="{_ROW}">{cells}</row>\n'
        return shape

    def _measure(self, row: Row) -> None:
        for index, (cell, column) in enumerate(zip(row, self._sheet.columns, strict=True)):
            shown = 16 if column.kind is Kind.DATE else len(str(cell)) if cell is not None else 0
            self.widths[index] = max(self.widths[index], shown)

    def _encoder(self, column: ExportColumn) -> _Encode:
        if column.is_list:
            lines = self._text_encoder(column)
            return lambda texts: lines("\n".join(texts))
        match column.kind:
            case Kind.INTEGER:
                return self._integer_encoder(column)
            case Kind.NUMBER | Kind.MONEY:
                return self._number_encoder(column)
            case Kind.DATE:
                return self._moment_encoder(column)
            case Kind.BOOLEAN:
                style = self._styles[Style.BOOLEAN]
                return lambda flag: f' s="{style}" t="b"><v>{flag:d}</v></c>'
            case _:
                return self._text_encoder(column)

    def _text_encoder(self, column: ExportColumn) -> _Encode:
        plain, lines = self._styles[Style.TEXT], self._styles[Style.LINES]

        def encode(text: str) -> str:
            if (
                len(text) > _LONGEST_TEXT // 2
                and len(text.encode("utf-16-le")) // 2 > _LONGEST_TEXT
            ):
                raise self._too_long(column, text)
            if not _SPECIAL(text):
                return f' s="{plain}" t="inlineStr"><is><t>{text}</t></is></c>'
            style = lines if "\n" in text else plain
            kept = f'<t xml:space="preserve">{_escaped(text)}</t>'
            return f' s="{style}" t="inlineStr"><is>{kept}</is></c>'

        return encode

    def _integer_encoder(self, column: ExportColumn) -> _Encode:
        style, as_text = self._styles[Style.INTEGER], self._text_encoder(column)

        def encode(number: int) -> str:
            digits = str(number)
            if len(digits) > _SURE_DIGITS and not _reads_back(digits):
                return as_text(digits)
            return f' s="{style}"><v>{digits}</v></c>'

        return encode

    def _number_encoder(self, column: ExportColumn) -> _Encode:
        as_text = self._text_encoder(column)
        cents = Style.MONEY if column.kind is Kind.MONEY else Style.NUMBER
        usual, finer = (f' s="{self._styles[style]}"><v>' for style in (cents, Style.NUMBER))

        def encode(digits: str) -> str:
            if len(digits) > _SURE_DIGITS and not _reads_back(digits):
                return as_text(digits)
            if digits[-2:-1] == "." or digits[-3:-2] == "." or "." not in digits:
                return f"{usual}{digits}</v></c>"
            return f"{finer}{digits}</v></c>"

        return encode

    def _moment_encoder(self, column: ExportColumn) -> _Encode:
        as_text = self._text_encoder(column)
        return lambda text: self._serial(text) or as_text(text)

    def _serial(self, text: str) -> str | None:
        moment = datetime.fromisoformat(text)
        day = moment.toordinal()
        if day < _FIRST_SAFE_DAY:
            return None
        seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
        share = (seconds + moment.microsecond / 1e6) / _DAY
        style = self._styles[Style.MOMENT if share else Style.DAY]
        return f' s="{style}"><v>{day - _EPOCH + share if share else day - _EPOCH}</v></c>'

    def _too_long(self, column: ExportColumn, text: str) -> UsageError:
        return UsageError(
            Text(
                pt="{sheet}, linha {row}, campo {field}: o texto tem {length} caracteres, e uma "
                "célula do Excel guarda {limit}.",
                en="{sheet}, row {row}, field {field}: the text has {length} characters, and a "
                "cell of Excel holds {limit}.",
            ).format(
                sheet=self._sheet.name,
                row=self._number,
                field=column.name,
                length=len(text),
                limit=_LONGEST_TEXT,
            ),
            Text(
                pt="Exporte para .csv ou .jsonl, que não têm esse limite.",
                en="Export to .csv or .jsonl, which have no such limit.",
            ),
        )


def _escaped(text: str) -> str:
    plain = _LOOKS_ESCAPED.sub("_x005F_", text)
    plain = plain.translate(_MARKUP)
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", plain)


def _reads_back(digits: str) -> bool:
    """Say whether programs, which read binary floating-point numbers, get the same digits."""
    return Decimal(digits) == Decimal(repr(float(digits)))
