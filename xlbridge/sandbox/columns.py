"""Column types of the tables, and columns derived from the fields of wire models."""

from collections.abc import Collection, Iterator
from datetime import datetime
from decimal import Decimal
from types import UnionType
from typing import Any, Union, get_args, get_origin

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from xlbridge.wire import WireModel

metadata = MetaData()


def registry_table(name: str, code: type[Integer] | type[Text], *extra: Column[Any]) -> Table:
    """Return the table of a supporting registry: code, name and extra columns."""
    return Table(
        name,
        metadata,
        Column("code", code(), primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        *extra,
    )


_SCALE = 10**6


class Amount(TypeDecorator[Decimal]):
    """An exact decimal with up to six places, stored as a whole number of millionths.

    SQLite has no exact decimals of its own.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return None if value is None else round(value * _SCALE)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value).scaleb(-6)


class IsoDateTime(TypeDecorator[Any]):
    """A datetime that is read as ISO 8601 text: ``ultimaAtualizacao`` is a string in the spec."""

    impl = DateTime
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.isoformat()


_TYPES: dict[Any, type[TypeEngine[Any]] | type[TypeDecorator[Any]]] = {
    bool: Boolean,
    int: Integer,
    Decimal: Amount,
    datetime: DateTime,
    list: JSON,
}


def derived_columns(
    model: type[WireModel], *, keys: Collection[str] = (), exclude: Collection[str] = ()
) -> Iterator[Column[Any]]:
    """Yield a column for each field of a wire model, named like the field."""
    for name, field in model.model_fields.items():
        if name in exclude:
            continue
        optional = type(None) in get_args(field.annotation)
        plain = plain_type(field.annotation)
        yield Column(
            name,
            _TYPES.get(get_origin(plain) or plain, Text)(),
            primary_key=name in keys,
            autoincrement=False,
            nullable=optional and name not in keys,
        )


def plain_type(annotation: Any) -> Any:
    """Return the annotation without ``| None`` and without the metadata of ``Annotated``."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
