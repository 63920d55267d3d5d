"""Parquet, for data tools: typed columns, money as exact decimals, one file per sheet.

Needs the extra ``parquet`` (pyarrow).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Context, Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from xlbridge.errors import UsageError
from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    LineFormat,
    OutputWriter,
    Table,
    cells_of,
    sheet_paths,
    text_of,
)
from xlbridge.export.sheets import ExportColumn, Sheet, naive_moment
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.report_forms import Report
from xlbridge.resources import Kind

_ROWS_PER_BATCH = 20_000
_PRECISION, _SCALE = 38, 12
_QUANTUM = Decimal(1).scaleb(-_SCALE)
_EXACT = Context(prec=100)
_TYPES: dict[Kind, pa.DataType] = {
    Kind.INTEGER: pa.int64(),
    Kind.NUMBER: pa.decimal128(_PRECISION, _SCALE),
    Kind.MONEY: pa.decimal128(_PRECISION, _SCALE),
    Kind.DATE: pa.timestamp("us"),
    Kind.BOOLEAN: pa.bool_(),
}
_CONVERTERS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.NUMBER: Decimal,
    Kind.MONEY: Decimal,
    Kind.DATE: naive_moment,
}


@contextmanager
def open_parquet(path: Path, sheets: Sequence[Sheet]) -> Iterator[OutputWriter]:
    """Open a Parquet output."""
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
        for table in tables:
            path, rows = self.paths[table.sheet.name], cells_of(table.lines())
            schema = pa.schema([(column.name, _type(column)) for column in table.sheet.columns])
            with pq.ParquetWriter(path, schema, compression="zstd") as writer:
                while batch := list(islice(rows, _ROWS_PER_BATCH)):
                    columns = zip(table.sheet.columns, zip(*batch, strict=True), strict=True)
                    arrays = [_array(table.sheet, column, cells) for column, cells in columns]
                    writer.write_batch(pa.record_batch(arrays, schema=schema))


def _type(column: ExportColumn) -> pa.DataType:
    return pa.list_(pa.string()) if column.is_list else _TYPES.get(column.kind, pa.string())


def _array(sheet: Sheet, column: ExportColumn, cells: Sequence[Any]) -> pa.Array:
    read = (
        text_of if column.kind is Kind.TEXT and not column.is_list else _CONVERTERS.get(column.kind)
    )
    values = cells if read is None else [None if c is None else read(c) for c in cells]
    try:
        try:
            return pa.array(values, _type(column))
        except pa.ArrowInvalid:
            # Digits finer than the columns' scale come from binary arithmetic.
            rounded = [
                v.quantize(_QUANTUM, context=_EXACT) if isinstance(v, Decimal) else v
                for v in values
            ]
            return pa.array(rounded, _type(column))
    except (pa.ArrowInvalid, OverflowError):
        raise UsageError(
            Text(
                pt="{sheet}, campo {field}: um número não cabe nas colunas do Parquet.",
                en="{sheet}, field {field}: a number does not fit into Parquet's columns.",
            ).format(sheet=sheet.name, field=column.name),
            Text(pt="Exporte para .csv ou .jsonl.", en="Export to .csv or .jsonl."),
        ) from None
