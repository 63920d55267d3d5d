"""Outcomes of requests: every reply is classified here, and nowhere else.

Source: the spec, Response envelope and Errors.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, get_origin

import httpx
from pydantic import TypeAdapter, ValidationError

from xlbridge.client.listings.stream import UnexpectedContent, exact_decoder, has_short_wholes
from xlbridge.client.transport import NoAnswer, Reply, retry_after
from xlbridge.errors import ApiError, ErrorDetail, InDoubt, RemoteRejected, TransportError
from xlbridge.i18n import Text
from xlbridge.wire import Envelope, Operation, WireModel, spellings
from xlbridge.wire.model import notifications_in

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

    ``permanent`` says that repeating the request now cannot help: the credentials or the token
    were refused, the login has used up its own tries, or the certificate is not trusted.
    ``answered`` says that the remote system did answer something.
    """

    reason: Text
    permanent: bool = False
    answered: bool = False


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

    ``retry_after`` is the number of seconds that the remote system asked to wait, where it did;
    ``answered`` says that any answer came.
    """

    reason: Text
    retry_after: float | None = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Declined(Doubtful):
    """The answer puts the request off (401 with a token that is refused elsewhere too, 429).

    A gateway may say so after the commit: it proves nothing until the records are read back as they
    were. ``trusted`` says that the request may be sent again without that where no key allows it.
    """

    status: int = HTTPStatus.TOO_MANY_REQUESTS
    trusted: bool = False


Outcome = NotExecuted | Rejected | Executed | Doubtful

CHECK_ADDRESS = Text(
    pt="Confira o endereço do sistema (XLBRIDGE_BASE_URL), a rede e o proxy: xlbridge doctor",
    en="Check the system's address (XLBRIDGE_BASE_URL), the network and the proxy: xlbridge doctor",
)

LOOK_BEFORE_REPEATING = Text(
    pt="A requisição pode ter sido aplicada ou não: confira no sistema antes de repetir.",
    en="The request may or may not have been applied: look in the system before repeating it.",
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
    return InDoubt(reason, LOOK_BEFORE_REPEATING)


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
_NEVER_REJECTED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses of 4xx that prove nothing, whatever the body says."""


def classify_envelope(
    envelope: Envelope,
    read_data: ReadData,
    redactor: SecretRedactor,
    *,
    status: int = HTTPStatus.OK,
    refuses_in_data: bool = False,
) -> Outcome | None:
    """Return the class of an envelope; None for a failure that does not say what failed.

    ``refuses_in_data`` is the operation's.
    """
    refused = envelope.error_items
    if envelope.success:
        refused = notifications_in(envelope.data) if refuses_in_data else []
    elif not envelope.has_errors:
        return None
    if refused or not envelope.success:
        return Rejected(
            status,
            tuple(
                ErrorDetail(_printable(item.key), redactor.redact(_printable(item.value)))
                for item in refused
            ),
        )
    try:
        return Executed(read_data(envelope.data))
    except ValueError as error:
        return Doubtful(_mismatch_message(error))


def classify_reply(
    reply: Reply,
    read_data: ReadData,
    redactor: SecretRedactor,
    *,
    refuses_in_data: bool = False,
) -> Outcome:
    """Return the class that a reply falls into.

    Only the spec's own success and its own refusals prove anything: a gateway may answer with any
    status, before the commit or after it. Source: the upload protocol, What an answer means.
    """
    if isinstance(reply, NoAnswer):
        if reply.may_be_executed:
            return Doubtful(reply.reason, answered=False)
        return NotExecuted(reply.reason, permanent=reply.permanent)
    outcome: Outcome | None = None
    if reply.is_success:
        envelope = _envelope(reply)
        if envelope is not None:
            outcome = classify_envelope(
                envelope, read_data, redactor, refuses_in_data=refuses_in_data
            )
    elif reply.is_client_error and reply.status_code not in _NEVER_REJECTED:
        outcome = _classify_refusal(reply, redactor)
    return outcome or Doubtful(_unproven_message(reply, redactor), retry_after(reply))


def _classify_refusal(reply: httpx.Response, redactor: SecretRedactor) -> Outcome | None:
    envelope = _envelope(reply)
    if envelope is not None and not envelope.success:
        return classify_envelope(envelope, lambda data: data, redactor, status=reply.status_code)
    message = _bare_message(reply)
    if message is None:
        return None
    return Rejected(reply.status_code, (ErrorDetail("", redactor.redact(message)),))


def _unproven_message(reply: httpx.Response, redactor: SecretRedactor) -> Text:
    if reply.has_redirect_location:
        return _redirect_message(reply)
    known = _STATUS_MESSAGES.get(reply.status_code)
    return describe_reply(reply, redactor) if known is None else known


def parse_json(reply: httpx.Response) -> Any:
    """Parse a body with every decimal number exact. Raises ``ValueError``."""
    try:
        text = reply.content.decode(json.detect_encoding(reply.content))
        return exact_decoder(short_wholes=has_short_wholes(text)).decode(text)
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


def tells_failure(reply: httpx.Response) -> bool:
    """Say whether a body is an envelope that tells a failure."""
    envelope = _envelope(reply)
    return envelope is not None and not envelope.success


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
        pt="Veio uma resposta que a interface não documenta: status {status}, {kind}, “{words}”.",
        en="An answer came that the interface does not document: status {status}, {kind}, "
        "“{words}”.",
    ).format(
        status=reply.status_code,
        kind=content_type(reply),
        words=_excerpt(reply.text if text is None else text, redactor),
    )


TOKEN_REFUSED = Text(
    pt="O sistema não aceitou o token, nem depois de um novo login (401).",
    en="The system did not accept the token, not even after a new login (401).",
)
"""Said of a request that was repeated with a new token."""

TOKEN_EXPIRED = Text(pt="O token não vale mais (401).", en="The token is no longer valid (401).")

BUSY = Text(
    pt="O sistema pede para esperar: chamadas demais (429).",
    en="The system asks to wait: too many calls (429).",
)

_STATUS_MESSAGES: Mapping[int, Text] = {
    HTTPStatus.UNAUTHORIZED: Text(
        pt="O sistema respondeu que o token não vale (401).",
        en="The system answered that the token is not valid (401).",
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Text(
        pt="O sistema respondeu que a requisição é grande demais (413).",
        en="The system answered that the request is too large (413).",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: BUSY,
}


def _envelope(reply: httpx.Response) -> Envelope | None:
    try:
        return Envelope.model_validate(parse_json(reply))
    except ValueError:
        return None


def _bare_message(reply: httpx.Response) -> str | None:
    """Return the bare message of a refusal, a JSON string. Source: the spec, Errors.

    Plain text is what gateways write, and is none.
    """
    if reply.status_code not in _BARE_MESSAGE_STATUSES or "json" not in content_type(reply):
        return None
    try:
        document = parse_json(reply)
    except ValueError:
        return None
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


def data_reader(operation: Operation) -> Callable[[Any], Any]:
    """Return what reads an operation's ``data``; it raises ``ValueError`` where it cannot.

    What is read by a GET must have the types of the interface. The answer to a write is read as
    far as it goes: that the request was applied does not depend on what the answer says besides.
    """
    annotation = operation.data
    validate = _adapter(annotation).validate_python
    reads, lists = operation.method == "GET", get_origin(annotation) is list
    if lists:
        return lambda data: _read_list(validate, data, strict=reads)
    if reads or not (isinstance(annotation, type) and issubclass(annotation, WireModel)):
        return validate
    return lambda data: _read_as_far_as_it_goes(annotation, data)


def _read_list(validate: Callable[[Any], Any], data: Any, *, strict: bool) -> Any:
    """Read records; null is none, and so is what does not fit where that is not ``strict``."""
    try:
        return validate([] if data is None else data)
    except ValidationError:
        if strict:
            raise
        return []


def _read_as_far_as_it_goes(model: type[WireModel], data: Any) -> WireModel:
    """Read a record from whatever came; what does not fit the model is left out.

    Raises ``ValueError`` where the interface promises what is missing then.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        if isinstance(data, list) and len(data) == 1:
            return _read_as_far_as_it_goes(model, data[0])
        if not isinstance(data, Mapping):
            return model.model_validate({})
        names = spellings(model)
        bad = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        fitting = {name: v for name, v in data.items() if names.get(name, name) not in bad}
        return model.model_validate(fitting)


@cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)
