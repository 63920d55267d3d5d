"""Registry of handlers, the call that a handler gets, shared queries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from threading import Event
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, exists, select

from xlbridge.resources import Catalogue
from xlbridge.sandbox.columns import Model, construct
from xlbridge.sandbox.embedded import Behaviour
from xlbridge.sandbox.problems import Problem, not_found
from xlbridge.sandbox.storage import Storage
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import DAY_FORMAT, Attachment, Operation, WireModel


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
