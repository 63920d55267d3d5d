"""Which database the sandboxes of a test run have: SQLite, or PostgreSQL with ``--db postgresql``.

The tests are the same on both; a sandbox's home folder tells which database is its own.

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
"""Tables of any sandbox by name, for what looks into its database or changes it unseen."""

_MISSING = "no PostgreSQL server is installed (apt-get install postgresql)"

_at_end = ExitStack()
_chosen = [KINDS[0]]


def choose(kind: str) -> None:
    """Take a kind of database for the rest of the run."""
    _chosen[0] = kind


@cache
def postgresql() -> PostgresqlServer:
    """Return this process's own server, started when it is first asked for.

    Where none is installed the test is skipped; in CI, and where the run is to be on PostgreSQL,
    that is a failure.
    """
    if not is_installed():
        if os.environ.get("CI") or is_postgresql():
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    return _at_end.enter_context(postgresql_server())


def end() -> None:
    """End what was started."""
    _at_end.close()


def is_postgresql() -> bool:
    """Tell whether the sandboxes of this run are on PostgreSQL."""
    return _chosen[0] == "postgresql"


def database_of(home: Path) -> str:
    """Return the database of the sandbox with a home folder, as ``--db`` takes it."""
    return postgresql().database_of(home) if is_postgresql() else str(home / "sandbox.db")


def database_options(home: Path) -> list[str]:
    """Return the options that have a sandbox use the database of its home folder."""
    return ["--db", database_of(home)]


@contextmanager
def connected(home: Path, *, writing: bool = False) -> Iterator[Connection]:
    """Look into the database of the sandbox with a home folder, or change it behind its back."""
    storage = open_storage(home)
    try:
        with storage.transaction(writing=writing) as connection:
            yield connection
    finally:
        storage.close()


def open_storage(home: Path) -> Storage:
    """Open the database of the sandbox with a home folder."""
    return open_database(database_url(database_of(home)))
