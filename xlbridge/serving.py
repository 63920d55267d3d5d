"""Serve an ASGI application on this computer, for the sandbox and the page.

Needs uvicorn, which an extra installs.
"""

import logging
import os
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from xlbridge.errors import UsageError, os_error_reason
from xlbridge.i18n import Text

LOOPBACK = "127.0.0.1"


def listen(address: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 means any free one.

    Raises ``UsageError`` if the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With an explicit protocol asyncio sets TCP_NODELAY.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(
            Text(
                pt="Não é possível escutar em {address}:{port}: {error}",
                en="Cannot listen on {address}:{port}: {error}",
            ).format(
                address=address,
                port=port,
                error=os_error_reason(error) if isinstance(error, OSError) else error,
            ),
            Text(pt="Use outra porta: --port", en="Use another port: --port"),
        ) from error
    return listener


class Server(uvicorn.Server):
    """Server of one application until a signal or ``stop``; calls ``ready`` once it listens."""

    def __init__(self, app: Any, ready: Callable[[], None], **options: Any) -> None:
        quiet: dict[str, Any] = {"log_level": "warning", "lifespan": "off", "access_log": False}
        super().__init__(uvicorn.Config(app, server_header=False, **quiet, **options))
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and call ``ready``."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop. Requests that do not end in time are cancelled, which is no error to report."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)

    def stop(self) -> None:
        """Exit after answering the running requests."""
        self.should_exit = True
