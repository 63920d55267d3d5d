"""SQLite: one file, in WAL mode, whose own lock lets one transaction write at a time."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event

from xlbridge.sandbox.storage.engines import LOCK_SECONDS, POOL_SIZE, Engines

_BEGIN = "sandbox_begin"


def open_sqlite(url: URL) -> Engines:
    """Return the engines of an SQLite file; its folder is made if it is missing."""
    Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, pool_size=POOL_SIZE, connect_args={"timeout": LOCK_SECONDS})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return Engines(
        reading=engine.execution_options(**{_BEGIN: "BEGIN"}),
        writing=engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"}),
    )


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver's own way of opening transactions would begin them too late to lock.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()[_BEGIN])
