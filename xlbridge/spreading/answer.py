"""What a worker answers to a task."""

import pickle
import traceback
from dataclasses import dataclass
from typing import Any

from xlbridge.errors import XlbridgeError
from xlbridge.spreading.carrier import Task


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


def answer(task: Task[Any, Any], item: Any) -> bytes:
    """Run a task and return what it answers, pickled, whatever happens."""
    try:
        return pickle.dumps(Done(task(item)), pickle.HIGHEST_PROTOCOL)
    except XlbridgeError as error:
        return pickle.dumps(Raised(error, ""))
    except Exception:
        return pickle.dumps(Raised(None, traceback.format_exc()))


def outcome_of(answered: Answer) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    match answered:
        case Done(outcome):
            return outcome
        case Raised(None, defect):
            raise WorkerDefect(defect)
        case Raised(XlbridgeError() as error):
            raise error
