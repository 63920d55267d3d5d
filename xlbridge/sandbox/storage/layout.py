"""The layout of the tables: made in a new database, recognised in an old one."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
)

from xlbridge import __version__
from xlbridge.sandbox.tables import metadata

_layout = Table(
    "sandbox_layout",
    MetaData(),
    Column("fingerprint", Text, primary_key=True),
    Column("version", Text, nullable=False),
)
"""One row: which layout the database has, and which version of xlbridge made it."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a database holds: nothing, this layout, or something else that ``maker`` made.

    ``maker`` is a version of xlbridge, "" for one that did not say, None for another program.
    """

    empty: bool = False
    fits: bool = False
    maker: str | None = None


def find_layout(connection: Connection) -> Found:
    """Tell what a database holds."""
    there = set(inspect(connection).get_table_names())
    if _layout.name in there:
        row = connection.execute(select(_layout)).one()
        return Found(fits=row.fingerprint == fingerprint(metadata), maker=row.version)
    if there & metadata.tables.keys():
        return Found(maker="")
    return Found(empty=not there)


def make_layout(connection: Connection) -> None:
    """Make the tables in an empty database."""
    metadata.create_all(connection)
    _layout.create(connection)
    row = {"fingerprint": fingerprint(metadata), "version": __version__}
    connection.execute(insert(_layout).values(row))


def fingerprint(tables: MetaData) -> str:
    """Return what tells the layout of tables from every other."""
    description = "\n".join(line for table in tables.sorted_tables for line in _described(table))
    return hashlib.sha256(description.encode()).hexdigest()[:16]


def _described(table: Table) -> Iterator[str]:
    yield f"table {table.name}"
    for column in table.columns:
        keys = sorted(key.target_fullname for key in column.foreign_keys)
        yield f"{column.name} {column.type} {column.nullable} {column.primary_key} {keys}"
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        yield f"index {index.columns.keys()} {index.unique}"
    yield from sorted(
        f"unique {constraint.columns.keys()}"
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint)
    )
