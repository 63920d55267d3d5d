"""Text formats, one file per sheet: CSV and JSON Lines.

CSV is UTF-8 with a byte-order mark (Excel needs it). The plain dialect has commas, decimal
points and ISO dates; ``pt-br`` is what Excel in Brazil opens by a double click: semicolons, decimal
commas, dd/mm/yyyy. JSON Lines has one object per row and every number exact.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from xlbridge.export.formats.base import CoverSummary, OpenOutput, OutputWriter, Table, sheet_paths
from xlbridge.export.lines import LineFormat, WriteValue
from xlbridge.export.sheets import (
    ExportColumn,
    Sheet,
    moment_suffix,
    naive_moment,
    value_reader,
)
from xlbridge.files import replace_atomically
from xlbridge.resources import Kind


@contextmanager
def open_text(
    path: Path, sheets: Sequence[Sheet], form: LineFormat, opening: Callable[[Sheet], str]
) -> Iterator[OutputWriter]:
    """Open a book of text files; ``opening`` is what a sheet's file begins with."""
    with ExitStack() as files:
        streams: dict[str, BinaryIO] = {}
        for target, sheet in zip(sheet_paths(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replace_atomically(target, shared=True))
            streams[sheet.name] = files.enter_context(temporary.open("wb"))
            streams[sheet.name].write(opening(sheet).encode())
        yield _TextOutput(streams, form)


@dataclass(frozen=True, slots=True)
class _TextOutput(OutputWriter):
    streams: dict[str, BinaryIO]
    line_form: LineFormat

    def form(self, sheet: Sheet) -> LineFormat:
        return self.line_form

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        for table in tables:
            self.streams[table.sheet.name].writelines(table.blocks)


_BYTE_ORDER_MARK = "\ufeff"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """Notation of values in CSV; one with zones has fractions of seconds too."""

    delimiter: str
    decimal_point: str
    day: str
    time: str
    true: str
    false: str
    has_zones: bool


CSV_DIALECTS: dict[str, CsvDialect] = {
    "plain": CsvDialect(",", ".", "%Y-%m-%d", "T%H:%M:%S", "true", "false", has_zones=True),
    "pt-br": CsvDialect(";", ",", "%d/%m/%Y", " %H:%M:%S", "VERDADEIRO", "FALSO", has_zones=False),
}


def csv_opener(dialect: CsvDialect) -> OpenOutput:
    """Return what opens a CSV book in a dialect."""
    return partial(_open_csv, dialect)


def _open_csv(
    dialect: CsvDialect, path: Path, sheets: Sequence[Sheet]
) -> AbstractContextManager[OutputWriter]:
    form = LineFormat(
        partial(_csv_writer, dialect),
        around=partial(_csv_around, dialect),
        between=dialect.delimiter,
        after="\r\n",
    )
    quoted = _csv_quoter(dialect)

    def opening(sheet: Sheet) -> str:
        names = dialect.delimiter.join(quoted(column.name) for column in sheet.columns)
        return f"{_BYTE_ORDER_MARK}{names}\r\n"

    return open_text(path, sheets, form, opening)


def neutralize_formula(text: str) -> str:
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


def _csv_writer(dialect: CsvDialect, column: ExportColumn, _place: int) -> WriteValue:
    quoted, written, read = _csv_quoter(dialect), _csv_text(dialect, column), value_reader(column)
    return lambda value: quoted(written(read(value)))


def _csv_around(dialect: CsvDialect, _column: ExportColumn, _place: int) -> tuple[str, str] | None:
    return ("", "") if dialect.decimal_point == "." else None


def _csv_text(dialect: CsvDialect, column: ExportColumn) -> Callable[[Any], str]:
    if column.is_list:
        return lambda texts: neutralize_formula("\n".join(texts))
    match column.kind:
        case Kind.BOOLEAN:
            return lambda flag: dialect.true if flag else dialect.false
        case Kind.INTEGER:
            return str
        case Kind.NUMBER | Kind.MONEY:
            return lambda digits: str(digits).replace(".", dialect.decimal_point)
        case Kind.DATE:
            return partial(_csv_moment, dialect)
        case _:
            return neutralize_formula


def _csv_moment(dialect: CsvDialect, text: str) -> str:
    moment = naive_moment(text)
    # Not strftime for the year: before 1000 it drops the leading zeros on some platforms.
    day = dialect.day.replace("%Y", f"{moment.year:04d}")
    suffix = "".join(moment_suffix(text)) if dialect.has_zones else ""
    is_day = not suffix and moment.replace(microsecond=0).time() == datetime.min.time()
    return moment.strftime(day if is_day else day + dialect.time) + suffix


def _csv_quoter(dialect: CsvDialect) -> Callable[[str], str]:
    """Return what puts a text between quotes where it needs them (RFC 4180)."""
    special = re.compile(f'[{dialect.delimiter}"\r\n]').search
    return lambda text: '"' + text.replace('"', '""') + '"' if special(text) else text


_encode = json.JSONEncoder(ensure_ascii=False).encode


def open_jsonl(path: Path, sheets: Sequence[Sheet]) -> AbstractContextManager[OutputWriter]:
    """Open a JSON Lines book."""
    return open_text(path, sheets, _JSONL_FORMAT, lambda _sheet: "")


def _json_member(column: ExportColumn, _place: int) -> WriteValue:
    name, read = _encode(column.name), value_reader(column)
    # The exact digits of a number are the cell's text; JSON has them bare.
    if column.kind.is_number and not column.is_list:
        return lambda value: f"{name}: {read(value)}"
    return lambda value: f"{name}: {_encode(read(value))}"


def _json_around(column: ExportColumn, _place: int) -> tuple[str, str]:
    return f"{_encode(column.name)}: ", ""


def _json_null(column: ExportColumn) -> str:
    return f"{_encode(column.name)}: null"


_JSONL_FORMAT = LineFormat(
    _json_member,
    around=_json_around,
    nothing=_json_null,
    before="{",
    between=", ",
    after="}\n",
)
