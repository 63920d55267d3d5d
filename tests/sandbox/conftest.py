"""One sandbox for the session, on a real socket, and bare HTTP clients of it."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from xlbridge.sandbox.embedded import sandbox_process
from xlbridge.sandbox.running import RunningSandbox

sys.path.append(str(Path(__file__).parents[1] / "golden"))

Start = Callable[..., RunningSandbox]


@contextmanager
def log_in(server: RunningSandbox) -> Iterator[httpx.Client]:
    """Give a bare HTTP client with a token of its own."""
    credentials = {"email": server.email, "password": server.password}
    with httpx.Client(base_url=server.base_url, timeout=30) as http:
        answer = http.post("/v2/autenticar", json=credentials).json()
        http.headers["Authorization"] = f"Bearer {answer['accessToken']}"
        yield http


@contextmanager
def sandbox_on(home: Path, *options: str) -> Iterator[RunningSandbox]:
    environment = {**os.environ, "XLBRIDGE_LANG": "en"}
    with sandbox_process(home, options, environment) as server:
        yield server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """A sandbox with the demo's records; tests add their own and change no others."""
    with sandbox_on(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture(scope="session")
def http(server: RunningSandbox) -> Iterator[httpx.Client]:
    """A bare HTTP client of that sandbox."""
    with log_in(server) as client:
        yield client


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start further sandboxes, on the same home folder unless another is given."""
    with ExitStack() as stack:

        def begin(*options: str, home: Path = tmp_path) -> RunningSandbox:
            return stack.enter_context(sandbox_on(home, *options))

        yield begin
