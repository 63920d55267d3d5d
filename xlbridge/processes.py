"""This process and others: child processes of xlbridge, garbage collection, interrupts and the end
of a command, and a clock by which waits are measured between processes.

Children run commands of xlbridge, and helper modules, which get no credentials.
The frozen application (``packaging/``) comes without a Python interpreter: there the program itself
runs the module named by ``HELPER_OPTION``.
"""

import _thread
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

import xlbridge

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

    from xlbridge.errors import LocalFailure
    from xlbridge.i18n import Text

HELPER_OPTION = "--xlbridge-helper"
_READY = b"ready\n"
"""First line of a helper's output, written once its imports are done."""

_IS_APPLICATION = bool(getattr(sys, "frozen", False))
# Without pathlib, which takes longer to import than a process to start.
_IMPORT_ROOT = os.path.dirname(os.path.dirname(xlbridge.__file__))  # noqa: PTH120


def helper_environment() -> dict[str, str]:
    """Return the environment of a helper process: this package is importable, credentials are
    left out."""
    variables = {k: value for k, value in os.environ.items() if not k.startswith("XLBRIDGE_")}
    paths = [_IMPORT_ROOT, *filter(None, [variables.get("PYTHONPATH")])]
    return variables | {"PYTHONPATH": os.pathsep.join(paths)}


def command_line(*arguments: str) -> list[str]:
    """Return the command line that runs a command of xlbridge."""
    program = [sys.executable] if _IS_APPLICATION else [sys.executable, "-m", "xlbridge"]
    return [*program, *arguments]


def helper_command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of xlbridge as a helper."""
    option = [HELPER_OPTION] if _IS_APPLICATION else ["-P", "-m"]
    return [sys.executable, *option, module, *arguments]


def report_ready(output: IO[bytes]) -> None:
    """Report, in a helper, that it is ready."""
    output.write(_READY)
    output.flush()


def wait_until_ready(output: IO[bytes]) -> bool:
    """Wait until a helper reports that it is ready; return False if it ended first."""
    return output.readline(len(_READY)) == _READY


@contextmanager
def report_start_errors() -> Iterator[None]:
    """Raise ``LocalFailure`` instead of ``OSError`` if a process cannot be started."""
    try:
        yield
    except OSError as error:
        raise helper_not_started(error.strerror or str(error)) from error


def helper_not_started(reason: "str | Text | None" = None) -> "LocalFailure":
    """Return the error to raise if a process of xlbridge did not start.

    Without a ``reason`` it ended during start-up.
    """
    # Imported here: a process is started before modules that are not needed for it are imported.
    from xlbridge.errors import LocalFailure
    from xlbridge.i18n import Text

    ended_early = Text(pt="ele terminou durante o início", en="it ended during start-up")
    return LocalFailure(
        Text(
            pt="Um processo auxiliar do xlbridge não iniciou ({program}): {reason}",
            en="A helper process of xlbridge did not start ({program}): {reason}",
        ).format(program=sys.executable, reason=reason or ended_early),
        Text(
            pt="O problema não está no arquivo nem nos dados. Feche outros programas e tente de "
            "novo; se continuar, reinstale o xlbridge ou veja se um antivírus o bloqueia.",
            en="Neither the file nor the data is at fault. Close other programs and try again; "
            "if it persists, reinstall xlbridge, or check whether a virus scanner blocks it.",
        ),
    )


NEW_PROCESS_GROUP: Mapping[str, Any] = {
    "start_new_session": True,
    "creationflags": 0x200 if os.name == "nt" else 0,  # CREATE_NEW_PROCESS_GROUP
}
"""Options of ``Popen`` that keep the terminal's Ctrl-C from a process, on every system."""


def windows_program(name: str) -> Path:
    """Return the path of a program of Windows, whose bare name is first sought in the folder."""
    return Path(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", name)


def kill_process_tree(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that was started with ``NEW_PROCESS_GROUP``, and its children."""
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return
    # Imported here: commands that start no process need none of it.
    import subprocess

    with suppress(OSError):
        subprocess.run(  # noqa: S603 - the system's own command, no shell
            [windows_program("taskkill.exe"), "/F", "/T", "/PID", str(process.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    process.kill()


def available_cpus() -> int:
    """Return the number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def gc_paused() -> Iterator[None]:
    """Disable the cyclic collector while millions of objects are built: it would traverse all of
    them repeatedly."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def heavy_imports() -> Iterator[None]:
    """Exclude imported modules, which are never freed, from garbage collection."""
    before = len(sys.modules)
    with gc_paused():
        yield
        if len(sys.modules) > before:
            gc.freeze()


_SIGNAL_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
_SIGNALS = [getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name)]
"""The signals that exist on this system."""


def treat_signals_as_interrupts() -> None:
    """Raise ``KeyboardInterrupt`` on termination signals, unless they are ignored."""

    def repeat_lost_interrupt(failure: "sys.UnraisableHookArgs") -> None:
        # An interrupt could not be raised, for example in a finalizer. Other failures of finalizers
        # are reported where the object was used.
        if issubclass(failure.exc_type, KeyboardInterrupt):
            _repeat(signal.SIGINT)

    for number in (signal.SIGINT, *_SIGNALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = repeat_lost_interrupt


def ignore_interrupts() -> None:
    """Ignore interrupts after a command has ended, until its exit code is set."""
    for number in (signal.SIGINT, *_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_LOOKUPS = frozenset({"__hash__", "__eq__", "__getattr__"})
"""Methods whose errors some extension modules clear, as if nothing had been found."""

_REPEAT_SECONDS = 0.01
_handled: list[int] = []
"""The signals that the main thread has handled so far."""


def _interrupt(number: int, frame: "FrameType | None") -> None:
    """Raise ``KeyboardInterrupt``, or postpone it during an import or a lookup.

    Libraries mistake an interrupted import for a missing module, and an interrupted lookup for a
    missing entry, and continue without it or fail.
    """
    _handled.append(number)
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _IMPORT_SYSTEM or code.co_name in _LOOKUPS:
            _repeat(number)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _repeat(number: int) -> None:
    """Deliver a signal to the main thread again after a short time, until it handles one.

    A real signal, if the system has them, also ends a wait of the main thread for a lock, unless
    it arrives just before the wait begins.
    """
    main, before = _thread.get_ident(), len(_handled)

    def interrupt() -> None:
        while True:
            time.sleep(_REPEAT_SECONDS)
            if len(_handled) > before:
                return
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(main, number)
            else:
                _thread.interrupt_main(signal.Signals(number))

    _thread.start_new_thread(interrupt, ())


def exit_at_once(code: int) -> NoReturn:
    """End this process immediately, without the time that Python takes to free its objects."""
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Instant(NamedTuple):
    """Instant by the wall clock (``at``, local time) and by the clock of one start of a computer.

    A wall clock, which people read, may be set or wrong; the other one only runs forward.
    ``boot`` identifies that start, and is empty where the operating system has no such id;
    ``uptime`` are the seconds since then.
    """

    at: datetime
    boot: str
    uptime: float

    @classmethod
    def now(cls) -> "Instant":
        """Return the present instant."""
        # The seconds since the start of the computer, the time that it slept included.
        boot_clock = getattr(time, "CLOCK_BOOTTIME", None)
        uptime = time.monotonic() if boot_clock is None else time.clock_gettime(boot_clock)
        return cls(datetime.now(), _boot_id(), uptime)

    def since(self, earlier: "Instant") -> timedelta:
        """Return the time that has certainly passed since an earlier instant.

        Within one start of the computer the wall clock does not count. Between two, or on another
        computer, the shorter time of both clocks does; none if the earlier instant seems later.
        """
        counted = self.uptime - earlier.uptime
        if self.boot and self.boot == earlier.boot:
            return timedelta(seconds=max(0.0, counted))
        # A computer that was started since then has run for its uptime at most.
        counted = self.uptime if counted < 0 else counted
        return max(timedelta(), min(self.at - earlier.at, timedelta(seconds=counted)))

    def seems_before(self, earlier: "Instant") -> bool:
        """Return whether an earlier instant was recorded by a clock that was ahead of this one."""
        return (not self.boot or self.boot != earlier.boot) and self.at < earlier.at


@lru_cache(maxsize=1)
def _boot_id() -> str:
    with suppress(OSError):
        return _BOOT_ID.read_text("ascii").strip()
    return ""
