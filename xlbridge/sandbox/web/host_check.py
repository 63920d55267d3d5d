"""Which names the sandbox answers to.

A page in a browser can have a name of its own resolve to this computer, and its scripts send
requests here under that name. So only names that no stranger can give away are answered to.
"""

import ipaddress
import socket
from collections.abc import Iterable

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from xlbridge.sandbox import answers

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


class HostCheck:
    """Refuses requests under other host names (400).

    ``exposed`` also lets any address pass that is written in numbers, which needs no resolving,
    this computer's own name, and the ``further`` names.
    """

    def __init__(self, app: ASGIApp, *, exposed: bool, further: Iterable[str] = ()) -> None:
        own = {socket.gethostname(), *further} if exposed else set()
        self._app = app
        self._exposed = exposed
        self._names = LOOPBACK_NAMES | {name.lower() for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and not self._is_known(_host(scope)):
            problem = ("Host", "Este endereço não é atendido aqui.")
            await answers.failure(400, [problem])(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        return host in self._names or (self._exposed and _is_address(host))


def _host(scope: Scope) -> str:
    host = Request(scope).headers.get("host", "")
    name, _, port = host.rpartition(":")
    return name.lower() if port.isdigit() else host.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
