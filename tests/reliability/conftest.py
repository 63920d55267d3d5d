"""Sandbox for trials, behind a proxy that injects the trial's faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from environment import clean_environment
from forked import Zygote
from kill_scenarios import TrialSetup
from sandboxes import sandbox_process
from trials import SystemUnderTest
from wire_proxy import wire_proxy

from xlbridge.client import Client, Target
from xlbridge.resources import Catalogue


@pytest.fixture(scope="session")
def system(
    tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue
) -> Iterator[SystemUnderTest]:
    with running_system(tmp_path_factory.mktemp("reliability-sandbox"), catalogue) as running:
        yield running


@pytest.fixture(scope="session")
def other_system(
    tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue
) -> Iterator[SystemUnderTest]:
    with running_system(tmp_path_factory.mktemp("other-sandbox"), catalogue) as running:
        yield running


@contextmanager
def running_system(folder: Path, catalogue: Catalogue) -> Iterator[SystemUnderTest]:
    """Run a sandbox for trials behind a proxy."""
    with (
        sandbox_process(folder, ["--seed", "empty"], clean_environment(folder)) as sandbox,
        wire_proxy(sandbox.base_url) as proxy,
    ):
        target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
        with Client(target) as client:
            created = client.registry.clients.create(nomeComercial="Devedora")
        yield SystemUnderTest(
            sandbox, folder / "sandbox.db", proxy, catalogue, created.codigoDoCliente
        )


@pytest.fixture
def setup(system: SystemUnderTest, forks: Zygote, tmp_path: Path) -> TrialSetup:
    return TrialSetup(system, forks, tmp_path / "trial")
