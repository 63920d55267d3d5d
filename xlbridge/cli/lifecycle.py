"""Lifecycle of a command: heavy imports, interrupting signals, exit codes."""

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
from xlbridge.processes import gc_paused


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


def _interrupt(number: int, frame: FrameType | None) -> None:
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


class ExitCode(IntEnum):
    """Exit codes of the contract, and ``CRASHED`` for a defect of xlbridge.

    ``COMPUTER_FAILED`` means that nothing is in doubt; unsettled requests make it ``IN_DOUBT``.
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
    """Return the exit code of an error."""
    return next(code for kind, code in _BY_ERROR if isinstance(error, kind))


def worst_code(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the worst of several exit codes; doubt comes first."""
    return max(codes, key=lambda code: (code is ExitCode.IN_DOUBT, code), default=ExitCode.GOOD)
