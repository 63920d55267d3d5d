"""The client of the interface: every operation through the same few methods.

Example::

    from xlbridge.api.client import Client
    from xlbridge.api.target import Target
    from xlbridge.wire.operations.sales import SALES_ORDER_LIST
    from xlbridge.wire.sales import SalesOrderQuery

    target = Target("production", "https://erp.example.com", "user@example.com", password)
    with Client(target) as client:
        print(client.operations.system.info().nomeComercial)
        client.operations.registry.clients.create(nomeComercial="Padaria Estrela")
        query = SalesOrderQuery(dataInferior=datetime(2026, 1, 1))
        for order in client.records(SALES_ORDER_LIST, query=query):
            print(order["numeroDoPedido"], len(order["parcelas"]))
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType, TracebackType
from typing import Any, Self

import httpx
from pydantic import TypeAdapter

from xlbridge.api.answer import (
    CHECK_ADDRESS,
    NOT_ACCEPTED,
    ReadData,
    Unreadable,
    is_json_or_empty,
    judge,
)
from xlbridge.api.backoff import Backoff
from xlbridge.api.groups import Operations
from xlbridge.api.outcome import Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.api.records import Record, read_records, record_model
from xlbridge.api.redaction import Secrets
from xlbridge.api.session import LOGIN_REFUSED, Session, is_refused_login, is_unauthorized
from xlbridge.api.target import Target
from xlbridge.api.transport import Call, NoAnswer, Reply, Transport, call_of
from xlbridge.api.upload import Upload
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    InDoubt,
    RemoteRejected,
    TransportError,
    UsageError,
)
from xlbridge.i18n import Text
from xlbridge.wire.authentication import Authentication
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Client:
    """Talks to one environment as one integration user. Use it as a context manager.

    The token lives as long as the client, in memory. ``timeout`` is in seconds, for each step of
    a request. Raises ``ConfigError`` for an address that is not https (http to loopback is fine)
    or missing credentials.
    """

    def __init__(
        self, target: Target, *, timeout: float = 60.0, backoff: Backoff | None = None
    ) -> None:
        self.target = target
        self._backoff = backoff or Backoff()
        self._secrets = Secrets(target.password)
        self._transport = Transport(target.base_url, timeout)
        self._session = Session(self._transport, target, self._backoff, self._secrets)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._transport.close()

    def __repr__(self) -> str:
        return f"Client({self.target!r})"

    def login(self) -> Authentication:
        """Check the credentials; return the login's answer without its token.

        Raises ``AuthenticationFailed`` or ``TransportError``.
        """
        return self._session.login()

    @property
    def operations(self) -> Operations:
        """Every operation by its name, as in ``client.operations.registry.clients.list()``."""
        return Operations(self.call)

    def call(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
        body: WireModel | None = None,
    ) -> Any:
        """Call an operation and return its ``data`` as the type that the operation declares.

        Repeatable operations are repeated with backoff. Raises ``TransportError``,
        ``AuthenticationFailed``, ``RemoteRejected``, and, only for an operation that is not
        repeatable, ``InDoubt``.
        """
        return self._fetch(operation, call_of(operation, path, query, body), _typed(operation))

    def records(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
    ) -> Iterator[Record]:
        """Call a listing and yield its records as plain dicts with the spec's spelling of names.

        Decimal numbers are ``Decimal``, dates stay text, unknown fields are left out; one object
        is one record, null is none. The call is made when the first record is asked for. Raises
        what ``call`` raises.
        """
        model = record_model(operation.data)
        if model is None:
            raise TypeError(f"{operation.name} is not a listing")
        rows = self._fetch(operation, call_of(operation, path, query), read_records(model))
        try:
            yield from rows
        except Unreadable as error:
            raise TransportError(error.reason) from None

    def send(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
        file: Upload | None = None,
    ) -> Outcome:
        """Make one attempt of a write and say what became of it; never raises for remote trouble.

        Only a 401 is followed by a second request, with a new token: it was not executed.
        """
        call = call_of(operation, path, query, file=file)
        try:
            reply = self._session.exchange(call)
        except ApiError as error:
            # Only a login raises, before the request or after its 401.
            return NotExecuted(error.message)
        return judge(reply, _typed(operation), self._secrets)

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | Sequence[str]] = _NOTHING,
        body: object | None = None,
    ) -> httpx.Response:
        """Make one authenticated request, once, and return the answer whatever it is.

        Raises ``UsageError`` for a path that does not begin with ``/`` or holds control
        characters, ``InDoubt`` when the answer to anything but a GET was lost, else
        ``TransportError`` or ``AuthenticationFailed``.
        """
        if not path.startswith("/") or not path.isprintable():
            raise UsageError(
                Text(
                    pt="O caminho deve começar com /, por exemplo /v2/sistema/info.",
                    en="The path must begin with /, for example /v2/sistema/info.",
                )
            )
        reply = self._session.exchange(Call(method.upper(), path, query, body))
        if isinstance(reply, NoAnswer):
            raise _lost(reply.reason, doubtful=reply.begun and method.upper() != "GET")
        return reply

    def outcome_of(self, reply: httpx.Response) -> Outcome:
        """Say what became of a raw request; a success may carry any JSON document, or nothing.

        Of a login ``authenticated`` decides. Source: the spec, Authentication.
        """
        if is_refused_login(reply):
            return NotExecuted(LOGIN_REFUSED)
        outcome = judge(reply, lambda data: data, self._secrets)
        if isinstance(outcome, Doubtful) and reply.is_success and is_json_or_empty(reply):
            return Executed(None)
        return outcome

    def _fetch(self, operation: Operation, call: Call, read: ReadData) -> Any:
        reply = self._reply(operation, lambda: self._session.exchange(call))
        if is_unauthorized(reply):
            raise AuthenticationFailed(NOT_ACCEPTED)
        match judge(reply, read, self._secrets):
            case Executed(data):
                return data
            case Rejected(status, complaints):
                raise RemoteRejected(
                    _refusal(status, [c.value for c in complaints]),
                    status=status,
                    complaints=complaints,
                )
            case NotExecuted(reason):
                raise TransportError(reason, CHECK_ADDRESS if isinstance(reply, NoAnswer) else None)
            case Doubtful(reason):
                raise _lost(reason, doubtful=not operation.repeatable)

    def _reply(self, operation: Operation, attempt: Callable[[], Reply]) -> Reply:
        return self._backoff.repeat(attempt) if operation.repeatable else attempt()


def _typed(operation: Operation) -> ReadData:
    return _adapter(operation.data).validate_python


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def _lost(reason: Text, *, doubtful: bool) -> ApiError:
    if not doubtful:
        return TransportError(reason, CHECK_ADDRESS)
    return InDoubt(
        reason,
        Text(
            pt="O pedido pode ter sido aplicado ou não: confira no sistema antes de repetir.",
            en="The request may or may not have been applied: look in the system before "
            "repeating it.",
        ),
    )


def _refusal(status: int, messages: list[str]) -> Text:
    return Text(
        pt="O sistema recusou (status {status}): {messages}",
        en="The system refused (status {status}): {messages}",
    ).format(status=status, messages="; ".join(messages) or "?")
