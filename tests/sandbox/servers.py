"""Sandboxes on real sockets, and bare HTTP clients of them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from databases import database_options
from sandboxes import sandbox_process

from xlbridge.sandbox import RunningSandbox

Start = Callable[..., RunningSandbox]


@contextmanager
def log_in(server: RunningSandbox) -> Iterator[httpx.Client]:
    """Yield a bare HTTP client with a token."""
    credentials = {"email": server.email, "password": server.password}
    with httpx.Client(base_url=server.base_url, timeout=30, verify=False) as http:
        answer = http.post("/v2/autenticar", json=credentials).json()
        http.headers["Authorization"] = f"Bearer {answer['accessToken']}"
        yield http


@contextmanager
def sandbox_on(
    home: Path, *options: str, few: bool = False, own_process: bool = False
) -> Iterator[RunningSandbox]:
    """Run a sandbox on the database of its home folder."""
    environment = {**os.environ, "XLBRIDGE_LANG": "en"}
    all_options = [*database_options(home), *options]
    with sandbox_process(
        home, all_options, environment, few=few, own_process=own_process
    ) as server:
        yield server
