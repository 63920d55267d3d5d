"""The sandbox's database: opened, its tables created or recognised, used by transactions.

Writing transactions take turns in the order in which they came.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
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
    update,
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
    """A database with given tables.

    Opening an empty one makes them. ``system`` is the id of the system that lives in it, which no
    other database has. Raises ``ConfigError`` when it cannot be opened, or has other tables.
    """

    system: str

    def __init__(self, url: URL, tables: MetaData) -> None:
        self.url = url
        self._tables = tables
        self._writers = WriteQueue()
        with translate_database_errors(url):
            self._engines = open_sqlite(url) if url.drivername == SQLITE else open_postgresql(url)
            try:
                self._make_ready()
            except BaseException:
                self.close()
                raise

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        """Open one transaction: committed at the end, undone when an exception passes.

        A writing one waits for those before it, so that what it reads stays true until it ends.
        Raises ``Busy`` where they take too long; of another process's, the database's own error.
        """
        with ExitStack() as stack:
            if writing:
                stack.enter_context(self._writers.turn())
            engine = self._engines.writing if writing else self._engines.reading
            yield stack.enter_context(engine.begin())

    def close(self) -> None:
        """Close all connections."""
        self._engines.writing.dispose()

    def _make_ready(self) -> None:
        with self.transaction(writing=False) as connection:
            found = check_layout(connection, self._tables)
        if found.empty:
            # Looked at again under the lock: of two that open a new database, one makes it.
            with self.transaction(writing=True) as connection:
                found = check_layout(connection, self._tables)
                if found.empty:
                    create_tables(connection, self._tables)
                    found = check_layout(connection, self._tables)
        if found.extendable:
            with self.transaction(writing=True) as connection:
                add_columns(connection, self._tables)
                found = check_layout(connection, self._tables)
        if not found.fits:
            raise layout_error(self.url, found.maker)
        with self.transaction(writing=False) as connection:
            known = read_system_id(connection)
        if known is None:
            with self.transaction(writing=True) as connection:
                known = read_system_id(connection) or give_system_id(connection)
        self.system = known


TURN_SECONDS = 50.0
"""Seconds that a writing transaction waits for those before it: less than the minute that clients
commonly wait for an answer, so that nothing is written after its sender has timed out."""


class WriteQueue:
    """The queue of this process's writing transactions.

    A database's own lock is not fair: one transaction may wait for it indefinitely.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._taken = False
        self._waiting: deque[Event] = deque()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the write lock for the block, in order of arrival. Raises ``Busy``."""
        self._wait()
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._taken = False

    def _wait(self) -> None:
        turn = Event()
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            self._waiting.append(turn)
        if turn.wait(TURN_SECONDS):
            return
        with self._lock:
            # It may have come just now, and is not to be lost.
            if not turn.is_set():
                self._waiting.remove(turn)
                raise Busy


_layout = Table(
    "sandbox_layout",
    MetaData(),
    Column("fingerprint", Text, primary_key=True),
    Column("version", Text, nullable=False),
)
"""One row: which layout the database has, and which version of xlbridge made it."""


_system = Table("sandbox_system", MetaData(), Column("id", Text, primary_key=True))
"""One row: the id of the system that lives in the database. No part of the layout, so that
databases of earlier versions stay usable."""


def read_system_id(connection: Connection) -> str | None:
    """Return the id of the system in a database, None where it was given none yet."""
    if not inspect(connection).has_table(_system.name):
        return None
    return connection.scalar(select(_system.c.id))


def give_system_id(connection: Connection) -> str:
    """Give a database without an id one of its own, and return it."""
    _system.create(connection, checkfirst=True)
    made = str(uuid4())
    connection.execute(insert(_system).values(id=made))
    return made


@dataclass(frozen=True, slots=True)
class LayoutCheck:
    """Content of a database: nothing, this layout, or another one, made by ``maker``.

    ``maker`` is a version of xlbridge, "" for one that did not say, None for another program.
    ``extendable`` says that the other layout lacks nothing but columns.
    """

    empty: bool = False
    fits: bool = False
    extendable: bool = False
    maker: str | None = None


def check_layout(connection: Connection, tables: MetaData) -> LayoutCheck:
    """Tell what a database holds."""
    there = set(inspect(connection).get_table_names())
    if _layout.name in there:
        row = connection.execute(select(_layout)).one()
        return LayoutCheck(
            fits=row.fingerprint == fingerprint(tables),
            extendable=row.fingerprint in _EXTENDABLE,
            maker=row.version,
        )
    if there & tables.tables.keys():
        return LayoutCheck(maker="")
    return LayoutCheck(empty=not there)


def add_columns(connection: Connection, tables: MetaData) -> None:
    """Give the tables of an earlier layout the columns that they lack, all without values."""
    quote = connection.dialect.identifier_preparer.quote
    for table in tables.sorted_tables:
        there = {column["name"] for column in inspect(connection).get_columns(table.name)}
        for column in table.columns:
            if column.name not in there:
                kind = column.type.compile(dialect=connection.dialect)
                connection.exec_driver_sql(
                    f"ALTER TABLE {quote(table.name)} ADD COLUMN {quote(column.name)} {kind}"
                )
    row = {"fingerprint": fingerprint(tables), "version": __version__}
    connection.execute(update(_layout).values(row))


_EXTENDABLE = frozenset({"c4a900066d005775"})
"""Fingerprints of earlier layouts whose tables lack nothing but columns: that of version 0.1.0."""


def create_tables(connection: Connection, tables: MetaData) -> None:
    """Make the tables in an empty database."""
    tables.create_all(connection)
    _layout.create(connection)
    row = {"fingerprint": fingerprint(tables), "version": __version__}
    connection.execute(insert(_layout).values(row))


def fingerprint(tables: MetaData) -> str:
    """Return what tells the layout of tables from every other."""
    description = "\n".join(
        line for table in tables.sorted_tables for line in _describe_table(table)
    )
    return hashlib.sha256(description.encode()).hexdigest()[:16]


_ANY_DIALECT = StrCompileDialect()  # one for all columns: making it takes longer than asking it


def _describe_table(table: Table) -> Iterator[str]:
    yield f"table {table.name}"
    for column in table.columns:
        keys = sorted(key.target_fullname for key in column.foreign_keys)
        kind = column.type.compile(dialect=_ANY_DIALECT)
        yield f"{column.name} {kind} {column.nullable} {column.primary_key} {keys}"
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        yield f"index {index.columns.keys()} {index.unique}"
    yield from sorted(
        f"unique {constraint.columns.keys()}"
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint)
    )
