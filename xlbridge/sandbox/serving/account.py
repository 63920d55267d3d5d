"""The integration user: made with the database, its password kept for its owner only."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import URL, Connection, insert, select, update

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.sandbox.security import STANDARD_COST, HashCost, find_user, hash_password
from xlbridge.sandbox.storage import Storage, shown
from xlbridge.sandbox.tables.access import users
from xlbridge.settings import Settings
from xlbridge.workbook.atomic import write_private

_DEFAULT_EMAIL = "integracao@aurora.example"
_PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True)
class Account:
    """The integration user's credentials."""

    email: str
    password: str = field(repr=False)


def prepare_account(
    storage: Storage, settings: Settings, cost: HashCost = STANDARD_COST
) -> Account:
    """Return the credentials that the database accepts from here on.

    Those of the environment win; else those of an earlier run are kept; else new ones are made.
    ``cost`` is what each later try of a password that is new here takes.
    Raises ``ConfigError`` when the database has a user whose password none of these gives.
    """
    path = _file(settings.home, storage.url)
    # Under the lock of a transaction, so that two that start at once agree on a new password.
    with storage.transaction(writing=True) as connection:
        kept = _read_kept(path)
        email = settings.email or (kept.email if kept else _DEFAULT_EMAIL)
        password = settings.password or (kept.password if kept else None)
        email = email.strip().lower()
        if password and find_user(connection, email, password) is not None:
            return Account(email, password)
        if not _is_known(connection, email):
            account = Account(email, password or secrets.token_urlsafe(_PASSWORD_BYTES))
            _register(connection, account, cost)
        elif settings.password:
            account = Account(email, settings.password)
            _change_password(connection, account, cost)
        else:
            raise _unknown_password(storage.url, email)
        if password is None:
            write_private(path, json.dumps(asdict(account)))
    return account


def _file(home: Path, url: URL) -> Path:
    """Return where a home keeps the credentials for a database, however its path is spelt."""
    if url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).resolve()))
    address = url.render_as_string(hide_password=True)
    return home / f"sandbox-user-{hashlib.sha256(address.encode()).hexdigest()[:12]}.json"


def _read_kept(path: Path) -> Account | None:
    try:
        return Account(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _is_known(connection: Connection, email: str) -> bool:
    found = connection.execute(select(users.c.id).where(users.c.email == email))
    return found.one_or_none() is not None


def _register(connection: Connection, account: Account, cost: HashCost) -> None:
    connection.execute(
        insert(users).values(
            code="INTEGRACAO",
            name="Usuário de integração",
            email=account.email,
            password=hash_password(account.password, cost),
            administrator=False,
            active=True,
        )
    )


def _change_password(connection: Connection, account: Account, cost: HashCost) -> None:
    password = hash_password(account.password, cost)
    connection.execute(
        update(users).where(users.c.email == account.email).values(password=password)
    )


def _unknown_password(url: URL, email: str) -> ConfigError:
    return ConfigError(
        Text(
            pt="O banco de dados {url} já tem o usuário {email}, e a senha dele não está aqui.",
            en="The database {url} has the user {email} already, whose password is not kept here.",
        ).format(url=shown(url), email=email),
        Text(
            pt="Defina XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD, ou apague o banco de dados.",
            en="Set XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD, or delete the database.",
        ),
    )
