"""CSV: UTF-8 with a byte-order mark (Excel needs it), one file per sheet.

The plain dialect has commas, decimal points and ISO dates; ``pt-br`` is what Excel in Brazil opens
by a double click: semicolons, decimal commas, dd/mm/yyyy.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from xlbridge.export.books.book import Book, OpenBook
from xlbridge.export.books.line_book import open_lines
from xlbridge.export.columns import ExportColumn
from xlbridge.export.lines import LineForm, WriteValue
from xlbridge.export.sheet import Sheet
from xlbridge.export.values import reader_of
from xlbridge.resources.column import Kind

_BYTE_ORDER_MARK = "\ufeff"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How values are written."""

    delimiter: str
    decimal_point: str
    day: str
    time: str
    true: str
    false: str


CSV_DIALECTS: dict[str, CsvDialect] = {
    "plain": CsvDialect(",", ".", "%Y-%m-%d", "T%H:%M:%S", "true", "false"),
    "pt-br": CsvDialect(";", ",", "%d/%m/%Y", " %H:%M:%S", "VERDADEIRO", "FALSO"),
}


def csv_opener(dialect: CsvDialect) -> OpenBook:
    """Return what opens a CSV book in a dialect."""
    return partial(_open_csv, dialect)


def _open_csv(
    dialect: CsvDialect, path: Path, sheets: Sequence[Sheet]
) -> AbstractContextManager[Book]:
    form = LineForm(
        partial(_writer, dialect),
        around=partial(_around, dialect),
        between=dialect.delimiter,
        after="\r\n",
    )
    quoted = _quoting(dialect)

    def opening(sheet: Sheet) -> str:
        names = dialect.delimiter.join(quoted(column.name) for column in sheet.columns)
        return f"{_BYTE_ORDER_MARK}{names}\r\n"

    return open_lines(path, sheets, form, opening)


def neutral(text: str) -> str:
    """Return a text so that no spreadsheet program takes it for a formula.

    A text that begins like one, perhaps after spaces or in a compatibility form, gets an
    apostrophe in front.
    """
    if text.isalnum() and text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    if plain.startswith(_FORMULA_STARTS) or plain.strip().startswith(_FORMULA_STARTS):
        return "'" + text
    return text


def _writer(dialect: CsvDialect, column: ExportColumn, _place: int) -> WriteValue:
    quoted, written, read = _quoting(dialect), _written(dialect, column), reader_of(column)
    return lambda value: quoted(written(read(value)))


def _around(dialect: CsvDialect, _column: ExportColumn, _place: int) -> tuple[str, str] | None:
    return ("", "") if dialect.decimal_point == "." else None


def _written(dialect: CsvDialect, column: ExportColumn) -> Callable[[Any], str]:
    if column.is_list:
        return lambda texts: neutral("\n".join(texts))
    match column.kind:
        case Kind.BOOLEAN:
            return lambda flag: dialect.true if flag else dialect.false
        case Kind.INTEGER:
            return str
        case Kind.NUMBER | Kind.MONEY:
            return lambda digits: str(digits).replace(".", dialect.decimal_point)
        case Kind.DATE:
            return partial(_moment, dialect)
        case _:
            return neutral


def _moment(dialect: CsvDialect, text: str) -> str:
    moment = datetime.fromisoformat(text)
    # Not strftime for the year: before 1000 it drops the leading zeros on some platforms.
    day = dialect.day.replace("%Y", f"{moment.year:04d}")
    at_midnight = moment.time() == datetime.min.time()
    return moment.strftime(day if at_midnight else day + dialect.time)


def _quoting(dialect: CsvDialect) -> Callable[[str], str]:
    """Return what puts a text between quotes where it needs them (RFC 4180)."""
    special = re.compile(f'[{dialect.delimiter}"\r\n]').search
    return lambda text: '"' + text.replace('"', '""') + '"' if special(text) else text
