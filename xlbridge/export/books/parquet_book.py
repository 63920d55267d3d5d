"""Parquet, for data tools: typed columns, money as exact decimals, one file per sheet.

Needs the extra ``parquet`` (pyarrow).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from decimal import Context, Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from xlbridge.errors import UsageError
from xlbridge.export.books.book import Book, Table, paths_of_sheets
from xlbridge.export.columns import ExportColumn
from xlbridge.export.lines import CELLS_AS_JSON, LineForm, cells_of
from xlbridge.export.sheet import Sheet
from xlbridge.export.summary import Summary
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind
from xlbridge.workbook.atomic import replacing

_ROWS_AT_ONCE = 20_000
_DIGITS, _DECIMALS = 38, 12
_FINEST = Decimal(1).scaleb(-_DECIMALS)
_EXACT = Context(prec=100)
_TYPES: dict[Kind, pa.DataType] = {
    Kind.INTEGER: pa.int64(),
    Kind.NUMBER: pa.decimal128(_DIGITS, _DECIMALS),
    Kind.MONEY: pa.decimal128(_DIGITS, _DECIMALS),
    Kind.DATE: pa.timestamp("us"),
    Kind.BOOLEAN: pa.bool_(),
}
_READ: dict[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.NUMBER: Decimal,
    Kind.MONEY: Decimal,
    Kind.DATE: datetime.fromisoformat,
}


@contextmanager
def open_parquet(path: Path, sheets: Sequence[Sheet]) -> Iterator[Book]:
    """Open a Parquet book."""
    with ExitStack() as files:
        book = _ParquetBook()
        for target, sheet in zip(paths_of_sheets(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replacing(target))
            schema = pa.schema([(column.name, _type(column)) for column in sheet.columns])
            book.writers[sheet.name] = files.enter_context(
                pq.ParquetWriter(str(temporary), schema, compression="zstd")
            )
        yield book


class _ParquetBook:
    def __init__(self) -> None:
        self.writers: dict[str, pq.ParquetWriter] = {}

    def form(self, sheet: Sheet) -> LineForm:
        return CELLS_AS_JSON

    def write(self, tables: Sequence[Table], summary: Summary) -> None:
        for table in tables:
            writer, waiting = self.writers[table.sheet.name], cells_of(table.blocks)
            while batch := list(islice(waiting, _ROWS_AT_ONCE)):
                columns = zip(table.sheet.columns, zip(*batch, strict=True), strict=True)
                arrays = [_array(table.sheet, column, cells) for column, cells in columns]
                writer.write_batch(pa.record_batch(arrays, schema=writer.schema))


def _type(column: ExportColumn) -> pa.DataType:
    return pa.list_(pa.string()) if column.is_list else _TYPES.get(column.kind, pa.string())


def _rounded(values: Sequence[Any]) -> list[Any]:
    """Return numbers no finer than the columns are: such digits come of binary arithmetic."""
    return [v.quantize(_FINEST, context=_EXACT) if isinstance(v, Decimal) else v for v in values]


def _array(sheet: Sheet, column: ExportColumn, cells: Sequence[Any]) -> pa.Array:
    read = _READ.get(column.kind)
    values = cells if read is None else [None if c is None else read(c) for c in cells]
    try:
        try:
            return pa.array(values, _type(column))
        except pa.ArrowInvalid:
            return pa.array(_rounded(values), _type(column))
    except (pa.ArrowInvalid, OverflowError):
        raise UsageError(
            Text(
                pt="{sheet}, campo {field}: um número não cabe nas colunas do Parquet.",
                en="{sheet}, field {field}: a number does not fit into Parquet's columns.",
            ).format(sheet=sheet.name, field=column.name),
            Text(pt="Exporte para .csv ou .jsonl.", en="Export to .csv or .jsonl."),
        ) from None
