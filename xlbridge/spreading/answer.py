"""What a worker is asked, and what it answers."""

import pickle
import traceback
from dataclasses import dataclass
from typing import IO, Any

from xlbridge.errors import XlbridgeError
from xlbridge.spreading.carrier import Task, WorkerGone
from xlbridge.spreading.plain import Foreign, packed, taken_in


class WorkerDefect(Exception):
    """The task failed in a way that only a defect explains; the text is the worker's traceback."""


@dataclass(frozen=True, slots=True)
class Done:
    """What the task returned."""

    outcome: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """What the task raised: an error to tell the user, or a defect with the worker's traceback."""

    error: XlbridgeError | None
    defect: str


Answer = Done | Raised


def asked(orders: IO[bytes], answers: IO[bytes], task: Task[Any, Any], item: Any) -> Any:
    """Send a task with an item to a worker, and return what the task returned.

    Raises the ``XlbridgeError`` that it raised, ``WorkerDefect``, ``WorkerGone``.
    """
    try:
        orders.write(packed((task, item)))
        orders.flush()
        answered: Answer = taken_in(answers)
    except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
        raise WorkerGone from error
    except Foreign as foreign:
        raise WorkerDefect(str(foreign)) from foreign
    return outcome_of(answered)


def answer(task: Task[Any, Any], item: Any) -> bytes:
    """Run a task and return what it answers, packed, whatever happens."""
    try:
        return packed(Done(task(item)))
    except XlbridgeError as error:
        return packed(Raised(error, ""))
    except Exception:
        return packed(Raised(None, traceback.format_exc()))


def outcome_of(answered: Answer) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    match answered:
        case Done(outcome):
            return outcome
        case Raised(None, defect):
            raise WorkerDefect(defect)
        case Raised(XlbridgeError() as error):
            raise error
