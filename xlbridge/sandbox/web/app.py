"""The ASGI application: its routes come from the declared operations."""

from collections import defaultdict
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from xlbridge.sandbox import answers, handlers
from xlbridge.sandbox.faults import Faulty
from xlbridge.sandbox.server import Sandbox
from xlbridge.sandbox.web.dispatch import Endpoint, Threads
from xlbridge.sandbox.web.host_check import HostCheck
from xlbridge.sandbox.web.openapi import docs_page, openapi_document
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

__all__ = ["build_app", "handlers"]


def build_app(sandbox: Sandbox) -> ASGIApp:
    """Return the application that answers every declared operation, and describes itself."""
    app = Starlette(
        routes=[*_operation_routes(sandbox), *_description_routes()],
        exception_handlers={404: _unknown_path, 405: _unknown_method},
    )
    app.router.redirect_slashes = False
    behaviour = sandbox.behaviour
    checked = HostCheck(app, exposed=behaviour.exposed, further=behaviour.host_names)
    return Faulty(checked, behaviour.faults) if behaviour.faults else checked


def _operation_routes(sandbox: Sandbox) -> list[BaseRoute]:
    by_path: defaultdict[str, dict[str, Operation]] = defaultdict(dict)
    for operation in OPERATIONS.values():
        by_path[operation.path][operation.method] = operation
    threads = Threads()
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


async def _unknown_method(_request: Request, error: Exception) -> Response:
    headers: Mapping[str, str] = getattr(error, "headers", None) or {}
    return answers.unknown_method(headers.get("Allow", "").split(", "))
