"""Engines of a database, SQLite or PostgreSQL by its address, and what their failures mean.

All that differs between the two is here: PostgreSQL is made to keep SQLite's promises, one
writer at a time and texts in the order of their bytes. Failures are told apart: those that may
pass, and those that a person is told how to mend.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Text as TextColumn, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn

from xlbridge.errors import ConfigError
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text

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
    pt="Dê o caminho de um arquivo SQLite, ou postgresql+psycopg://USUÁRIO:SENHA@HOST/BANCO; na "
    "senha, escreva @ como %40, / como %2F, : como %3A.",
    en="Give the path of an SQLite file, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE; in "
    "the password, write @ as %40, / as %2F, : as %3A.",
)


def database_url(text: str) -> URL:
    """Return the address of a database given as a URL or as the path of an SQLite file.

    Raises ``ConfigError`` when it is a URL that cannot be understood, or one of another database.
    """
    if "://" not in text:
        return URL.create(SQLITE, database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise _invalid_address(text) from error
    driver = _DRIVERS.get(url.drivername)
    is_plain_file = url.database and not url.query
    # An @ in the host's name was meant for the password.
    if driver is None or "@" in (url.host or "") or (driver == SQLITE and not is_plain_file):
        raise _invalid_address(text)
    return url.set(drivername=driver)


def redacted_url(url: URL) -> str:
    """Return an address as it may be shown: a path, or a URL without what is secret in it."""
    if url.drivername == SQLITE:
        return str(url.database)
    open_query = {
        name: value for name, value in url.query.items() if name not in _SECRET_PARAMETERS
    }
    return url.set(query=open_query).render_as_string(hide_password=True)


def secret_values(url: URL) -> list[str]:
    """Return what an address holds that no message may show."""
    named = (url.query.get(name) for name in _SECRET_PARAMETERS)
    return [str(value) for value in (url.password, *named) if value]


def _invalid_address(text: str) -> ConfigError:
    message = Text(
        pt="O endereço do banco de dados não foi entendido: {address}",
        en="The database address was not understood: {address}",
    )
    return ConfigError(
        message.format(address=_CREDENTIALS.sub("***@", text.partition("?")[0])), _ADDRESS_HINT
    )


POOL_SIZE = 16
"""Maximum number of connections that requests hold at once."""

LOCK_SECONDS = 30
"""Seconds that a writing transaction waits for those of other processes."""


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines for reading and for writing, on one pool of connections.

    A writing transaction waits for the one before it, on either database, so that what it reads
    stays true until it ends. A reading one waits for nobody, and sees one moment throughout.
    """

    reading: Engine
    writing: Engine


_BEGIN_OPTION = "sandbox_begin"


def open_sqlite(url: URL) -> Engines:
    """Return the engines of an SQLite file.

    The file and its folder are made for their owner only where they are missing: a rehearsal holds
    the records of real workbooks.
    """
    path = Path(str(url.database))
    make_private_folder(path.parent)
    with suppress(OSError):  # What cannot be made is told when it is opened.
        path.touch(_OWNER_ONLY)
    engine = create_engine(url, pool_size=POOL_SIZE, connect_args={"timeout": LOCK_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return Engines(
        reading=engine.execution_options(**{_BEGIN_OPTION: "BEGIN"}),
        writing=engine.execution_options(**{_BEGIN_OPTION: "BEGIN IMMEDIATE"}),
    )


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver's own way of opening transactions would begin them too late to lock.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options()[_BEGIN_OPTION])


_WRITES_OPTION = "sandbox_writes"
_CONNECT_SECONDS = 10
_LOCK_KEY = 0x786C62  # "xlb": a key of its own among the advisory locks of the database


def open_postgresql(url: URL) -> Engines:
    """Return the engines of a PostgreSQL database.

    Writing transactions read what is committed, which under their lock is only what was there when
    they got it; a snapshot would be older, taken before they waited. Raises ``ConfigError`` when
    not every text can be stored there.
    """
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        # A connection that was lost while nobody used it is noticed before it is used again.
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "xlbridge-sandbox"},
    )
    with engine.connect() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        engine.dispose()
        message = Text(
            pt="O banco de dados {url} não é UTF-8, mas {encoding}.",
            en="The database {url} is not UTF-8 but {encoding}.",
        ).format(url=redacted_url(url), encoding=encoding)
        hint = Text(
            pt="Crie um com: createdb --encoding=UTF8 --template=template0 NOME",
            en="Make one with: createdb --encoding=UTF8 --template=template0 NAME",
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
    """Texts are compared by their bytes, as SQLite does, whatever the database's own language."""
    specification: str = compiler.visit_create_column(element, **options)
    kind = element.element.type
    if not isinstance(kind, TextColumn):
        return specification
    return specification.replace(" TEXT", ' TEXT COLLATE "C"', 1)


class Busy(Exception):
    """Raised when earlier transactions took too long; nothing was written."""


TRANSIENT_ERRORS = (OperationalError, InterfaceError, Busy)
"""The database's own trouble, such as a lost connection or a lock: it may pass."""

_OTHER_DATABASE = Text(
    pt="Indique outro banco de dados com --db, ou outra pasta com XLBRIDGE_HOME.",
    en="Name another database with --db, or another folder with XLBRIDGE_HOME.",
)
_DAMAGED = Text(
    pt="O arquivo está danificado ou não é um banco SQLite. Restaure uma cópia; ou apague-o, com "
    "os seus -wal e -shm, para começar de novo; ou indique outro com --db.",
    en="The file is damaged, or is not an SQLite database. Restore a copy; or delete it, with "
    "its -wal and -shm, to start over; or name another with --db.",
)
_LOCKED = Text(
    pt="Outro processo o mantém bloqueado: espere que termine, ou encerre-o.",
    en="Another process keeps it locked: wait for its end, or end it.",
)
_SQLITE_HINTS = {"BUSY": _LOCKED, "LOCKED": _LOCKED, "NOTADB": _DAMAGED, "CORRUPT": _DAMAGED}
_POSTGRESQL_HINT = Text(
    pt="Confira se o servidor atende, e o usuário, a senha e o banco no endereço de --db.",
    en="Check that the server answers, and the user, password and database in --db's address.",
)
_DRIVER_HINT = Text(
    pt='Instale o driver: pip install "xlbridge[postgres]"',
    en='Install the driver: pip install "xlbridge[postgres]"',
)
_LOCK_NOT_AVAILABLE = "55P03"


@contextmanager
def translate_database_errors(url: URL) -> Iterator[None]:
    """Turn a database's failure into a ``ConfigError`` that says what to do."""
    try:
        yield
    except (SQLAlchemyError, ImportError, OSError) as error:
        cause = getattr(error, "orig", None) or error
        reason = "; ".join(line.strip() for line in str(cause).splitlines() if line.strip())
        for secret in secret_values(url):
            reason = reason.replace(secret, "***")
        message = Text(
            pt="O banco de dados {url} não abre: {reason}",
            en="The database {url} does not open: {reason}",
        ).format(url=redacted_url(url), reason=reason)
        raise ConfigError(message, _hint(error, url)) from error


def is_busy(error: Exception) -> bool:
    """Return whether a transaction failed because others were writing."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    locked = getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    not_available = getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE
    return isinstance(error, Busy) or locked or not_available


def layout_error(url: URL, maker: str | None) -> ConfigError:
    """Return the error for a database with other tables than this version's."""
    if maker is None:
        message = Text(
            pt="O banco de dados {url} tem tabelas de outro programa.",
            en="The database {url} has another program's tables.",
        )
        hint = Text(
            pt="Indique com --db um banco vazio, só para o sistema de ensaio.",
            en="Name with --db an empty database, for the sandbox only.",
        )
        return ConfigError(message.format(url=redacted_url(url)), hint)
    message = Text(
        pt="O banco de dados {url} é de outra versão do sistema de ensaio{version}: as tabelas "
        "são outras.",
        en="The database {url} is of another version of the sandbox{version}: its tables differ.",
    )
    hint = Text(
        pt="Apague-o para começar de novo (os seus dados se perdem), indique outro com --db, ou "
        "use a versão que o criou.",
        en="Delete it to start over (its data are lost), name another with --db, or use the "
        "version that made it.",
    )
    return ConfigError(
        message.format(url=redacted_url(url), version=f" ({maker})" if maker else ""), hint
    )


def _hint(error: Exception, url: URL) -> Text:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, ImportError):
        return _DRIVER_HINT
    if isinstance(cause, sqlite3.Error):
        # Without a code it is the driver's own refusal.
        name = getattr(cause, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        return _SQLITE_HINTS.get(name, _OTHER_DATABASE)
    if getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
        return _LOCKED
    return _OTHER_DATABASE if url.drivername == SQLITE else _POSTGRESQL_HINT
