"""Messages between this process and its workers, unpickled without running code from a worker.

A worker may have read a hostile file. Even if such a file took it over, its messages can only
become objects of the types allowed here.
"""

import pickle
import traceback
from dataclasses import dataclass, is_dataclass
from enum import Enum
from io import BytesIO
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.errors import XlbridgeError
from xlbridge.parallel.tasks import Task, WorkerDied
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
            for name in ("build_error", "finding_kind", "build_array", "empty_frame")
        ),
        ("xlbridge.validation.finding_columns", "SheetFindings"),
    }
)
"""Types allowed in messages, besides data classes, enumerations and errors of xlbridge."""


class UnexpectedType(Exception):
    """A message contains a type that is not allowed."""


def pack(value: object) -> bytes:
    """Pickle an object: frames become empty, a kind of finding becomes its code."""
    stream = BytesIO()
    _DataPickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def unpack_from(stream: IO[bytes]) -> Any:
    """Read one packed object.

    Raises ``UnexpectedType``; ``EOFError`` or ``pickle.UnpicklingError`` for a truncated stream.
    """
    return _DataUnpickler(stream).load()


def unpack(content: bytes) -> Any:
    """Return the object that was packed. Raises ``UnexpectedType``."""
    return unpack_from(BytesIO(content))


class _DataPickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:
        # Has precedence over reducers that libraries have registered for the same types.
        match value:
            case FindingKind():
                return finding_kind, (value.code,)
            case np.ndarray():
                return build_array, (value.dtype.str, value.tobytes())
            case pd.DataFrame():
                return empty_frame, ()
            case XlbridgeError():
                return build_error, (type(value), value.args, vars(value))
        return NotImplemented


class _DataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        if module.partition(".")[0] == "xlbridge" and "." not in name:
            found = super().find_class(module, name)
            if _is_data(found):
                return found
        raise UnexpectedType(f"{module}.{name}")


def _is_data(found: object) -> bool:
    return isinstance(found, type) and (
        is_dataclass(found) or issubclass(found, XlbridgeError | Enum)
    )


def finding_kind(code: str) -> FindingKind:
    """Return this process's kind of finding by its code."""
    return CATALOGUE[code]


def build_array(dtype: str, content: bytes) -> npt.NDArray[Any]:
    """Return a one-dimensional array from its bytes."""
    return np.frombuffer(content, dtype=dtype).copy()


def empty_frame() -> pd.DataFrame:
    """Return the placeholder for a frame: frames are sent as ``ColumnParts`` if at all."""
    return pd.DataFrame()


def build_error(
    kind: type[XlbridgeError], arguments: tuple[Any, ...], state: dict[str, Any]
) -> XlbridgeError:
    """Return an error from its state, whatever the signature of its constructor."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(state)
    return error


class WorkerDefect(Exception):
    """The task failed by a defect of xlbridge; the text is the worker's traceback."""


@dataclass(frozen=True, slots=True)
class Done:
    """Answer with what the task returned."""

    outcome: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """Answer with what the task raised: an error for the user, or a defect with its traceback."""

    error: XlbridgeError | None
    defect: str


Answer = Done | Raised


def ask_worker(requests: IO[bytes], answers: IO[bytes], task: Task[Any, Any], item: Any) -> Any:
    """Send a task with an item to a worker, and return what the task returned.

    Raises the task's ``XlbridgeError``, ``WorkerDefect``, ``WorkerDied``.
    """
    try:
        requests.write(pack((task, item)))
        requests.flush()
        answer: Answer = unpack_from(answers)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
        raise WorkerDied from error
    except UnexpectedType as error:
        raise WorkerDefect(str(error)) from error
    return outcome_of(answer)


def run_task(task: Task[Any, Any], item: Any) -> bytes:
    """Run a task and return its packed ``Answer``, whatever it raises."""
    try:
        return pack(Done(task(item)))
    except XlbridgeError as error:
        return pack(Raised(error, ""))
    except Exception:
        return pack(Raised(None, traceback.format_exc()))


def outcome_of(answer: Answer) -> Any:
    """Return what the task returned. Raises its ``XlbridgeError``, or ``WorkerDefect``."""
    match answer:
        case Done(outcome):
            return outcome
        case Raised(None, defect):
            raise WorkerDefect(defect)
        case Raised(XlbridgeError() as error):
            raise error
