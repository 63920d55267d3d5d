"""Connections that end when their client stands still: in the middle of a request or an answer.

uvicorn itself ends only those that are idle between two requests.
"""

from asyncio import BaseTransport, TimerHandle
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class _TimedProtocol(H11Protocol):
    """Ends a connection after ``patience`` seconds without progress.

    A request's head has as much time in all; its body as much for each further part; an answer as
    much for each part that is taken.
    """

    patience: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._receiving: TimerHandle | None = None
        self._sending: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._expect_rest()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request, and wait for the rest of it."""
        super().data_received(data)
        self._expect_rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for timer in (self._receiving, self._sending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for the client to take what is sent."""
        super().pause_writing()
        self._expect_taking()

    def resume_writing(self) -> None:
        """End to wait for the client to take what is sent."""
        if self._sending is not None:
            self._sending.cancel()
        super().resume_writing()

    def _expect_rest(self) -> None:
        state = self.conn.their_state
        if self._receiving is not None:
            if state is h11.IDLE:
                # Whoever sends a head letter by letter gains no time by it.
                return
            self._receiving.cancel()
            self._receiving = None
        if state in _INCOMPLETE and self.timeout_keep_alive_task is None:
            self._receiving = self.loop.call_later(self.patience, self._end_incomplete)

    def _end_incomplete(self) -> None:
        self._receiving = None
        if self.flow.read_paused:
            # Not the client stands still: what it sent before waits to be read.
            self._expect_rest()
        elif self.conn.their_state in _INCOMPLETE and self.timeout_keep_alive_task is None:
            self.transport.close()

    def _expect_taking(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._sending = self.loop.call_later(self.patience, self._end_untaken, waiting)

    def _end_untaken(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._expect_taking()
        else:
            self.transport.abort()


def timed_protocol(patience: float) -> type[H11Protocol]:
    """Return the protocol of connections that end after so many seconds without progress."""
    return type("TimedProtocol", (_TimedProtocol,), {"patience": patience})
