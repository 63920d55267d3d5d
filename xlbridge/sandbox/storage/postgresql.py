"""PostgreSQL: made to keep SQLite's promises, one writer at a time and texts in byte order."""

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy import Text as TextColumn
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.sandbox.storage.address import shown
from xlbridge.sandbox.storage.engines import LOCK_SECONDS, POOL_SIZE, Engines

_WRITES = "sandbox_writes"
_CONNECT_SECONDS = 10
_LOCK = 0x786C62  # "xlb": a key of its own among the advisory locks of the database


def open_postgresql(url: URL) -> Engines:
    """Return the engines of a PostgreSQL database.

    Writing transactions read what is committed, which under their lock is only what was there when
    they got it; a snapshot would be older, taken before they waited. Raises ``ConfigError`` when
    not every text can be kept there.
    """
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        # A connection that was lost while nobody used it is noticed before it is used again.
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "xlbridge-sandbox"},
    )
    _require_unicode(engine, url)
    event.listen(engine, "begin", _begin)
    return Engines(
        reading=engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True, **{_WRITES: False}
        ),
        writing=engine.execution_options(isolation_level="READ COMMITTED", **{_WRITES: True}),
    )


def _begin(connection: Connection) -> None:
    if connection.get_execution_options()[_WRITES]:
        connection.exec_driver_sql(
            f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'; SELECT pg_advisory_xact_lock({_LOCK})"
        )


@compiles(CreateColumn, "postgresql")
def _in_byte_order(element: CreateColumn, compiler: Any, **options: Any) -> str:
    """Texts are compared by their bytes, as SQLite does, whatever the database's own language."""
    specification: str = compiler.visit_create_column(element, **options)
    kind = element.element.type
    if not isinstance(kind, TextColumn):
        return specification
    return specification.replace(" TEXT", ' TEXT COLLATE "C"', 1)


def _require_unicode(engine: Engine, url: URL) -> None:
    with engine.connect() as connection:
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        engine.dispose()
        told = Text(
            pt="O banco de dados {url} não é UTF-8, mas {encoding}.",
            en="The database {url} is not UTF-8 but {encoding}.",
        ).format(url=shown(url), encoding=encoding)
        hint = Text(
            pt="Crie um com: createdb --encoding=UTF8 --template=template0 NOME",
            en="Make one with: createdb --encoding=UTF8 --template=template0 NAME",
        )
        raise ConfigError(told, hint)
