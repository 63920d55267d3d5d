"""Foreground server: serves one database until it is interrupted.

Connections are closed if their client stalls in the middle of a request or response; uvicorn
itself closes only those that are idle between requests.
"""

import os
import signal
import socket
import sys
from asyncio import BaseTransport, TimerHandle
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from xlbridge.errors import ConfigError, UsageError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.sandbox.app import build_app
from xlbridge.sandbox.area_declarations import Sandbox
from xlbridge.sandbox.embedded import (
    Behaviour,
    ProgressCallback,
    RunningSandbox,
    SeedKind,
    default_database,
    default_ready_file,
    write_ready_file,
)
from xlbridge.sandbox.imports import ImportWorker
from xlbridge.sandbox.seed import open_database, seed_database
from xlbridge.sandbox.storage import database_url, translate_database_errors
from xlbridge.sandbox.users import prepare_account
from xlbridge.serving import LOOPBACK, Server, listen
from xlbridge.settings import Settings

_INCOMPLETE = (h11.IDLE, h11.SEND_BODY)


class _TimeoutProtocol(H11Protocol):
    """Closes a connection after ``seconds`` without progress.

    The limit applies to the whole head of a request, to each part of its body, and to each part
    of a response that the client reads.
    """

    seconds: float

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._receive_timer: TimerHandle | None = None
        self._send_timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Start the timer of the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._start_receive_timer()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request, and restart the timer."""
        super().data_received(data)
        self._start_receive_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        for timer in (self._receive_timer, self._send_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timer of a response that the client does not read fast enough."""
        super().pause_writing()
        self._start_send_timer()

    def resume_writing(self) -> None:
        """Cancel the timer of the response."""
        if self._send_timer is not None:
            self._send_timer.cancel()
        super().resume_writing()

    def _start_receive_timer(self) -> None:
        state = self.conn.their_state
        if self._receive_timer is not None:
            if state is h11.IDLE:
                # The head has one limit in all, however slowly it arrives.
                return
            self._receive_timer.cancel()
            self._receive_timer = None
        if state in _INCOMPLETE and self.timeout_keep_alive_task is None:
            self._receive_timer = self.loop.call_later(self.seconds, self._close_stalled_request)

    def _close_stalled_request(self) -> None:
        self._receive_timer = None
        if self.flow.read_paused:
            # The client has not stalled: data that it sent are waiting to be read.
            self._start_receive_timer()
        elif self.conn.their_state in _INCOMPLETE and self.timeout_keep_alive_task is None:
            self.transport.close()

    def _start_send_timer(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._send_timer = self.loop.call_later(self.seconds, self._close_stalled_response, unsent)

    def _close_stalled_response(self, unsent_before: int) -> None:
        if self.transport.get_write_buffer_size() < unsent_before:
            self._start_send_timer()
        else:
            self.transport.abort()


_STOP_SECONDS = 3


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a server.

    ``port``: 0 for any free one. ``database``: path or SQLAlchemy URL, None for the default in the
    home folder. ``expose``: address to listen on instead of loopback. ``while_stdin_open``: stop
    when standard input closes.
    """

    port: int = 0
    database: str | None = None
    seed: SeedKind = SeedKind.DEMO
    scale: int = 1
    ready_file: Path | None = None
    expose: str | None = None
    while_stdin_open: bool = False
    behaviour: Behaviour = field(default_factory=Behaviour)


_MIN_EXPOSED_PASSWORD = 12
_NO_PASSWORD = Text(
    pt="--expose exige uma senha sua em XLBRIDGE_PASSWORD, com {n} caracteres ou mais.",
    en="--expose needs a password of your own in XLBRIDGE_PASSWORD, of {n} characters or more.",
).format(n=_MIN_EXPOSED_PASSWORD)


def serve(
    options: ServeOptions,
    settings: Settings,
    on_ready: Callable[[RunningSandbox], None],
    on_progress: ProgressCallback,
) -> None:
    """Serve until SIGINT or SIGTERM; ``on_ready`` is called when the server accepts requests.

    ``on_progress`` is called while a new database is seeded.

    Raises ``UsageError`` if it would be exposed without a long password set by the user, or if it
    cannot listen on the address; ``ConfigError`` if the database cannot be opened or used.
    """
    if options.expose and len(settings.password or "") < _MIN_EXPOSED_PASSWORD:
        raise UsageError(_NO_PASSWORD)
    with ExitStack() as stack:
        if options.while_stdin_open:
            _stop_when_stdin_closes()
        listener = stack.enter_context(listen(options.expose or LOOPBACK, options.port))
        storage = open_database(database_url(options.database or str(default_database(settings))))
        stack.callback(storage.close)
        with translate_database_errors(storage.url):
            # One transaction, so that interrupted seeding leaves the database empty.
            with storage.transaction(writing=True) as connection:
                seed_database(connection, options.seed, options.scale, on_progress)
            account = prepare_account(storage, settings)
        sandbox = Sandbox(
            storage=storage,
            catalogue=load_catalogue(settings.schemas),
            limits=settings.limits,
            behaviour=replace(options.behaviour, exposed=options.expose is not None),
        )
        worker = ImportWorker(sandbox)
        worker.start()
        stack.callback(worker.stop)
        running = RunningSandbox(
            _base_url(listener), account.email, account.password, os.getpid(), storage.system
        )

        def report_ready() -> None:
            ready_file = options.ready_file
            if ready_file is None and options.database is None:
                ready_file = default_ready_file(settings)
            if ready_file is not None:
                write_ready_file(ready_file, running)
                stack.callback(ready_file.unlink, missing_ok=True)
            on_ready(running)

        seconds = options.behaviour.request_timeout.total_seconds()
        server = Server(
            build_app(sandbox),
            report_ready,
            http=type("TimeoutProtocol", (_TimeoutProtocol,), {"seconds": seconds}),
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        server.run(sockets=[listener])
        if not server.started:
            raise ConfigError(
                Text(pt="O ambiente de testes não iniciou.", en="The sandbox did not start."),
                Text(
                    pt="Inicie-o de novo; com --port 0 ele escolhe uma porta livre.",
                    en="Start it again; with --port 0 it chooses a free port.",
                ),
            )


def _base_url(listener: socket.socket) -> str:
    """Return the address of the sandbox for clients on this computer."""
    address, port, *_ = listener.getsockname()
    if ip_address(address).is_unspecified:
        # It listens on all addresses, also on loopback.
        address = "::1" if ":" in address else LOOPBACK
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _stop_when_stdin_closes() -> None:
    """Stop this process when its standard input closes, because its parent has ended."""

    def wait() -> None:
        # Unbuffered: the lock of a buffer, held here forever, would block interpreter shutdown.
        while os.read(sys.stdin.fileno(), 1):
            pass
        signal.raise_signal(signal.SIGTERM)

    Thread(target=wait, name="stop-with-stdin", daemon=True).start()
