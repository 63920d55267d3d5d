"""Processes of xlbridge beside this one: commands, and helpers, which get no credentials.

Their command lines are made here alone: in the application (``packaging/``) there is no Python
that could run a module, and the program itself takes the module's name.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import xlbridge
from xlbridge.errors import LocalFailure
from xlbridge.i18n import Text

HELPER_OPTION = "--xlbridge-helper"
"""Option by which the application runs one of its modules."""

READY = b"ready\n"
"""First line of a helper's output, written once it has imported what it needs."""

_IS_APPLICATION = bool(getattr(sys, "frozen", False))
_IMPORT_ROOT = Path(xlbridge.__file__).parent.parent
_EXIT_TIMEOUT = 5.0


def helper_environment() -> dict[str, str]:
    """Return the environment of a helper process: the path of this package, and no credentials."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XLBRIDGE_")}
    paths = [str(_IMPORT_ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {"PYTHONPATH": os.pathsep.join(paths)}


def command_line(*arguments: str) -> list[str]:
    """Return the command line of a command of xlbridge."""
    program = [sys.executable] if _IS_APPLICATION else [sys.executable, "-m", "xlbridge"]
    return [*program, *arguments]


def helper_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of xlbridge as a helper."""
    option = [HELPER_OPTION] if _IS_APPLICATION else ["-P", "-m"]
    return [sys.executable, *option, module, *arguments]


def tell_ready(output: IO[bytes]) -> None:
    """Tell, in a helper, that it has begun."""
    output.write(READY)
    output.flush()


def has_begun(output: IO[bytes]) -> bool:
    """Wait until a helper tells that it has begun; False where it ended before."""
    return output.readline(len(READY)) == READY


_ENDED = Text(pt="ele terminou antes de começar", en="it ended before it began")


@contextmanager
def report_start_errors() -> Iterator[None]:
    """Say of a process that the system does not start what is wrong, in place of ``OSError``.

    Raises ``LocalFailure``.
    """
    try:
        yield
    except OSError as error:
        raise helper_not_started(error.strerror or str(error)) from error


def helper_not_started(why: str | Text = _ENDED) -> LocalFailure:
    """Return the error that a process of xlbridge did not start, through no fault of any file."""
    return LocalFailure(
        Text(
            pt="Um processo auxiliar do xlbridge não iniciou ({program}): {why}",
            en="A helper process of xlbridge did not start ({program}): {why}",
        ).format(program=sys.executable, why=why),
        Text(
            pt="Não é do arquivo nem dos dados. Feche outros programas e tente de novo; se "
            "continuar, reinstale o xlbridge, ou veja se um antivírus o impede.",
            en="Neither the file nor the data is at fault. Close other programs and try again; "
            "if it goes on, reinstall xlbridge, or see whether a virus scanner prevents it.",
        ),
    )


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
        with report_start_errors():
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                helper_command(module, *arguments),
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
    def was_killed(self) -> bool:
        """True once a signal has ended the process, which did not end by itself."""
        return (self._process.poll() or 0) < 0

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
