"""A sandbox, a lossy proxy before it, and a month sent through it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from databases import database_options
from environment import clean_environment
from lossy_proxy import LossyProxy, lossy_proxy
from proof_parts import BatchSetting, Proof, send_month
from sandboxes import sandbox_process

from xlbridge.client import Client, Target
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import Settings, read_settings
from xlbridge.upload import Journal, UploadContext


@pytest.fixture(scope="session")
def sandbox_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("closing-sandbox")


@pytest.fixture(scope="session")
def sandbox(sandbox_home: Path) -> Iterator[RunningSandbox]:
    options = ["--seed", "empty", *database_options(sandbox_home)]
    with sandbox_process(sandbox_home, options, clean_environment(sandbox_home)) as running:
        yield running


@pytest.fixture(scope="session")
def proxy(sandbox: RunningSandbox) -> Iterator[LossyProxy]:
    with lossy_proxy(sandbox.base_url) as running:
        yield running


@pytest.fixture(scope="session")
def client(proxy: LossyProxy, sandbox: RunningSandbox) -> Iterator[Client]:
    target = Target("rehearsal", proxy.base_url, sandbox.email, sandbox.password)
    with Client(target, timeout=20) as running:
        yield running


@pytest.fixture(scope="session")
def new_setting(
    tmp_path_factory: pytest.TempPathFactory, client: Client, catalogue: Catalogue
) -> Iterator[Callable[[], BatchSetting]]:
    """Return a factory of folders with a journal."""
    opened: list[Journal] = []

    def make() -> BatchSetting:
        folder = tmp_path_factory.mktemp("batch")
        settings: Settings = read_settings({"XLBRIDGE_HOME": str(folder / "home")})
        opened.append(Journal(settings.journal))
        return BatchSetting(UploadContext(settings, catalogue, opened[-1]), client, folder)

    yield make
    for journal in opened:
        journal.close()


@pytest.fixture
def setting(new_setting: Callable[[], BatchSetting]) -> BatchSetting:
    return new_setting()


@pytest.fixture(scope="session")
def month(new_setting: Callable[[], BatchSetting], proxy: LossyProxy, sandbox_home: Path) -> Proof:
    """Proof of a month with rows of every kind."""
    return send_month(new_setting(), proxy, sandbox_home)
