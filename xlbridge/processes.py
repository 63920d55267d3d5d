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
    """Return the environment of a helper process: the path of this package, and no credentials."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XLBRIDGE_")}
    paths = [str(_IMPORT_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(paths)}


NEW_PROCESS_GROUP: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""Options that start a process out of reach of the terminal's Ctrl-C, on every system."""


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
    """Return the number of processors that this process may use."""
    known = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


class HelperProcess:
    """A module of ours that runs as a process, with a pipe to it and one from it.

    It gets no credentials, and the terminal's Ctrl-C does not reach it. It has to end when its
    input ends, and so with this process.
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
    def is_running(self) -> bool:
        """True as long as the process runs."""
        return self._process.poll() is None

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        """The pipe to the process, and the one from it."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        return self._process.stdin, self._process.stdout

    def terminate(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process, and what it started, at once."""
        kill_process_tree(self._process)

    def wait(self) -> None:
        """Wait until a process that was terminated or killed is gone."""
        try:
            self._process.wait(_EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        for pipe in self.pipes:
            with suppress(OSError):
                pipe.close()
