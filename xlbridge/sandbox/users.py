"""Users: passwords and tokens, login and system info, and the integration user's account.

Neither a password nor a token is ever stored as it is. Source: the spec, Authentication.
"""

import hashlib
import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, Connection, bindparam, delete, insert, select, update

from xlbridge.errors import ConfigError
from xlbridge.files import write_private
from xlbridge.i18n import Text
from xlbridge.sandbox.areas.registry.tables import companies, tokens, users
from xlbridge.sandbox.handler_registry import Call, handles
from xlbridge.sandbox.problems import Problem
from xlbridge.sandbox.storage import Storage, redacted_url
from xlbridge.settings import Settings
from xlbridge.wire.authentication import (
    AUTHENTICATE,
    SYSTEM_INFO,
    TIMESTAMP_FORMAT,
    Authentication,
    Credentials,
    SystemInfo,
)

_SALT_BYTES = 16


class HashCost(NamedTuple):
    """Cost of scrypt: its work, block size and parallelism."""

    n: int
    r: int
    p: int


STANDARD_COST = HashCost(n=2**14, r=8, p=1)
"""A twentieth of a second for each password that is tried."""


@dataclass(frozen=True, slots=True)
class Token:
    """A new token. Its text is returned once, to its owner."""

    text: str = field(repr=False)
    created: datetime
    expiration: datetime


def hash_password(password: str, cost: HashCost = STANDARD_COST) -> str:
    """Return a salted scrypt hash with its cost: ``n$r$p$salt$digest``, the last two in base64."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = hashlib.scrypt(password.encode(), salt=salt, **cost._asdict())
    return "$".join([*map(str, cost), b64encode(salt).decode(), b64encode(digest).decode()])


def password_matches(password: str, stored: str) -> bool:
    """Tell, in constant time, whether a password has the stored hash."""
    *cost_text, salt, digest = stored.split("$")
    # Earlier databases do not tell the cost.
    cost = HashCost(*map(int, cost_text)) if cost_text else STANDARD_COST
    found = hashlib.scrypt(password.encode(), salt=b64decode(salt), **cost._asdict())
    return hmac.compare_digest(found, b64decode(digest))


def find_user(connection: Connection, email: str, password: str) -> int | None:
    """Return the id of the active user with these credentials, None where there is none."""
    row = connection.execute(
        select(users.c.id, users.c.password).where(
            users.c.email == email.strip().lower(), users.c.active
        )
    ).one_or_none()
    # An unknown user costs as much time as a wrong password, so that timing reveals neither.
    matches = password_matches(password, row.password if row else _dummy_hash())
    return row.id if row and matches else None


def create_token(connection: Connection, user_id: int, now: datetime, lifetime: timedelta) -> Token:
    """Give a user a new token, and forget those that have expired."""
    token = Token(secrets.token_urlsafe(48), now, now + lifetime)
    connection.execute(delete(tokens).where(tokens.c.expiration <= now))
    connection.execute(
        insert(tokens).values(
            digest=_token_digest(token.text),
            user_id=user_id,
            created=token.created,
            expiration=token.expiration,
        )
    )
    return token


# Made once, as each call needs it.
_TOKEN = (
    select(tokens.c.digest, tokens.c.user_id, tokens.c.expiration)
    .join(users)
    .where(tokens.c.digest == bindparam("digest"), users.c.active)
)


def find_token_owner(connection: Connection, text: str, now: datetime) -> int | None:
    """Return the id of the active user whose valid token this is, None where it is no such."""
    digest = _token_digest(text)
    row = connection.execute(_TOKEN, {"digest": digest}).one_or_none()
    if row is None or not hmac.compare_digest(row.digest, digest) or row.expiration <= now:
        return None
    return int(row.user_id)


def _token_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _dummy_hash() -> str:
    return hash_password(secrets.token_urlsafe())


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

    Those of the environment win; else those of an earlier run are reused; else new ones are made.
    ``cost`` is what each later try of a password that is new here takes.
    Raises ``ConfigError`` when the database has a user whose password none of these gives.
    """
    url = storage.url
    if url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).resolve()))
    address = url.render_as_string(hide_password=True)
    path = settings.home / f"sandbox-user-{hashlib.sha256(address.encode()).hexdigest()[:12]}.json"
    # Under the lock of a transaction, so that two that start at once agree on a new password.
    with storage.transaction(writing=True) as connection:
        saved = _read_saved_account(path)
        email = settings.email or (saved.email if saved else _DEFAULT_EMAIL)
        password = settings.password or (saved.password if saved else None)
        email = email.strip().lower()
        if password and find_user(connection, email, password) is not None:
            return Account(email, password)
        found = connection.execute(select(users.c.id).where(users.c.email == email))
        if not (found.one_or_none() is not None):
            account = Account(email, password or secrets.token_urlsafe(_PASSWORD_BYTES))
            _insert_user(connection, account, cost)
        elif settings.password:
            account = Account(email, settings.password)
            _change_password(connection, account, cost)
        else:
            raise _unknown_password(storage.url, email)
        if password is None:
            write_private(path, json.dumps(asdict(account)))
    return account


def _read_saved_account(path: Path) -> Account | None:
    try:
        return Account(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _insert_user(connection: Connection, account: Account, cost: HashCost) -> None:
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
        ).format(url=redacted_url(url), email=email),
        Text(
            pt="Defina XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD, ou apague o banco de dados.",
            en="Set XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD, or delete the database.",
        ),
    )


def _incomplete_credentials(problems: Sequence[Problem]) -> Authentication:
    details = " ".join(f"{key}: {message}" for key, message in problems)
    return Authentication(authenticated=False, message=f"Informe e-mail e senha. {details}")


@handles(AUTHENTICATE, on_invalid=_incomplete_credentials)
def authenticate(call: Call) -> Authentication:
    credentials = call.body_as(Credentials)
    user_id = find_user(call.connection, credentials.email, credentials.password)
    if user_id is None:
        return Authentication(authenticated=False, message="E-mail ou senha inválidos.")
    token = create_token(call.connection, user_id, call.now, call.sandbox.behaviour.token_lifetime)
    return Authentication(
        authenticated=True,
        created=token.created.strftime(TIMESTAMP_FORMAT),
        expiration=token.expiration.strftime(TIMESTAMP_FORMAT),
        accessToken=token.text,
    )


@handles(SYSTEM_INFO)
def system_info(call: Call) -> SystemInfo:
    user = call.connection.execute(select(users).where(users.c.id == call.user_id)).one()
    company = call.connection.execute(select(companies)).one()
    return SystemInfo(
        codigoDaEmpresa=company.code,
        nomeComercial=company.name,
        codigoDoUsuario=user.code,
        nomeDoUsuario=user.name,
        email=user.email,
        administrador=user.administrator,
        ativo=user.active,
    )
