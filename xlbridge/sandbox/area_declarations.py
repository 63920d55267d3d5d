"""Declarations of the sandbox's areas: tables of wire models, with columns from their fields, and
handlers of operations, with the call that a handler gets and shared queries."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, cached_property
from threading import Event
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    and_,
    exists,
    select,
)
from sqlalchemy.sql.schema import PrimaryKeyConstraint as PrimaryKey
from sqlalchemy.types import TypeDecorator, TypeEngine

from xlbridge.resources import Catalogue
from xlbridge.sandbox.embedded import Behaviour
from xlbridge.sandbox.problems import Problem, not_found
from xlbridge.sandbox.storage import Storage
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import DAY_FORMAT, Attachment, Operation, WireModel

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
    for name, described in model.model_fields.items():
        if name in exclude:
            continue
        optional = type(None) in get_args(described.annotation)
        plain = plain_type(described.annotation)
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


@dataclass(slots=True)
class Sandbox:
    """Resources shared by all calls.

    ``file_released`` wakes the worker that imports files. ``last_upload`` is the digest and the
    lines of the last workbook that was read.
    """

    storage: Storage
    catalogue: Catalogue
    limits: WorkbookLimits = field(default_factory=WorkbookLimits)
    behaviour: Behaviour = field(default_factory=Behaviour)
    clock: Callable[[], datetime] = datetime.now
    file_released: Event = field(default_factory=Event)
    last_upload: tuple[bytes, Any] | None = None


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """Workbook of a multipart request; the name is reported, never used as a path."""

    filename: str
    content: bytes


@dataclass
class Call:
    """A request whose parameters have the declared types.

    ``query_text``: query parameters as sent. ``user_id``: the token's user, None if the operation
    needs no token. ``origin``: scheme and host of the request. ``on_commit``: functions to call
    after the transaction is committed.
    """

    operation: Operation
    sandbox: Sandbox
    stack: ExitStack
    path: Mapping[str, Any] = field(default_factory=dict)
    query: WireModel | None = None
    query_text: Mapping[str, str] = field(default_factory=dict)
    body: WireModel | None = None
    upload: UploadedFile | None = None
    user_id: int | None = None
    origin: str = ""
    on_commit: list[Callable[[], None]] = field(default_factory=list)
    _connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The call's only transaction, begun at first use.

        Committed when the handler returns, rolled back when it raises.
        """
        # Before Python 3.12 a cached_property holds a lock that would block all other calls.
        if self._connection is None:
            transaction = self.sandbox.storage.transaction(writing=self.writing)
            self._connection = self.stack.enter_context(transaction)
        return self._connection

    @property
    def writing(self) -> bool:
        """True if the call may change something."""
        return self.operation.method != "GET"

    @property
    def authenticated_user_id(self) -> int:
        """The token's user, for an operation that needs a token."""
        if self.user_id is None:
            raise TypeError(f"{self.operation.name} needs no token")
        return self.user_id

    def read(self, model: type[Model], statement: Select[Any]) -> list[Model]:
        """Return the rows of a statement as models, unvalidated: they are from our own tables."""
        return [construct(model, row) for row in self.connection.execute(statement).mappings()]

    def require_row(self, condition: ColumnElement[bool], key: str, message: str) -> None:
        """Raise ``RequestError`` (404) if no row meets a condition."""
        if not self.connection.scalar(select(exists().where(condition))):
            raise not_found(key, message)

    def read_attachments(self, statement: Select[Any]) -> list[Attachment]:
        """Return the attachments that a statement finds, with URLs of this sandbox."""
        return [
            attachment.model_copy(update={"Url": f"{self.origin}{attachment.Url}"})
            for attachment in self.read(Attachment, statement)
        ]

    @cached_property
    def now(self) -> datetime:
        """Time of the call, to the second."""
        return self.sandbox.clock().replace(microsecond=0)

    def query_as(self, model: type[Model]) -> Model:
        """Return the query as the model that the operation declares."""
        return _declared(self.query, model)

    def body_as(self, model: type[Model]) -> Model:
        """Return the body as the model that the operation declares."""
        return _declared(self.body, model)

    def workbook(self) -> UploadedFile:
        """Return the uploaded workbook of an operation that declares one."""
        if self.upload is None:
            raise TypeError(f"{self.operation.name} declares no upload")
        return self.upload


def _declared(value: WireModel | None, model: type[Model]) -> Model:
    if not isinstance(value, model):
        raise TypeError(f"{model.__name__} is not what the operation declares")
    return value


HandlerFunction = Callable[[Call], Any]
Function = TypeVar("Function", bound=HandlerFunction)
Fallback = Callable[[Sequence[Problem]], Any]


@dataclass(frozen=True, slots=True)
class Handler:
    """Function that answers an operation.

    ``on_invalid`` turns a bad request into data of a 200 response, for operations that report
    failures there. ``source`` is the code to show in the documentation: the function itself, or
    the class or function that a generated handler calls.
    """

    handle: HandlerFunction
    source: Callable[..., Any]
    on_invalid: Fallback | None = None


HANDLERS: dict[str, Handler] = {}
"""Handlers by the names of their operations."""


def handles(
    operation: Operation,
    *,
    on_invalid: Fallback | None = None,
    source: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """Register the decorated function as the operation's only handler."""

    def register(handle: Function) -> Function:
        if operation.name in HANDLERS:
            raise ValueError(f"{operation.name} already has a handler")
        HANDLERS[operation.name] = Handler(handle, source or handle, on_invalid)
        return handle

    return register


def handle_records(records: Any, *operations: Operation) -> None:
    """Register the handlers of operations that create, change, read or list records.

    ``records`` is their ``RecordRegistration``. What an operation does follows from its method, and
    from the key in its path or body.
    """
    names = [column.name for column in records.table.primary_key]

    def create(call: Call) -> Any:
        return records(call.connection, call.now).register(call.body)

    def change(call: Call) -> Any:
        key = call.path.values() or [getattr(call.body, name) for name in names]
        return records(call.connection, call.now).change(call.body, *key)

    def read(call: Call) -> Any:
        return records.get(call.connection, *call.path.values())

    for operation in operations:
        in_path, body = bool(operation.path_parameters), operation.body
        if operation.method == "GET":
            handle = read if in_path else lambda call: records.find(call.connection)
        else:
            in_body = body is not None and body.model_fields.keys() >= set(names)
            handle = change if in_path or in_body else create
        handles(operation, source=records)(handle)


_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)
_LATEST = datetime(9999, 12, 30)  # a day after it can still be represented


def window_conditions(
    call: Call, updated: ColumnElement[datetime]
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of the query's ``dataInferior`` and ``dataSuperior``.

    The upper bound includes the whole day, or the whole minute if it has a time; only its first
    moment, or not even that, if a quirk of the installation says so.
    Source: the spec, Sales and billing (``dd/MM/yyyy``, optionally followed by ``HH:mm``).
    """
    query: Any = call.query
    lower, upper = query.dataInferior, query.dataSuperior
    if lower is not None:
        yield updated >= lower
    if upper is not None:
        window_end = call.sandbox.behaviour.quirks.window_end
        # A period that a listing requires is one of dates, not of update times.
        is_period = type(query).model_fields["dataSuperior"].is_required()
        if window_end != "inclusive" and not is_period:
            yield updated <= upper if window_end == "minute" else updated < upper
            return
        texts = {name.lower(): value.strip() for name, value in call.query_text.items()}
        span = _DAY if texts.get("datasuperior") == upper.strftime(DAY_FORMAT) else _MINUTE
        yield updated < min(upper, _LATEST) + span


def equal_conditions(table: Table, query: WireModel, *names: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions that columns equal the query parameters of the same names, if given."""
    for name in names:
        value = getattr(query, name)
        if value is not None:
            yield table.c[name] == value
