"""Messages between this process and its workers, unpickled without running anything of theirs.

A worker may have read a hostile file. Even if such a file took it over, what it sends can only
become objects of the kinds allowed here.
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
        *((__name__, name) for name in ("error_of", "kind_of", "array_of", "no_frame")),
        ("xlbridge.validation.finding_columns", "CellFindings"),
        ("xlbridge.validation.finding_columns", "SheetFindings"),
    }
)
"""Types that may come besides our own data classes, enumerations and errors."""


class UnexpectedType(Exception):
    """Something was sent that is no data of ours."""


def pack(what: object) -> bytes:
    """Return an object as bytes: a frame is left out, a kind of finding becomes its name."""
    stream = BytesIO()
    _DataPickler(stream, pickle.HIGHEST_PROTOCOL).dump(what)
    return stream.getvalue()


def unpack_from(stream: IO[bytes]) -> Any:
    """Read one packed object.

    Raises ``UnexpectedType``; ``EOFError`` or ``pickle.UnpicklingError`` when the stream is cut.
    """
    return _DataUnpickler(stream).load()


def unpack(content: bytes) -> Any:
    """Return the object that was packed. Raises ``UnexpectedType``."""
    return unpack_from(BytesIO(content))


class _DataPickler(pickle.Pickler):
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


class WorkerDefect(Exception):
    """The task failed in a way that only a defect explains; the text is the worker's traceback."""


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


def ask_worker(orders: IO[bytes], answers: IO[bytes], task: Task[Any, Any], item: Any) -> Any:
    """Send a task with an item to a worker, and return what the task returned.

    Raises the ``XlbridgeError`` that it raised, ``WorkerDefect``, ``WorkerDied``.
    """
    try:
        orders.write(pack((task, item)))
        orders.flush()
        answered: Answer = unpack_from(answers)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
        raise WorkerDied from error
    except UnexpectedType as foreign:
        raise WorkerDefect(str(foreign)) from foreign
    return outcome_of(answered)


def run_task(task: Task[Any, Any], item: Any) -> bytes:
    """Run a task and return what it answers, packed, whatever happens."""
    try:
        return pack(Done(task(item)))
    except XlbridgeError as error:
        return pack(Raised(error, ""))
    except Exception:
        return pack(Raised(None, traceback.format_exc()))


def outcome_of(answered: Answer) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    match answered:
        case Done(outcome):
            return outcome
        case Raised(None, defect):
            raise WorkerDefect(defect)
        case Raised(XlbridgeError() as error):
            raise error
