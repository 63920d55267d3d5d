"""How a command is ended from outside: a closed terminal and a time limit act as Ctrl-C does."""

import atexit
import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Not each system has each."""


def end_like_interrupt() -> None:
    """Let signals that ask for an end raise ``KeyboardInterrupt``; ignored ones stay ignored."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


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
