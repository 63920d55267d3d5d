"""Users, their tokens, and the counters that codes are drawn from."""

from sqlalchemy import Boolean, Column, DateTime, ForeignKey, Integer, Table, Text

from xlbridge.sandbox.tables.schema import metadata

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False, unique=True),
    Column("password", Text, nullable=False),
    Column("administrator", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
)
tokens = Table(
    "tokens",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("created", DateTime, nullable=False),
    Column("expiration", DateTime, nullable=False),
)
counters = Table(
    "counters",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("last", Integer, nullable=False),
)
