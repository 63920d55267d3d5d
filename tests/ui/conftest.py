"""The page as a user starts it: a process of its own, and its launch link."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import clean_environment, credentials
from forked import Zygote
from running_page import RunningPage

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def ui(
    tmp_path: Path, home: Path, forks: Zygote, empty_sandbox: RunningSandbox
) -> Iterator[RunningPage]:
    ready = tmp_path / "page.json"
    environment = clean_environment(home, **credentials(empty_sandbox))
    command = ["ui", "--no-browser", "--ready-file", str(ready)]
    log = tmp_path / "page.log"
    with forks.running(environment, command, log=log) as pid:
        deadline = time.monotonic() + 60
        while not ready.exists():
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.02)
        told = json.loads(ready.read_text("utf-8"))
        assert told["pid"] == pid
        yield RunningPage(told["url"], pid, home, ready)
