"""Database of the sandbox: SQLite or PostgreSQL by its URL, its tables, transactions, errors.

All differences between the two are here: PostgreSQL is configured to behave like SQLite, with one
writer at a time and texts ordered by their bytes. Writing transactions run in order of arrival.
Errors are either transient or reported with a hint for the user.
"""

import hashlib
import os
import re
import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Event, Lock
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    Text as TextColumn,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.engine.default import StrCompileDialect
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn

from xlbridge import __version__
from xlbridge.errors import ConfigError, LocalFailure, is_local_failure, os_error_reason
from xlbridge.extras import install_hint
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text

__all__ = [
    "POOL_SIZE",
    "TRANSIENT_ERRORS",
    "Storage",
    "database_url",
    "is_busy",
    "redacted_url",
    "translate_database_errors",
]

SQLITE, POSTGRESQL = "sqlite", "postgresql+psycopg"
_DRIVERS = {
    "sqlite": SQLITE,
    "sqlite+pysqlite": SQLITE,
    "postgresql": POSTGRESQL,
    "postgresql+psycopg": POSTGRESQL,
}
_OWNER_ONLY = 0o600
_CREDENTIALS = re.compile(r"(?<=//).*@")
_SECRET_PARAMETERS = ("password", "sslpassword")
_ADDRESS_HINT = Text(
    pt="Informe o caminho de um arquivo SQLite ou postgresql+psycopg://USUÁRIO:SENHA@HOST/BANCO; "
    "na senha, escreva @ como %40, / como %2F, : como %3A.",
    en="Use the path of an SQLite file or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE; in "
    "the password, write @ as %40, / as %2F, : as %3A.",
)


def database_url(text: str) -> URL:
    """Return the URL of a database from a URL or the path of an SQLite file.

    Raises ``ConfigError`` if the URL is invalid or of another kind of database.
    """
    if "://" not in text:
        return URL.create(SQLITE, database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise _invalid_address(text) from error
    driver = _DRIVERS.get(url.drivername)
    is_plain_file = url.database and not url.query
    # An @ in the host comes from a password that was not percent-encoded.
    if driver is None or "@" in (url.host or "") or (driver == SQLITE and not is_plain_file):
        raise _invalid_address(text)
    return url.set(drivername=driver)


def redacted_url(url: URL) -> str:
    """Return a URL for display: a path, or the URL without its secrets."""
    if url.drivername == SQLITE:
        return str(url.database)
    open_query = {
        name: value for name, value in url.query.items() if name not in _SECRET_PARAMETERS
    }
    return url.set(query=open_query).render_as_string(hide_password=True)


def _invalid_address(text: str) -> ConfigError:
    message = Text(
        pt="O endereço do banco de dados é inválido: {address}",
        en="The database address is invalid: {address}",
    )
    return ConfigError(
        message.format(address=_CREDENTIALS.sub("***@", text.partition("?")[0])), _ADDRESS_HINT
    )


POOL_SIZE = 16
"""Maximum number of connections that requests hold at once."""

LOCK_SECONDS = 30
"""Seconds that a writing transaction waits for other processes."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines for reading and for writing, on one pool of connections.

    On either database a writing transaction waits for the previous one, so that what it reads
    stays valid until it ends. A reading one never waits, and reads one snapshot.
    """

    reading: Engine
    writing: Engine


_BEGIN_OPTION = "sandbox_begin"


def open_sqlite(url: URL) -> Engines:
    """Return the engines of an SQLite file.

    A missing file or folder is created readable only by its owner: a rehearsal stores records of
    real workbooks.
    """
    path = Path(str(url.database))
    make_private_folder(path.parent)
    with suppress(OSError):  # Reported when it is opened.
        path.touch(_OWNER_ONLY)
    engine = create_engine(url, pool_size=POOL_SIZE, connect_args={"timeout": LOCK_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(
        engine,
        "begin",
        lambda connection: connection.exec_driver_sql(
            connection.get_execution_options()[_BEGIN_OPTION]
        ),
    )
    return Engines(
        reading=engine.execution_options(**{_BEGIN_OPTION: "BEGIN"}),
        writing=engine.execution_options(**{_BEGIN_OPTION: "BEGIN IMMEDIATE"}),
    )


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # By default the driver begins transactions too late to lock.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")


_WRITES_OPTION = "sandbox_writes"
_CONNECT_SECONDS = 10
_LOCK_KEY = 0x786C62  # "xlb", among the advisory locks of the database


def open_postgresql(url: URL) -> Engines:
    """Return the engines of a PostgreSQL database.

    Writing transactions use READ COMMITTED: under their lock nothing else is committed, whereas a
    snapshot would have been taken before they waited for it. Raises ``ConfigError`` if the
    encoding is not UTF-8.
    """
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        # Replace connections that were lost while idle.
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "xlbridge-sandbox"},
    )
    with engine.connect() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        engine.dispose()
        message = Text(
            pt="A codificação do banco de dados {url} é {encoding}, e deve ser UTF-8.",
            en="The encoding of the database {url} is {encoding}; it must be UTF-8.",
        ).format(url=redacted_url(url), encoding=encoding)
        hint = Text(
            pt="Crie um com: createdb --encoding=UTF8 --template=template0 NOME",
            en="Create one with: createdb --encoding=UTF8 --template=template0 NAME",
        )
        raise ConfigError(message, hint)
    event.listen(engine, "begin", _begin_postgresql)
    return Engines(
        reading=engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True, **{_WRITES_OPTION: False}
        ),
        writing=engine.execution_options(
            isolation_level="READ COMMITTED", **{_WRITES_OPTION: True}
        ),
    )


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options()[_WRITES_OPTION]:
        connection.exec_driver_sql(
            f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SELECT pg_advisory_xact_lock({_LOCK_KEY})"
        )


@compiles(CreateColumn, "postgresql")
def _collate_by_bytes(element: CreateColumn, compiler: Any, **options: Any) -> str:
    """Compare texts by their bytes, like SQLite, whatever the database's locale."""
    specification: str = compiler.visit_create_column(element, **options)
    kind = element.element.type
    if not isinstance(kind, TextColumn):
        return specification
    return specification.replace(" TEXT", ' TEXT COLLATE "C"', 1)


class Busy(Exception):
    """Raised when earlier transactions take too long; nothing was written."""


TRANSIENT_ERRORS = (OperationalError, InterfaceError, Busy)
"""Errors such as a lost connection or a lock, after which a retry may succeed."""

_OTHER_DATABASE = Text(
    pt="Indique outro banco de dados com --db, ou outra pasta com XLBRIDGE_HOME.",
    en="Choose another database with --db, or another folder with XLBRIDGE_HOME.",
)
_DAMAGED = Text(
    pt="O arquivo está danificado ou não é um banco SQLite. Restaure uma cópia; apague-o, com "
    "os arquivos -wal e -shm, para começar de novo; ou indique outro com --db.",
    en="The file is damaged or is not an SQLite database. Restore a copy; delete it, with its "
    "-wal and -shm files, to start over; or choose another with --db.",
)
_LOCKED = Text(
    pt="Outro processo o mantém bloqueado: aguarde o término ou encerre-o.",
    en="Another process has locked it: wait until it finishes, or stop it.",
)
_SQLITE_HINTS = {"BUSY": _LOCKED, "LOCKED": _LOCKED, "NOTADB": _DAMAGED, "CORRUPT": _DAMAGED}
_DISK_ERRORS = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR})
_POSTGRESQL_HINT = Text(
    pt="Confira se o servidor responde, o usuário e o banco no endereço de --db, e a senha "
    "(PGPASSWORD ou ~/.pgpass).",
    en="Check that the server responds, the user and database in the --db address, and the "
    "password (PGPASSWORD or ~/.pgpass).",
)
_LOCK_NOT_AVAILABLE = "55P03"


@contextmanager
def translate_database_errors(url: URL) -> Iterator[None]:
    """Translate a database error into a ``ConfigError`` with a hint, or a ``LocalFailure`` if the
    disk is full, read-only or broken, or permission is lacking."""
    try:
        yield
    except (SQLAlchemyError, ImportError, OSError) as error:
        cause = getattr(error, "orig", None) or error
        text = str(os_error_reason(cause) if isinstance(cause, OSError) else cause)
        reason = "; ".join(line.strip() for line in text.splitlines() if line.strip())
        secrets = (url.password, *(url.query.get(name) for name in _SECRET_PARAMETERS))
        for secret in filter(None, secrets):
            reason = reason.replace(str(secret), "***")
        message = Text(
            pt="Não foi possível abrir o banco de dados {url}: {reason}",
            en="The database {url} could not be opened: {reason}",
        ).format(url=redacted_url(url), reason=reason)
        kind = LocalFailure if _is_failure_of_the_computer(cause, url) else ConfigError
        raise kind(message, _hint(error, url)) from error


def _is_failure_of_the_computer(cause: Exception, url: URL) -> bool:
    if isinstance(cause, OSError):
        return is_local_failure(cause)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_CANTOPEN:
        file = Path(url.database or "")
        return not os.access(file if file.exists() else file.parent, os.W_OK)
    return code in _DISK_ERRORS


def is_busy(error: Exception) -> bool:
    """Return whether a transaction failed because others were writing."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    locked = getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    not_available = getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE
    return isinstance(error, Busy) or locked or not_available


def layout_error(url: URL, version: str | None) -> ConfigError:
    """Return the error for a database whose tables are not those of this version."""
    if version is None:
        message = Text(
            pt="O banco de dados {url} tem tabelas de outro programa.",
            en="The database {url} has tables of another program.",
        )
        hint = Text(
            pt="Indique com --db um banco vazio, só para o ambiente de testes.",
            en="Choose with --db an empty database, only for the sandbox.",
        )
        return ConfigError(message.format(url=redacted_url(url)), hint)
    message = Text(
        pt="O banco de dados {url} é de outra versão do ambiente de testes ({version}), com "
        "tabelas diferentes.",
        en="The database {url} is from another version of the sandbox ({version}): its tables "
        "differ.",
    )
    hint = Text(
        pt="Apague-o para começar de novo (os dados serão perdidos), indique outro com --db, ou "
        "use a versão que o criou.",
        en="Delete it to start over (its data will be lost), choose another with --db, or use the "
        "version that created it.",
    )
    return ConfigError(message.format(url=redacted_url(url), version=version), hint)


def _hint(error: Exception, url: URL) -> Text:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, ImportError):
        return install_hint("postgres")
    if isinstance(cause, sqlite3.Error):
        # Errors raised by the driver itself have no code.
        name = getattr(cause, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        return _SQLITE_HINTS.get(name, _OTHER_DATABASE)
    if getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return _LOCKED
    return _OTHER_DATABASE if url.drivername == SQLITE else _POSTGRESQL_HINT


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
    Column("fingerprint", TextColumn, primary_key=True),
    Column("version", TextColumn, nullable=False),
)
"""One row: fingerprint of the layout, and version of xlbridge that created it."""


_system = Table("sandbox_system", MetaData(), Column("id", TextColumn, primary_key=True))
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
