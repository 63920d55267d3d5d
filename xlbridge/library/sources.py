"""Sources of sheets: paths, bytes, binary files, DataFrames of any library, and dicts of them."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, runtime_checkable

import pandas as pd

from xlbridge.errors import ConfigError, UsageError
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text
from xlbridge.library.frame_workbook import FrameWorkbook


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
                raise ConfigError(_NO_PYARROW, _INSTALL_PYARROW) from None
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
_INSTALL_PYARROW = Text(
    pt='Instale-o: pip install "xlbridge[parquet]"',
    en='Install it: pip install "xlbridge[parquet]"',
)
