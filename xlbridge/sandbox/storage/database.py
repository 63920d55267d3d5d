"""The sandbox's database: opening, creating or checking its tables, transactions.

Writing transactions run one at a time, in order of arrival.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Event, Lock
from uuid import uuid4

from sqlalchemy import (
    URL,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine.default import StrCompileDialect

from xlbridge import __version__
from xlbridge.sandbox.storage.engines import (
    SQLITE,
    Busy,
    layout_error,
    open_postgresql,
    open_sqlite,
    translate_database_errors,
)


class Storage:
    """A database with given tables, which are created if it is empty.

    ``system`` is the unique id of the system in it. Raises ``ConfigError`` if the database cannot
    be opened or has other tables.
    """

    def __init__(self, url: URL, tables: MetaData) -> None:
        self.url = url
        self._tables = tables
        self._writers = WriteQueue()
        with translate_database_errors(url):
            self._engines = open_sqlite(url) if url.drivername == SQLITE else open_postgresql(url)
            try:
                self.system = self._prepare()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Run a transaction, committed at the end or rolled back on an exception.

        A writing one waits for earlier ones, so that what it reads stays valid until it ends.
        Raises ``Busy`` if it waits too long, or the database's own error if another process holds
        the lock.
        """
        with ExitStack() as stack:
            if writing:
                stack.enter_context(self._writers.turn())
            engine = self._engines.writing if writing else self._engines.reading
            yield stack.enter_context(engine.begin())

    def close(self) -> None:
        """Close all connections."""
        self._engines.writing.dispose()

    def _prepare(self) -> str:
        """Return the id of the system, after creating what an empty database lacks."""
        with self.transaction(writing=False) as connection:
            system = self._system_in(connection)
        if system is None:
            with self.transaction(writing=True) as connection:
                # Read again under the lock: two processes may open a new database at once.
                system = self._system_in(connection) or self._complete(connection)
        return system

    def _system_in(self, connection: Connection) -> str | None:
        """Return the id of the system, None if it has none or the database is empty.

        Raises ``ConfigError`` if the database has other tables.
        """
        existing = set(inspect(connection).get_table_names())
        if not existing:
            return None
        if _layout.name not in existing:
            raise layout_error(self.url, None)
        layout = connection.execute(select(_layout)).one()
        if layout.fingerprint != fingerprint(self._tables):
            raise layout_error(self.url, layout.version)
        return connection.scalar(select(_system.c.id)) if _system.name in existing else None

    def _complete(self, connection: Connection) -> str:
        """Create the tables of an empty database, and return the id that its system gets."""
        if not inspect(connection).get_table_names():
            self._tables.create_all(connection, checkfirst=False)
            _layout.create(connection)
            row = {"fingerprint": fingerprint(self._tables), "version": __version__}
            connection.execute(insert(_layout).values(row))
        _system.create(connection, checkfirst=True)
        system = str(uuid4())
        connection.execute(insert(_system).values(id=system))
        return system


TURN_SECONDS = 50.0
"""Seconds that a writing transaction waits for its turn: less than the minute that clients commonly
wait for a response, so that nothing is written after the client has timed out."""


class WriteQueue:
    """Queue of this process's writing transactions.

    A database's own lock is not fair: a transaction could wait for it indefinitely.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_busy = False
        self._waiting: deque[Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the write lock for the block, in order of arrival. Raises ``Busy``."""
        turn = Event()
        with self._lock:
            if self._is_busy:
                self._waiting.append(turn)
            else:
                self._is_busy = True
                turn.set()
        if not turn.wait(TURN_SECONDS):
            with self._lock:
                # The turn may have been granted since the timeout.
                if not turn.is_set():
                    self._waiting.remove(turn)
                    raise Busy
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._is_busy = False


_layout = Table(
    "sandbox_layout",
    MetaData(),
    Column("fingerprint", Text, primary_key=True),
    Column("version", Text, nullable=False),
)
"""One row: fingerprint of the layout, and version of xlbridge that created it."""


_system = Table("sandbox_system", MetaData(), Column("id", Text, primary_key=True))
"""One row: the id of the system. Without it, as in a copy, a database becomes a new system."""


_ANY_DIALECT = StrCompileDialect()  # shared: creating it takes longer than using it


@cache
def fingerprint(tables: MetaData) -> str:
    """Return a hash of the layout of tables, which must be complete."""
    lines = []
    for table in tables.sorted_tables:
        lines.append(f"table {table.name}")
        for column in table.columns:
            keys = sorted(key.target_fullname for key in column.foreign_keys)
            kind = column.type.compile(dialect=_ANY_DIALECT)
            lines.append(f"{column.name} {kind} {column.nullable} {column.primary_key} {keys}")
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        lines += (f"index {index.columns.keys()} {index.unique}" for index in indexes)
        lines += sorted(
            f"unique {constraint.columns.keys()}"
            for constraint in table.constraints
            if isinstance(constraint, UniqueConstraint)
        )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
