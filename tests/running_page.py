"""A running ``xlbridge ui``, and requests to it."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
from forked import Zygote

_PATIENCE = 60
_WATCH_SECONDS = 0.05


@dataclass(frozen=True)
class RunningPage:
    """A running page: its launch link, process and home."""

    link: str
    pid: int
    home: Path
    ready_file: Path

    @property
    def address(self) -> str:
        parts = urlsplit(self.link)
        return f"{parts.scheme}://{parts.netloc}"

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Open an HTTP client that sends requests as the page's scripts do."""
        headers = {"Origin": self.address}
        with httpx.Client(
            base_url=self.address,
            headers=headers,
            follow_redirects=True,
            timeout=_PATIENCE,
            verify=False,
        ) as client:
            client.headers["X-Page-Key"] = page_key(client.get(self.link))
            yield client


def page_key(launched: httpx.Response) -> str:
    """Return the key that the answer to a launch link hands to the page's scripts."""
    location = launched.history[0].headers["location"]
    assert urlsplit(location).path == "/"
    return urlsplit(location).fragment.removeprefix("key=")


@contextmanager
def running_page(
    forks: Zygote, folder: Path, home: Path, environment: Mapping[str, str]
) -> Iterator[RunningPage]:
    """Run ``xlbridge ui`` in its own process for the block."""
    ready, log = folder / "page.json", folder / "page.log"
    ready.unlink(missing_ok=True)
    command = ["ui", "--no-browser", "--ready-file", str(ready)]
    with forks.running(environment, command, log=log) as pid:
        deadline = time.monotonic() + _PATIENCE
        while not ready.exists():
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.02)
        content = json.loads(ready.read_text("utf-8"))
        assert content["pid"] == pid
        yield RunningPage(content["url"], pid, home, ready)


def open_workbook(client: httpx.Client, path: Path) -> dict[str, Any]:
    """Open a workbook in the page, and return the answer."""
    answer = client.post(
        "/api/open", content=path.read_bytes(), headers={"X-File-Name": quote(path.name)}
    )
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def marked_cells(client: httpx.Client) -> list[tuple[int, str, str]]:
    """Return the row, column and severity of the marked cells of the shown sheet."""
    shown = client.get("/api/rows", params={"view": "all", "renew": 1}).json()["rows"]
    return [
        (row["row"], column, mark["severity"])
        for row in shown
        for column, found in row["marks"].items()
        for mark in found
    ]


def wait_for_end(client: httpx.Client) -> dict[str, Any]:
    """Follow the running work until it ends, and return its last state."""
    while (state := client.get("/api/work").json())["running"]:
        time.sleep(_WATCH_SECONDS)
    return state
