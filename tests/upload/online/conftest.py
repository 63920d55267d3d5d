"""Sandbox with the demo's records and more clients than one answer holds."""

from collections.abc import Iterator

import pytest
from environment import clean_environment
from sandboxes import sandbox_process

from xlbridge.client import Client, Target
from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="session")
def demo_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("online-sandbox")
    with sandbox_process(folder, ["--seed", "demo"], clean_environment(folder)) as running:
        yield running


@pytest.fixture
def client(demo_sandbox: RunningSandbox) -> Iterator[Client]:
    running = demo_sandbox
    target = Target("rehearsal", running.base_url, running.email, running.password)
    with Client(target, timeout=20) as opened:
        yield opened
