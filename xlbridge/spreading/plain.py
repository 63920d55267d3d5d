"""Plain data between processes: what is taken in from a worker never runs anything.

A worker may have read a hostile file. Were it ever taken over by one, what it sends could still
only be made into objects of the kinds below.
"""

import pickle
from dataclasses import is_dataclass
from enum import Enum
from io import BytesIO
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.errors import XlbridgeError
from xlbridge.findings import CATALOGUE, FindingKind

_TAKEN_IN = frozenset(
    {
        ("datetime", "date"),
        ("datetime", "datetime"),
        ("decimal", "Decimal"),
        ("pathlib", "PosixPath"),
        ("pathlib", "WindowsPath"),
        ("pathlib._local", "PosixPath"),
        ("pathlib._local", "WindowsPath"),
        *((__name__, name) for name in ("error_of", "kind_of", "array_of", "no_frame")),
        ("xlbridge.validation.cell_findings", "CellFindings"),
        ("xlbridge.validation.sheet_findings", "SheetFindings"),
    }
)
"""What else than our own data classes, enumerations and errors may come."""


class Foreign(Exception):
    """Something was sent that is no data of ours."""


def packed(what: object) -> bytes:
    """Return an object as bytes: a frame is left out, a kind of finding becomes its name."""
    stream = BytesIO()
    _Packer(stream, pickle.HIGHEST_PROTOCOL).dump(what)
    return stream.getvalue()


def taken_in(stream: IO[bytes]) -> Any:
    """Read one packed object.

    Raises ``Foreign``, and ``EOFError`` or ``pickle.UnpicklingError`` when the stream ends early.
    """
    return _Data(stream).load()


def unpacked(content: bytes) -> Any:
    """Return the object that was packed. Raises ``Foreign``."""
    return taken_in(BytesIO(content))


class _Packer(pickle.Pickler):
    def reducer_override(self, what: object) -> Any:
        # Before anything that a library has registered for the same types.
        match what:
            case FindingKind():
                return kind_of, (what.code,)
            case np.ndarray():
                return array_of, (what.dtype.str, what.tobytes())
            case pd.DataFrame():
                return no_frame, ()
            case XlbridgeError():
                return error_of, (type(what), what.args, vars(what))
        return NotImplemented


class _Data(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _TAKEN_IN:
            return super().find_class(module, name)
        if module.partition(".")[0] == "xlbridge" and "." not in name:
            found = super().find_class(module, name)
            if _is_data(found):
                return found
        raise Foreign(f"{module}.{name}")


def _is_data(found: object) -> bool:
    return isinstance(found, type) and (
        is_dataclass(found) or issubclass(found, XlbridgeError | Enum)
    )


def kind_of(code: str) -> FindingKind:
    """Return a kind of finding by its name: on arrival it is this process's own."""
    return CATALOGUE[code]


def array_of(dtype: str, content: bytes) -> npt.NDArray[Any]:
    """Return an array of one dimension."""
    return np.frombuffer(content, dtype=dtype).copy()


def no_frame() -> pd.DataFrame:
    """Return what there is in place of a frame: whoever needs one sends its columns."""
    return pd.DataFrame()


def error_of(
    kind: type[XlbridgeError], arguments: tuple[Any, ...], state: dict[str, Any]
) -> XlbridgeError:
    """Return an error as it was, whatever its own constructor takes."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(state)
    return error
