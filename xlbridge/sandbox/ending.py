"""How a running sandbox is ended from outside."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType


@contextmanager
def ended_like_interrupt() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does, so that it is cleaned up after."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_with_stdin() -> None:
    """End this process when its standard input closes: its starter is gone, however it ended."""
    Thread(target=_wait_for_end_of_input, name="end-with-stdin", daemon=True).start()


def _wait_for_end_of_input() -> None:
    # Not through a buffer: its lock, held here for ever, would break the interpreter's own end.
    while os.read(sys.stdin.fileno(), 1):
        pass
    signal.raise_signal(signal.SIGTERM)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
