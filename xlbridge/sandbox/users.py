"""Users: passwords and tokens, login and system info, and the integration user's account.

Only hashes of passwords and tokens are stored. Source: the spec, Authentication.
"""

import hashlib
import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from xlbridge.errors import ConfigError
from xlbridge.files import write_private
from xlbridge.i18n import Text
from xlbridge.sandbox.area_declarations import Call, handles
from xlbridge.sandbox.areas.registries import companies, tokens, users
from xlbridge.sandbox.problems import Problem
from xlbridge.sandbox.storage import Storage, redacted_url
from xlbridge.settings import Settings
from xlbridge.wire.operations import (
    AUTHENTICATE,
    SYSTEM_INFO,
    TIMESTAMP_FORMAT,
    Authentication,
    Credentials,
    SystemInfo,
)

_SALT_BYTES = 16


class HashCost(NamedTuple):
    """Cost of scrypt: work factor, block size and parallelism."""

    n: int
    r: int
    p: int


STANDARD_COST = HashCost(n=2**14, r=8, p=1)
"""Takes a twentieth of a second per password."""


@dataclass(frozen=True, slots=True)
class Token:
    """A new token. Its text is returned only once, to its owner."""

    text: str = field(repr=False)
    created: datetime
    expiration: datetime


def hash_password(password: str, cost: HashCost = STANDARD_COST) -> str:
    """Return a salted scrypt hash with its cost: ``n$r$p$salt$digest``, the last two in base64."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = hashlib.scrypt(password.encode(), salt=salt, **cost._asdict())
    return "$".join([*map(str, cost), b64encode(salt).decode(), b64encode(digest).decode()])


def password_matches(password: str, stored: str) -> bool:
    """Return, in constant time, whether a password has the stored hash."""
    *cost_text, salt, digest = stored.split("$")
    cost = HashCost(*map(int, cost_text))
    actual = hashlib.scrypt(password.encode(), salt=b64decode(salt), **cost._asdict())
    return hmac.compare_digest(actual, b64decode(digest))


def find_user(connection: Connection, email: str, password: str) -> int | None:
    """Return the id of the active user with these credentials, None if there is none."""
    row = connection.execute(
        select(users.c.id, users.c.password).where(
            users.c.email == email.strip().lower(), users.c.active
        )
    ).one_or_none()
    # Hash a password for unknown users too, so that timing does not reveal who exists.
    matches = password_matches(password, row.password if row else _dummy_hash())
    return row.id if row and matches else None


def create_token(connection: Connection, user_id: int, now: datetime, lifetime: timedelta) -> Token:
    """Create a token for a user, and delete expired tokens."""
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


# Built once: every call needs it.
_SELECT_TOKEN = (
    select(tokens.c.digest, tokens.c.user_id, tokens.c.expiration)
    .join(users)
    .where(tokens.c.digest == bindparam("digest"), users.c.active)
)


def find_token_owner(connection: Connection, text: str, now: datetime) -> int | None:
    """Return the id of the active user of a token, None if the token is not valid."""
    digest = _token_digest(text)
    row = connection.execute(_SELECT_TOKEN, {"digest": digest}).one_or_none()
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
    """Return the integration user's credentials, creating or updating the user if necessary.

    Credentials of the environment take precedence over those of an earlier run; if there are
    none, a password is generated. ``cost`` is the cost of hashing a new password. Raises
    ``ConfigError`` if the user exists and its password is unknown.
    """
    url = storage.url
    if url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).resolve()))
    address = url.render_as_string(hide_password=True)
    path = settings.home / f"sandbox-user-{hashlib.sha256(address.encode()).hexdigest()[:12]}.json"
    # Locked by the transaction: two sandboxes that start at once must agree on a new password.
    with storage.transaction(writing=True) as connection:
        saved = None
        with suppress(OSError, ValueError, TypeError):
            saved = Account(**json.loads(path.read_text(encoding="utf-8")))
        email = settings.email or (saved.email if saved else _DEFAULT_EMAIL)
        password = settings.password or (saved.password if saved else None)
        email = email.strip().lower()
        if password and find_user(connection, email, password) is not None:
            return Account(email, password)
        user_id = connection.scalar(select(users.c.id).where(users.c.email == email))
        if user_id is None:
            account = Account(email, password or secrets.token_urlsafe(_PASSWORD_BYTES))
            connection.execute(
                insert(users).values(
                    code="INTEGRACAO",
                    name="Usuário de integração",
                    email=email,
                    password=hash_password(account.password, cost),
                    administrator=False,
                    active=True,
                )
            )
        elif settings.password:
            account = Account(email, settings.password)
            hashed = hash_password(account.password, cost)
            connection.execute(update(users).where(users.c.id == user_id).values(password=hashed))
        else:
            raise ConfigError(
                Text(
                    pt="O banco de dados {url} já tem o usuário {email}, e a senha dele não é "
                    "conhecida.",
                    en="The database {url} already has the user {email}, whose password is "
                    "unknown.",
                ).format(url=redacted_url(storage.url), email=email),
                Text(
                    pt="Defina XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD, ou apague o banco de dados.",
                    en="Set XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD, or delete the database.",
                ),
            )
        if password is None:
            write_private(path, json.dumps(asdict(account)))
    return account


def _reject_credentials(problems: Sequence[Problem]) -> Authentication:
    details = " ".join(f"{key}: {message}" for key, message in problems)
    return Authentication(authenticated=False, message=f"Informe e-mail e senha. {details}")


@handles(AUTHENTICATE, on_invalid=_reject_credentials)
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
