"""A bound on how much of a request's body is read."""

from starlette.requests import Request
from starlette.types import Message, Receive, Scope

from xlbridge.sandbox.answers import RequestError


def bounded_request(scope: Scope, receive: Receive, limit: int) -> Request:
    """Return a request whose body is read up to ``limit`` bytes.

    Reading more raises ``RequestError`` (413), when the length is declared before the first byte.
    No byte beyond the limit is kept.
    """
    declared = Request(scope).headers.get("Content-Length", "0")
    taken = 0

    async def receive_within() -> Message:
        nonlocal taken
        _check(int(declared), limit)
        message = await receive()
        taken += len(message.get("body", b""))
        _check(taken, limit)
        return message

    return Request(scope, receive_within)


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise RequestError(413, [("", "O conteúdo enviado é maior que o permitido.")])
