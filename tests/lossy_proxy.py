"""Proxy on loopback that loses or changes requests and answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

from answer_shapes import kind_of
from exercised import note_answer

ProxyFault = Literal[
    "pass",
    "lose request",
    "lose answer",
    "html",
    "500 after",
    "refuse after",
    "refuse",
    "refuse as text",
    "absent",
    "accept",
    "429 before",
    "unavailable",
    "busy",
    "busy for an hour",
    "too large",
    "moved",
    "token refused",
    "401 after",
    "429 after",
    "307 after",
    "400 as text after",
    "404 as text after",
    "413 after",
]

# Answers of the proxy itself, instead of forwarding the request: status and header.
PROXY_ANSWERS: dict[ProxyFault, tuple[int, tuple[str, str] | None]] = {
    "accept": (200, None),
    "refuse": (400, None),
    "absent": (404, None),
    "unavailable": (429, None),
    "busy for an hour": (429, ("Retry-After", "3600")),
    "busy": (503, ("Retry-After", "40")),
    "too large": (413, None),
    "moved": (308, ("Location", "/v3")),
    "token refused": (401, None),
}

LATE_SECONDS = 0.4
PASSED_ON = {"authorization", "content-type"}

ACCEPTANCE = b'{"success": true, "data": null}'
REFUSAL = b'{"success": false, "data": null, "errors": [{"key": "", "value": "Recusado."}]}'

# Answers that replace the system's own, after the request was executed.
REPLACED_ANSWERS: dict[ProxyFault, tuple[int, bytes, str]] = {
    "html": (200, b"<html>Bad gateway</html>", "text/html"),
    "500 after": (500, b"{}", "application/json"),
    "refuse after": (400, REFUSAL, "application/json"),
    "401 after": (401, b"", "text/plain"),
    "429 after": (429, b"", "text/plain"),
    "307 after": (307, b"", "text/plain"),
    "400 as text after": (400, b"Bad Request", "text/plain"),
    "404 as text after": (404, b"Not Found", "text/plain"),
    "413 after": (413, b"<html>too large</html>", "text/html"),
}


@dataclass
class LossyProxy:
    """Proxy to ``target``; ``decide`` returns the fault of each request by method and path.

    ``answers`` are bodies that replace the system's, by a part of the path; ``added`` are fields
    added to a single record of an answer, by method and part of the path. ``reshape`` returns the
    data of each successful answer in another shape, by its path; ``rewrite`` another answer
    altogether, status and document, or None: bytes are sent as they are. ``seen`` are the
    requests (method and path), ``bodies`` their contents, ``late`` those that are delivered later.
    ``lag`` is the number of readings after each write that show the state before it, as a replica
    does; logs are polled, and not of it.
    """

    target: str
    base_url: str = ""
    decide: Callable[[str, str], ProxyFault] = lambda _method, _path: "pass"
    answers: dict[str, bytes] = field(default_factory=dict)
    added: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    reshape: Callable[[str, Any], Any] | None = None
    rewrite: Callable[[str, str, int, Any], tuple[int, Any] | None] | None = None
    seen: list[tuple[str, str]] = field(default_factory=list)
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    late: list[threading.Timer] = field(default_factory=list)
    lag: int = 0
    _late: int = 0
    _shown: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def shown(self, method: str, path: str, status: int, content: bytes) -> tuple[int, bytes]:
        """Return the answer to a request as a replica shows it, which lags behind."""
        if method != "GET":
            is_read = any(part in path for part in ("/autenticar", "preview=true"))
            self._late = self._late if is_read else self.lag
        elif self._late and path in self._shown and "/log-importacao/" not in path:
            self._late -= 1
            return self._shown[path]
        else:
            self._shown[path] = status, content
        return status, content

    def fail_once(self, fault: ProxyFault, path: str, method: str | None = None) -> None:
        """Apply a fault to the first request, of a ``method`` if one is given, whose path contains
        ``path``; the others pass."""
        matched: list[str] = []

        def decide(sent: str, requested: str) -> ProxyFault:
            if path in requested and method in {None, sent} and not matched:
                matched.append(requested)
                return fault
            return "pass"

        self.decide = decide

    def with_added_fields(self, method: str, path: str, content: bytes) -> bytes:
        """Return an answer with the ``added`` fields of its record, in the shape of ``reshape``."""
        if self.reshape is not None and content.startswith(b'{"success":true'):
            document = json.loads(content)
            content = json.dumps(
                {**document, "data": self.reshape(path, document["data"])}
            ).encode()
        for (added_method, part), fields in self.added.items():
            if added_method == method and part in path:
                document = json.loads(content)
                if isinstance(document["data"], dict):
                    document["data"] |= fields
                return json.dumps(document).encode()
        return content


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """Run a proxy in front of ``target`` for the block."""
    proxy = LossyProxy(target)
    address = urlsplit(target).netloc

    def forward(
        method: str, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        """Return status, content and type of the system's answer, by a new connection, as it may
        have been killed meanwhile."""
        with closing(HTTPConnection(address, timeout=30)) as connection:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.getheader("Content-Type")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: a second one would wait 40 ms for the first one's receipt.
        wbufsize = -1

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            proxy.seen.append((self.command, self.path))
            proxy.bodies.append((self.command, body))
            fault = proxy.decide(self.command, self.path)
            if fault == "lose request":
                self.close_connection = True
                return
            if fault == "refuse as text":
                self.answer(400, b"Recusado em texto", "text/plain; charset=utf-8")
                return
            if fault in PROXY_ANSWERS:
                status, header = PROXY_ANSWERS[fault]
                self.answer(status, ACCEPTANCE if fault == "accept" else REFUSAL, header=header)
                return
            if fault == "429 before":
                # Declined at once, and delivered later.
                self.answer(429, b"")
                headers = {n: v for n, v in self.headers.items() if n.lower() in PASSED_ON}
                late = (self.command, self.path, body, headers)
                proxy.late.append(threading.Timer(LATE_SECONDS, forward, late))
                proxy.late[-1].start()
                return
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() not in {"host", "content-length", "connection"}
            }
            given, given_content, given_kind = forward(self.command, self.path, body, headers)
            note_answer(self.command, self.path, given)
            shown, answered = proxy.shown(self.command, self.path, given, given_content)
            if fault == "lose answer":
                self.close_connection = True
                return
            if proxy.rewrite is not None and given_kind == "application/json":
                document = json.loads(given_content)
                other = proxy.rewrite(self.command, self.path, given, document)
                if other is not None:
                    status, document = other
                    if isinstance(document, bytes):
                        self.answer(status, document, kind_of(document))
                    else:
                        self.answer(status, json.dumps(document).encode())
                    return
            replaced = [body for part, body in proxy.answers.items() if part in self.path]
            status, content, kind = REPLACED_ANSWERS.get(
                fault, (shown, answered, "application/json")
            )
            self.answer(
                status,
                replaced[0]
                if replaced
                else proxy.with_added_fields(self.command, self.path, content),
                kind,
            )

        def answer(
            self,
            status: int,
            content: bytes,
            kind: str = "application/json",
            header: tuple[str, str] | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if header is not None:
                self.send_header(*header)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = pass_on

        def log_message(self, format: str, *args: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.base_url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
