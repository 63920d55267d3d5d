"""The ASGI application, and the way of a request through it.

Planned faults, host check, route, token, parameters, handler, response. The routes come from
the declared operations.
"""

import asyncio
import ipaddress
import itertools
import logging
import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from anyio import CapacityLimiter, to_thread
from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xlbridge.sandbox import users
from xlbridge.sandbox.areas.financial import handlers as financial
from xlbridge.sandbox.areas.purchasing import handlers as purchasing
from xlbridge.sandbox.areas.registry import handlers as registry
from xlbridge.sandbox.areas.sales import handlers as sales
from xlbridge.sandbox.areas.stock import addresses, handlers as stock, inventories
from xlbridge.sandbox.handler_registry import HANDLERS, Call, Sandbox
from xlbridge.sandbox.http import messages
from xlbridge.sandbox.http.attachments import ATTACHMENT_PATH, attachment_response
from xlbridge.sandbox.http.messages import (
    bounded_request,
    nonblank_parameters,
    parse_body,
    parse_path,
    parse_query,
    uploaded_workbook,
)
from xlbridge.sandbox.http.openapi import docs_page, openapi_content
from xlbridge.sandbox.imports import handlers as imports
from xlbridge.sandbox.options import Fault, FaultKind, FaultPlan
from xlbridge.sandbox.problems import InvalidParameterError, RequestError
from xlbridge.sandbox.storage import POOL_SIZE, is_busy
from xlbridge.wire import OPERATIONS, Operation

HANDLER_MODULES = (
    addresses, financial, imports, inventories, purchasing, registry, sales, stock, users,
)  # fmt: skip
"""Modules with handlers: importing them completes ``HANDLERS``."""

JSON_LIMIT = 10 * 2**20
"""Maximum size of a JSON body, in bytes."""


def build_app(sandbox: Sandbox) -> ASGIApp:
    """Return the application that answers every declared operation, and describes itself."""
    threads = RequestThreads()
    by_path: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in OPERATIONS.values():
        by_path[operation.path][operation.method] = operation
    tokens = GoodTokens()
    app = Starlette(
        routes=[
            *[
                Route(path, Endpoint(sandbox, by_path[path], threads, tokens))
                for path in sorted(by_path, key=_parameters_last)
            ],
            *_description_routes(),
            _attachment_route(sandbox, threads),
        ],
        exception_handlers={404: _unknown_path, 405: _unknown_method},
    )
    app.router.redirect_slashes = False
    behaviour = sandbox.behaviour
    checked = HostCheck(app, exposed=behaviour.exposed, further=behaviour.host_names)
    return FaultInjection(checked, behaviour.faults) if behaviour.faults else checked


def _parameters_last(path: str) -> list[bool]:
    """Sorts a path with a fixed segment before one with a parameter there."""
    return [segment.startswith("{") for segment in path.split("/")]


def _description_routes() -> list[BaseRoute]:
    # Building takes a second: once, by one thread, while the event loop serves others.
    one_at_a_time = CapacityLimiter(1)

    async def openapi(_request: Request) -> Response:
        content = await to_thread.run_sync(openapi_content, limiter=one_at_a_time)
        return Response(content, media_type=messages.JSON_TYPE)

    async def docs(_request: Request) -> Response:
        return HTMLResponse(await to_thread.run_sync(docs_page, limiter=one_at_a_time))

    return [Route("/openapi.json", openapi), Route("/docs", docs)]


def _attachment_route(sandbox: Sandbox, threads: "RequestThreads") -> BaseRoute:
    async def attachment(request: Request) -> Response:
        name, token = request.path_params["name"], request.query_params.get("token", "")
        response: Response = await threads.run(attachment_response, sandbox, name, token)
        return response

    return Route(ATTACHMENT_PATH, attachment)


async def _unknown_path(_request: Request, _error: Exception) -> Response:
    return messages.failure_response(404, [("", "Recurso não encontrado.")])


async def _unknown_method(_request: Request, error: Exception) -> Response:
    headers: Mapping[str, str] = getattr(error, "headers", None) or {}
    return messages.method_not_allowed(headers.get("Allow", "").split(", "))


_log = logging.getLogger(__name__)

_MULTIPART_OVERHEAD = 2**20
_UNAUTHORISED = ("Authorization", "Token ausente, inválido ou expirado.")
_BUSY = ("", "O sistema está ocupado com outra gravação; nada foi gravado. Tente novamente.")
_RETRY_SECONDS = "5"
_INTERNAL_ERROR = ("", "Erro interno. Tente novamente mais tarde.")


_WRITER_THREADS = 32


class RequestThreads:
    """The threads that requests run in: those that wait for their turn to write hold up no reader.

    Of the pool's connections the writing transaction and the worker have one each.
    """

    def __init__(self) -> None:
        self._reading = CapacityLimiter(POOL_SIZE - 2)
        self._writing = CapacityLimiter(_WRITER_THREADS)

    async def run(self, function: Any, *arguments: Any, writing: bool = False) -> Any:
        """Run a function in a thread, as soon as there is one."""
        limiter = self._writing if writing else self._reading
        return await to_thread.run_sync(function, *arguments, limiter=limiter)


class Endpoint:
    """The ASGI application of one path: one operation for each of its methods."""

    def __init__(
        self,
        sandbox: Sandbox,
        operations: Mapping[str, Operation],
        threads: RequestThreads,
        tokens: "GoodTokens",
    ) -> None:
        self._sandbox = sandbox
        self._operations = operations
        self._threads = threads
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(scope, receive)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        operation = self._operations.get(scope["method"])
        if operation is None:
            return messages.method_not_allowed(self._operations)
        request = bounded_request(scope, receive, _size_limit(self._sandbox, operation))
        try:
            return await self._serve(operation, request)
        except InvalidParameterError as error:
            return messages.bare_message_response(error)
        except RequestError as error:
            headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
            return messages.failure_response(error.status, error.problems, headers)
        except ClientDisconnect:
            return messages.failure_response(400, [("body", "A requisição chegou incompleta.")])
        except Exception as error:
            if is_busy(error):
                return messages.failure_response(503, [_BUSY], {"Retry-After": _RETRY_SECONDS})
            _log.exception("%s %s failed", operation.method, operation.path)
            return messages.failure_response(500, [_INTERNAL_ERROR])

    async def _serve(self, operation: Operation, request: Request) -> Response:
        origin = str(request.base_url).rstrip("/")
        call = Call(operation, self._sandbox, ExitStack(), origin=origin)
        if operation.authenticated and (operation.upload or not self._tokens.holds(request)):
            # Nobody else's body is read, and nobody else waits for a turn to write.
            call.user_id = await self._threads.run(self._authorise, request)
            self._tokens.add(request)
        content = b"" if operation.body is None else await request.body()
        if operation.upload:
            call.upload = await uploaded_workbook(request)
        response: Response = await self._threads.run(
            _run_handler, call, request, content, writing=call.writing
        )
        return response

    def _authorise(self, request: Request) -> int:
        with self._sandbox.storage.transaction(writing=False) as connection:
            return _token_owner(connection, request, self._sandbox.clock())


class GoodTokens:
    """Tokens that were good when they came last; the transaction of a call tells if one still is.

    So a call takes one thread and one transaction. With a second for its token, calls at the same
    time interrupt each other in many more places, which costs processor time.
    """

    _MOST = 1_000

    def __init__(self) -> None:
        self._texts: set[str] = set()

    def holds(self, request: Request) -> bool:
        """Tell whether the token of a request was good."""
        return _bearer_token(request) in self._texts

    def add(self, request: Request) -> None:
        """Remember the token of a request, which is good."""
        if len(self._texts) >= self._MOST:
            self._texts.clear()
        self._texts.add(_bearer_token(request))


def _bearer_token(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _token_owner(connection: Connection, request: Request, now: datetime) -> int:
    """Return the user of a request's token. Raises ``RequestError`` (401) where it is not good."""
    owner = users.find_token_owner(connection, _bearer_token(request), now)
    if owner is None:
        raise RequestError(401, [_UNAUTHORISED])
    return owner


def _size_limit(sandbox: Sandbox, operation: Operation) -> int:
    return sandbox.limits.file_size + _MULTIPART_OVERHEAD if operation.upload else JSON_LIMIT


def _run_handler(call: Call, request: Request, content: bytes) -> Response:
    handler = HANDLERS[call.operation.name]
    with call.stack:
        if call.operation.authenticated and call.user_id is None:
            call.user_id = _token_owner(call.connection, request, call.sandbox.clock())
        try:
            _read_request(call, request, content)
        except RequestError as error:
            if handler.on_invalid is not None and error.status == 400:
                return messages.success_response(call.operation, handler.on_invalid(error.problems))
            raise
        # The answer is made inside the transaction: what cannot be answered is not committed.
        response = messages.success_response(call.operation, handler.handle(call))
    for action in call.later:
        action()
    return response


def _read_request(call: Call, request: Request, content: bytes) -> None:
    operation, strict = call.operation, call.sandbox.behaviour.strict
    try:
        call.path = parse_path(operation.path_parameters, request.path_params)
        if operation.query is not None:
            call.query = parse_query(operation.query, request.query_params, strict=strict)
            given = nonblank_parameters(request.query_params)
            call.query_text = {name: values[-1] for name, values in given.items()}
    except RequestError as error:
        if operation.method == "GET":
            raise InvalidParameterError(error.problems[0][0]) from error
        raise
    if operation.body is not None:
        media_type = request.headers.get("Content-Type")
        call.body = parse_body(operation.body, content, media_type, strict=strict)


LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


class HostCheck:
    """Refuses requests under other host names (400).

    ``exposed`` also lets any address pass that is written in numbers, which needs no resolving,
    this computer's own name, and the ``further`` names.
    """

    def __init__(self, app: ASGIApp, *, exposed: bool, further: Iterable[str] = ()) -> None:
        own = {socket.gethostname(), *further} if exposed else set()
        self._app = app
        self._exposed = exposed
        self._names = LOOPBACK_NAMES | {name.lower() for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and not self._is_known(_requested_host(scope)):
            problem = ("Host", "Este endereço não é atendido aqui.")
            await messages.failure_response(400, [problem])(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        return host in self._names or (self._exposed and _is_address(host))


def _requested_host(scope: Scope) -> str:
    host = Request(scope).headers.get("host", "")
    name, _, port = host.rpartition(":")
    return name.lower() if port.isdigit() else host.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class FaultInjection:
    """Applies a plan's faults to the requests for an application's operations."""

    def __init__(self, app: ASGIApp, plan: FaultPlan) -> None:
        self._app = app
        self._plan = plan
        self._numbers = itertools.count()
        self._expired: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v2/"):
            await self._app(scope, receive, send)
            return
        faults = list(self._plan.faults_of(next(self._numbers)))
        await asyncio.sleep(sum(f.value for f in faults if f.kind is FaultKind.DELAY))
        disturbing = [f for f in faults if f.kind not in _DELAYING]
        if disturbing:
            await self._disturb(disturbing[0], scope, receive, send)
        elif Request(scope).headers.get("authorization") in self._expired:
            await self._expire(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _disturb(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind in _AFTER_EXECUTION:
            await self._app(scope, receive, _discard)
        if fault.kind in _CUTTING:
            # Only the server's own ``send`` leads to the connection.
            send.__self__.transport.abort()  # type: ignore[attr-defined]
        elif fault.kind is FaultKind.EXPIRE:
            await self._expire(scope, receive, send)
        elif fault.kind is FaultKind.THROTTLE:
            wait = {"Retry-After": f"{fault.value:.0f}"}
            problem = ("", "Muitas chamadas; tente mais tarde.")
            await messages.failure_response(429, [problem], wait)(scope, receive, send)
        else:
            await messages.failure_response(500, [("", "Erro interno (falha de ensaio).")])(
                scope, receive, send
            )

    async def _expire(self, scope: Scope, receive: Receive, send: Send) -> None:
        authorization = Request(scope).headers.get("authorization")
        if authorization is None:
            await self._app(scope, receive, send)
            return
        # As a token that has expired, it is refused from now on.
        self._expired.add(authorization)
        await messages.failure_response(401, [("Authorization", "Token expirado.")])(
            scope, receive, send
        )


_DELAYING = frozenset({FaultKind.DELAY, FaultKind.SLOW_QUEUE})
_AFTER_EXECUTION = frozenset({FaultKind.ERROR_AFTER, FaultKind.CUT_AFTER})
_CUTTING = frozenset({FaultKind.CUT_BEFORE, FaultKind.CUT_AFTER})


async def _discard(_message: Message) -> None:
    """Take an answer that is lost on the way."""
