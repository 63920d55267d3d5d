"""Helper processes: modules of xlbridge that run beside this process, without credentials."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import xlbridge

_IMPORT_ROOT = Path(xlbridge.__file__).parent.parent
_EXIT_TIMEOUT = 5.0


def helper_environment() -> dict[str, str]:
    """Return what a helper process needs: the way to this package, and no credentials."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XLBRIDGE_")}
    ways = [str(_IMPORT_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(ways)}


NEW_PROCESS_GROUP: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""How a process is started that the terminal's Ctrl-C does not reach, on every system."""


def kill_process_tree(process: "subprocess.Popen[bytes]") -> None:
    """End a process that was started ``NEW_PROCESS_GROUP``, and what it started, at once."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return
    with suppress(OSError):
        subprocess.run(  # noqa: S603 - the system's own command, no shell
            ["taskkill", "/F", "/T", "/PID", str(process.pid)],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    process.kill()


def available_cpus() -> int:
    """Return how many processes can work side by side."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


class HelperProcess:
    """A module of ours that runs as a process, with a pipe to it and one from it.

    It begins at once and can do nothing for its user by itself: the terminal's Ctrl-C does not
    reach it, it gets no credentials, and it is to end with its input, and so with this process.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=helper_environment(),
            **NEW_PROCESS_GROUP,
        )

    @property
    def lives(self) -> bool:
        """Whether the process is there to be asked."""
        return self._process.poll() is None

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """The pipe to the process, and the one from it."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        return self._process.stdin, self._process.stdout

    def dismiss(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process, and what it started, at once."""
        kill_process_tree(self._process)

    def wait(self) -> None:
        """Wait until a process that was dismissed or killed is gone."""
        try:
            self._process.wait(_EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        for pipe in self.pipes:
            with suppress(OSError):
                pipe.close()
