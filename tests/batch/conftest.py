"""A sandbox with the demo's records and more clients than one answer can hold."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_parts import RunBatch, WritePlan
from cross_check_parts import Batch
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from sandboxes import sandbox_process

from xlbridge.client import Client, Target
from xlbridge.client.registries import Registries
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="module")
def batch_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("batch-sandbox")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


@pytest.fixture
def client(batch_sandbox: RunningSandbox) -> Iterator[Client]:
    running = batch_sandbox
    target = Target("rehearsal", running.base_url, running.email, running.password)
    with Client(target, timeout=20) as opened:
        yield opened


@pytest.fixture
def registries(client: Client) -> Registries:
    return Registries(client)


@pytest.fixture
def batch(tmp_path: Path, catalogue: Catalogue) -> Batch:
    return Batch(tmp_path, catalogue)


@pytest.fixture
def write_plan(tmp_path: Path) -> WritePlan:
    """Write a plan into the folder of the test."""

    def write(text: str) -> Path:
        path = tmp_path / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def run_batch(xlbridge: Xlbridge, batch_sandbox: RunningSandbox) -> RunBatch:
    def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
        return xlbridge("batch", *arguments, **credentials(batch_sandbox, XLBRIDGE_SETTLE="0"))

    return run
