"""DataFrames in memory, one per sheet: exact money, naive times, codes as text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.export.formats.base import (
    CELLS_AS_JSON,
    LineFormat,
    OutputWriter,
    Table,
    cells_of,
    text_of,
)
from xlbridge.export.sheets import ExportColumn, Sheet, naive_moment
from xlbridge.report_forms import Report
from xlbridge.resources import Kind


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
        for table in tables:
            columns = table.sheet.columns
            cells = list(zip(*cells_of(table.lines()), strict=True)) or [()] * len(columns)
            series = [_series(column, cells) for column, cells in zip(columns, cells, strict=True)]
            frame = pd.concat(series, axis="columns") if series else pd.DataFrame()
            self.frames[table.sheet.name] = frame


def _series(column: ExportColumn, cells: Sequence[Any]) -> pd.Series:
    name = column.name
    if column.is_list:
        return pd.Series(list(cells), dtype=object, name=name)
    match column.kind:
        case Kind.INTEGER:
            numbers = _converted(int, cells)
            try:
                return pd.Series(numbers, dtype="Int64", name=name)
            except (OverflowError, TypeError):
                return pd.Series(numbers, dtype=object, name=name)
        case Kind.NUMBER:
            return pd.Series(_converted(float, cells), dtype="Float64", name=name)
        case Kind.MONEY:
            return pd.Series(_converted(Decimal, cells), dtype=object, name=name)
        case Kind.DATE:
            return pd.Series(_converted(naive_moment, cells), dtype="datetime64[us]", name=name)
        case Kind.BOOLEAN:
            return pd.Series(cells, dtype="boolean", name=name)
        case _:
            return pd.Series(list(map(text_of, cells)), dtype="str", name=name)


def _converted(convert: Callable[[Any], Any], cells: Sequence[Any]) -> list[Any]:
    return [cell if cell is None else convert(cell) for cell in cells]
