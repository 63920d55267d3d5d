"""A page of ``xlbridge ui`` that answers."""

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


@dataclass(frozen=True)
class RunningPage:
    """A page that answers: its launch link, its address, its process and its home."""

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
        """Open what speaks to it as its own page does."""
        headers = {"Origin": self.address}
        with httpx.Client(
            base_url=self.address,
            headers=headers,
            follow_redirects=True,
            timeout=_PATIENCE,
            verify=False,
        ) as opened:
            opened.get(self.link)
            yield opened


@contextmanager
def running_page(
    forks: Zygote, folder: Path, home: Path, environment: Mapping[str, str]
) -> Iterator[RunningPage]:
    """Run ``xlbridge ui`` in a process of its own until the block ends."""
    ready, log = folder / "page.json", folder / "page.log"
    ready.unlink(missing_ok=True)
    command = ["ui", "--no-browser", "--ready-file", str(ready)]
    with forks.running(environment, command, log=log) as pid:
        deadline = time.monotonic() + _PATIENCE
        while not ready.exists():
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.02)
        told = json.loads(ready.read_text("utf-8"))
        assert told["pid"] == pid
        yield RunningPage(told["url"], pid, home, ready)


def opened(client: httpx.Client, path: Path) -> dict[str, Any]:
    """Drop a workbook on the page; return what it tells of it."""
    answer = client.post(
        "/api/open", content=path.read_bytes(), headers={"X-File-Name": quote(path.name)}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def followed(client: httpx.Client) -> dict[str, Any]:
    """Follow the work that runs until it ends; return what it came to."""
    with client.stream("GET", "/api/events") as events:
        told = (json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: "))
        return next(state for state in told if not state["running"])
