"""Fixtures: homes and connections for the library."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import credentials
from sandboxes import create_database

import xlbridge as xb
from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unconfigured home for this process."""
    home = tmp_path / "home"
    for name in [name for name in os.environ if name.startswith("XLBRIDGE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XLBRIDGE_HOME", str(home))
    return home


@pytest.fixture
def demo_home(own_home: Path) -> Path:
    """Home whose embedded sandbox has the demo company."""
    create_database(own_home, [])
    return own_home


@pytest.fixture
def demo_environment(
    own_home: Path, demo_sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Select a running sandbox with the demo company for this process; return the variables."""
    variables = credentials(demo_sandbox)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def erp(demo_environment: dict[str, str]) -> Iterator[xb.Connection]:
    """Connection to a sandbox with the demo company."""
    with xb.connect() as connection:
        yield connection
