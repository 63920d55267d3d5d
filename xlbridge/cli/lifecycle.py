"""Lifecycle of a command: its heavy imports, the signals that interrupt it, its exit code."""

import _thread
import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import NoReturn

from xlbridge.errors import (
    ApiError,
    InDoubt,
    LocalFailure,
    RemoteRejected,
    WorkbookRefused,
    XlbridgeError,
)
from xlbridge.garbage_collection import gc_paused


@contextmanager
def heavy_imports() -> Iterator[None]:
    """Keep the collector away from what the block imports, now and later: all of it stays."""
    before = len(sys.modules)
    with gc_paused():
        yield
        if len(sys.modules) > before:
            gc.freeze()


_SIGNAL_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
_SIGNALS = [getattr(signal, name) for name in _SIGNAL_NAMES if hasattr(signal, name)]
"""Those that this system has."""


def treat_signals_as_interrupts() -> None:
    """Raise ``KeyboardInterrupt`` on signals that ask for an end; ignored ones stay ignored."""
    for number in (signal.SIGINT, *_SIGNALS):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _repeat_lost_interrupt


def ignore_interrupts() -> None:
    """Ignore interrupts once the outcome of a command is settled, until its exit code is set."""
    for number in (signal.SIGINT, *_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
_REPEAT_SECONDS = 0.01


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``, after an import that is under way.

    Libraries take an interrupt that comes while they import something for a module that is not
    there: they go on without it, or fail.
    """
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT_SYSTEM:
            _repeat(number)
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def _repeat_lost_interrupt(failure: "sys.UnraisableHookArgs") -> None:
    """Interrupt once more where nothing could be raised, as while an object is discarded.

    Any other such failure was reported already, where the object was used.
    """
    if issubclass(failure.exc_type, KeyboardInterrupt):
        _repeat(signal.SIGINT)


def _repeat(number: int) -> None:
    """Deliver a signal to the main thread again a little later.

    A real one where there are such: it ends the wait for a lock, too, which the main thread may
    have come to meanwhile.
    """
    main = _thread.get_ident()

    def interrupt() -> None:
        time.sleep(_REPEAT_SECONDS)
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, number)
        else:
            _thread.interrupt_main(signal.Signals(number))

    _thread.start_new_thread(interrupt, ())


def exit_at_once(code: int) -> NoReturn:
    """End this process with an exit code, and at once.

    The system takes back all memory: Python would first visit everything in it, one by one.
    """
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


class ExitCode(IntEnum):
    """The contract's exit codes. ``CRASHED`` is outside it: a defect of xlbridge.

    ``COMPUTER_FAILED`` says that nothing is in doubt: where a request had left and is not settled,
    it is ``IN_DOUBT``.
    """

    GOOD = 0
    DATA_ERRORS = 1
    WRONG_USAGE = 2
    REFUSED = 3
    FAILED = 4
    IN_DOUBT = 5
    COMPUTER_FAILED = 6
    CRASHED = 70
    INTERRUPTED = 130


_BY_ERROR: tuple[tuple[type[XlbridgeError], ExitCode], ...] = (
    (WorkbookRefused, ExitCode.REFUSED),
    (InDoubt, ExitCode.IN_DOUBT),
    (RemoteRejected, ExitCode.DATA_ERRORS),
    (ApiError, ExitCode.FAILED),
    (LocalFailure, ExitCode.COMPUTER_FAILED),
    (XlbridgeError, ExitCode.WRONG_USAGE),
)


def exit_code_of(error: XlbridgeError) -> ExitCode:
    """Return the exit code that an error ends a command with."""
    return next(code for kind, code in _BY_ERROR if isinstance(error, kind))


def gravest(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the exit code that one command ends with for several outcomes: doubt before all."""
    return max(codes, key=lambda code: (code is ExitCode.IN_DOUBT, code), default=ExitCode.GOOD)
