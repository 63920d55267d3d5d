"""Addresses of databases: read from what the user gives, shown without what is secret."""

import re
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

SQLITE, POSTGRESQL = "sqlite", "postgresql+psycopg"
_DRIVERS = {
    "sqlite": SQLITE,
    "sqlite+pysqlite": SQLITE,
    "postgresql": POSTGRESQL,
    "postgresql+psycopg": POSTGRESQL,
}
_CREDENTIALS = re.compile(r"(?<=//).*@")
_SECRETS = ("password", "sslpassword")
_HINT = Text(
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
        raise _not_understood(text) from error
    driver = _DRIVERS.get(url.drivername)
    is_plain_file = url.database and not url.query
    # An @ in the host's name was meant for the password.
    if driver is None or "@" in (url.host or "") or (driver == SQLITE and not is_plain_file):
        raise _not_understood(text)
    return url.set(drivername=driver)


def shown(url: URL) -> str:
    """Return an address as it may be shown: a path, or a URL without what is secret in it."""
    if url.drivername == SQLITE:
        return str(url.database)
    open_query = {name: value for name, value in url.query.items() if name not in _SECRETS}
    return url.set(query=open_query).render_as_string(hide_password=True)


def secrets(url: URL) -> list[str]:
    """Return what an address holds that no message may show."""
    named = (url.query.get(name) for name in _SECRETS)
    return [str(value) for value in (url.password, *named) if value]


def _not_understood(text: str) -> ConfigError:
    told = Text(
        pt="O endereço do banco de dados não foi entendido: {address}",
        en="The database address was not understood: {address}",
    )
    return ConfigError(told.format(address=_CREDENTIALS.sub("***@", text.partition("?")[0])), _HINT)
