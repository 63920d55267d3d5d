"""Text formats, one file per sheet: CSV and JSON Lines.

CSV is UTF-8 with a byte-order mark, which Excel needs. The plain dialect has commas, decimal
points and ISO dates; ``pt-br``, which Brazilian Excel opens by a double click, has semicolons,
decimal commas and dd/mm/yyyy. JSON Lines has one object per row with exact numbers.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from xlbridge.export.formats.base import (
    LineFormat,
    OpenOutput,
    OutputWriter,
    Table,
    WriteValue,
    sheet_paths,
)
from xlbridge.export.sheets import (
    ExportColumn,
    Sheet,
    moment_suffix,
    naive_moment,
    value_reader,
)
from xlbridge.files import replace_atomically
from xlbridge.report_forms import Report
from xlbridge.resources import Kind


@contextmanager
def open_text(
    path: Path, sheets: Sequence[Sheet], line_format: LineFormat, header: Callable[[Sheet], str]
) -> Iterator[OutputWriter]:
    """Open an output of text files; ``header`` returns the beginning of a sheet's file."""
    with ExitStack() as files:
        streams: dict[str, BinaryIO] = {}
        for target, sheet in zip(sheet_paths(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replace_atomically(target, shared=True))
            streams[sheet.name] = files.enter_context(temporary.open("wb"))
            streams[sheet.name].write(header(sheet).encode())
        yield _TextOutput(streams, line_format)


@dataclass(frozen=True, slots=True)
class _TextOutput(OutputWriter):
    streams: dict[str, BinaryIO]
    common_format: LineFormat

    def line_format(self, sheet: Sheet) -> LineFormat:
        return self.common_format

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        for table in tables:
            self.streams[table.sheet.name].writelines(table.blocks)


_BYTE_ORDER_MARK = "\ufeff"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """Notation of values in CSV; with ``has_zones``, times have zones and fractions of seconds."""

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
    """Return the opener of CSV in a dialect."""
    special = re.compile(f'[{dialect.delimiter}"\r\n]').search
    common_affixes = ("", "") if dialect.decimal_point == "." else None

    def quote(text: str) -> str:
        """Quote a text if it needs to be (RFC 4180)."""
        return '"' + text.replace('"', '""') + '"' if special(text) else text

    def cell_writer(column: ExportColumn, _index: int) -> WriteValue:
        to_text, read = _csv_text(dialect, column), value_reader(column)
        return lambda value: quote(to_text(read(value)))

    def header(sheet: Sheet) -> str:
        names = dialect.delimiter.join(quote(column.name) for column in sheet.columns)
        return f"{_BYTE_ORDER_MARK}{names}\r\n"

    line_format = LineFormat(
        cell_writer,
        affixes=lambda _column, _index: common_affixes,
        separator=dialect.delimiter,
        suffix="\r\n",
    )
    return partial(open_text, line_format=line_format, header=header)


def neutralize_formula(text: str) -> str:
    """Return a text that no spreadsheet program evaluates as a formula.

    A text that starts like one, even after spaces or in a compatibility form, gets an apostrophe
    in front.
    """
    if text.isalnum() and text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    if plain.startswith(_FORMULA_STARTS) or plain.strip().startswith(_FORMULA_STARTS):
        return "'" + text
    return text


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
    # strftime drops leading zeros of years before 1000 on some platforms.
    day = dialect.day.replace("%Y", f"{moment.year:04d}")
    suffix = "".join(moment_suffix(text)) if dialect.has_zones else ""
    is_day = not suffix and moment.replace(microsecond=0).time() == datetime.min.time()
    return moment.strftime(day if is_day else day + dialect.time) + suffix


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _json_member(column: ExportColumn, _index: int) -> WriteValue:
    """Return what writes a member of an object: the column's name and the value."""
    name, read = _encode(column.name), value_reader(column)
    # A number's cell is its exact digits, which JSON has without quotes.
    if column.kind.is_number and not column.is_list:
        return lambda value: f"{name}: {read(value)}"
    return lambda value: f"{name}: {_encode(read(value))}"


open_jsonl: OpenOutput = partial(
    open_text,
    header=lambda _sheet: "",
    line_format=LineFormat(
        _json_member,
        affixes=lambda column, _index: (f"{_encode(column.name)}: ", ""),
        empty_cell=lambda column: f"{_encode(column.name)}: null",
        prefix="{",
        separator=", ",
        suffix="}\n",
    ),
)
"""Opens a JSON Lines output."""
