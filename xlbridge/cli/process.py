"""The process of a command: its imports, the signals that end it, its end."""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

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
"""Not each system has each."""


def treat_signals_as_interrupts() -> None:
    """Raise ``KeyboardInterrupt`` on signals that ask for an end; ignored ones stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def ignore_interrupts() -> None:
    """Ignore interrupts once the outcome of a command is settled, until its exit code is set."""
    for number in (signal.SIGINT, *_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def exit_at_once(code: int) -> NoReturn:
    """End this process with an exit code, and at once.

    The system takes back all memory: Python would first visit everything in it, one by one.
    """
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
