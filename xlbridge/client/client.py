"""Client of the API: every operation by name, and a few general methods.

Example::

    from xlbridge.client import Client, Target
    from xlbridge.wire.sales import SALES_ORDER_LIST, SalesOrderQuery

    target = Target("production", "https://erp.example.com", "user@example.com", password)
    with Client(target) as client:
        print(client.system.info().nomeComercial)
        client.registry.clients.create(nomeComercial="Padaria Estrela")
        query = SalesOrderQuery(dataInferior=datetime(2026, 1, 1))
        for order in client.records(SALES_ORDER_LIST, query=query):
            print(order["numeroDoPedido"], len(order["parcelas"]))
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from http import HTTPStatus
from types import MappingProxyType, TracebackType
from typing import Any, Self

import httpx

from xlbridge.client import outcomes
from xlbridge.client.listing_answer import ListingAnswer, record_shape, rows_of_data
from xlbridge.client.listing_stream import EXACT_NUMBERS, FieldTest, Numbers, Record
from xlbridge.client.operation_attributes import Operations
from xlbridge.client.session import (
    CHECK_CREDENTIALS,
    LOGIN_REFUSED,
    Session,
    Target,
    TokenFile,
    build_call,
    is_unauthorized,
    login_answer,
)
from xlbridge.client.time_windows import UNBOUNDED_WINDOW, WindowSplitter, update_time
from xlbridge.client.transport import (
    Call,
    NoAnswer,
    Reply,
    RetryPolicy,
    Transport,
    UploadFile,
    is_busy,
    parse_base_url,
    pause_after_reply,
    retry_after,
)
from xlbridge.errors import ApiError, AuthenticationFailed, TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.settings import DEFAULT_TIMEOUT_SECONDS
from xlbridge.wire import OPERATIONS, Operation, WireModel, record_model
from xlbridge.wire.operations import SYSTEM_INFO, Authentication

_NOTHING: Mapping[str, Any] = MappingProxyType({})


_NO_INFO = Text(
    pt="{path} respondeu sem os dados do usuário.", en="{path} answered without the user's data."
)


class Client(Operations):
    """Client of one environment for one integration user. Use it as a context manager.

    Every operation is an attribute, with typed arguments and answers:
    ``client.financial.receivables.list_open(codigoDoCliente=7)``.

    The token is kept in memory, and in ``token_file`` to share it with other processes.
    ``timeout``, in seconds, overrides the target's. Raises ``ConfigError`` for an address that is
    not https (or http to loopback), and for missing credentials.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: float | None = None,
        retry_policy: RetryPolicy | None = None,
        token_file: TokenFile | None = None,
    ) -> None:
        super().__init__(self.call)
        self.target = target
        self._identity: str | None = None
        self.unknown_fields: defaultdict[str, dict[str, None]] = defaultdict(dict)
        """Names in the records of listings that are not understood, by operation."""
        self.retry_policy: RetryPolicy = retry_policy or RetryPolicy()
        self._redactor = outcomes.SecretRedactor(target.password)
        self._timeout = timeout or target.timeout or DEFAULT_TIMEOUT_SECONDS
        self._transport = Transport(target.base_url, self._timeout, target.ca_bundle)
        self._session = Session(
            self._transport, target, self.retry_policy, self._redactor, token_file
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"Client({self.target!r})"

    @property
    def least_settle(self) -> float:
        """Minimum time to wait for a request whose answer was lost, in seconds.

        Twice the timeout; zero for a system on this computer.
        """
        return 0.0 if self._transport.is_local else 2 * self._timeout

    def login(self) -> Authentication:
        """Log in, and return the answer without its token.

        Raises ``AuthenticationFailed`` or ``TransportError``.
        """
        return self._session.login()

    @property
    def identity(self) -> str:
        """Identity of the remote system: its address and company (the user if it reports none).

        The embedded sandbox is identified by the id in its database. Requested once. Raises
        ``AuthenticationFailed``, ``TransportError`` or ``RemoteRejected``. Source: the product
        brief, Row actions.
        """
        if self._identity is None and self.target.system is not None:
            self._identity = f"sandbox:{self.target.system}"
        elif self._identity is None:
            address = str(parse_base_url(self.target.base_url)).rstrip("/")
            company = self.system_info().get("codigoDaEmpresa")
            name = self.target.email.casefold() if company is None else company
            self._identity = f"{address}#{name}"
        return self._identity

    def system_info(self) -> Record:
        """Return what the system tells about the user, with values of other types as they came.

        Raises ``UnknownFields`` if nothing of it is understood, which must not pass for an answer
        without a company; otherwise what ``call`` raises.
        """
        found = list(self.records(SYSTEM_INFO))
        if not found:
            message = _NO_INFO.format(path=SYSTEM_INFO.path)
            raise TransportError(message, self.target.address_hint)
        return found[0]

    def __dir__(self) -> Iterable[str]:
        return sorted({*object.__dir__(self), *super().__dir__()})

    def call(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
        body: WireModel | None = None,
        file: UploadFile | None = None,
    ) -> Any:
        """Call an operation and return its ``data`` as the type that the operation declares.

        Retryable operations are retried; fields missing from the answer to a write are None. Raises
        ``TransportError``, ``AuthenticationFailed``, ``RemoteRejected``, and ``InDoubt`` for an
        operation that is not retryable.
        """
        call = build_call(operation, path, query, body, file, self.target.quirks)
        if operation.retryable:
            reply = self.retry_policy.repeat(
                lambda: self._session.exchange(call), pause_after_reply
            )
        else:
            reply = self._session.exchange_write(call)
        return self._data_of(operation, reply, outcomes.data_reader(operation, self.target.quirks))

    def records(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
        keep_unknown: bool = False,
        numbers: Numbers = EXACT_NUMBERS,
        wanted: Sequence[FieldTest] = (),
    ) -> Generator[Record]:
        """Call a listing and yield its records while the answer is received.

        A record is a plain dict with the spec's spelling of names. Decimal numbers are ``Decimal``,
        dates remain text. ``keep_unknown`` keeps fields that the spec does not document, which are
        otherwise dropped; ``numbers`` are other parsers of numbers. A single object is one record,
        null is none. With ``wanted`` tests, records that fail them may be left out, which takes
        less time than decoding them.

        The call is made when the first record is requested, and retried until an answer begins.
        Records are not accumulated in memory. Raises what ``call`` raises; ``TransportError`` also
        after records have been yielded, if the answer is cut short or ends by reporting a failure.
        Only an exhausted iterator has yielded all records.
        """
        model = record_model(operation.data)
        if model is None:
            raise TypeError(f"{operation.name} is not a listing")
        shape = record_shape(model, keep_unknown=keep_unknown)
        with closing(self.listing(operation, path=path, query=query)) as answer:
            yield from answer.records(answer.pieces(), shape, numbers, wanted)

    def all_records(
        self, operation: Operation, cap: int | None, wanted: Sequence[FieldTest] = ()
    ) -> Iterator[tuple[Iterable[Record], bool]]:
        """Yield the records of each answer of a listing, and whether it is certainly complete.

        A listing truncated at ``cap`` records is requested by windows. A record that changes
        meanwhile can appear twice, the newer one last; none is left out (``docs/exports.md``)
        unless it fails the ``wanted`` tests. Raises what ``records`` raises. Source: the spec,
        Limits (the client listing is silently truncated at 500 records).
        """
        if cap is None:
            yield self.records(operation, wanted=wanted), True
            return
        query: Any = operation.query
        splitter = WindowSplitter(UNBOUNDED_WINDOW, cap, datetime.now())
        while (window := splitter.requested) is not None:
            bounds = query(dataInferior=window.start, dataSuperior=window.end)
            records = list(self.records(operation, query=bounds))
            times = [time for record in records if (time := update_time(record)) is not None]
            if splitter.add_answer(times, len(records)):
                yield records, len(records) < splitter.cap

    def listing(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
    ) -> ListingAnswer:
        """Call a listing, with retries until an answer begins, and return the unread answer.

        Raises what ``call`` raises.
        """
        call = build_call(operation, path, query, quirks=self.target.quirks)
        reply = self.retry_policy.repeat(
            lambda: self._session.exchange(call, streamed=True), pause_after_reply
        )
        if isinstance(reply, httpx.Response) and reply.is_success:
            single = operation.returns_single_record(query)
            unknown = self.unknown_fields[operation.name]
            seconds = self._transport.answer_seconds
            return ListingAnswer(
                operation, reply, self.target, self._redactor, single, unknown, seconds
            )
        self._data_of(operation, reply, rows_of_data)
        raise AssertionError("a reply that is not a success raises")

    def send(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
        body: WireModel | Mapping[str, object] | None = None,
        file: UploadFile | None = None,
        harmless: bool = False,
    ) -> outcomes.Outcome:
        """Attempt a write once and return its outcome, remote failures included.

        A ``body`` that is not a model is sent as JSON. A ``harmless`` request, such as a
        preview, is repeated with a new token after a 401.
        """
        call = build_call(operation, path, query, body, file, self.target.quirks)
        try:
            if harmless:
                reply, expired = self._session.exchange(call), False
            else:
                reply, expired = self._session.attempt(call)
        except ApiError as error:
            # Only the login raises, after its own retries: nothing was sent, or nothing harmful.
            answered = isinstance(error, AuthenticationFailed)
            return outcomes.NotExecuted(error.message, permanent=True, answered=answered)
        if expired:
            return outcomes.Declined(outcomes.TOKEN_EXPIRED, status=HTTPStatus.UNAUTHORIZED)
        if harmless and is_unauthorized(reply):
            return outcomes.NotExecuted(outcomes.TOKEN_REFUSED, permanent=True, answered=True)
        if isinstance(reply, httpx.Response) and is_busy(reply):
            return outcomes.Declined(
                outcomes.BUSY, retry_after(reply), trusted=self.target.trust_429
            )
        return self._classify(operation, reply, outcomes.data_reader(operation, self.target.quirks))

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | Sequence[str]] = _NOTHING,
        body: object | None = None,
    ) -> httpx.Response:
        """Make one authenticated request and return the answer, whatever its status.

        Raises ``UsageError`` for a path that does not begin with ``/`` or contains control
        characters, ``InDoubt`` if the answer to a request other than GET was lost,
        ``TransportError``, ``AuthenticationFailed``.
        """
        if not path.startswith("/") or not path.isprintable():
            raise UsageError(
                Text(
                    pt="O caminho deve começar com /, por exemplo /v2/sistema/info.",
                    en="The path must begin with /, for example /v2/sistema/info.",
                )
            )
        call = Call(method.upper(), path, query, body)
        reads = call.method == "GET"
        reply = self._session.exchange(call) if reads else self._session.exchange_write(call)
        if isinstance(reply, NoAnswer):
            doubtful = reply.may_be_executed and not reads
            raise outcomes.lost_answer_error(
                reply.reason, self.target.address_hint, doubtful=doubtful
            )
        return reply

    def json_of(self, reply: httpx.Response) -> str | None:
        """Return the text of a raw answer, with passwords and tokens masked and numbers unchanged.

        None if it is neither JSON nor empty.
        """
        if not outcomes.is_json_or_empty(reply):
            return None
        answer = login_answer(reply)
        if answer is not None and answer.accessToken:
            self._redactor.add(answer.accessToken)
        return self._redactor.redact(reply.text)

    def outcome_of(self, reply: httpx.Response) -> outcomes.Outcome:
        """Return the outcome of a raw request; a success may contain any JSON document, or nothing.

        For a login, ``authenticated`` decides. Source: the spec, Authentication.
        """
        answer = login_answer(reply)
        if answer is not None and not answer.authenticated:
            return outcomes.NotExecuted(LOGIN_REFUSED, answered=True)
        refuses_in_data = any(
            operation.refuses_in_data
            and reply.request.method == operation.method
            and reply.request.url.path.endswith(operation.path)
            for operation in OPERATIONS.values()
        )
        is_read = reply.request.method == "GET"
        outcome = outcomes.classify_reply(
            reply,
            lambda data: data,
            self._redactor,
            refuses_in_data=None if is_read else refuses_in_data,
        )
        valid = outcomes.is_json_or_empty(reply) and not outcomes.reports_failure(reply)
        if isinstance(outcome, outcomes.Doubtful) and reply.is_success and valid:
            return outcomes.Executed(None)
        return outcome

    def _data_of(self, operation: Operation, reply: Reply, read: outcomes.ReadData) -> Any:
        if is_unauthorized(reply) and operation.retryable:
            raise AuthenticationFailed(outcomes.TOKEN_REFUSED, CHECK_CREDENTIALS)
        if is_busy(reply) and not operation.retryable and self.target.trust_429:
            raise TransportError(outcomes.BUSY, outcomes.TRY_LATER)
        return outcomes.data_or_raise(
            self._classify(operation, reply, read),
            self.target.address_hint,
            retryable=operation.retryable,
            answered=not isinstance(reply, NoAnswer),
        )

    def _classify(
        self, operation: Operation, reply: Reply, read: outcomes.ReadData
    ) -> outcomes.Outcome:
        return outcomes.classify_reply(
            reply,
            read,
            self._redactor,
            refuses_in_data=None if operation.method == "GET" else operation.refuses_in_data,
            quirks=self.target.quirks,
        )
