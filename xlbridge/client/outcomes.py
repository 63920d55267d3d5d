"""Outcomes of requests: every reply is classified here, and nowhere else.

Source: the spec, Response envelope and Errors.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import httpx
from pydantic import ValidationError

from xlbridge.client.listings.stream import UnexpectedContent, refuse_constant
from xlbridge.client.transport import NoAnswer, Reply, retry_after
from xlbridge.errors import ApiError, ErrorDetail, InDoubt, RemoteRejected, TransportError
from xlbridge.i18n import Text
from xlbridge.wire import Envelope

_MIN_SECRET_LENGTH = 4
"""A shorter secret is left alone: masking every "a" would hide the message, not the secret."""

_MASK = "•••"


class SecretRedactor:
    """The password and tokens of one client; no part of xlbridge shows a text that holds one."""

    def __init__(self, *secrets: str) -> None:
        self._known = set(secrets)

    def add(self, secret: str) -> None:
        """Hide ``secret`` from now on."""
        self._known.add(secret)

    def redact(self, text: str) -> str:
        """Return ``text`` with every known secret masked."""
        for secret in sorted(self._known, key=len, reverse=True):
            if len(secret) >= _MIN_SECRET_LENGTH:
                text = text.replace(secret, _MASK)
        return text


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """The request was certainly not applied.

    ``retry_after`` is the number of seconds that the remote system asked to wait, where it did.
    ``permanent`` says that repeating the request now cannot help: the credentials or the token
    were refused, the login has used up its own tries, the certificate is not trusted, the request
    is too large, or the address redirects.
    """

    reason: Text
    retry_after: float | None = None
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """The remote system rejected the request.

    ``details`` are the items of the error envelope, one with an empty key where the answer was
    a bare message. Source: the spec, Errors.
    """

    status: int
    details: tuple[ErrorDetail, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """The request was applied; ``data`` has the type that the operation declares."""

    data: Any


@dataclass(frozen=True, slots=True)
class Doubtful:
    """The answer does not tell whether the request was applied.

    ``retry_after`` is the number of seconds that the remote system asked to wait, where it did.
    """

    reason: Text
    retry_after: float | None = None


Outcome = NotExecuted | Rejected | Executed | Doubtful

CHECK_ADDRESS = Text(
    pt="Confira o endereço do sistema (XLBRIDGE_BASE_URL), a rede e o proxy: xlbridge doctor",
    en="Check the system's address (XLBRIDGE_BASE_URL), the network and the proxy: xlbridge doctor",
)


def data_or_raise(outcome: Outcome, *, retryable: bool, answered: bool = True) -> Any:
    """Return the data of an executed request, or raise the error of its outcome.

    A doubtful outcome of a retryable request is no ``InDoubt``: the request can be made again.
    ``answered`` says that a reply came.

    Raises ``RemoteRejected``, ``TransportError`` and ``InDoubt``.
    """
    match outcome:
        case Executed(data):
            return data
        case Rejected(status, details):
            messages = [detail.value for detail in details if detail.value]
            raise RemoteRejected(
                _rejection_message(status, messages), status=status, details=details
            )
        case NotExecuted(reason):
            raise TransportError(reason, None if answered else CHECK_ADDRESS)
        case Doubtful(reason):
            raise lost_answer_error(reason, doubtful=not retryable)


def lost_answer_error(reason: Text, *, doubtful: bool) -> ApiError:
    """Return the error for a request without a clear answer; ``doubtful`` where it may write."""
    if not doubtful:
        return TransportError(reason, CHECK_ADDRESS)
    return InDoubt(
        reason,
        Text(
            pt="O pedido pode ter sido aplicado ou não: confira no sistema antes de repetir.",
            en="The request may or may not have been applied: look in the system before "
            "repeating it.",
        ),
    )


def _rejection_message(status: int, messages: list[str]) -> Text:
    if not messages:
        return Text(
            pt="O sistema recusou (status {status}), sem dizer por quê.",
            en="The system refused (status {status}), without saying why.",
        ).format(status=status)
    return Text(
        pt="O sistema recusou (status {status}): {messages}",
        en="The system refused (status {status}): {messages}",
    ).format(status=status, messages="; ".join(messages))


ReadData = Callable[[Any], Any]
"""Turns an envelope's ``data`` into what the caller asked for; ``ValueError`` where it cannot."""

_EXCERPT_LENGTH = 80
_MAX_REDACTED_LENGTH = 10_000
_BARE_MESSAGE_STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_NOT_EXECUTED_REDIRECTS = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


def classify_envelope(envelope: Envelope, read_data: ReadData, redactor: SecretRedactor) -> Outcome:
    """Return the class that a successful reply falls into by its envelope."""
    if envelope.is_failure:
        return Rejected(HTTPStatus.OK, _error_details(envelope, redactor))
    try:
        return Executed(read_data(envelope.data))
    except ValueError as error:
        return Doubtful(_mismatch_message(error))


def classify_reply(reply: Reply, read_data: ReadData, redactor: SecretRedactor) -> Outcome:
    """Return the class that a reply falls into.

    A 307 or 308 asks for the same request at another address, so it was not executed here; any
    other redirect may be the answer to a request that was, and stays in doubt.
    """
    if isinstance(reply, NoAnswer):
        if reply.may_be_executed:
            return Doubtful(reply.reason)
        return NotExecuted(reply.reason, permanent=reply.permanent)
    if reply.is_success:
        return _classify_success(reply, read_data, redactor)
    if reply.is_client_error:
        return _classify_client_error(reply, redactor)
    if reply.status_code in _NOT_EXECUTED_REDIRECTS:
        return NotExecuted(_redirect_message(reply), permanent=True)
    if reply.has_redirect_location:
        return Doubtful(_redirect_message(reply))
    return Doubtful(describe_reply(reply, redactor), retry_after(reply))


def parse_json(reply: httpx.Response) -> Any:
    """Parse a body with every decimal number exact. Raises ``ValueError``."""
    try:
        return json.loads(reply.content, parse_float=Decimal, parse_constant=refuse_constant)
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


def describe_reply(
    reply: httpx.Response, redactor: SecretRedactor, text: str | None = None
) -> Text:
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
        words=_excerpt(reply.text if text is None else text, redactor),
    )


def _classify_success(
    reply: httpx.Response, read_data: ReadData, redactor: SecretRedactor
) -> Outcome:
    envelope = _envelope(reply)
    if envelope is None:
        return Doubtful(describe_reply(reply, redactor))
    return classify_envelope(envelope, read_data, redactor)


def _classify_client_error(reply: httpx.Response, redactor: SecretRedactor) -> Outcome:
    if reply.status_code == HTTPStatus.UNAUTHORIZED:
        return NotExecuted(TOKEN_REFUSED, permanent=True)
    if reply.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return NotExecuted(
            Text(
                pt="O sistema recusou o envio por ser grande demais (413).",
                en="The system refused the request because it is too large (413).",
            ),
            permanent=True,
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
    if envelope is not None and envelope.is_failure:
        return Rejected(reply.status_code, _error_details(envelope, redactor))
    message = _bare_message(reply)
    if message is not None:
        return Rejected(reply.status_code, (ErrorDetail("", redactor.redact(message)),))
    return Doubtful(describe_reply(reply, redactor))


TOKEN_REFUSED = Text(
    pt="O sistema não aceitou o token, nem depois de um novo login (401).",
    en="The system did not accept the token, not even after a new login (401).",
)


def _envelope(reply: httpx.Response) -> Envelope | None:
    try:
        return Envelope.model_validate(parse_json(reply))
    except ValueError:
        return None


def _error_details(envelope: Envelope, redactor: SecretRedactor) -> tuple[ErrorDetail, ...]:
    return tuple(
        ErrorDetail(_printable(item.key), redactor.redact(_printable(item.value)))
        for item in envelope.error_items
    )


def _bare_message(reply: httpx.Response) -> str | None:
    """Return the bare message of a refusal: a JSON string, or plain text. The spec, Errors."""
    if reply.status_code not in _BARE_MESSAGE_STATUSES:
        return None
    try:
        document = parse_json(reply)
    except ValueError:
        plain = reply.headers.get("Content-Type", "").startswith("text/plain")
        document = reply.text if plain else None
    return _printable(document) if isinstance(document, str) and document.strip() else None


def _redirect_message(reply: httpx.Response) -> Text:
    location = reply.request.url.join(reply.headers.get("Location", ""))
    return Text(
        pt="O endereço redireciona para {origin} (status {status}); redirecionamentos não são "
        "seguidos. Configure o endereço final.",
        en="The address redirects to {origin} (status {status}); redirects are not followed. "
        "Configure the final address.",
    ).format(
        origin=f"{location.scheme}://{location.netloc.decode('ascii')}", status=reply.status_code
    )


def _mismatch_message(error: ValueError) -> Text:
    if isinstance(error, UnexpectedContent):
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


def _excerpt(text: str, redactor: SecretRedactor) -> str:
    # The whole text is redacted before it is cut: half a secret is still a secret.
    words = " ".join(_printable(redactor.redact(text)[:_MAX_REDACTED_LENGTH]).split())
    return words if len(words) <= _EXCERPT_LENGTH else words[:_EXCERPT_LENGTH] + "…"


def _printable(text: str) -> str:
    """Drop what could drive a terminal: the text is the remote system's, not ours."""
    return "".join(char if char.isprintable() else " " for char in text)
