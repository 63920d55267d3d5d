"""Proxy on loopback that works byte by byte and can inject a fault into each request.

Every answer closes its connection, so that one connection is one request.
"""

import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

_END_OF_HEAD = b"\r\n\r\n"
_BLOCK = 65536
_RETRY_SECONDS = 0.01
_RESET = struct.pack("ii", 1, 0)


class Point(StrEnum):
    """Progress of an exchange."""

    CONNECTED = "after connect"
    HEAD = "after headers"
    BODY = "in the body"
    END = "at its end"
    ANSWERED = "before the answer arrives"
    RELAYED = "after the answer left"


@dataclass(frozen=True, slots=True)
class Request:
    """Received request; ``number`` counts from 0."""

    number: int
    method: str
    path: str
    head: bytes
    body: bytes = b""

    @property
    def may_write(self) -> bool:
        """Return whether the request may write; logins and previews do not."""
        reads = any(part in self.path for part in ("preview=true", "/autenticar"))
        return self.method != "GET" and not reads


class Cut(Exception):
    """End of the exchange: nothing more is sent to either side."""


@dataclass
class Exchange:
    """One request passing through the proxy, which a fault can change."""

    proxy: "WireProxy"
    client: socket.socket
    request: Request

    def forward(self) -> bytes:
        """Forward the request to the server and return the complete answer."""
        return self.proxy.ask_server(self.request)

    def forward_again(self) -> bytes:
        """Forward a request once more; that one does not count, as the client has sent one."""
        answer = self.proxy.ask_server(self.request)
        self.proxy.request_counts[self.request.method, self.request.path] -= 1
        return answer

    def send(self, data: bytes) -> None:
        """Send bytes to the client, unless it is gone."""
        with contextlib.suppress(OSError):
            self.client.sendall(data)

    def reset(self) -> None:
        """Reset the connection, like a crashed peer or a firewall."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        raise Cut


Fault = Callable[[Exchange], None]
"""Handles an exchange once the request is complete."""


def forward_unchanged(exchange: Exchange) -> None:
    """Forward the request, and send the server's answer."""
    answer = exchange.forward()
    exchange.proxy.reach(Point.ANSWERED, exchange.request)
    exchange.send(answer)
    exchange.proxy.reach(Point.RELAYED, exchange.request)


@dataclass
class WireProxy:
    """Proxy between a client and ``target``.

    ``fault`` chooses the fault of a request; ``cut_at`` chooses the point at which an incoming
    request is cut off; ``watch`` is called for every point that a request reaches, with None as
    the request while there is only the connection. ``lag`` is the number of readings after each
    write that show the state before it, as a copy of the database does. ``request_counts`` counts
    the requests forwarded to the server, by method and path, and is not reset.
    """

    target: str
    listener: socket.socket
    address: tuple[str, int]
    fault: Callable[[Request], Fault] = lambda _request: forward_unchanged
    cut_at: Callable[[Request], Point | None] = lambda _request: None
    watch: Callable[[Point, int, Request | None], None] = lambda _point, _number, _request: None
    seen: list[Request] = field(default_factory=list)
    request_counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    commits: list[threading.Thread] = field(default_factory=list)
    lag: int = 0
    _late: int = 0
    _shown: dict[str, bytes] = field(default_factory=dict)
    serving: set[int] = field(default_factory=set)
    _numbers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base_url(self) -> str:
        """Address of the proxy."""
        return f"http://127.0.0.1:{self.address[1]}"

    def refuse(self, seconds: float) -> None:
        """Refuse connections for some seconds."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

        def listen_again() -> None:
            time.sleep(seconds)
            self.listener = _listening(self.address)

        self.later(listen_again)

    def reset(self) -> None:
        """Clear all faults and requests, once late commits have arrived."""
        self.wait_for_all()
        self.fault = lambda _request: forward_unchanged
        self.cut_at = lambda _request: None
        self.watch = lambda _point, _number, _request: None
        self.seen.clear()
        self._numbers = 0
        self.lag = 0
        self._shown.clear()

    def catch_up(self) -> None:
        """Show from now on what was written so far."""
        self._late = 0
        self._shown.clear()

    def reach(self, point: Point, request: Request) -> None:
        """Report that a request has reached a point."""
        self.watch(point, request.number, request)

    def later(self, commit: Callable[[], object]) -> None:
        """Run a function after the exchange has ended."""
        thread = threading.Thread(target=commit, daemon=True)
        self.commits.append(thread)
        thread.start()

    def wait_for_late_commits(self) -> None:
        """Wait for all functions of ``later``; nothing lags any more."""
        while self.commits:
            self.commits.pop().join()
        self._late = 0

    def wait_for_all(self) -> None:
        """Wait until all connections have been handled."""
        while self.serving:
            time.sleep(0.005)
        self.wait_for_late_commits()

    def ask_server(self, request: Request) -> bytes:
        """Send a request to the real server on another connection; return its answer."""
        self.request_counts[request.method, request.path] += 1
        if request.may_write:
            self._late = self.lag
        elif self._late and request.method == "GET" and request.path in self._shown:
            self._late -= 1
            return self._shown[request.path]
        address = urlsplit(self.target)
        with socket.create_connection((address.hostname, address.port), timeout=30) as server:
            server.sendall(_closing(request.head) + request.body)
            answer = b"".join(iter(lambda: server.recv(_BLOCK), b""))
        if request.method == "GET":
            self._shown[request.path] = answer
        return answer

    def serve(self, client: socket.socket) -> None:
        """Handle the one request of a connection."""
        with self._lock:
            number = self._numbers
            self._numbers += 1
            self.serving.add(threading.get_ident())
        try:
            self._converse(client, number)
        finally:
            self.serving.discard(threading.get_ident())

    def _converse(self, client: socket.socket, number: int) -> None:
        with client:
            client.settimeout(30)
            with contextlib.suppress(Cut, OSError):
                self.watch(Point.CONNECTED, number, None)
                request = self._receive(client, number)
                if request is not None:
                    self.seen.append(request)
                    self.reach(Point.END, request)
                    self.fault(request)(Exchange(self, client, request))

    def _receive(self, client: socket.socket, number: int) -> Request | None:
        received = b""
        while _END_OF_HEAD not in received:
            block = client.recv(_BLOCK)
            if not block:
                return None
            received += block
        head, _, body = received.partition(_END_OF_HEAD)
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        request = Request(number, method, path, head + _END_OF_HEAD)
        self._cut_off(Point.HEAD, request, client)
        length = _content_length(head)
        body = self._receive_up_to(client, body, length // 2)
        if length:
            self._cut_off(Point.BODY, request, client)
        body = self._receive_up_to(client, body, length)
        if len(body) < length:
            return None
        return Request(number, method, path, head + _END_OF_HEAD, body)

    def _receive_up_to(self, client: socket.socket, body: bytes, length: int) -> bytes:
        while len(body) < length:
            block = client.recv(_BLOCK)
            if not block:
                break
            body += block
        return body

    def _cut_off(self, point: Point, request: Request, client: socket.socket) -> None:
        self.reach(point, request)
        if self.cut_at(request) is point:
            self.seen.append(request)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            raise Cut


@contextmanager
def wire_proxy(target: str) -> Iterator[WireProxy]:
    """Run a proxy in front of ``target`` for the length of the block."""
    listener = _listening(("127.0.0.1", 0))
    proxy = WireProxy(target, listener, listener.getsockname())
    stopping = threading.Event()

    def accept() -> None:
        while not stopping.is_set():
            try:
                client, _ = proxy.listener.accept()
            except OSError:
                time.sleep(_RETRY_SECONDS)
                continue
            threading.Thread(target=proxy.serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.wait_for_late_commits()
        stopping.set()
        with contextlib.suppress(OSError):
            socket.create_connection(proxy.address).close()
        thread.join()
        proxy.listener.close()


def _listening(address: tuple[str, int]) -> socket.socket:
    return socket.create_server(address, backlog=64)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def _closing(head: bytes) -> bytes:
    """Return a request's head that asks the server to close the connection after its answer."""
    lines = head[: -len(_END_OF_HEAD)].split(b"\r\n")
    lines_kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines_kept, b"Connection: close"]) + _END_OF_HEAD
