"""Whose turn it is to write: one after the other, in the order in which they came."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock

TURN_SECONDS = 50.0
"""How long a writing transaction waits for those before it: less than the minute that clients
commonly wait for an answer, so that nothing is written whose sender has gone away meanwhile."""


class Busy(Exception):
    """Those before it took too long; nothing was written."""


class Writers:
    """The queue of this process's writing transactions.

    A database's own lock is taken by whoever happens to ask next, so that one may wait for ever.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False
        self._waiting: deque[Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for one's turn, and have it for the block. Raises ``Busy``."""
        self._wait()
        try:
            yield
        finally:
            self._pass_on()

    def _wait(self) -> None:
        turn = Event()
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            self._waiting.append(turn)
        if turn.wait(TURN_SECONDS):
            return
        with self._lock:
            # It may have come just now, and is not to be lost.
            if not turn.is_set():
                self._waiting.remove(turn)
                raise Busy

    def _pass_on(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False
