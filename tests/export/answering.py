"""A remote system that answers each path as a test says, whatever it is asked."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class AnsweringSystem:
    """``asked`` are the calls: path and query."""

    base_url: str
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment that points the command line at the system."""
        return {
            "XLBRIDGE_BASE_URL": self.base_url,
            "XLBRIDGE_EMAIL": "a@example.com",
            "XLBRIDGE_PASSWORD": "unused",
            "XLBRIDGE_PROFILE": "stand-in",
            **more,
        }


@contextmanager
def answering(answers: Mapping[str, Any]) -> Iterator[AnsweringSystem]:
    """Run a system that gives the ``data`` of each path, or what it returns for the query.

    Any other path is not found.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._send(200, {"authenticated": True, "accessToken": "token"})

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            system.asked.append((url.path, query))
            if url.path not in answers:
                self._send(404, {"success": False, "errors": [{"key": "id", "value": "?"}]})
                return
            answer = answers[url.path]
            data = answer(query) if callable(answer) else answer
            self._send(200, {"success": True, "data": data})

        def _send(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    system = AnsweringSystem(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield system
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
