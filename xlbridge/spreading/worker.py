"""One worker process, as the process sees it that started it."""

from typing import Any

from xlbridge.helper_process import HelperProcess
from xlbridge.spreading.carrier import Task


class Worker(HelperProcess):
    """A helper process that runs tasks, one at a time."""

    def __init__(self, module: str) -> None:
        """``module`` is imported while nothing is to be done yet."""
        super().__init__("xlbridge.spreading.worker_process", module)

    def ask(self, task: Task[Any, Any], item: Any) -> Any:
        """Return what the task returned.

        Raises the ``XlbridgeError`` that it raised, ``WorkerDefect``, ``WorkerGone``.
        """
        # What is sent and taken in needs pandas, and the process is to begin before that is here.
        from xlbridge.spreading.answer import asked

        return asked(*self.pipes, task, item)
