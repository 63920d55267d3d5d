"""One call as a handler sees it, the sandbox behind it, and the registry of handlers.

Also what handlers share: update windows of listings, lines of documents.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache, cached_property
from typing import Any, TypeVar, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    exists,
    select,
)

from xlbridge.resources import Catalogue
from xlbridge.sandbox.options import Behaviour
from xlbridge.sandbox.problems import Problem, Registration, not_found, register_one
from xlbridge.sandbox.storage import Storage
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import DAY_FORMAT, Attachment, Operation, WireModel


@dataclass(slots=True)
class LastUpload:
    """The workbook that was read last, as what tells it from others, and what was read."""

    kept: tuple[bytes, Any] | None = None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Resources shared by all calls. ``wake_worker`` signals that a file is waiting."""

    storage: Storage
    catalogue: Catalogue
    limits: WorkbookLimits = field(default_factory=WorkbookLimits)
    behaviour: Behaviour = field(default_factory=Behaviour)
    clock: Callable[[], datetime] = datetime.now
    wake_worker: Callable[[], None] = field(default=lambda: None)
    last_upload: LastUpload = field(default_factory=LastUpload)


Model = TypeVar("Model", bound=WireModel)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The workbook of a multipart request; the name is reported, never used as a path."""

    filename: str
    content: bytes


@dataclass
class Call:
    """A request whose parameters have the declared types.

    ``query_text`` are the query's parameters as they were sent. ``user_id`` is the integration
    user that the token belongs to, None where the operation needs no token. ``origin`` is the
    address that the caller used, up to the path.
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
    later: list[Callable[[], None]] = field(default_factory=list)
    _connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The call's one transaction, begun when it is first used.

        It ends with the call: committed when the handler returns, undone when it raises.
        """
        # Until Python 3.12 a cached property lets all calls wait for one that waits for its turn.
        if self._connection is None:
            transaction = self.sandbox.storage.transaction(writing=self.writing)
            self._connection = self.stack.enter_context(transaction)
        return self._connection

    @property
    def writing(self) -> bool:
        """True when the call may change something."""
        return self.operation.method != "GET"

    @property
    def owner(self) -> int:
        """The user that the token belongs to, of an operation that needs one."""
        if self.user_id is None:
            raise TypeError(f"{self.operation.name} needs no token")
        return self.user_id

    def after_commit(self, action: Callable[[], None]) -> None:
        """Run a function once the transaction is committed, and only then."""
        self.later.append(action)

    def read(self, model: type[Model], statement: Select[Any]) -> list[Model]:
        """Return what a statement finds, its columns as the model's fields.

        What comes from our own tables is not validated again.
        """
        construct = cast("Callable[..., Model]", model.model_construct)
        return [construct(**row) for row in self.connection.execute(statement).mappings()]

    def require_row(self, condition: ColumnElement[bool], key: str, message: str) -> None:
        """Raise ``RequestError`` (404) where no row meets a condition."""
        if not self.connection.scalar(select(exists().where(condition))):
            raise not_found(key, message)

    def attached(self, statement: Select[Any]) -> list[Attachment]:
        """Return the attachments that a statement finds, under addresses of this sandbox."""
        return [
            attachment.model_copy(update={"Url": f"{self.origin}{attachment.Url}"})
            for attachment in self.read(Attachment, statement)
        ]

    @cached_property
    def now(self) -> datetime:
        """The moment of the call, to the second."""
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
Handling = TypeVar("Handling", bound=HandlerFunction)
Fallback = Callable[[Sequence[Problem]], Any]


@dataclass(frozen=True, slots=True)
class Handler:
    """Function that answers an operation.

    ``on_invalid``, where there is one, turns a bad request into data that is answered with 200:
    for operations whose failures the spec puts into a successful answer. ``source`` is what a
    reader looks for: the function itself, or what it is made of where several are made alike.
    """

    handle: HandlerFunction
    source: Callable[..., Any]
    on_invalid: Fallback | None = None


HANDLERS: dict[str, Handler] = {}
"""The handler of each operation, by the operation's name."""


def handles(
    operation: Operation,
    *,
    on_invalid: Fallback | None = None,
    source: Callable[..., Any] | None = None,
) -> Callable[[Handling], Handling]:
    """Register the decorated function as the operation's one handler."""

    def register(handle: Handling) -> Handling:
        if operation.name in HANDLERS:
            raise ValueError(f"{operation.name} has a handler already")
        HANDLERS[operation.name] = Handler(handle, source or handle, on_invalid)
        return handle

    return register


MakeRegistration = Callable[[Connection, datetime], Registration[Any, Any]]
"""Makes the registration of a kind of records, for a transaction and the moment of a call."""


def handle_creation(
    operation: Operation,
    registration: MakeRegistration,
    source: Callable[..., Any] | None = None,
) -> None:
    """Register the handler of an operation that registers its body as a new record."""
    handles(operation, source=source or registration)(
        lambda call: register_one(registration(call.connection, call.now), call.body)
    )


_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


def window_conditions(
    call: Call, updated: ColumnElement[datetime]
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of the query's ``dataInferior`` and ``dataSuperior``.

    An upper end takes in all that it names: the whole day, or with a time the whole minute.
    Source: the spec, Sales and billing (``dd/MM/yyyy``, optionally followed by ``HH:mm``).
    """
    query: Any = call.query
    lower, upper = query.dataInferior, query.dataSuperior
    if lower is not None:
        yield updated >= lower
    if upper is not None:
        yield updated < _end_of_window(upper, _DAY if _is_whole_day(call, upper) else _MINUTE)


def _end_of_window(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment + span
    except OverflowError:
        return moment


def _is_whole_day(call: Call, upper: datetime) -> bool:
    texts = {name.lower(): value.strip() for name, value in call.query_text.items()}
    return texts.get("datasuperior") == upper.strftime(DAY_FORMAT)


def equal_conditions(table: Table, query: WireModel, *names: str) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions that columns equal the parameters of their names, where given."""
    for name in names:
        value = getattr(query, name)
        if value is not None:
            yield table.c[name] == value


def document_lines(
    connection: Connection,
    model: type[Model],
    number: Column[int],
    numbers: Select[tuple[int]] | Sequence[int],
) -> defaultdict[int, list[Model]]:
    """Return the lines of documents, by the documents' numbers, in order.

    ``number`` is the column of the lines' table that has the document's. What comes from our own
    tables is not validated again.
    """
    construct = cast("Callable[..., Model]", model.model_construct)
    grouped: defaultdict[int, list[Any]] = defaultdict(list)
    if isinstance(numbers, Select):
        found = connection.execute(_lines(number, number.in_(numbers)))
    else:
        found = connection.execute(_lines_of_numbers(number), {"numbers": numbers})
    for row in found.mappings():
        grouped[row[number.name]].append(construct(**row))
    return grouped


def _lines(number: Column[int], condition: ColumnElement[bool]) -> Select[Any]:
    return select(number.table).where(condition).order_by(*number.table.primary_key)


@cache
def _lines_of_numbers(number: Column[int]) -> Select[Any]:
    return _lines(number, number.in_(bindparam("numbers", expanding=True)))
