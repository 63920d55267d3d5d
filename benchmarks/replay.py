"""Server of recorded answers, so that only the client's time counts."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import httpx


class JsonHandler(BaseHTTPRequestHandler):
    """Handler of requests whose answers are JSON; it logs nothing."""

    protocol_version = "HTTP/1.1"

    def answer(self, content: bytes) -> None:
        """Answer the request with JSON."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        pass


class Recorder:
    """Forwards calls to a system, stores the answers as files, and replays them."""

    def __init__(self, folder: Path, base_url: str) -> None:
        self.folder = folder
        self.base_url = base_url
        self.recorded: dict[str, Path] = {}
        self._numbers = count()
        recorder = self

        class Handler(JsonHandler):
            def do_GET(self) -> None:
                self.answer(recorder.answer(self.path, dict(self.headers)))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(httpx.post(recorder.base_url + self.path, content=body).content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, path: str, headers: dict[str, str]) -> bytes:
        """Return the answer to a GET: from the system the first time, then from a file."""
        if path not in self.recorded:
            token = {"Authorization": headers["Authorization"]}
            content = httpx.get(self.base_url + path, headers=token, timeout=300).content
            # Several threads answer at once.
            file = self.folder / f"{next(self._numbers)}.json"
            file.write_bytes(content)
            self.recorded[path] = file
            (self.folder / "urls").write_text(
                json.dumps([self.url + path for path in self.recorded])
            )
        return self.recorded[path].read_bytes()
