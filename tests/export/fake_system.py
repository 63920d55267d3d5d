"""Remote systems with the answers of a test."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

Query = dict[str, list[str]]


@dataclass
class FakeSystem:
    """System with the answers of a test; ``calls`` are the paths and queries it received."""

    base_url: str
    calls: list[tuple[str, Query]]

    def environment(self, **more: str) -> dict[str, str]:
        """Environment of commands that use the system."""
        return {
            "XLBRIDGE_BASE_URL": self.base_url,
            "XLBRIDGE_EMAIL": "a@example.com",
            "XLBRIDGE_PASSWORD": "unused",
            "XLBRIDGE_PROFILE": "stand-in",
            **more,
        }


@dataclass(frozen=True)
class Reply:
    """Answer of a system; ``missing`` is the number of declared bytes that are not sent."""

    body: bytes
    status: int = 200
    missing: int = 0


_INFO = Reply(b'{"success": true, "data": {"codigoDaEmpresa": 1}}')


@contextmanager
def replying_server(
    reply: Callable[[str, Query, Message], Reply], info: Reply = _INFO
) -> Iterator[str]:
    """Run a system that accepts every login and sends the replies of a test; yield its address.

    ``info`` is its answer to who it is.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._send(Reply(b'{"authenticated": true, "accessToken": "token"}'))

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            is_info = url.path == "/v2/sistema/info"
            self._send(info if is_info else reply(url.path, parse_qs(url.query), self.headers))

        def _send(self, sent: Reply) -> None:
            self.send_response(sent.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent.body) + sent.missing))
            self.end_headers()
            self.wfile.write(sent.body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def fake_system(answers: Mapping[str, Any]) -> Iterator[FakeSystem]:
    """Run a system that answers with the ``data`` of a path, or a function's result for the query.

    Any other path is not found.
    """
    calls: list[tuple[str, Query]] = []

    def reply(path: str, query: Query, _headers: Message) -> Reply:
        calls.append((path, query))
        if path not in answers:
            refused = {"success": False, "errors": [{"key": "id", "value": "?"}]}
            return Reply(json.dumps(refused).encode(), 404)
        answer = answers[path]
        data = answer(query) if callable(answer) else answer
        return Reply(json.dumps({"success": True, "data": data}).encode())

    with replying_server(reply) as address:
        yield FakeSystem(address, calls)
