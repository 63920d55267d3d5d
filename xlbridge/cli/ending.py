"""How a command is ended from outside: a closed terminal and a time limit act as Ctrl-C does."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
_SIGNALS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
"""Not each system has each."""


def end_like_interrupt() -> None:
    """Let signals that ask for an end raise ``KeyboardInterrupt``; ignored ones stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def ignore_interrupts() -> None:
    """Let nothing come between the outcome of a command, which is settled, and its exit code."""
    for number in (signal.SIGINT, *_SIGNALS):
        signal.signal(number, signal.SIG_IGN)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def end(code: int) -> NoReturn:
    """End this process with an exit code, and at once.

    The system takes back all memory: Python would first visit everything in it, one by one.
    """
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
