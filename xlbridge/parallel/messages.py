"""Messages between this process and its workers, unpickled without running code from a worker.

A worker may have read a hostile file. Even if such a file took it over, its messages can only
become objects of the types allowed here.
"""

import pickle
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from enum import Enum
from io import BytesIO
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.errors import XlbridgeError
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import FindingKind

_ALLOWED = frozenset(
    {
        ("array", "array"),
        ("array", "_array_reconstructor"),
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("decimal", "Decimal"),
        ("pathlib", "PosixPath"),
        ("pathlib", "WindowsPath"),
        ("pathlib._local", "PosixPath"),
        ("pathlib._local", "WindowsPath"),
        *(
            (__name__, name)
            for name in ("build_error", "finding_kind", "build_array", "build_frame")
        ),
        ("xlbridge.validation.sheet_findings", "SheetFindings"),
    }
)
"""Types allowed in messages, besides data classes, enumerations and errors of xlbridge."""

_MASKED_ARRAYS: dict[str, tuple[str, Callable[..., Any]]] = {
    "Int64": ("int64", pd.arrays.IntegerArray),
    "Float64": ("float64", pd.arrays.FloatingArray),
    "boolean": ("bool", pd.arrays.BooleanArray),
}
"""Dtype of the values, and array of values and missing flags, by the dtype of a column."""


class WorkerDefect(Exception):
    """The task failed by a defect of xlbridge; the text is the worker's traceback."""


class UnexpectedType(WorkerDefect):
    """A message contains a type that is not allowed."""


def pack(value: object) -> bytes:
    """Pickle an object: a frame becomes its columns, a kind of finding its code."""
    stream = BytesIO()
    _DataPickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def unpack(source: IO[bytes] | bytes) -> Any:
    """Return the object that was packed, or the next one in a stream.

    Raises ``UnexpectedType``; ``EOFError`` or ``pickle.UnpicklingError`` for a truncated stream.
    """
    return _DataUnpickler(BytesIO(source) if isinstance(source, bytes) else source).load()


class _DataPickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        # Has precedence over reducers that libraries have registered for the same types.
        match value:
            case FindingKind():
                return finding_kind, (value.code,)
            case np.ndarray():
                return build_array, (value.dtype.str, value.tobytes())
            case pd.DataFrame():
                columns = [(str(name), *_column_data(value[name])) for name in value.columns]
                return build_frame, (columns, len(value))
            case XlbridgeError():
                return build_error, (type(value), value.args, vars(value))
        return NotImplemented


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        if module.partition(".")[0] == "xlbridge" and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and (
                is_dataclass(found) or issubclass(found, XlbridgeError | Enum)
            ):
                return found
        raise UnexpectedType(f"{module}.{name}")


def finding_kind(code: str) -> FindingKind:
    """Return this process's kind of finding by its code."""
    return CATALOGUE[code]


def build_array(dtype: str, content: bytes) -> npt.NDArray[Any]:
    """Return a one-dimensional array from its bytes."""
    return np.frombuffer(content, dtype=dtype).copy()


def _column_data(column: pd.Series) -> tuple[str, Any, Any]:
    """Return the dtype of a column, its texts or values, and the flags of its missing values."""
    dtype, missing = str(column.dtype), column.isna().to_numpy()
    if dtype == "str":
        texts = [None if empty else text for text, empty in zip(column, missing, strict=True)]
        return dtype, texts, None
    if dtype not in _MASKED_ARRAYS:
        return dtype, column.to_numpy(), None
    return dtype, column.to_numpy(dtype=_MASKED_ARRAYS[dtype][0], na_value=0), missing


def build_frame(columns: Iterable[tuple[str, str, Any, Any]], rows: int) -> pd.DataFrame:
    """Return a frame of ``rows`` rows from the names, dtypes and values of its columns."""
    arrays = {
        name: pd.array(values, dtype=dtype)
        if missing is None
        else _MASKED_ARRAYS[dtype][1](values, missing)
        for name, dtype, values, missing in columns
    }
    return pd.DataFrame(arrays, index=pd.RangeIndex(rows))


def build_error(
    kind: type[XlbridgeError], arguments: tuple[Any, ...], state: dict[str, Any]
) -> XlbridgeError:
    """Return an error from its state, whatever the signature of its constructor."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(state)
    return error


@dataclass(frozen=True, slots=True)
class Raised:
    """Answer with what a task raised: an error for the user, or the traceback of a defect."""

    error: XlbridgeError | str


def run_task(task: Callable[[Any], Any], item: Any) -> bytes:
    """Run a task and return its packed answer: the outcome, or ``Raised``."""
    try:
        return pack(task(item))
    except XlbridgeError as error:
        return pack(Raised(error))
    except Exception:
        return pack(Raised(traceback.format_exc()))


def outcome_of(answer: Any) -> Any:
    """Return what the task returned. Raises its ``XlbridgeError``, or ``WorkerDefect``."""
    match answer:
        case Raised(XlbridgeError() as error):
            raise error
        case Raised(defect):
            raise WorkerDefect(defect)
    return answer
