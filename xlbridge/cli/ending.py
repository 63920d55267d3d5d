"""How a command is ended from outside: a closed terminal and a time limit act as Ctrl-C does."""

import signal
from types import FrameType

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


def forget_interrupt() -> None:
    """Let this process end with its own exit code after an interruption that was dealt with.

    Python remembers one that came while a text was executed, as imports do, and would end by the
    signal: whatever runs as a text after it makes it forget.
    """
    exec("")  # noqa: S102
