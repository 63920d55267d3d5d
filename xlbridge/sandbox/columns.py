"""Tables of wire models: types of columns, columns derived from fields, models read from rows."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    select,
)
from sqlalchemy.sql.schema import PrimaryKeyConstraint as PrimaryKey
from sqlalchemy.types import TypeDecorator, TypeEngine

from xlbridge.wire import WireModel

metadata = MetaData()

Model = TypeVar("Model", bound=WireModel)


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


Lists = Mapping[str, tuple[type[WireModel], Sequence[Column[Any]]]]
"""Lists of a document by their fields: model, and columns with the key of the document."""


def read_documents(
    connection: Connection, model: type[Model], key: PrimaryKey, lists: Lists, headers: Select[Any]
) -> list[Model]:
    """Return the documents whose headers a statement selects, with their lists in order.

    ``key`` is their primary key. Rows of our own tables are not validated again.
    """
    names = [column.name for column in key]
    selected = headers.with_only_columns(*key, maintain_column_froms=True).subquery()
    found: dict[str, defaultdict[tuple[Any, ...], list[WireModel]]] = {}
    for field_name, (line, owner) in lists.items():
        lines, table = defaultdict[tuple[Any, ...], list[WireModel]](list), owner[0].table
        found[field_name] = lines
        of_document = (own == selected.c[name] for own, name in zip(owner, names, strict=True))
        rows = select(table).join(selected, and_(*of_document)).order_by(*table.primary_key)
        for row in connection.execute(rows).mappings():
            lines[tuple(row[own] for own in owner)].append(construct(line, row))
    documents = []
    for row in connection.execute(headers).mappings():
        owner_key = tuple(row[name] for name in names)
        own_lists = {field_name: lines[owner_key] for field_name, lines in found.items()}
        documents.append(construct(model, {**row, **own_lists}))
    return documents


def construct(model: type[Model], values: Mapping[Any, Any]) -> Model:
    """Return a model of some values without validation; lists that are missing are empty."""
    unvalidated = cast("Callable[..., Model]", model.model_construct)
    return unvalidated(**{name: [] for name in _lists(model)} | dict(values))


@cache
def _lists(model: type[WireModel]) -> Sequence[str]:
    """Return the fields whose default is a new list; pydantic would inspect how each is made, for
    every record."""
    return [name for name, info in model.model_fields.items() if info.default_factory is not None]
