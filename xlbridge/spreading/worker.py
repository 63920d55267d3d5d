"""One worker process, as the process sees it that started it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO, Any

from xlbridge.spreading.carrier import Task
from xlbridge.workbook.parser_child import helper_environment

_PATIENCE = 5.0


class Worker:
    """A process that runs tasks, one at a time.

    It begins at once and can do nothing for its user by itself: the terminal's Ctrl-C does not
    reach it, it gets no credentials, and it ends when this process does.
    """

    def __init__(self, module: str) -> None:
        """``module`` is imported while nothing is to be done yet."""
        command = [sys.executable, "-P", "-m", "xlbridge.spreading.worker_process", module]
        self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=helper_environment(),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )

    @property
    def lives(self) -> bool:
        """Whether the process is there to be asked."""
        return self._process.poll() is None

    def ask(self, task: Task[Any, Any], item: Any) -> Any:
        """Return what the task returned.

        Raises the ``XlbridgeError`` that it raised, ``WorkerDefect``, ``WorkerGone``.
        """
        # What is sent and taken in needs pandas, and the process is to begin before that is here.
        from xlbridge.spreading.answer import asked

        return asked(*self._pipes(), task, item)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        return self._process.stdin, self._process.stdout

    def dismiss(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process, and what it started, at once."""
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until a process that was dismissed or killed is gone."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        for pipe in self._pipes():
            with suppress(OSError):
                pipe.close()
