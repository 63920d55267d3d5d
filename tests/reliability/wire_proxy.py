"""A proxy on loopback, byte by byte: it sees a request come in and decides what goes on.

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
_SHUT_FOR_NOW = 0.01
_RESET = struct.pack("ii", 1, 0)


class Point(StrEnum):
    """How far an exchange has come."""

    CONNECTED = "after connect"
    HEAD = "after headers"
    BODY = "in the body"
    END = "at its end"
    ANSWERED = "before the answer arrives"
    RELAYED = "after the answer left"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in; ``number`` counts them from 0."""

    number: int
    method: str
    path: str
    head: bytes
    body: bytes = b""

    @property
    def may_write(self) -> bool:
        """Whether it may write something; a login and a preview do not."""
        reads = any(part in self.path for part in ("preview=true", "/autenticar"))
        return self.method != "GET" and not reads


class Cut(Exception):
    """The exchange ends here: nothing more goes to either side."""


@dataclass
class Exchange:
    """One request on its way through the proxy; a fault plays with it."""

    proxy: "WireProxy"
    client: socket.socket
    request: Request

    def forward(self) -> bytes:
        """Send the request on to the server and return the whole answer."""
        return self.proxy.ask_server(self.request)

    def send(self, data: bytes) -> None:
        """Send bytes to the client, unless it is gone."""
        with contextlib.suppress(OSError):
            self.client.sendall(data)

    def reset(self) -> None:
        """Break the connection off, as a crashed peer or a firewall does."""
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        raise Cut


Fault = Callable[[Exchange], None]
"""Plays its trick on an exchange once the whole request is there."""


def passed_on(exchange: Exchange) -> None:
    """The ordinary way: ask the server, and bring back what it says."""
    answer = exchange.forward()
    exchange.proxy.reach(Point.ANSWERED, exchange.request)
    exchange.send(answer)
    exchange.proxy.reach(Point.RELAYED, exchange.request)


@dataclass
class WireProxy:
    """Stands between a client and ``target``.

    ``fault`` chooses what is done with a request; ``cut_at`` breaks one off while it comes in (the
    point and how many bytes of the body are read first); ``watch`` is told every point that a
    request reaches, and None as the request as long as only the connection is there. ``asked``
    counts the requests that the server got, by method and path, whatever is forgotten else.
    """

    target: str
    listener: socket.socket
    address: tuple[str, int]
    fault: Callable[[Request], Fault] = lambda _request: passed_on
    cut_at: Callable[[Request], Point | None] = lambda _request: None
    watch: Callable[[Point, int, Request | None], None] = lambda _point, _number, _request: None
    seen: list[Request] = field(default_factory=list)
    asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    commits: list[threading.Thread] = field(default_factory=list)
    serving: set[int] = field(default_factory=set)
    _numbers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def base_url(self) -> str:
        """Where clients find the proxy."""
        return f"http://127.0.0.1:{self.address[1]}"

    def refuse(self, seconds: float) -> None:
        """Let nobody connect for a while."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

        def listen_again() -> None:
            time.sleep(seconds)
            self.listener = _listening(self.address)

        self.later(listen_again)

    def reset(self) -> None:
        """Forget all faults and requests, once late commits have arrived."""
        self.wait_for_all()
        self.fault = lambda _request: passed_on
        self.cut_at = lambda _request: None
        self.watch = lambda _point, _number, _request: None
        self.seen.clear()
        self._numbers = 0

    def reach(self, point: Point, request: Request) -> None:
        """Tell that a request has come to a point."""
        self.watch(point, request.number, request)

    def later(self, commit: Callable[[], object]) -> None:
        """Let something happen after the exchange is over."""
        thread = threading.Thread(target=commit, daemon=True)
        self.commits.append(thread)
        thread.start()

    def wait_for_late_commits(self) -> None:
        """Wait until whatever was to happen later has happened."""
        while self.commits:
            self.commits.pop().join()

    def wait_for_all(self) -> None:
        """Wait until every connection that came in has been dealt with."""
        while self.serving:
            time.sleep(0.005)
        self.wait_for_late_commits()

    def ask_server(self, request: Request) -> bytes:
        """Send a request to the real server on a connection of its own; return its answer."""
        self.asked[request.method, request.path] += 1
        address = urlsplit(self.target)
        with socket.create_connection((address.hostname, address.port), timeout=30) as server:
            server.sendall(_closing(request.head) + request.body)
            return b"".join(iter(lambda: server.recv(_BLOCK), b""))

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
        self._break_off(Point.HEAD, request, client)
        length = _content_length(head)
        body = self._receive_up_to(client, body, length // 2)
        if length:
            self._break_off(Point.BODY, request, client)
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

    def _break_off(self, point: Point, request: Request, client: socket.socket) -> None:
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
                time.sleep(_SHUT_FOR_NOW)
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
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*kept, b"Connection: close"]) + _END_OF_HEAD
