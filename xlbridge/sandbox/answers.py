"""What the sandbox answers: the envelope around data, and the envelope of errors.

Source: the spec, Response envelope and Errors. The messages are Portuguese, as the remote
system's are.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from starlette.responses import Response

from xlbridge.wire.envelope import Envelope, ErrorItem
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

JSON_TYPE = "application/json"

Problem = tuple[str, str]
"""The field concerned, and what is wrong with it."""


class RequestError(Exception):
    """A request that is answered with an error: the HTTP status, and what is wrong."""

    def __init__(self, status: int, problems: Sequence[Problem]) -> None:
        super().__init__(status, *problems)
        self.status = status
        self.problems = tuple(problems)


class InvalidParameterError(Exception):
    """A read whose parameter cannot be read: answered with a bare message string."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"Parâmetro inválido: {name}"


def invalid(*problems: Problem) -> RequestError:
    """Return the error for a request that breaks a rule (400)."""
    return RequestError(400, problems)


def not_found(key: str, message: str) -> RequestError:
    """Return the error for something in the path or query that does not exist (404)."""
    return RequestError(404, [(key, message)])


def success(operation: Operation, data: Any) -> Response:
    """Answer with an operation's data, in the envelope where the operation has one."""
    content = _adapter(operation.name).dump_json(data, exclude_none=not operation.enveloped)
    if operation.enveloped:
        content = b'{"success":true,"data":' + content + b"}"
    return Response(content, media_type=JSON_TYPE)


def failure(
    status: int, problems: Sequence[Problem], headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with the error envelope."""
    now = datetime.now().replace(microsecond=0)
    items = [ErrorItem(key=key, value=value, dateOccurred=now) for key, value in problems]
    content = Envelope(success=False, errors=items).model_dump_json(exclude_none=True)
    return Response(content, status_code=status, headers=headers, media_type=JSON_TYPE)


def unknown_method(allowed: Iterable[str]) -> Response:
    """Answer 405 to a method that the path does not have, naming those that it has."""
    headers = {"Allow": ", ".join(sorted(allowed))}
    return failure(405, [("", "Método não permitido.")], headers)


def bare_message(error: InvalidParameterError) -> Response:
    """Answer 400 with nothing but a message.

    Source: the spec, Errors ("for some reads with an invalid parameter the body shown is a bare
    message string").
    """
    content = json.dumps(error.message, ensure_ascii=False)
    return Response(content, status_code=400, media_type=JSON_TYPE)


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(OPERATIONS[name].data)
