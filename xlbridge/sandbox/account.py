"""The integration user: made with the database, its password kept for its owner only."""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sqlalchemy import URL, Connection, insert, update

from xlbridge.sandbox.private_file import write_private
from xlbridge.sandbox.security import find_user, hash_password
from xlbridge.sandbox.storage import Storage
from xlbridge.sandbox.tables.access import users
from xlbridge.settings import Settings

_DEFAULT_EMAIL = "integracao@aurora.example"
_PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True)
class Account:
    """The integration user's credentials."""

    email: str
    password: str = field(repr=False)


def prepare_account(storage: Storage, settings: Settings) -> Account:
    """Return the credentials that the database accepts from here on.

    Those of the environment win; else those of an earlier run are kept; else new ones are made.
    """
    # Under the lock of a transaction, so that two that start at once agree on a new password.
    with storage.transaction(writing=True) as connection:
        kept = _kept_account(_file(settings.home, storage.url))
        account = Account(
            email=(settings.email or kept.email).strip().lower(),
            password=settings.password or kept.password,
        )
        _register(connection, account)
    return account


def _file(home: Path, url: URL) -> Path:
    address = url.render_as_string(hide_password=True)
    return home / f"sandbox-user-{hashlib.sha256(address.encode()).hexdigest()[:12]}.json"


def _kept_account(path: Path) -> Account:
    try:
        return Account(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        account = Account(_DEFAULT_EMAIL, secrets.token_urlsafe(_PASSWORD_BYTES))
        write_private(path, json.dumps(asdict(account)))
        return account


def _register(connection: Connection, account: Account) -> None:
    if find_user(connection, account.email, account.password) is not None:
        return
    password = hash_password(account.password)
    same = users.c.email == account.email
    known = connection.execute(update(users).where(same).values(password=password))
    if known.rowcount == 0:
        connection.execute(
            insert(users).values(
                code="INTEGRACAO",
                name="Usuário de integração",
                email=account.email,
                password=password,
                administrator=False,
                active=True,
            )
        )
