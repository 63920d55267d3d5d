"""Answers of the page's requests: routes whose errors are told as the page shows them."""

from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export import Filter, InvalidFilter
from xlbridge.i18n import Text

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_NO_FILE = Text(pt="Não há arquivo para baixar.", en="There is no file to download.")

Answer = Callable[[Request], Awaitable[Response]]


def error_json(error: XlbridgeError) -> dict[str, str]:
    """Return an error as the page shows it: what happened, and what to do next."""
    message = (
        error.message_with(filter_label) if isinstance(error, InvalidFilter) else error.message
    )
    return {"message": str(message), "hint": "" if error.hint is None else str(error.hint)}


def filter_label(name: Filter) -> str:
    """Return what the page writes beside the field of a filter."""
    return str(name.type.meaning).removesuffix(".")


def reading(path: str, answer: Answer) -> Route:
    """Return the route of a request that changes nothing."""
    return Route(path, _reported(answer))


def posting(path: str, answer: Answer) -> Route:
    """Return the route of a request that changes something."""
    return Route(path, _reported(answer), methods=["POST"])


def _reported(answer: Answer) -> Answer:
    """Turn an error into an answer that says what happened and what to do next."""

    @wraps(answer)
    async def reporting(request: Request) -> Response:
        try:
            return await answer(request)
        except XlbridgeError as error:
            return JSONResponse({"error": error_json(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)

    return reporting


def shown_sheet(request: Request) -> str | None:
    """Return the sheet that the page shows, as it says with each request about it."""
    return request.headers.get("x-sheet")


async def json_of(find: Callable[[], object]) -> Response:
    """Answer what ``find`` returns, found in a thread."""
    return JSONResponse(await run_in_threadpool(find))


def download(path: Path | None, media_type: str = _XLSX) -> Response:
    """Answer a file to be saved. Raises ``UsageError`` where there is none."""
    if path is None or not path.exists():
        raise UsageError(_NO_FILE)
    return FileResponse(path, media_type=media_type, filename=path.name)
