"""The ASGI application, whose routes are the declared operations.

A request passes through planned faults, host check, route, token, parameters, handler, response.
"""

import asyncio
import ipaddress
import itertools
import logging
import re
import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

from anyio import CapacityLimiter, to_thread
from sqlalchemy import Connection, select
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xlbridge.sandbox import imports, messages, users
from xlbridge.sandbox.area_declarations import HANDLERS, Call, Sandbox
from xlbridge.sandbox.areas import inventories, invoices, orders, purchasing, records, stock, titles
from xlbridge.sandbox.areas.purchasing import purchase_order_files
from xlbridge.sandbox.areas.titles import payable_files
from xlbridge.sandbox.embedded import Fault, FaultKind, FaultPlan
from xlbridge.sandbox.messages import (
    bounded_request,
    docs_page,
    nonblank_parameters,
    openapi_content,
    parse_body,
    parse_path,
    parse_query,
    read_uploaded_workbook,
)
from xlbridge.sandbox.problems import InvalidParameterError, RequestError
from xlbridge.sandbox.storage import POOL_SIZE, is_busy
from xlbridge.wire import OPERATIONS, Operation

HANDLER_MODULES = (
    imports, inventories, invoices, orders, purchasing, records, stock, titles, users,
)  # fmt: skip
"""Modules with handlers: importing them completes ``HANDLERS``."""

JSON_LIMIT = 10 * 2**20
"""Maximum size of a JSON body, in bytes."""

_log = logging.getLogger(__name__)

_MULTIPART_OVERHEAD = 2**20
_UNAUTHORISED = ("Authorization", "Token ausente, inválido ou expirado.")
_BUSY = ("", "O sistema está ocupado com outra gravação; nada foi gravado. Tente novamente.")
_RETRY_SECONDS = "5"
_INTERNAL_ERROR = ("", "Erro interno. Tente novamente mais tarde.")
_WRITER_THREADS = 32
_MAX_KNOWN_TOKENS = 1_000


def build_app(sandbox: Sandbox) -> ASGIApp:
    """Return the application with all declared operations and its OpenAPI description."""
    app = Starlette(routes=_routes(), exception_handlers={404: _unknown_path, 405: _unknown_method})
    app.router.redirect_slashes = False
    app.state.service = Service(sandbox)
    behaviour = sandbox.behaviour
    checked = HostCheck(app, exposed=behaviour.exposed, extra_names=behaviour.host_names)
    return FaultInjection(checked, behaviour.faults) if behaviour.faults.faults else checked


@cache
def _routes() -> tuple[Route, ...]:
    """Return the routes of all paths, those with fixed segments before those with parameters."""
    by_path: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in OPERATIONS.values():
        by_path[operation.path][operation.method] = operation
    paths = sorted(by_path, key=lambda path: [part.startswith("{") for part in path.split("/")])
    return (
        *(Route(path, Endpoint(by_path[path])) for path in paths),
        Route("/openapi.json", _show_openapi),
        Route("/docs", _show_docs),
        Route("/arquivos/{name}", _show_attachment),
    )


class Service:
    """A sandbox, and what its requests share.

    Reads and writes have threads of their own, so that waiting writes do not block reads. Two
    connections of the pool are reserved: for the writing transaction and for the worker.

    ``known_tokens`` were valid in an earlier request; the transaction of a call checks them again.
    With them a call needs one thread and one transaction. A separate transaction to check the
    token would cost processor time under load, as concurrent calls would switch more often.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.known_tokens: set[str] = set()
        self._readers = CapacityLimiter(POOL_SIZE - 2)
        self._writers = CapacityLimiter(_WRITER_THREADS)
        # Building the description takes a second, so it runs once, outside the event loop.
        self.description = CapacityLimiter(1)

    async def run(self, function: Any, *arguments: Any, writing: bool = False) -> Any:
        """Run a function in the next free thread."""
        limiter = self._writers if writing else self._readers
        return await to_thread.run_sync(function, *arguments, limiter=limiter)


async def _show_openapi(request: Request) -> Response:
    limiter = request.app.state.service.description
    content = await to_thread.run_sync(openapi_content, limiter=limiter)
    return Response(content, media_type=messages.JSON_TYPE)


async def _show_docs(request: Request) -> Response:
    limiter = request.app.state.service.description
    return HTMLResponse(await to_thread.run_sync(docs_page, limiter=limiter))


async def _show_attachment(request: Request) -> Response:
    name, token = request.path_params["name"], request.query_params.get("token", "")
    service: Service = request.app.state.service
    response: Response = await service.run(attachment_response, service.sandbox, name, token)
    return response


async def _unknown_path(_request: Request, _error: Exception) -> Response:
    return messages.failure_response(404, [("", "Recurso não encontrado.")])


async def _unknown_method(_request: Request, error: Exception) -> Response:
    headers: Mapping[str, str] = getattr(error, "headers", None) or {}
    return messages.method_not_allowed(headers.get("Allow", "").split(", "))


class Endpoint:
    """ASGI application of one path, with one operation for each method."""

    def __init__(self, operations: Mapping[str, Operation]) -> None:
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        operation = self._operations.get(scope["method"])
        if operation is None:
            await messages.method_not_allowed(self._operations)(scope, receive, send)
            return
        service: Service = scope["app"].state.service
        upload_limit = service.sandbox.limits.file_size + _MULTIPART_OVERHEAD
        request = bounded_request(scope, receive, upload_limit if operation.upload else JSON_LIMIT)
        try:
            response = await _serve(operation, service, request)
        except InvalidParameterError as error:
            response = messages.bare_message_response(error)
        except RequestError as error:
            headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
            separator = service.sandbox.behaviour.quirks.line_breaks
            response = messages.failure_response(error.status, error.problems, headers, separator)
        except ClientDisconnect:
            problem = ("body", "A requisição chegou incompleta.")
            response = messages.failure_response(400, [problem])
        except Exception as error:
            if is_busy(error):
                headers = {"Retry-After": _RETRY_SECONDS}
                response = messages.failure_response(503, [_BUSY], headers)
            else:
                _log.exception("%s %s failed", operation.method, operation.path)
                response = messages.failure_response(500, [_INTERNAL_ERROR])
        await response(scope, receive, send)


async def _serve(operation: Operation, service: Service, request: Request) -> Response:
    origin = str(request.base_url).rstrip("/")
    call = Call(operation, service.sandbox, ExitStack(), origin=origin)
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip() if scheme.lower() == "bearer" else ""
    if operation.authenticated and (operation.upload or token not in service.known_tokens):

        def authorise() -> int:
            with service.sandbox.storage.transaction(writing=False) as connection:
                return _token_owner(connection, token, service.sandbox.clock())

        # Check the token before reading the body or queueing for a write.
        call.user_id = await service.run(authorise)
        if len(service.known_tokens) >= _MAX_KNOWN_TOKENS:
            service.known_tokens.clear()
        service.known_tokens.add(token)
    content = b"" if operation.body is None else await request.body()
    if operation.upload:
        call.upload = await read_uploaded_workbook(request)
    response: Response = await service.run(
        _run_handler, call, request, token, content, writing=call.writing
    )
    return response


def _token_owner(connection: Connection, token: str, now: datetime) -> int:
    """Return the user of a token. Raises ``RequestError`` (401) if it is not valid."""
    owner = users.find_token_owner(connection, token, now)
    if owner is None:
        raise RequestError(401, [_UNAUTHORISED])
    return owner


def _run_handler(call: Call, request: Request, token: str, content: bytes) -> Response:
    handler = HANDLERS[call.operation.name]
    with call.stack:
        if call.operation.authenticated and call.user_id is None:
            call.user_id = _token_owner(call.connection, token, call.sandbox.clock())
        try:
            _read_request(call, request, content)
        except RequestError as error:
            if handler.on_invalid is not None and error.status == 400:
                return messages.success_response(call.operation, handler.on_invalid(error.problems))
            raise
        # Serialised inside the transaction, so that a failure here rolls it back.
        quirks = call.sandbox.behaviour.quirks
        response = messages.success_response(call.operation, handler.handle(call), quirks)
    for callback in call.on_commit:
        callback()
    return response


def _read_request(call: Call, request: Request, content: bytes) -> None:
    operation, behaviour = call.operation, call.sandbox.behaviour
    strict = behaviour.strict
    try:
        call.path = parse_path(operation.path_parameters, request.path_params)
        if operation.query is not None:
            call.query = parse_query(operation.query, request.query_params, strict=strict)
            texts = nonblank_parameters(request.query_params)
            call.query_text = {name: values[-1] for name, values in texts.items()}
    except RequestError as error:
        if operation.method == "GET":
            raise InvalidParameterError(error.problems[0][0]) from error
        raise
    if operation.body is not None:
        media_type = request.headers.get("Content-Type")
        call.body = parse_body(
            operation.body,
            content,
            media_type,
            strict=strict,
            spelled=behaviour.quirks.spellings,
        )


LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


class HostCheck:
    """Refuses requests with unknown host names (400).

    If ``exposed``, any IP address, the name of this computer and ``extra_names`` are accepted too.
    """

    def __init__(self, app: ASGIApp, *, exposed: bool, extra_names: Iterable[str] = ()) -> None:
        exposed_names = {socket.gethostname(), *extra_names} if exposed else set()
        self._app = app
        self._exposed = exposed
        self._names = LOOPBACK_NAMES | {name.lower() for name in exposed_names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            header = Request(scope).headers.get("host", "").lower()
            name, _, port = header.rpartition(":")
            host = name if port.isdigit() else header
            is_known = host in self._names
            if not is_known and self._exposed:
                with suppress(ValueError):
                    ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
                    is_known = True
            if not is_known:
                problem = ("Host", "Este endereço não é atendido aqui.")
                await messages.failure_response(400, [problem])(scope, receive, send)
                return
        await self._app(scope, receive, send)


class FaultInjection:
    """Middleware that applies planned faults to requests for operations."""

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
        failures = [f for f in faults if f.kind not in (FaultKind.DELAY, FaultKind.SLOW_QUEUE)]
        if failures:
            await self._fail(failures[0], scope, receive, send)
        elif Request(scope).headers.get("authorization") in self._expired:
            await self._expire(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _fail(self, fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
        if fault.kind in (FaultKind.ERROR_AFTER, FaultKind.CUT_AFTER):
            await self._app(scope, receive, _discard)
        if fault.kind in (FaultKind.CUT_BEFORE, FaultKind.CUT_AFTER):
            # ASGI has no way to abort a connection except through the server's ``send``.
            send.__self__.transport.abort()  # type: ignore[attr-defined]
            return
        if fault.kind is FaultKind.EXPIRE:
            await self._expire(scope, receive, send)
            return
        headers = None
        status, message = 500, "Erro interno (falha simulada)."
        if fault.kind is FaultKind.THROTTLE:
            status, message = 429, "Muitas chamadas; tente mais tarde."
            headers = {"Retry-After": f"{fault.value:.0f}"}
        response = messages.failure_response(status, [("", message)], headers)
        await response(scope, receive, send)

    async def _expire(self, scope: Scope, receive: Receive, send: Send) -> None:
        authorization = Request(scope).headers.get("authorization")
        if authorization is None:
            await self._app(scope, receive, send)
            return
        # An expired token stays expired.
        self._expired.add(authorization)
        problem = ("Authorization", "Token expirado.")
        await messages.failure_response(401, [problem])(scope, receive, send)


async def _discard(_message: Message) -> None:
    """Drop a response."""


_TOKEN = re.compile(r"[0-9a-f]{32}")
_PDF = "application/pdf"
_MEDIA_TYPES = {"pdf": _PDF, "xml": "application/xml"}


def attachment_response(sandbox: Sandbox, name: str, token: str) -> Response:
    """Return the attached file with this name and token, or a 404 response.

    The spec shows URLs with a token but no file. This one is small, so that downloads can be
    rehearsed.
    """
    file = None
    if _TOKEN.fullmatch(token):
        with sandbox.storage.transaction(writing=False) as connection:
            for files in (payable_files, purchase_order_files):
                by_key = files.c.Url.endswith(f"token={token}") & (files.c.NomeDoArquivo == name)
                found = select(files.c.Observacao).where(by_key)
                file = file or connection.execute(found).first()
    if file is None:
        return messages.failure_response(404, [("", "Arquivo não encontrado.")])
    media_type = _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), _PDF)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "X-Content-Type-Options": "nosniff",
    }
    text = f"{name} - {file.Observacao or 'arquivo de teste'}"
    xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<arquivo>{escape(text)}</arquivo>\n'
    content = _pdf_page(text) if media_type == _PDF else xml
    return Response(content, media_type=media_type, headers=headers)


def _pdf_page(text: str) -> bytes:
    """Return a PDF of one page with one line."""
    line = re.sub(r"([\\()])", r"\\\1", text).encode("latin-1", "replace")
    drawing = b"BT /F1 12 Tf 60 760 Td (" + line + b") Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    document, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return document + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(document))
    )
