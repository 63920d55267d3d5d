"""Sandbox with the demonstration company, and a client for it."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from databases import database_options
from environment import clean_environment
from sandboxes import logged_in, sandbox_process

from xlbridge.client import Client, Target
from xlbridge.sandbox import RunningSandbox

Fetch = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("demo-sandbox")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


@pytest.fixture
def client(demo: RunningSandbox) -> Iterator[Client]:
    with Client(Target("demo", demo.base_url, demo.email, demo.password)) as opened:
        yield opened


@pytest.fixture(scope="session")
def fetch(demo: RunningSandbox) -> Iterator[Fetch]:
    """Function that fetches a listing's data with a plain HTTP client."""

    def get(path: str, **query: str) -> list[dict[str, Any]]:
        answer = http.get(path, params=query)
        data: list[dict[str, Any]] = answer.json(parse_float=Decimal)["data"]
        return data

    with logged_in(demo) as http:
        yield get


@pytest.fixture
def configured(
    demo: RunningSandbox, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> RunningSandbox:
    """Configure the commands for the sandbox, by the environment."""
    monkeypatch.setenv("XLBRIDGE_HOME", str(tmp_path_factory.mktemp("own")))
    monkeypatch.setenv("XLBRIDGE_LANG", "en")
    monkeypatch.setenv("XLBRIDGE_BASE_URL", demo.base_url)
    monkeypatch.setenv("XLBRIDGE_EMAIL", demo.email)
    monkeypatch.setenv("XLBRIDGE_PASSWORD", demo.password)
    monkeypatch.delenv("XLBRIDGE_PROFILE", raising=False)
    return demo
