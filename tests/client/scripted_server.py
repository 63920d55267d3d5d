"""Server on a real socket that sends exactly the bytes that a test scripts."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forked import USUAL_PAUSE

from xlbridge.client import Client, RetryPolicy, Target

EMAIL = "integration@example.com"
PASSWORD = "canary-password-4711"
TOKEN = "canary-token"
INFO = {
    "codigoDaEmpresa": 1,
    "nomeComercial": "Padaria São João",
    "codigoDoUsuario": "int",
    "nomeDoUsuario": "Integração",
    "email": EMAIL,
    "administrador": False,
    "ativo": True,
}
"""What the system says of itself and its user."""

Step = bytes | Callable[[socket.socket], None]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: object, kind: str = "application/json", **headers: str) -> bytes:
    """Return an HTTP answer; a body that is not bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} X",
        f"Content-Type: {kind}",
        f"Content-Length: {len(content)}",
        "Connection: close",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def ok(data: object) -> bytes:
    return answer(200, {"success": True, "data": data})


def reset(connection: socket.socket) -> None:
    """Drop the connection without an answer."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


@dataclass
class ScriptedServer:
    """Server that answers each authenticated request with the next step; the last one is repeated.

    Logins are answered with ``login`` if it is set, otherwise with a numbered token.
    """

    listener: socket.socket
    steps: list[Step] = field(default_factory=list)
    login: Step | None = None
    requests: list[Request] = field(default_factory=list)
    logins: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                request = _read_request(connection)
                if request is not None:
                    self._answer(connection, request)

    def _answer(self, connection: socket.socket, request: Request) -> None:
        if request.path.endswith("/v2/autenticar"):
            step = self._login(request)
        else:
            self.requests.append(request)
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if callable(step):
            step(connection)
        else:
            connection.sendall(step)

    def _login(self, request: Request) -> Step:
        self.logins += 1
        if self.login is not None:
            return self.login
        assert json.loads(request.body) == {"email": EMAIL, "password": PASSWORD}
        return answer(200, {"authenticated": True, "accessToken": f"{TOKEN}-{self.logins}"})


def _read_request(connection: socket.socket) -> Request | None:
    with connection.makefile("rb") as stream:
        first = stream.readline().decode()
        if not first:
            return None
        headers: dict[str, str] = {}
        while line := stream.readline().decode().strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ")
        return Request(method, path, headers, body)


def open_client(
    base_url: str, pauses: list[float], *, trust_429: bool = False, **options: Any
) -> Client:
    """Open a client that records pauses instead of waiting."""
    policy = RetryPolicy(
        first=USUAL_PAUSE, sleep=pauses.append, clock=lambda: sum(pauses), random=lambda: 1.0
    )
    target = Target("test", base_url, EMAIL, PASSWORD, trust_429=trust_429)
    return Client(target, retry_policy=policy, **options)
