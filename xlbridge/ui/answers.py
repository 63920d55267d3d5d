"""Responses to the page: routes that report errors as JSON, JSON documents, downloads."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export import InvalidFilter
from xlbridge.i18n import Text
from xlbridge.report_forms import Table, value_text

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_NO_FILE = Text(pt="Não há arquivo para baixar.", en="There is no file to download.")

Answer = Callable[..., Any]
"""Function of a request's fields, or coroutine of the request, that returns the answer."""


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """Problem of a field: its name, column or filter, the word of the sheet that a field of the
    mapping's form converts, None for any other field, and the message."""

    column: str
    word: str | None
    message: str


class InvalidFields(UsageError):
    """Values of a form do not fit; the page shows each message beside its field."""

    def __init__(self, message: Text, problems: Sequence[FieldProblem]) -> None:
        super().__init__(message)
        self.args = (message, problems)  # for pickle
        self.problems = problems


class ErrorsInGrid(UsageError):
    """A sheet has errors, which the grid shows; the page counts them where it leads to them."""


_OPTION = re.compile(r"(?<!\S)--[a-z]|XLBRIDGE_[A-Z]|[.](?:toml|ya?ml)\b")
_ASK = Text(
    pt="Peça ajuda a quem cuida do xlbridge neste computador.",
    en="Ask the person who looks after xlbridge on this computer.",
)


def error_json(error: XlbridgeError) -> dict[str, Any]:
    """Return the message and hint of an error, and what it is about: fields or the grid.

    A hint that says what to do outside of the page is replaced by whom to ask.
    """
    message, hint = error.message, error.hint
    fields: Sequence[FieldProblem] = error.problems if isinstance(error, InvalidFields) else ()
    if isinstance(error, InvalidFilter):
        message = error.message_with(lambda name: str(name.label))
        hint = error.hint_with(lambda name: str(name.label))
        fields = [FieldProblem(name.value, None, str(message)) for name in error.names]
    text = "" if hint is None else str(hint)
    return {
        "message": str(message),
        "hint": str(_ASK) if _OPTION.search(text) else text,
        "in_grid": isinstance(error, ErrorsInGrid),
        "fields": list(map(asdict, fields)),
    }


def table_json(table: Table) -> dict[str, Any]:
    """Return a table of a report for the page: cells of the values of each line, or its sentence as
    one cell, and its picture."""
    picture = table.picture
    return {
        "title": str(table.title or table.sheet),
        "section": str(table.sheet),
        "picture": None if picture is None else _drawing_json(picture),
        "headings": [
            {"title": str(heading.title), "numeric": table.is_numeric(number)}
            for number, heading in enumerate(table.headings)
        ],
        "lines": [
            {
                "cells": ["" if value is None else value_text(value) for value in line.values]
                or [str(line.text).strip()],
                "below": [str(text).strip() for text in line.below],
                "tone": line.tone.value,
            }
            for line in table.lines
        ],
    }


def _drawing_json(element: Element) -> list[Any]:
    """Return an element of SVG as its name, attributes, text and the elements in it."""
    return [element.tag, element.attrib, element.text or "", list(map(_drawing_json, element))]


class MalformedRequest(XlbridgeError):
    """A request is not one that the page's scripts send."""

    def __init__(self, reason: str) -> None:
        text = Text(
            pt="A página enviou algo que não se entende: {reason}. Recarregue-a.",
            en="The page sent something that cannot be understood: {reason}. Reload it.",
        )
        super().__init__(text.format(reason=reason))


def get_route(path: str, answer: Answer, *, of_sheet: bool = False, **fields: Any) -> Route:
    """Return the route of a request without side effects, with the ``fields`` of its query.

    Fields have types that ``msgspec.convert`` knows; those that may be None may be missing. The
    answer gets their values, and before them ``of_sheet`` the id of the sheet that the page shows.
    It is a response or a document to be sent as JSON, and built in a thread; only a coroutine gets
    the request itself instead.
    """

    async def checked(request: Request) -> Response:
        values = _typed(request.query_params, fields)
        return await _respond(request, answer, values, of_sheet=of_sheet)

    return Route(path, _report_errors(checked))


def read_object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file, an empty one if there is none."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def post_route(
    path: str,
    answer: Answer,
    *,
    items: bool = False,
    of_sheet: bool = False,
    start: Callable[[Callable[[], None]], Response] | None = None,
    **fields: Any,
) -> Route:
    """Return the route of a request with side effects, with the ``fields`` of its JSON object.

    With ``items`` it sends a list of such objects. What is returned to ``start`` is work to be done
    in the background. All else as for ``get_route``.
    """

    async def checked(request: Request) -> Response:
        values: dict[str, Any] = {}
        if fields:
            try:
                body = await request.json()
            except ValueError as error:
                raise MalformedRequest("JSON") from error
            if isinstance(body, list) is not items:
                raise MalformedRequest("JSON")
            for one in body if items else [body]:
                values = _typed(one, fields)
        return await _respond(request, answer, values, of_sheet=of_sheet, start=start)

    return Route(path, _report_errors(checked), methods=["POST"])


def in_background(work: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """Return the answer to a request that starts work with its fields."""
    return partial(partial, work)


async def _respond(
    request: Request,
    answer: Answer,
    values: Mapping[str, Any],
    *,
    of_sheet: bool,
    start: Callable[[Callable[[], None]], Response] | None = None,
) -> Response:
    if iscoroutinefunction(answer):
        response: Response = await answer(request)
        return response
    shown = [shown_sheet_id(request)] if of_sheet else []
    found = await run_in_threadpool(partial(answer, *shown, **values))
    if start is not None:
        return start(found)
    return found if isinstance(found, Response) else JSONResponse(found)


def _typed(values: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields, of their types. Raises ``MalformedRequest``."""
    import msgspec

    if not isinstance(values, Mapping):
        raise MalformedRequest("JSON")
    typed = {}
    for name, kind in fields.items():
        try:
            typed[name] = msgspec.convert(values.get(name), kind, strict=False, str_keys=True)
        except msgspec.ValidationError as error:
            raise MalformedRequest(name) from error
    return typed


def _report_errors(answer: Callable[[Request], Awaitable[Response]]) -> Answer:
    async def wrapper(request: Request) -> Response:
        try:
            return await answer(request)
        except MalformedRequest as error:
            return JSONResponse({"error": error_json(error)}, HTTPStatus.BAD_REQUEST)
        except XlbridgeError as error:
            return JSONResponse({"error": error_json(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)

    return wrapper


def shown_sheet_id(request: Request) -> str | None:
    """Return the id of the sheet that the page shows, which it sends with requests about it."""
    return request.headers.get("x-sheet")


async def json_response(build: Callable[[], object]) -> Response:
    """Return a document as JSON, built in a thread."""
    return JSONResponse(await run_in_threadpool(build))


def download(path: Path | str | None, media_type: str = _XLSX) -> Response:
    """Return a file to save. Raises ``UsageError`` if it does not exist."""
    if path is None or not Path(path).exists():
        raise UsageError(_NO_FILE)
    return FileResponse(path, media_type=media_type, filename=Path(path).name)
