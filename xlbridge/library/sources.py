"""Sources of sheets: paths, bytes, binary files, DataFrames of any library, and dicts of them.

A DataFrame is read as a workbook: row 1 of a sheet contains the column names, the frame's rows
start at row 2; the index is left out.
"""

import datetime as dt
import hashlib
import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from xlsxwriter.worksheet import Worksheet

from xlbridge.errors import ConfigError, UsageError
from xlbridge.extras import install_hint
from xlbridge.files import make_private_folder
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
        self.lists: Mapping[str, FrameWorkbook] = {
            name: FrameWorkbook(part, name) for name, part in (lists or {}).items()
        }
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
                        if value != "" and sheet.write(row, column, value, form):
                            raise UsageError(_TOO_LARGE.format(row=row + 1, column=column + 1))


def _cell_values(series: pd.Series) -> list[CellValue]:
    """Return the cells of a column, converted as a whole if its dtype allows.

    Raises ``UsageError`` for bytes and for values that hold several.
    """
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
        for value, label in zip(series.tolist(), series.index, strict=True):
            if isinstance(value, bytes):
                raise UsageError(_BYTES.format(column=series.name, label=label), _DECODE)
            if isinstance(value, _CONTAINERS):
                kind = type(value).__name__
                message = _SEVERAL_VALUES.format(column=series.name, label=label, kind=kind)
                raise UsageError(message, _HOW_TO_UNPACK)
    return list(map(_cell_value, _fill_missing(series)))


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


_TOO_LARGE = Text(
    pt="O DataFrame é grande demais para o Excel: linha {row}, coluna {column}.",
    en="The DataFrame is too large for Excel: row {row}, column {column}.",
)


@runtime_checkable
class BinaryFile(Protocol):
    """An open binary file."""

    def read(self) -> bytes:
        """Return the content."""


@runtime_checkable
class ArrowFrame(Protocol):
    """A table of any library with Arrow's interface (``__arrow_c_stream__``)."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow stream."""


@runtime_checkable
class InterchangeFrame(Protocol):
    """A table of any library with the DataFrame interchange protocol (``__dataframe__``)."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return the table's interchange object."""


Frame = pd.DataFrame | ArrowFrame | InterchangeFrame
Source = str | PathLike[str] | bytes | BinaryFile | Frame | Mapping[str, Frame]
"""Source of a sheet: a path, content or table; a mapping has the sheet first, then its lists."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """A workbook in memory, with a file name that tells its kind."""

    name: str
    content: bytes = field(repr=False)

    def write(self, path: Path) -> None:
        """Write the workbook."""
        path.write_bytes(self.content)


Origin = FrameWorkbook | FileContent
"""A source that is not a file, but can be written to one."""

_NAME = "workbook"
_BINARY_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""Starts of .xlsx, .xlsb and .ods files, and of .xls files; other contents are texts."""


def read_source(source: object) -> Path | Origin:
    """Return a source as the path of a file, or as what can be written to one.

    Raises ``UsageError`` if it is no source or a frame cannot be a sheet, ``ConfigError`` if the
    library that reads it is not installed.
    """
    if isinstance(source, str | PathLike):
        return Path(source)
    if isinstance(source, bytes | bytearray | memoryview | BinaryFile):
        content = source.read() if isinstance(source, BinaryFile) else bytes(source)
        if not isinstance(content, bytes):
            raise UsageError(_TEXT_FILE, _OPEN_AS_BINARY)
        name = getattr(source, "name", None)
        if not isinstance(name, str):
            name = f"{_NAME}.xlsx" if content.startswith(_BINARY_STARTS) else f"{_NAME}.csv"
        return FileContent(Path(name).name, content)
    if isinstance(source, Mapping) and source:
        frames = {str(name): _pandas_frame(frame) for name, frame in source.items()}
        main, *lists = frames
        return FrameWorkbook(frames[main], main, {name: frames[name] for name in lists})
    return FrameWorkbook(_pandas_frame(source))


def _pandas_frame(source: object) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source
    # A series has the interface of Arrow, too.
    if isinstance(source, ArrowFrame) and not isinstance(source, pd.Series):
        try:
            import pyarrow as pa
        except ImportError:
            if not isinstance(source, InterchangeFrame):
                raise ConfigError(_NO_PYARROW, install_hint("parquet")) from None
        else:
            # As objects, integers stay exact beside missing values.
            frame: pd.DataFrame = pa.table(source).to_pandas(integer_object_nulls=True)
            return frame
    if isinstance(source, InterchangeFrame):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas will give up the protocol in a later release.
            return pd.api.interchange.from_dataframe(source)
    message = Text(pt="source não pode ser do tipo {type}.", en="source cannot be of type {type}.")
    raise UsageError(message.format(type=type(source).__name__), _EXPECTED_SHEET)


@contextmanager
def as_file(source: Path | Origin) -> Iterator[Path]:
    """Yield the path of a source; one that is not a file is written for the block."""
    if isinstance(source, Path):
        yield source
        return
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / source.name
        source.write(file)
        yield file


def store(origin: Origin, folder: Path) -> Path:
    """Write an origin into a folder, named by its content, and return its path.

    Raises ``UsageError`` if it cannot be written.
    """
    make_private_folder(folder)
    with TemporaryDirectory(dir=folder, prefix="xlbridge-") as scratch:
        file = Path(scratch) / origin.name
        origin.write(file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        return file.replace(folder / f"{file.stem}-{digest}{file.suffix}")


_EXPECTED_SHEET = Text(
    pt="Passe o caminho de um arquivo, bytes, um arquivo binário aberto, um DataFrame, como "
    "pd.DataFrame(linhas) (também de polars ou pyarrow), ou um dicionário deles para uma planilha "
    "com listas.",
    en="Pass the path of a file, bytes, an open binary file, a DataFrame, such as "
    "pd.DataFrame(rows) (also of polars or pyarrow), or a dict of them for a sheet with lists.",
)
_TEXT_FILE = Text(
    pt="O arquivo está aberto como texto.", en="The file is open as text, not as binary."
)
_OPEN_AS_BINARY = Text(pt='Abra-o com open(caminho, "rb").', en='Open it with open(path, "rb").')
_NO_PYARROW = Text(
    pt="Para ler uma tabela Arrow falta pyarrow.",
    en="pyarrow, which reads Arrow tables, is missing.",
)
