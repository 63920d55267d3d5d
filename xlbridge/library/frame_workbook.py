"""DataFrames as a workbook: its cells, its row labels, and the file written from it.

Row 1 of a sheet contains the column names, the frame's rows start at row 2; the index is left out.
"""

import datetime as dt
import math
from collections.abc import Hashable, Mapping, Sequence, Set
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.workbook.read import CellEncoder, RawSheet, SheetCells, WorkbookCells

CellValue = str | float | bool | dt.date | dt.datetime
"""Content of a cell; ``""`` if it is empty."""

_SHEET_NAME = "dataframe"
_FIRST_ROW = 2
_MAX_EXACT = 2**53
_MAX_DIGITS = 15
_FIRST_YEAR = 1900
_DATE_FORMAT = "yyyy-mm-dd"
_MOMENT_FORMAT = "yyyy-mm-dd hh:mm:ss"


class FrameWorkbook:
    """A DataFrame as a sheet of cells, with the frames of its lists as further sheets.

    Missing values become empty cells. A value that no Excel cell can hold exactly (an integer of
    more than 15 digits, a time with a time zone, an object) becomes its text.
    """

    name = "dataframe.xlsx"
    """File name for findings."""

    def __init__(
        self,
        frame: pd.DataFrame,
        sheet: str = _SHEET_NAME,
        lists: Mapping[str, pd.DataFrame] | None = None,
    ) -> None:
        """Raise ``UsageError`` for a MultiIndex of columns, and bytes or containers in cells."""
        if frame.columns.nlevels > 1:
            raise UsageError(_SEVERAL_LEVELS, _HOW_TO_FLATTEN)
        self.sheet = sheet
        self.lists = {name: FrameWorkbook(part, name) for name, part in (lists or {}).items()}
        self._labels: pd.Index[Any] = frame.index
        self._columns = [
            [str(name), *_cell_values(frame.iloc[:, position])]
            for position, name in enumerate(frame.columns)
        ]

    def cells(self) -> WorkbookCells:
        """Return the cells as if read from a workbook."""
        sheets = [
            SheetCells(
                part.sheet,
                0,
                [CellEncoder().encode(values) for values in part._columns],
                RawSheet(),
            )
            for part in (self, *self.lists.values())
        ]
        return WorkbookCells(None, sheets)

    @property
    def index_names(self) -> list[Hashable]:
        """Names of the levels of the frame's index."""
        return list(self._labels.names)

    def label(self, row: int | None) -> Hashable:
        """Return the index label of a sheet's row; None for the header or no row."""
        if row is None or row < _FIRST_ROW:
            return None
        label: Hashable = self._labels[row - _FIRST_ROW]
        return label

    def labels(self, rows: Sequence[int]) -> "pd.Index[Any]":
        """Return the index labels of some rows of the sheet."""
        return self._labels.take([row - _FIRST_ROW for row in rows])

    def write(self, path: Path) -> None:
        """Write the workbook. Raises ``UsageError`` if it is too large or cannot be written."""
        # Imported late: most frames are only validated.
        from xlbridge.workbook.write import new_workbook

        with new_workbook(path) as book:
            plain = book.add_format({})
            date = book.add_format({"num_format": _DATE_FORMAT})
            moment = book.add_format({"num_format": _MOMENT_FORMAT})
            for part in (self, *self.lists.values()):
                sheet: Worksheet = book.add_worksheet(part.sheet)
                for row, values in enumerate(zip(*part._columns, strict=True)):
                    for column, value in enumerate(values):
                        form = moment if isinstance(value, dt.datetime) else date
                        form = form if isinstance(value, dt.date) else plain
                        if value != "" and _write_cell(sheet, row, column, value, form):
                            raise _too_large(row + 1, column + 1)


def _cell_values(series: pd.Series) -> list[CellValue]:
    """Return the cells of a column, converted as a whole if its dtype allows."""
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return _cell_values(series.astype(dtype.subtype))
    if isinstance(dtype, pd.StringDtype):
        return _fill_missing(series)
    if pd.api.types.is_datetime64_dtype(dtype):
        times = series.to_numpy("datetime64[us]").tolist()
        return ["" if time is None else _date_value(time) for time in times]
    if pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_float_dtype(dtype):
        return _number_values(series)
    if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.ArrowDtype):
        _require_single_values(series)
    return list(map(_cell_value, _fill_missing(series)))


def _require_single_values(series: pd.Series) -> None:
    """Raise ``UsageError`` for bytes and for values that hold several."""
    for value, label in zip(series.tolist(), series.index, strict=True):
        if isinstance(value, bytes):
            raise UsageError(_BYTES.format(column=series.name, label=label), _DECODE)
        if isinstance(value, _CONTAINERS):
            kind = type(value).__name__
            raise UsageError(
                _SEVERAL_VALUES.format(column=series.name, label=label, kind=kind), _HOW_TO_UNPACK
            )


_CONTAINERS = (Mapping, Set, list, tuple, np.ndarray, pd.Series, pd.DataFrame)
_SEVERAL_VALUES = Text(
    pt="A coluna {column} do DataFrame tem em {label} vários valores ({kind}), e não um só.",
    en="The DataFrame's column {column} has several values at {label} ({kind}) and not one.",
)
_HOW_TO_UNPACK = Text(
    pt="Deixe um valor por célula, por exemplo com frame[coluna].str[0] ou str.join.",
    en="Leave one value in each cell, for example with frame[column].str[0] or str.join.",
)
_BYTES = Text(
    pt="A coluna {column} do DataFrame tem bytes em {label}, e não um texto.",
    en="The DataFrame's column {column} has bytes at {label}, not text.",
)
_DECODE = Text(
    pt="Decodifique a coluna: frame[coluna].str.decode('utf-8').",
    en="Decode the column: frame[column].str.decode('utf-8').",
)
_SEVERAL_LEVELS = Text(
    pt="Os nomes das colunas do DataFrame têm vários níveis (MultiIndex).",
    en="The names of the DataFrame's columns have several levels (MultiIndex).",
)
_HOW_TO_FLATTEN = Text(
    pt="Deixe um só: frame.columns = frame.columns.get_level_values(-1).",
    en="Keep one of them: frame.columns = frame.columns.get_level_values(-1).",
)


def _fill_missing(series: pd.Series) -> list[Any]:
    return series.astype(object).where(series.notna(), "").tolist()


def _number_values(series: pd.Series) -> list[CellValue]:
    numbers = series.to_numpy(dtype=float, na_value=np.nan)
    dtype: Any = series.dtype
    numpy_dtype = np.dtype(getattr(dtype, "numpy_dtype", dtype))
    if numpy_dtype.kind == "f" and numpy_dtype != numbers.dtype:
        # The shortest text of a single-precision 99.9 is 99.9; its exact value is 99.9000015.
        numbers = numbers.astype(numpy_dtype).astype(str).astype(float)
    values: list[CellValue] = numbers.tolist()
    missing = series.isna().to_numpy()
    for position in np.flatnonzero(missing):
        values[position] = ""
    for position in np.flatnonzero(~missing & ~(np.abs(numbers) < _MAX_EXACT)):
        values[position] = _cell_value(series.iloc[position])
    return values


def _cell_value(value: Any) -> CellValue:
    match value:
        case str():
            return str(value)
        case bool() | np.bool_():
            return bool(value)
        case int() | np.integer():
            whole = int(value)
            return float(whole) if abs(whole) <= _MAX_EXACT else str(whole)
        case float() | np.floating():
            return float(str(value)) if math.isfinite(value) else str(value)
        case np.datetime64():
            return _date_value(pd.Timestamp(value))
        case Decimal():
            is_exact = value.is_finite() and len(value.as_tuple().digits) <= _MAX_DIGITS
            return float(value) if is_exact else str(value)
        case dt.date():
            return _date_value(value)
        case _:
            return str(value)


def _date_value(value: dt.date) -> CellValue:
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)
    if value.year < _FIRST_YEAR or (isinstance(value, dt.datetime) and value.tzinfo):
        return value.isoformat()
    return value


def _write_cell(sheet: Worksheet, row: int, column: int, value: CellValue, form: Format) -> int:
    """Write a cell; return 0, or a negative number if it is outside Excel's limits."""
    match value:
        case str():
            return int(sheet.write_string(row, column, value, form))
        case bool():
            return int(sheet.write_boolean(row, column, value, form))
        case dt.datetime():
            return int(sheet.write_datetime(row, column, value, form))
        case dt.date():
            midnight = dt.datetime.combine(value, dt.time())
            return int(sheet.write_datetime(row, column, midnight, form))
        case _:
            return int(sheet.write_number(row, column, value, form))


def _too_large(row: int, column: int) -> UsageError:
    return UsageError(
        Text(
            pt="O DataFrame é grande demais para o Excel: linha {row}, coluna {column}.",
            en="The DataFrame is too large for Excel: row {row}, column {column}.",
        ).format(row=row, column=column)
    )
