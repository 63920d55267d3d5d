"""DataFrames in memory, one per sheet: exact money, naive times, codes as text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.export.formats.base import CoverSummary, OutputWriter, Table
from xlbridge.export.lines import CELLS_AS_JSON, LineFormat, cells_of
from xlbridge.export.sheets import Cell, ExportColumn, Sheet, naive_moment
from xlbridge.resources import Kind


class FrameOutput(OutputWriter):
    """Collects an export as DataFrames by sheet; ``open`` is its ``OpenOutput``.

    Money is ``Decimal`` (dtype ``object``), dates are ``datetime64[us]``, whole numbers ``Int64``
    (``object`` beyond 64 bits), other numbers ``Float64``, yes or no ``boolean``, codes and other
    text ``str``. A cell of several texts is a list of them.
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

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        """Build the DataFrames."""
        for table in tables:
            self.frames[table.sheet.name] = _frame(table)


def _frame(table: Table) -> pd.DataFrame:
    columns = table.sheet.columns
    cells = list(zip(*cells_of(table.blocks), strict=True)) or [()] * len(columns)
    values = [_series(column, cells) for column, cells in zip(columns, cells, strict=True)]
    return pd.concat(values, axis="columns") if values else pd.DataFrame()


def _series(column: ExportColumn, cells: Sequence[Cell]) -> pd.Series:
    make = _text_list if column.is_list else _MAKERS.get(column.kind, _text)
    return make(cells).rename(column.name)


def _text(cells: Sequence[Any]) -> pd.Series:
    return pd.Series(cells, dtype="str")


def _text_list(cells: Sequence[Any]) -> pd.Series:
    return pd.Series(list(cells), dtype=object)


def _decimal(cells: Sequence[Any]) -> pd.Series:
    return pd.Series([c if c is None else Decimal(c) for c in cells], dtype=object)


def _integer(cells: Sequence[Any]) -> pd.Series:
    numbers = [None if cell is None else int(cell) for cell in cells]
    try:
        return pd.Series(numbers, dtype="Int64")
    except (OverflowError, TypeError):
        return pd.Series(numbers, dtype=object)


def _number(cells: Sequence[Any]) -> pd.Series:
    return pd.Series([None if c is None else float(c) for c in cells], dtype="Float64")


def _moment(cells: Sequence[Any]) -> pd.Series:
    moments = [cell if cell is None else naive_moment(cell) for cell in cells]
    return pd.Series(moments, dtype="datetime64[us]")


def _boolean(cells: Sequence[Any]) -> pd.Series:
    return pd.Series(cells, dtype="boolean")


_MAKERS: Mapping[Kind, Callable[[Sequence[Any]], pd.Series]] = {
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.MONEY: _decimal,
    Kind.DATE: _moment,
    Kind.BOOLEAN: _boolean,
}
