"""A sandbox for trials, and a proxy that does to each request what the trial wants."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import clean_environment
from forked import Zygote
from kill_courses import Laboratory
from sandboxes import sandbox_process
from trials import Site
from wire_proxy import wire_proxy

from xlbridge.client import Client, Target
from xlbridge.resources import Catalogue


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("reliability-sandbox")
    with (
        sandbox_process(folder, ["--seed", "empty"], clean_environment(folder)) as sandbox,
        wire_proxy(sandbox.base_url) as proxy,
    ):
        target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
        with Client(target) as client:
            created = client.registry.clients.create(nomeComercial="Devedora")
        yield Site(sandbox, folder / "sandbox.db", proxy, catalogue, created.codigoDoCliente)


@pytest.fixture
def laboratory(site: Site, forks: Zygote, tmp_path: Path) -> Laboratory:
    return Laboratory(site, forks, tmp_path / "trial")
