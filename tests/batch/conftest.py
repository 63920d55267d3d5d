"""A sandbox with the demo's records, more clients than one answer holds."""

from collections.abc import Iterator

import pytest
from databases import database_options
from environment import clean_environment

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.sandbox.embedded import sandbox_process
from xlbridge.sandbox.running import RunningSandbox


@pytest.fixture(scope="session")
def batch_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("batch-sandbox")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


@pytest.fixture
def client(batch_sandbox: RunningSandbox) -> Iterator[Client]:
    running = batch_sandbox
    target = Target("rehearsal", running.base_url, running.email, running.password)
    with Client(target, timeout=20) as opened:
        yield opened
