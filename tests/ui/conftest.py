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
def ui(
    tmp_path: Path, home: Path, forks: Zygote, empty_sandbox: RunningSandbox
) -> Iterator[RunningPage]:
    environment = clean_environment(home, **credentials(empty_sandbox))
    with running_page(forks, tmp_path, home, environment) as page:
        yield page


@pytest.fixture
def client(ui: RunningPage) -> Iterator[httpx.Client]:
    with ui.client() as opened:
        yield opened
