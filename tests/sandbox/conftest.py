"""One sandbox for the session, on a real socket, and a bare HTTP client of it."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from servers import Start, log_in, sandbox_on

from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """A sandbox with the demo; tests only change records that they created."""
    with sandbox_on(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture(scope="session")
def http(server: RunningSandbox) -> Iterator[httpx.Client]:
    """A bare HTTP client of that sandbox."""
    with log_in(server) as client:
        yield client


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start more sandboxes, by default on the same home folder."""
    with ExitStack() as stack:

        def begin(
            *options: str, home: Path = tmp_path, few: bool = False, own_process: bool = False
        ) -> RunningSandbox:
            running = sandbox_on(home, *options, few=few, own_process=own_process)
            return stack.enter_context(running)

        yield begin
