"""How a sandbox ends with the process that has started it."""

import os
import signal
import sys
from threading import Thread


def end_with_stdin() -> None:
    """End this process when its standard input closes: its starter is gone, however it ended."""
    Thread(target=_wait_for_end_of_input, name="end-with-stdin", daemon=True).start()


def _wait_for_end_of_input() -> None:
    # Not through a buffer: its lock, held here for ever, would break the interpreter's own end.
    while os.read(sys.stdin.fileno(), 1):
        pass
    signal.raise_signal(signal.SIGTERM)
