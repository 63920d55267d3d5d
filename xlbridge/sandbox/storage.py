"""The sandbox's database: opened, made ready, and used one transaction at a time.

Everything that only SQLite needs stands here.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.sandbox.tables import metadata

POOL_SIZE = 16
_BUSY_SECONDS = 30


def database_url(text: str) -> URL:
    """Return the address of a database given as an SQLAlchemy URL or as the path of a file.

    Raises ``ConfigError`` when it is a URL that cannot be understood.
    """
    if "://" not in text:
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        return make_url(text)
    except ArgumentError as error:
        raise ConfigError(
            Text(
                pt="O endereço do banco de dados não foi entendido: {text}",
                en="The database address was not understood: {text}",
            ).format(text=text)
        ) from error


class Storage:
    """A database with the sandbox's tables.

    Opening creates the tables that are missing. Raises ``ConfigError`` when it cannot be opened.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        try:
            self._engine = _engine(url)
            # Under the lock of a transaction, so that two that open a new database do not collide.
            with self.transaction(writing=True) as connection:
                metadata.create_all(connection)
        except (SQLAlchemyError, ImportError, OSError) as error:
            raise ConfigError(
                Text(
                    pt="O banco de dados {url} não abre: {error}",
                    en="The database {url} does not open: {error}",
                ).format(url=url.render_as_string(hide_password=True), error=_reason(error))
            ) from error

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Open one transaction: committed at the end, undone when an exception passes.

        A writing one waits for those before it, so that what it reads stays true until it ends.
        """
        engine = self._engine.execution_options(sandbox_writing=writing)
        with engine.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _reason(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error)


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_size=POOL_SIZE)
    if url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, pool_size=POOL_SIZE, connect_args={"timeout": _BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver's own way of opening transactions would begin them too late to lock.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get("sandbox_writing", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
