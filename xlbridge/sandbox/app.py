"""The ASGI application: its routes come from the declared operations."""

from collections import defaultdict

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from xlbridge.sandbox import answers, handlers
from xlbridge.sandbox.dispatch import Endpoint
from xlbridge.sandbox.faults import Faulty
from xlbridge.sandbox.openapi import docs_page, openapi_document
from xlbridge.sandbox.server import Sandbox
from xlbridge.sandbox.storage import POOL_SIZE
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

__all__ = ["build_app", "handlers"]

_LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


def build_app(sandbox: Sandbox) -> ASGIApp:
    """Return the application that answers every declared operation, and describes itself."""
    app = Starlette(
        routes=[*_operation_routes(sandbox), *_description_routes()],
        exception_handlers={404: _unknown_path},
    )
    app.router.redirect_slashes = False
    guarded = app if sandbox.behaviour.exposed else _LoopbackOnly(app)
    return Faulty(guarded, sandbox.behaviour.faults) if sandbox.behaviour.faults else guarded


class _LoopbackOnly:
    """Refuses requests under other host names, as a page of a browser could be made to send."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _host(scope) not in _LOOPBACK_NAMES:
            problem = ("Host", "Este endereço não é atendido aqui.")
            await answers.failure(400, [problem])(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _host(scope: Scope) -> str:
    host = Request(scope).headers.get("host", "")
    name, _, port = host.rpartition(":")
    return name.lower() if port.isdigit() else host.lower()


def _operation_routes(sandbox: Sandbox) -> list[BaseRoute]:
    by_path: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in OPERATIONS.values():
        by_path[operation.path][operation.method] = operation
    # Never more threads than the pool has connections, so that none waits for one in vain.
    threads = CapacityLimiter(POOL_SIZE)
    return [
        Route(path, Endpoint(sandbox, by_path[path], threads))
        for path in sorted(by_path, key=_openness)
    ]


def _openness(path: str) -> list[bool]:
    """Sorts a path with a fixed segment before one with a parameter in its place."""
    return [segment.startswith("{") for segment in path.split("/")]


def _description_routes() -> list[BaseRoute]:
    async def openapi(_request: Request) -> Response:
        return JSONResponse(openapi_document())

    async def docs(_request: Request) -> Response:
        return HTMLResponse(docs_page())

    return [Route("/openapi.json", openapi), Route("/docs", docs)]


async def _unknown_path(_request: Request, _error: Exception) -> Response:
    return answers.failure(404, [("", "Recurso não encontrado.")])
