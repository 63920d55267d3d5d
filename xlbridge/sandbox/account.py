"""The integration user: made with the database, its password kept for its owner only."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL, insert, select, update

from xlbridge.sandbox.private_file import write_private
from xlbridge.sandbox.security import find_user, hash_password
from xlbridge.sandbox.storage import Storage
from xlbridge.sandbox.tables import users
from xlbridge.settings import Settings

_DEFAULT_EMAIL = "integracao@aurora.example"


@dataclass(frozen=True, slots=True)
class Account:
    """The integration user's credentials."""

    email: str
    password: str = field(repr=False)


def prepare_account(storage: Storage, settings: Settings) -> Account:
    """Return the credentials that the database accepts from here on.

    Those of the environment win; else those of the last run are kept; else new ones are made.
    """
    stored = _stored_account(settings.home, storage.url)
    account = Account(
        email=(settings.email or (stored.email if stored else _DEFAULT_EMAIL)).strip().lower(),
        password=settings.password or (stored.password if stored else secrets.token_urlsafe(12)),
    )
    if account != stored:
        content = json.dumps({"email": account.email, "password": account.password})
        write_private(_file(settings.home, storage.url), content)
    _register(storage, account)
    return account


def _file(home: Path, url: URL) -> Path:
    address = url.render_as_string(hide_password=True)
    return home / f"sandbox-user-{hashlib.sha256(address.encode()).hexdigest()[:12]}.json"


def _stored_account(home: Path, url: URL) -> Account | None:
    try:
        document = json.loads(_file(home, url).read_text(encoding="utf-8"))
        return Account(document["email"], document["password"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _register(storage: Storage, account: Account) -> None:
    with storage.transaction(writing=True) as connection:
        if find_user(connection, account.email, account.password) is not None:
            return
        password = hash_password(account.password)
        same = users.c.email == account.email
        if connection.scalar(select(users.c.id).where(same)) is not None:
            connection.execute(update(users).where(same).values(password=password))
            return
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
