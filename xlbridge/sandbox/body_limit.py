"""A bound on how much of a request's body is read."""

from starlette.types import Message, Receive

from xlbridge.sandbox.answers import RequestError


def limited(receive: Receive, limit: int) -> Receive:
    """Return a ``receive`` that ends with ``RequestError`` (413) beyond ``limit`` bytes."""
    taken = 0

    async def receive_within() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise RequestError(413, [("", "O conteúdo enviado é maior que o permitido.")])
        return message

    return receive_within
