"""JSON Lines: one object per row, one file per sheet, every number exact."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from xlbridge.export.books.book import Book
from xlbridge.export.books.line_book import open_lines
from xlbridge.export.columns import ExportColumn
from xlbridge.export.lines import LineForm, WriteValue
from xlbridge.export.sheet import Sheet
from xlbridge.export.values import reader_of
from xlbridge.resources.column import Kind

_NUMBERS = (Kind.INTEGER, Kind.NUMBER, Kind.MONEY)

_encode = json.JSONEncoder(ensure_ascii=False).encode


def open_jsonl(path: Path, sheets: Sequence[Sheet]) -> AbstractContextManager[Book]:
    """Open a JSON Lines book."""
    return open_lines(path, sheets, _FORM, lambda _sheet: "")


def _member(column: ExportColumn, _place: int) -> WriteValue:
    name, read = _encode(column.name), reader_of(column)
    # The exact digits of a number are the cell's text; JSON has them bare.
    if column.kind in _NUMBERS and not column.is_list:
        return lambda value: f"{name}: {read(value)}"
    return lambda value: f"{name}: {_encode(read(value))}"


def _around(column: ExportColumn, _place: int) -> tuple[str, str]:
    return f"{_encode(column.name)}: ", ""


def _nothing(column: ExportColumn) -> str:
    return f"{_encode(column.name)}: null"


_FORM = LineForm(
    _member,
    around=_around,
    nothing=_nothing,
    before="{",
    between=", ",
    after="}\n",
)
