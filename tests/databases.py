"""Databases of the sandboxes of a test run: SQLite, or PostgreSQL with ``--db postgresql``.

The tests are the same on both; the database of a sandbox follows from its home folder.

Inside: sandbox.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest
from postgresql_server import PostgresqlServer, is_installed, postgresql_server
from sqlalchemy import Connection

from xlbridge.sandbox import open_database
from xlbridge.sandbox.seed import metadata
from xlbridge.sandbox.storage import Storage, database_url

KINDS = ("sqlite", "postgresql")
TABLES = metadata.tables
"""Tables of any sandbox by name, for tests that read or change its database directly."""

_MISSING = "no PostgreSQL server is installed (apt-get install postgresql)"

_at_end = ExitStack()
_chosen = [KINDS[0]]


def choose(kind: str) -> None:
    """Set the kind of database for the run."""
    _chosen[0] = kind


@cache
def postgresql() -> PostgresqlServer:
    """Return this process's own server, started on first use.

    If none is installed the test is skipped; in CI, and in a run on PostgreSQL, it fails.
    """
    if not is_installed():
        if os.environ.get("CI") or is_postgresql():
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return _at_end.enter_context(postgresql_server())


def end() -> None:
    """Stop the server."""
    _at_end.close()


def is_postgresql() -> bool:
    """Return whether the sandboxes of this run use PostgreSQL."""
    return _chosen[0] == "postgresql"


def database_of(home: Path) -> str:
    """Return the database of the sandbox with a home folder, as an argument of ``--db``."""
    return postgresql().database_of(home) if is_postgresql() else str(home / "sandbox.db")


def database_options(home: Path) -> list[str]:
    """Return the options that select the database of a sandbox's home folder."""
    return ["--db", database_of(home)]


@contextmanager
def connected(home: Path, *, writing: bool = False) -> Iterator[Connection]:
    """Connect to the database of the sandbox with a home folder, to read or change it directly."""
    storage = open_storage(home)
    try:
        with storage.transaction(writing=writing) as connection:
            yield connection
    finally:
        storage.close()


def open_storage(home: Path) -> Storage:
    """Open the database of the sandbox with a home folder."""
    return open_database(database_url(database_of(home)))
