"""Failures of a database: errors that may pass, and messages that say what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.sandbox.storage.engines import SQLITE, redacted_url, secret_values


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
    en="The file is damaged, or no SQLite database. Restore a copy; or delete it, with its -wal "
    "and -shm, to begin anew; or name another with --db.",
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
        message = Text(
            pt="O banco de dados {url} não abre: {reason}",
            en="The database {url} does not open: {reason}",
        ).format(url=redacted_url(url), reason=_reason(error, url))
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
        en="Delete it to begin anew (its data are lost), name another with --db, or use the "
        "version that made it.",
    )
    return ConfigError(
        message.format(url=redacted_url(url), version=f" ({maker})" if maker else ""), hint
    )


def _reason(error: Exception, url: URL) -> str:
    cause = getattr(error, "orig", None) or error
    reason = "; ".join(line.strip() for line in str(cause).splitlines() if line.strip())
    for secret in secret_values(url):
        reason = reason.replace(secret, "***")
    return reason


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
