"""Passwords and tokens: neither is ever stored as it is.

Source: the spec, Authentication.
"""

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from xlbridge.sandbox.tables.access import tokens, users

_SALT_BYTES = 16


class HashCost(NamedTuple):
    """What scrypt is to cost: its work, the size of a block, how many of them side by side."""

    n: int
    r: int
    p: int


STANDARD_COST = HashCost(n=2**14, r=8, p=1)
"""A twentieth of a second for each password that is tried."""


@dataclass(frozen=True, slots=True)
class Token:
    """A new token. Its text is told once, to its owner."""

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
    *told, salt, digest = stored.split("$")
    # Earlier databases do not tell the cost.
    cost = HashCost(*map(int, told)) if told else STANDARD_COST
    found = hashlib.scrypt(password.encode(), salt=b64decode(salt), **cost._asdict())
    return hmac.compare_digest(found, b64decode(digest))


def find_user(connection: Connection, email: str, password: str) -> int | None:
    """Return the id of the active user with these credentials, None where there is none."""
    row = connection.execute(
        select(users.c.id, users.c.password).where(
            users.c.email == email.strip().lower(), users.c.active
        )
    ).one_or_none()
    # An unknown user costs as much time as a wrong password, so that neither can be told.
    matches = password_matches(password, row.password if row else _hash_of_no_one())
    return row.id if row and matches else None


def mint_token(connection: Connection, user_id: int, now: datetime, lifetime: timedelta) -> Token:
    """Give a user a new token, and forget those that have expired."""
    token = Token(secrets.token_urlsafe(48), now, now + lifetime)
    connection.execute(delete(tokens).where(tokens.c.expiration <= now))
    connection.execute(
        insert(tokens).values(
            digest=_digest(token.text),
            user_id=user_id,
            created=token.created,
            expiration=token.expiration,
        )
    )
    return token


def token_owner(connection: Connection, text: str, now: datetime) -> int | None:
    """Return the id of the active user whose valid token this is, None where it is no such."""
    digest = _digest(text)
    row = connection.execute(
        select(tokens.c.digest, tokens.c.user_id, tokens.c.expiration)
        .join(users)
        .where(tokens.c.digest == digest, users.c.active)
    ).one_or_none()
    if row is None or not hmac.compare_digest(row.digest, digest) or row.expiration <= now:
        return None
    return int(row.user_id)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _hash_of_no_one() -> str:
    return hash_password(secrets.token_urlsafe())
