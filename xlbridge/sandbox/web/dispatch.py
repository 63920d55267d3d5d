"""The way of a request: route, token, parameters, handler, answer."""

import logging
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from xlbridge.sandbox import answers
from xlbridge.sandbox.answers import InvalidParameterError, RequestError
from xlbridge.sandbox.call import HANDLERS, Call, Handler
from xlbridge.sandbox.parsing import given_parameters, parse_body, parse_path, parse_query
from xlbridge.sandbox.security import token_owner
from xlbridge.sandbox.server import JSON_LIMIT, Sandbox
from xlbridge.sandbox.storage import POOL_SIZE, is_busy
from xlbridge.sandbox.web.body_limit import bounded_request
from xlbridge.sandbox.web.forms import uploaded_workbook
from xlbridge.wire.operation import Operation

_log = logging.getLogger(__name__)

_MULTIPART_OVERHEAD = 2**20
_UNAUTHORISED = ("Authorization", "Token ausente, inválido ou expirado.")
_BUSY = ("", "O sistema está ocupado com outra gravação; nada foi gravado. Tente novamente.")
_COME_BACK = "5"
_DEFECT = ("", "Erro interno. Tente novamente mais tarde.")


_WRITERS = 32


class Threads:
    """The threads that requests run in: those that wait for their turn to write hold up no reader.

    Of the pool's connections the writing transaction and the worker have one each.
    """

    def __init__(self) -> None:
        self._reading = CapacityLimiter(POOL_SIZE - 2)
        self._writing = CapacityLimiter(_WRITERS)

    async def run(self, function: Any, *arguments: Any, writing: bool = False) -> Any:
        """Run a function in a thread, as soon as there is one."""
        limiter = self._writing if writing else self._reading
        return await to_thread.run_sync(function, *arguments, limiter=limiter)


class Endpoint:
    """The ASGI application of one path: one operation for each of its methods."""

    def __init__(
        self, sandbox: Sandbox, operations: Mapping[str, Operation], threads: Threads
    ) -> None:
        self._sandbox = sandbox
        self._operations = operations
        self._threads = threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        response = await self._answer(scope, receive)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        operation = self._operations.get(scope["method"])
        if operation is None:
            return answers.unknown_method(self._operations)
        request = bounded_request(scope, receive, _size_limit(self._sandbox, operation))
        try:
            return await self._serve(operation, request)
        except InvalidParameterError as error:
            return answers.bare_message(error)
        except RequestError as error:
            headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
            return answers.failure(error.status, error.problems, headers)
        except ClientDisconnect:
            return answers.failure(400, [("body", "A requisição chegou incompleta.")])
        except Exception as error:
            if is_busy(error):
                return answers.failure(503, [_BUSY], {"Retry-After": _COME_BACK})
            _log.exception("%s %s failed", operation.method, operation.path)
            return answers.failure(500, [_DEFECT])

    async def _serve(self, operation: Operation, request: Request) -> Response:
        handler = HANDLERS[operation.name]
        user_id = None
        if operation.authenticated:
            user_id = await self._threads.run(self._authorise, request)
        call = Call(operation, self._sandbox, ExitStack(), user_id=user_id)
        try:
            await _fill(call, request)
        except RequestError as error:
            return _refuse(handler, operation, error)
        response: Response = await self._threads.run(_run, call, handler, writing=call.writing)
        return response

    def _authorise(self, request: Request) -> int:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            with self._sandbox.storage.transaction(writing=False) as connection:
                owner = token_owner(connection, token.strip(), self._sandbox.clock())
            if owner is not None:
                return owner
        raise RequestError(401, [_UNAUTHORISED])


def _size_limit(sandbox: Sandbox, operation: Operation) -> int:
    return sandbox.limits.file_size + _MULTIPART_OVERHEAD if operation.upload else JSON_LIMIT


def _run(call: Call, handler: Handler) -> Response:
    with call.stack:
        # The answer is made inside the transaction: what cannot be answered is not committed.
        response = answers.success(call.operation, handler.handle(call))
    for action in call.later:
        action()
    return response


def _refuse(handler: Handler, operation: Operation, error: RequestError) -> Response:
    if handler.on_invalid is not None and error.status == 400:
        return answers.success(operation, handler.on_invalid(error.problems))
    raise error


async def _fill(call: Call, request: Request) -> None:
    operation = call.operation
    try:
        call.path = parse_path(operation.path_parameters, request.path_params)
        if operation.query is not None:
            call.query = parse_query(operation.query, request.query_params)
            given = given_parameters(request.query_params)
            call.query_text = {name: values[-1] for name, values in given.items()}
    except RequestError as error:
        if operation.method == "GET":
            raise InvalidParameterError(error.problems[0][0]) from error
        raise
    if operation.body is not None:
        media_type = request.headers.get("Content-Type")
        call.body = parse_body(operation.body, await request.body(), media_type)
    if operation.upload:
        call.upload = await uploaded_workbook(request)
