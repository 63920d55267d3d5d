"""The server in the foreground: serves one database until it is interrupted.

Connections end when their client stands still in the middle of a request or an answer; uvicorn
itself ends only those that are idle between two requests.
"""

import os
import signal
import socket
import sys
from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from xlbridge.errors import ConfigError, UsageError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.sandbox.embedded import (
    RunningSandbox,
    default_database,
    default_ready_file,
    write_ready_file,
)
from xlbridge.sandbox.handler_registry import Sandbox
from xlbridge.sandbox.http.app import build_app
from xlbridge.sandbox.imports.handlers import ImportWorker
from xlbridge.sandbox.options import Behaviour, SeedKind
from xlbridge.sandbox.seed import ProgressCallback, open_database, seed_database
from xlbridge.sandbox.storage import Storage, database_url, translate_database_errors
from xlbridge.sandbox.users import prepare_account
from xlbridge.serving import LOOPBACK, Server, listen
from xlbridge.settings import Settings

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


_STOP_SECONDS = 3


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a server: what to serve, and where.

    ``port`` 0 is any free one. ``database`` is a path or an SQLAlchemy URL, None for the default
    under the home folder. ``expose`` is an address to listen on instead of loopback.
    ``while_stdin_open`` ends it when standard input closes.
    """

    port: int = 0
    database: str | None = None
    seed: SeedKind = SeedKind.DEMO
    scale: int = 1
    ready_file: Path | None = None
    expose: str | None = None
    while_stdin_open: bool = False
    behaviour: Behaviour = field(default_factory=Behaviour)


def serve(
    plan: ServeOptions,
    settings: Settings,
    announce: Callable[[RunningSandbox], None],
    watch: ProgressCallback,
) -> None:
    """Serve until SIGINT or SIGTERM; ``announce`` is called once it answers.

    ``watch`` is called with the progress of filling a new database.

    Raises ``UsageError`` when it would be exposed without a password of the user's own or the
    address cannot be listened on, ``ConfigError`` when the database does not open or be used.
    """
    if plan.expose and not settings.password:
        raise UsageError(
            Text(
                pt="--expose exige uma senha sua em XLBRIDGE_PASSWORD.",
                en="--expose needs a password of your own in XLBRIDGE_PASSWORD.",
            )
        )
    with ExitStack() as stack:
        if plan.while_stdin_open:
            stop_when_stdin_closes()
        listener = stack.enter_context(listen(plan.expose or LOOPBACK, plan.port))
        storage = open_database(database_url(plan.database or str(default_database(settings))))
        stack.callback(storage.close)
        with translate_database_errors(storage.url):
            # One transaction: what is interrupted while it is filled stays empty.
            with storage.transaction(writing=True) as connection:
                seed_database(connection, plan.seed, plan.scale, watch)
            account = prepare_account(storage, settings)
        worker, sandbox = _build_sandbox(plan, settings, storage)
        worker.start()
        stack.callback(worker.stop)
        running = RunningSandbox(
            _base_url(listener), account.email, account.password, os.getpid(), storage.system
        )

        def ready() -> None:
            # The second is how commands find a sandbox on their own database.
            wanted = [plan.ready_file] if plan.ready_file else []
            for path in (
                wanted if plan.database or plan.ready_file else [default_ready_file(settings)]
            ):
                write_ready_file(path, running)
                stack.callback(path.unlink, missing_ok=True)
            announce(running)

        _run_server(sandbox, listener, ready)


def _build_sandbox(
    plan: ServeOptions, settings: Settings, storage: Storage
) -> tuple[ImportWorker, Sandbox]:
    sandbox = Sandbox(
        storage=storage,
        catalogue=load_catalogue(settings.schemas),
        limits=settings.limits,
        behaviour=replace(plan.behaviour, exposed=plan.expose is not None),
    )
    worker = ImportWorker(sandbox)
    return worker, replace(sandbox, wake_worker=worker.wake)


def _base_url(listener: socket.socket) -> str:
    address, port, *_ = listener.getsockname()
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _run_server(sandbox: Sandbox, listener: socket.socket, ready: Callable[[], None]) -> None:
    server = Server(
        build_app(sandbox),
        ready,
        http=timed_protocol(sandbox.behaviour.request_timeout.total_seconds()),
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server.run(sockets=[listener])
    if not server.started:
        raise ConfigError(
            Text(pt="O sistema de ensaio não iniciou.", en="The sandbox did not start.")
        )


def stop_when_stdin_closes() -> None:
    """End this process when its standard input closes, as its parent process has ended."""
    Thread(target=_wait_for_end_of_input, name="end-with-stdin", daemon=True).start()


def _wait_for_end_of_input() -> None:
    # Not through a buffer: its lock, held here for ever, would break the interpreter's own end.
    while os.read(sys.stdin.fileno(), 1):
        pass
    signal.raise_signal(signal.SIGTERM)
