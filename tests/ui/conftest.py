"""Fixtures of a running page."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from environment import clean_environment, credentials
from forked import Zygote
from running_page import RunningPage, running_page

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def system(empty_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends."""
    return empty_sandbox


@pytest.fixture
def ui(tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox) -> Iterator[RunningPage]:
    environment = clean_environment(home, **credentials(system))
    with running_page(forks, tmp_path, home, environment) as page:
        yield page


@pytest.fixture
def client(ui: RunningPage) -> Iterator[httpx.Client]:
    with ui.client() as opened:
        yield opened
