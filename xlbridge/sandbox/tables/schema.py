"""The one collection that all tables belong to, and the shape of a registry's table."""

from typing import Any

from sqlalchemy import Column, Integer, MetaData, Table, Text

metadata = MetaData()


def registry(name: str, code: type[Integer] | type[Text], *extra: Column[Any]) -> Table:
    """Return the table of a supporting registry: a code, a name, and what else it knows."""
    return Table(
        name,
        metadata,
        Column("code", code(), primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        *extra,
    )
