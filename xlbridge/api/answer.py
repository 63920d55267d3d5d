"""What a reply means: the one place where replies are told apart.

Source: the spec, Response envelope and Errors.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import httpx
from pydantic import ValidationError

from xlbridge.api.backoff import retry_after
from xlbridge.api.outcome import Doubtful, Executed, NotExecuted, Outcome, Rejected
from xlbridge.api.redaction import Secrets
from xlbridge.api.transport import NoAnswer, Reply
from xlbridge.api.unreadable import Unreadable
from xlbridge.errors import Complaint
from xlbridge.i18n import Text
from xlbridge.wire.envelope import Envelope

ReadData = Callable[[Any], Any]
"""Turns an envelope's ``data`` into what the caller asked for; ``ValueError`` where it cannot."""

_FIRST_WORDS = 80
_LOOKED_AT = 10_000
_BARE_MESSAGE = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_SENT_ELSEWHERE = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


def judge_envelope(envelope: Envelope, read_data: ReadData, secrets: Secrets) -> Outcome:
    """Return the class that a successful reply falls into by its envelope."""
    if envelope.refused:
        return Rejected(HTTPStatus.OK, _complaints(envelope, secrets))
    try:
        return Executed(read_data(envelope.data))
    except ValueError as error:
        return Doubtful(_misfit(error))


def judge(reply: Reply, read_data: ReadData, secrets: Secrets) -> Outcome:
    """Return the class that a reply falls into.

    A 307 or 308 asks for the same request at another address, so it was not executed here; any
    other redirect may be the answer to a request that was, and stays in doubt.
    """
    if isinstance(reply, NoAnswer):
        return Doubtful(reply.reason) if reply.begun else NotExecuted(reply.reason)
    if reply.is_success:
        return _judge_success(reply, read_data, secrets)
    if reply.is_client_error:
        return _judge_refusal(reply, secrets)
    if reply.status_code in _SENT_ELSEWHERE:
        return NotExecuted(_redirected(reply))
    return Doubtful(_redirected(reply) if reply.has_redirect_location else describe(reply, secrets))


def parse_json(reply: httpx.Response) -> Any:
    """Parse a body with every decimal number exact. Raises ``ValueError``."""
    try:
        return json.loads(reply.content, parse_float=Decimal, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_json_or_empty(reply: httpx.Response) -> bool:
    """Say whether a body is a JSON document, or nothing at all."""
    try:
        if reply.content:
            parse_json(reply)
    except ValueError:
        return False
    return True


def content_type(reply: httpx.Response) -> str:
    """Return what a reply says it is."""
    return _printable(reply.headers.get("Content-Type", "?"))


def describe(reply: httpx.Response, secrets: Secrets, text: str | None = None) -> Text:
    """Say what came: status, content type and the first words, without secrets.

    ``text`` is the beginning of a body that is not read whole.
    """
    return Text(
        pt="Veio uma resposta fora do combinado: status {status}, {kind}, “{words}”.",
        en="An answer came that the interface does not document: status {status}, {kind}, "
        "“{words}”.",
    ).format(
        status=reply.status_code,
        kind=content_type(reply),
        words=_first_words(reply.text if text is None else text, secrets),
    )


def _judge_success(reply: httpx.Response, read_data: ReadData, secrets: Secrets) -> Outcome:
    envelope = _envelope(reply)
    if envelope is None:
        return Doubtful(describe(reply, secrets))
    return judge_envelope(envelope, read_data, secrets)


def _judge_refusal(reply: httpx.Response, secrets: Secrets) -> Outcome:
    if reply.status_code == HTTPStatus.UNAUTHORIZED:
        return NotExecuted(NOT_ACCEPTED)
    if reply.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return NotExecuted(
            Text(
                pt="O sistema recusou o envio por ser grande demais (413).",
                en="The system refused the request because it is too large (413).",
            )
        )
    if reply.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        return NotExecuted(
            Text(
                pt="O sistema pede para esperar: chamadas demais (429).",
                en="The system asks to wait: too many calls (429).",
            ),
            retry_after(reply),
        )
    envelope = _envelope(reply)
    if envelope is not None and envelope.refused:
        return Rejected(reply.status_code, _complaints(envelope, secrets))
    message = _bare_message(reply)
    if message is not None:
        return Rejected(reply.status_code, (Complaint("", secrets.hide(message)),))
    return Doubtful(describe(reply, secrets))


NOT_ACCEPTED = Text(
    pt="O sistema não aceitou o token, nem depois de um novo login (401).",
    en="The system did not accept the token, not even after a new login (401).",
)


def _envelope(reply: httpx.Response) -> Envelope | None:
    try:
        return Envelope.model_validate(parse_json(reply))
    except ValueError:
        return None


def _complaints(envelope: Envelope, secrets: Secrets) -> tuple[Complaint, ...]:
    return tuple(
        Complaint(_printable(item.key), secrets.hide(_printable(item.value)))
        for item in envelope.complaints
    )


def _bare_message(reply: httpx.Response) -> str | None:
    """Return the bare message of a refusal: a JSON string, or plain text. The spec, Errors."""
    if reply.status_code not in _BARE_MESSAGE:
        return None
    try:
        document = parse_json(reply)
    except ValueError:
        plain = reply.headers.get("Content-Type", "").startswith("text/plain")
        document = reply.text if plain else None
    return _printable(document) if isinstance(document, str) and document.strip() else None


def _redirected(reply: httpx.Response) -> Text:
    location = reply.request.url.join(reply.headers.get("Location", ""))
    return Text(
        pt="O endereço redireciona para {origin} (status {status}); redirecionamentos não são "
        "seguidos. Configure o endereço final.",
        en="The address redirects to {origin} (status {status}); redirects are not followed. "
        "Configure the final address.",
    ).format(
        origin=f"{location.scheme}://{location.netloc.decode('ascii')}", status=reply.status_code
    )


def _misfit(error: ValueError) -> Text:
    if isinstance(error, Unreadable):
        return error.reason
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        detail = f"data.{place}: {first['msg']}" if place else f"data: {first['msg']}"
    else:
        detail = type(error).__name__
    return Text(
        pt="A resposta não tem a forma documentada ({detail}).",
        en="The answer does not have the documented shape ({detail}).",
    ).format(detail=detail)


def _first_words(text: str, secrets: Secrets) -> str:
    # The whole text is redacted before it is cut: half a secret is still a secret.
    words = " ".join(_printable(secrets.hide(text)[:_LOOKED_AT]).split())
    return words if len(words) <= _FIRST_WORDS else words[:_FIRST_WORDS] + "…"


def _printable(text: str) -> str:
    """Drop what could drive a terminal: the text is the remote system's, not ours."""
    return "".join(char if char.isprintable() else " " for char in text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)
