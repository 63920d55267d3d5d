"""Formats for programs, one file or frame per sheet: CSV, JSON Lines, Parquet and DataFrames.

CSV is UTF-8 with a byte-order mark, which Excel needs. The plain dialect has commas, decimal
points, ISO dates, and texts exactly as received. ``pt-br``, which Brazilian Excel opens by a double
click, has semicolons, amounts such as 3.294,80 and dd/mm/yyyy; a text that Excel would convert or
evaluate is written as ``="…"``, which shows it unchanged. JSON Lines has one object per row with
exact numbers. In both, times have neither zone nor fraction of a second, as in a workbook. Parquet,
which needs the extra ``parquet`` (pyarrow), has typed columns and money as exact decimals.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from xlbridge.errors import UsageError
from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    LineFormat,
    OpenOutput,
    OutputWriter,
    Table,
    WriteValue,
    cells_of,
    sheet_paths,
    text_of,
)
from xlbridge.export.sheets import (
    ExportColumn,
    Sheet,
    naive_moment,
    value_reader,
)
from xlbridge.extras import install_hint
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.report_forms import Report
from xlbridge.resources import Kind

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


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
            self.streams[table.sheet.name].writelines(table.lines())


_BYTE_ORDER_MARK = "\ufeff"
_SEPARATORS = ",;|\t\r\n"
"""Characters at which some program splits a line."""

_FORMULA = re.compile(rf"(?:^|(?<=[{_SEPARATORS}]))[\s\"]*[=+@\t\r＝＋－＠﹢﹣﹫−-]")
"""Beginning of a formula, wherever a program splits; also in forms that it may normalise."""

_MONTHS = "jan|fev|feb|mar|abr|apr|mai|may|jun|jul|ago|aug|set|sep|out|oct|nov|dez|dec"
_CONVERTED = re.compile(
    rf"\s*(?:(?:R\$|[$€£])?[\s(]*[\d.,/:() %e-]*\d[\d.,/:() %e-]*(?:[ap]m?)?"
    rf"|(?:\d{{1,2}}[ /.-]*)?(?:de )?(?:{_MONTHS})[a-zç]*\.?(?:(?: de )?[ /.-]*\d{{1,4}})?"
    r"|verdadeiro|falso|true|false)\s*",
    re.IGNORECASE,
).fullmatch
"""Texts that Excel takes for a number, a date, a time or a boolean."""

_MAX_LITERAL = 250
"""Characters of a text within a formula, below Excel's limit of 255."""

_EXACT_INTEGER = 15
"""Digits that Excel keeps."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """Notation of values in CSV.

    With ``protects_texts``, Excel shows every text unchanged, and amounts have ``thousands``.
    """

    delimiter: str
    decimal_point: str
    day: str
    time: str
    true: str
    false: str
    thousands: str = ""
    protects_texts: bool = False


CSV_DIALECTS: dict[str, CsvDialect] = {
    "plain": CsvDialect(",", ".", "%Y-%m-%d", "T%H:%M:%S", "true", "false"),
    "pt-br": CsvDialect(
        ";",
        ",",
        "%d/%m/%Y",
        " %H:%M:%S",
        "VERDADEIRO",
        "FALSO",
        thousands=".",
        protects_texts=True,
    ),
}


def csv_opener(dialect: CsvDialect) -> OpenOutput:
    """Return the opener of CSV in a dialect."""
    separators = dialect.delimiter + "\r\n" if dialect.protects_texts else _SEPARATORS
    special = re.compile(f'[{separators}"]').search
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
        is_risky=None if dialect.protects_texts else begins_formula,
        affixes=lambda _column, _index: common_affixes,
        separator=dialect.delimiter,
        suffix="\r\n",
    )
    return partial(open_text, line_format=line_format, header=header)


def begins_formula(text: str) -> bool:
    """Return whether some program evaluates a text, or what it splits from it, as a formula."""
    return _FORMULA.search(text) is not None


def as_text_formula(text: str) -> str:
    """Return the formula by which Excel shows a text unchanged.

    It is cut wherever a program that splits at another character would find a formula.
    """
    cuts = {match.start() for match in _FORMULA.finditer(text)} | {0, len(text)}
    bounds = sorted(cuts | set(range(0, len(text), _MAX_LITERAL)))
    parts = (text[start:end] for start, end in pairwise(bounds))
    literals = ('"' + part.replace('"', '""') + '"' for part in parts)
    return "=" + "&".join(literals)


def _csv_text(dialect: CsvDialect, column: ExportColumn) -> Callable[[Any], str]:
    """Return what writes a cell of a column in a dialect."""

    def protected(text: str) -> str:
        return as_text_formula(text) if begins_formula(text) or _CONVERTED(text) else text

    def amount(digits: str) -> str:
        # At least two decimal places, and separated thousands.
        whole, _, decimals = digits.partition(".")
        sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        grouped = f"{int(whole):,}".replace(",", dialect.thousands)
        return f"{sign}{grouped}{dialect.decimal_point}{decimals.ljust(2, '0')}"

    def moment(text: str) -> str:
        time = naive_moment(text)
        # strftime drops leading zeros of years before 1000 on some platforms.
        day = dialect.day.replace("%Y", f"{time.year:04d}")
        is_day = time.replace(microsecond=0).time() == datetime.min.time()
        return time.strftime(day if is_day else day + dialect.time)

    as_text: Callable[[str], str] = protected if dialect.protects_texts else str
    if column.is_list:
        return lambda texts: as_text("\n".join(texts))
    match column.kind:
        case Kind.BOOLEAN:
            return lambda flag: dialect.true if flag else dialect.false
        case Kind.INTEGER:
            return lambda digits: digits if len(digits) <= _EXACT_INTEGER else as_text(digits)
        case Kind.NUMBER:
            return lambda digits: str(digits).replace(".", dialect.decimal_point)
        case Kind.MONEY if dialect.thousands:
            return amount
        case Kind.MONEY:
            return str
        case Kind.DATE:
            return moment
        case _:
            return as_text


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _json_member(column: ExportColumn, _index: int) -> WriteValue:
    """Return what writes a member of an object: the column's name and the value."""
    name, read = _encode(column.name), value_reader(column)
    # A number's cell is its exact digits, which JSON has without quotes.
    if column.kind.is_number and not column.is_list:
        return lambda value: f"{name}: {read(value)}"
    if column.kind is Kind.DATE and not column.is_list:

        def bare_moment(value: Any) -> str:
            moment = naive_moment(str(read(value))).replace(microsecond=0)
            return f"{name}: {_encode(moment.isoformat())}"

        return bare_moment
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


_CONVERTERS: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.MONEY: Decimal,
    Kind.DATE: naive_moment,
    Kind.BOOLEAN: bool,
}


def _values(
    column: ExportColumn, cells: Sequence[Any], number: Callable[[Any], Any]
) -> Sequence[Any]:
    """Return the typed values of a column's cells; ``number`` converts those of a number."""
    if column.is_list:
        return cells
    convert = number if column.kind is Kind.NUMBER else _CONVERTERS.get(column.kind, text_of)
    return [None if cell is None else convert(cell) for cell in cells]


_ROWS_PER_BATCH = 20_000
_PRECISION, _SCALE = 38, 12
_QUANTUM = Decimal(1).scaleb(-_SCALE)
_EXACT = Context(prec=100)


@contextmanager
def open_parquet(path: Path, sheets: Sequence[Sheet]) -> Iterator[OutputWriter]:
    """Open a Parquet output. Raises ``UsageError`` if the extra ``parquet`` is not installed."""
    try:
        # Imported here: pyarrow takes half a second, and is an optional extra.
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError(
            Text(
                pt="Para gravar .parquet falta o pyarrow.",
                en="Writing .parquet needs pyarrow.",
            ),
            install_hint("parquet"),
        ) from None
    with ExitStack() as files:
        output = _ParquetOutput()
        for target, sheet in zip(sheet_paths(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replace_atomically(target, shared=True))
            output.paths[sheet.name] = str(temporary)
        yield output


class _ParquetOutput(OutputWriter):
    def __init__(self) -> None:
        self.paths: dict[str, str] = {}

    def line_format(self, sheet: Sheet) -> LineFormat:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        for table in tables:
            path, rows = self.paths[table.sheet.name], cells_of(table.lines())
            schema = pa.schema([(one.name, _arrow_type(one)) for one in table.sheet.columns])
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                while batch := list(islice(rows, _ROWS_PER_BATCH)):
                    columns = zip(table.sheet.columns, zip(*batch, strict=True), strict=True)
                    arrays = [_array(table.sheet, column, cells) for column, cells in columns]
                    writer.write_batch(pa.record_batch(arrays, schema=schema))


def _arrow_type(column: ExportColumn) -> "pa.DataType":
    import pyarrow as pa

    if column.is_list:
        return pa.list_(pa.string())
    match column.kind:
        case Kind.INTEGER:
            return pa.int64()
        case Kind.NUMBER | Kind.MONEY:
            return pa.decimal128(_PRECISION, _SCALE)
        case Kind.DATE:
            return pa.timestamp("us")
        case Kind.BOOLEAN:
            return pa.bool_()
        case _:
            return pa.string()


def _array(sheet: Sheet, column: ExportColumn, cells: Sequence[Any]) -> "pa.Array":
    import pyarrow as pa

    values = _values(column, cells, Decimal)
    try:
        try:
            return pa.array(values, _arrow_type(column))
        except pa.ArrowInvalid:
            # Digits finer than the columns' scale come from binary arithmetic.
            rounded = [
                v.quantize(_QUANTUM, context=_EXACT) if isinstance(v, Decimal) else v
                for v in values
            ]
            return pa.array(rounded, _arrow_type(column))
    except (pa.ArrowInvalid, OverflowError):
        raise UsageError(
            Text(
                pt="{sheet}, campo {field}: um número não cabe nas colunas do Parquet.",
                en="{sheet}, field {field}: a number does not fit into Parquet's columns.",
            ).format(sheet=sheet.name, field=column.name),
            Text(pt="Exporte para .csv ou .jsonl.", en="Export to .csv or .jsonl."),
        ) from None


class FrameOutput(OutputWriter):
    """Collects an export as DataFrames by sheet; ``open`` is its ``OpenOutput``.

    Money is ``Decimal`` (dtype ``object``), dates are ``datetime64[us]``, whole numbers ``Int64``
    (``object`` beyond 64 bits), other numbers ``Float64``, yes or no ``boolean``, codes and other
    text ``str``. A cell of several texts is a list of them. A column with values of another type
    than the documented one is text.
    """

    def __init__(self) -> None:
        self.frames: dict[str, pd.DataFrame] = {}

    @contextmanager
    def open(self, path: Path, sheets: Sequence[Sheet]) -> Iterator[OutputWriter]:
        """Open the output; no file is written at ``path``."""
        yield self

    def line_format(self, sheet: Sheet) -> LineFormat:
        """Return the format of lines: their cells."""
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], cover: Report, system: str) -> None:
        """Build the DataFrames."""
        # Imported here, as pandas is slow to import and files do not need it.
        import pandas as pd

        for table in tables:
            columns = table.sheet.columns
            cells = list(zip(*cells_of(table.lines()), strict=True)) or [()] * len(columns)
            series = [_series(column, cells) for column, cells in zip(columns, cells, strict=True)]
            frame = pd.concat(series, axis="columns") if series else pd.DataFrame()
            self.frames[table.sheet.name] = frame


def _series(column: ExportColumn, cells: Sequence[Any]) -> "pd.Series":
    import pandas as pd

    values = list(_values(column, cells, float))
    is_object = column.is_list or column.kind is Kind.MONEY
    try:
        return pd.Series(
            values, dtype="object" if is_object else column.kind.dtype, name=column.name
        )
    except (OverflowError, TypeError):
        if column.kind is not Kind.INTEGER:
            raise
        return pd.Series(values, dtype=object, name=column.name)
