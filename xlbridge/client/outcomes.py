"""Outcomes of requests: the one place that classifies replies.

Source: the spec, Response envelope and Errors.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from http import HTTPStatus
from itertools import chain
from typing import Any, get_origin

import httpx
from pydantic import TypeAdapter, ValidationError

from xlbridge.client.listing_stream import UnexpectedContent, decode_json
from xlbridge.client.transport import NoAnswer, Reply, retry_after
from xlbridge.errors import ApiError, ErrorDetail, InDoubt, RemoteRejected, TransportError
from xlbridge.i18n import Text, untranslated
from xlbridge.wire import Envelope, Operation, WireModel, spellings
from xlbridge.wire.imports import NO_QUIRKS, Quirks

_MIN_SECRET_LENGTH = 4
"""Minimum length to mask: masking every "a" would hide the message, not the secret."""

_MASK = "•••"


class SecretRedactor:
    """Masks the password and tokens of one client in all texts that xlbridge shows."""

    def __init__(self, *secrets: str) -> None:
        self._known = set(secrets)

    def add(self, secret: str) -> None:
        """Mask ``secret`` from now on."""
        self._known.add(secret)

    def redact(self, text: str) -> str:
        """Return ``text`` with every known secret masked, however JSON spells it."""
        for secret in sorted(self._known, key=len, reverse=True):
            if len(secret) >= _MIN_SECRET_LENGTH:
                text = _spellings(secret).sub(_MASK, text)
        return text


@lru_cache(maxsize=64)
def _spellings(secret: str) -> re.Pattern[str]:
    """Return the pattern of a text as it is, and with any of its characters escaped as in JSON."""
    return re.compile("".join(map(_spellings_of_character, secret)))


def _spellings_of_character(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    coded = "".join(rf"\\u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    short = json.dumps(character)[1:-1] if character != "/" else r"\/"
    return f"(?:{re.escape(character)}|{coded}|{re.escape(short)})"


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """The request was certainly not applied.

    ``permanent``: repeating the request now cannot help, as the credentials or the token were
    refused, the login has used up its retries, or the certificate is not trusted. ``answered``: the
    remote system did answer.
    """

    reason: Text
    permanent: bool = False
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """The remote system rejected the request.

    ``details`` are the items of the error envelope, or one with an empty key if the answer was a
    bare message. Source: the spec, Errors.
    """

    status: int
    details: tuple[ErrorDetail, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """The request was applied; ``data`` has the type that the operation declares."""

    data: Any


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Outcome of a request of which nobody knows whether it was applied.

    ``retry_after`` is the number of seconds that the remote system asks to wait, if it does;
    ``answered``: there was an answer. ``refusal``: it was a text in no documented form, with a
    status of the interface's refusals; it is the reason if the record proves not to be written.
    ``executed``: the answer reports success, and its data cannot be read.
    """

    reason: Text
    retry_after: float | None = None
    answered: bool = True
    refusal: bool = False
    executed: bool = False


@dataclass(frozen=True, slots=True)
class Declined(Doubtful):
    """The answer declines the request (429, or 401 with a token that is refused elsewhere too).

    A gateway may answer so before, during or after the commit: this proves nothing until the
    records have been read back unchanged, once the request can no longer arrive. ``trusted``: the
    profile says that nothing was written, so that records may be sent again without that proof.
    """

    status: int = HTTPStatus.TOO_MANY_REQUESTS
    trusted: bool = False


Outcome = NotExecuted | Rejected | Executed | Doubtful

TRY_LATER = Text(
    pt="Tente de novo mais tarde; xlbridge doctor mostra o que responde.",
    en="Try again later; xlbridge doctor shows what answers.",
    page=Text(
        pt="Tente de novo mais tarde; “Testar o acesso”, em Ambientes, mostra se o sistema "
        "responde.",
        en="Try again later; “Test the login”, under Environments, shows whether the system "
        "answers.",
    ),
)
_CHECK_REQUEST = Text(
    pt="Confira o que a mensagem aponta, e no sistema as permissões do usuário.",
    en="Check what the message points to, and the user's permissions in the system.",
)
LOOK_BEFORE_REPEATING = Text(
    pt="A operação pode ter sido gravada ou não: confira no sistema antes de repetir.",
    en="The request may or may not have been applied: check the system before repeating it.",
)


def data_or_raise(
    outcome: Outcome, address_hint: Text, *, retryable: bool, answered: bool = True
) -> Any:
    """Return the data of an executed request, or raise the error for its outcome.

    Raises ``RemoteRejected``, ``TransportError``, and ``InDoubt`` for a doubtful outcome of a
    request that is not ``retryable``. ``answered``: there was a reply.
    """
    match outcome:
        case Executed(data):
            return data
        case Rejected(status, details):
            messages = "; ".join(detail.value for detail in details if detail.value)
            message = Text(
                pt="Rejeitado pelo sistema (status {status}): {messages}",
                en="Rejected by the system (status {status}): {messages}",
            )
            if not messages:
                message = Text(
                    pt="Rejeitado pelo sistema (status {status}), sem informar o motivo.",
                    en="Rejected by the system (status {status}) without a reason.",
                )
            raise RemoteRejected(
                message.format(status=status, messages=messages),
                status=status,
                details=details,
                hint=_CHECK_REQUEST,
            )
        case NotExecuted(reason):
            raise TransportError(reason, TRY_LATER if answered else address_hint)
        case Doubtful(reason):
            raise lost_answer_error(reason, address_hint, doubtful=not retryable)


def lost_answer_error(reason: Text, address_hint: Text, *, doubtful: bool) -> ApiError:
    """Return the error for a request without a clear answer, which is ``doubtful`` or not."""
    if not doubtful:
        return TransportError(reason, address_hint)
    return InDoubt(reason, LOOK_BEFORE_REPEATING)


ReadData = Callable[[Any], Any]
"""Converts an envelope's ``data`` to the caller's type, or raises ``ValueError``."""

_EXCERPT_LENGTH = 80
_REFUSAL_LENGTH = 500
_WORDLESS = Text(
    pt="O sistema rejeitou o envio sem informar o motivo (status {status}).",
    en="The system rejected the request without a reason (status {status}).",
)
_MESSAGE_NAMES = ("message", "mensagem", "detail", "title", "error", "erro", "data")
"""Names, in lower case, of the message of an object that is no envelope with errors."""

_MAX_REDACTED_LENGTH = 10_000
_BARE_MESSAGE_STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)
_NEVER_REJECTED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS)
"""4xx statuses that prove nothing, whatever the body."""


def classify_envelope(
    envelope: Envelope,
    read_data: ReadData,
    redactor: SecretRedactor,
    *,
    status: int = HTTPStatus.OK,
    refuses_in_data: bool | None = None,
    quirks: Quirks = NO_QUIRKS,
) -> Outcome | None:
    """Return the outcome reported by an envelope; None if it proves nothing.

    That is a success with the signs of a failure, and a failure without a reason; the latter is
    enough for a read if it has a list of errors, even an empty one. ``refuses_in_data`` is the
    operation's, None for a read.
    """
    reads = refuses_in_data is None
    if envelope.success:
        errors = envelope.refusals(in_data=bool(refuses_in_data))
    else:
        errors = envelope.error_items
    fails = not envelope.success and reads and envelope.has_errors
    if not errors and not fails and (not envelope.success or envelope.contradicts_itself):
        return None
    if errors or fails:
        return Rejected(
            status,
            tuple(
                ErrorDetail(_printable(item.key), redactor.redact(_printable(message)))
                for item in errors
                for message in quirks.messages(item.value)
            ),
        )
    try:
        return Executed(read_data(envelope.data))
    except ValueError as error:
        return Doubtful(_mismatch_message(error), executed=True)


def classify_reply(
    reply: Reply,
    read_data: ReadData,
    redactor: SecretRedactor,
    *,
    refuses_in_data: bool | None = None,
    quirks: Quirks = NO_QUIRKS,
) -> Outcome:
    """Return the outcome of a request; ``refuses_in_data`` is the operation's, None for a read.

    Only successes and refusals in the spec's form prove anything: a gateway may answer with any
    status, before or after the commit. Source: the upload protocol, What an answer means.
    """
    if isinstance(reply, NoAnswer):
        if reply.may_be_executed:
            return Doubtful(reply.reason, answered=False)
        return NotExecuted(reply.reason, permanent=reply.permanent)
    outcome: Outcome | None = None
    envelope = _envelope(reply)
    if reply.is_success and envelope is not None:
        outcome = classify_envelope(
            envelope, read_data, redactor, refuses_in_data=refuses_in_data, quirks=quirks
        )
    elif reply.is_client_error and reply.status_code not in _NEVER_REJECTED:
        if envelope is not None and not envelope.success:
            outcome = classify_envelope(
                envelope,
                read_data,
                redactor,
                status=reply.status_code,
                refuses_in_data=refuses_in_data,
                quirks=quirks,
            )
        elif message := _bare_message(reply):
            outcome = Rejected(reply.status_code, (ErrorDetail("", redactor.redact(message)),))
    if isinstance(outcome, Rejected) and not outcome.details:
        message = _undocumented_refusal(reply)
        details = (ErrorDetail("", redactor.redact(message)),) if message else ()
        return Rejected(outcome.status, details)
    if outcome is not None:
        return outcome
    claims = envelope is not None and (not envelope.success or envelope.contradicts_itself)
    refuses = claims and reply.status_code not in _NEVER_REJECTED and not reply.is_server_error
    text = None
    if refuses or reply.status_code in _BARE_MESSAGE_STATUSES:
        text = _undocumented_refusal(reply)
    if text is not None:
        return Doubtful(untranslated(redactor.redact(text)[:_REFUSAL_LENGTH]), refusal=True)
    if refuses:
        return Doubtful(_WORDLESS.format(status=reply.status_code), refusal=True)
    if reply.has_redirect_location:
        location = reply.request.url.join(reply.headers.get("Location", ""))
        origin = f"{location.scheme}://{location.netloc.decode('ascii')}"
        reason = _REDIRECTED.format(origin=origin, status=reply.status_code)
    else:
        known = _STATUS_MESSAGES.get(reply.status_code)
        reason = describe_reply(reply, redactor) if known is None else known
    return Doubtful(reason, retry_after(reply))


def parse_json(reply: httpx.Response) -> Any:
    """Parse a body, decimal numbers exactly. Raises ``ValueError``.

    A body that is not in an encoding of JSON is read as Western European.
    """
    content = reply.content
    try:
        text = content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        text = content.decode("cp1252")
    try:
        return decode_json(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_json_or_empty(reply: httpx.Response) -> bool:
    """Return whether a body is a JSON document or empty."""
    try:
        if reply.content:
            parse_json(reply)
    except ValueError:
        return False
    return True


def reports_failure(reply: httpx.Response) -> bool:
    """Return whether a body is an envelope that reports a failure."""
    envelope = _envelope(reply)
    if envelope is None:
        return False
    return not envelope.success or envelope.contradicts_itself


def content_type(reply: httpx.Response) -> str:
    """Return a reply's content type, in printable characters."""
    return _printable(reply.headers.get("Content-Type", "?"))


def describe_reply(
    reply: httpx.Response, redactor: SecretRedactor, text: str | None = None
) -> Text:
    """Describe an undocumented reply: status, content type and an excerpt, without secrets.

    ``text`` is the beginning of a body that has not been read.
    """
    # Redacted before it is cut: half a secret is still a secret.
    body = redactor.redact(reply.text if text is None else text)[:_MAX_REDACTED_LENGTH]
    words = " ".join(_printable(body).split())
    return Text(
        pt="A resposta não é documentada pela interface: status {status}, {type}, “{excerpt}”.",
        en="The answer is not documented by the interface: status {status}, {type}, “{excerpt}”.",
    ).format(
        status=reply.status_code,
        type=content_type(reply),
        excerpt=words if len(words) <= _EXCERPT_LENGTH else words[:_EXCERPT_LENGTH] + "…",
    )


TOKEN_REFUSED = Text(
    pt="O sistema não aceitou o acesso, nem depois de um novo login (401).",
    en="The system did not accept the token, even after a new login (401).",
)

TOKEN_EXPIRED = Text(pt="O acesso expirou (401).", en="The token has expired (401).")

BUSY = Text(
    pt="O sistema pede para esperar: chamadas demais (429).",
    en="The system asks to wait: too many calls (429).",
)

_STATUS_MESSAGES: Mapping[int, Text] = {
    HTTPStatus.UNAUTHORIZED: Text(
        pt="O sistema respondeu que o acesso é inválido (401).",
        en="The system answered that the token is invalid (401).",
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Text(
        pt="O sistema respondeu que o envio é grande demais (413).",
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

    Plain text is ignored: that is what gateways answer.
    """
    if reply.status_code not in _BARE_MESSAGE_STATUSES or "json" not in content_type(reply):
        return None
    try:
        document = parse_json(reply)
    except ValueError:
        return None
    return _printable(document) if isinstance(document, str) and document.strip() else None


_MAX_DEPTH = 4


def _undocumented_refusal(reply: httpx.Response) -> str | None:
    """Return the text of what may be a refusal, or a gateway's answer after the commit.

    That is a plain text, or the messages and errors in a JSON document.
    """
    if content_type(reply).startswith("text/plain"):
        text = reply.text[:_MAX_REDACTED_LENGTH]
    else:
        try:
            document = parse_json(reply)
        except ValueError:
            return None
        text = "; ".join(dict.fromkeys(_messages_in(document, _MAX_DEPTH)))
    return " ".join(_printable(text).split()) or None


def _messages_in(document: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a document, of an object only its message and errors, or else those of
    the objects and lists in it."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list) and depth:
        for item in document:
            yield from _messages_in(item, depth - 1)
    elif isinstance(document, Mapping) and depth:
        named = {str(name).lower(): value for name, value in document.items()}
        found = [named[name] for name in _MESSAGE_NAMES if isinstance(named.get(name), str)][:1]
        with suppress(ValidationError):
            items = Envelope.model_validate({**named, "success": False}).error_items
            found += [f"{item.key}: {item.value}" if item.key else item.value for item in items]
        yield from found
        if not found:
            inner = (value for value in document.values() if isinstance(value, Mapping | list))
            yield from chain.from_iterable(_messages_in(one, depth - 1) for one in inner)


def _mismatch_message(error: ValueError) -> Text:
    if isinstance(error, UnexpectedContent):
        return error.reason
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = ".".join(["data", *map(str, first["loc"])])
        detail = f"{location}: {first['msg']}"
    else:
        detail = type(error).__name__
    return Text(
        pt="A resposta não tem a forma documentada ({detail}).",
        en="The answer does not have the documented shape ({detail}).",
    ).format(detail=detail)


def _printable(text: str) -> str:
    """Replace characters that could control a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def data_reader(operation: Operation, quirks: Quirks) -> Callable[[Any], Any]:
    """Return the function that reads an operation's ``data``; it raises ``ValueError``.

    The data of a GET must have the documented types. The answer to a write is read leniently: its
    content does not change that the request was applied.
    """
    annotation = operation.data
    names = quirks.names or None
    validate = partial(_ADAPTER_OF(annotation).validate_python, context=names)
    is_get = operation.method == "GET"
    if get_origin(annotation) is list:
        return lambda data: _read_list(validate, data, strict=is_get)
    if is_get or not (isinstance(annotation, type) and issubclass(annotation, WireModel)):
        return validate
    return lambda data: _read_leniently(annotation, data, names)


_REDIRECTED = Text(
    pt="O endereço redireciona para {origin} (status {status}); redirecionamentos não são "
    "seguidos. Configure o endereço final.",
    en="The address redirects to {origin} (status {status}); redirects are not followed. "
    "Configure the final address.",
)

_ADAPTER_OF: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def _read_list(validate: Callable[[Any], Any], data: Any, *, strict: bool) -> Any:
    """Read records; null is an empty list, and so is invalid data unless ``strict``."""
    try:
        return validate([] if data is None else data)
    except ValidationError:
        if strict:
            raise
        return []


def _read_leniently(
    model: type[WireModel], data: Any, answered: Mapping[str, str] | None
) -> WireModel:
    """Read a record, leaving out fields that do not fit the model.

    Raises ``ValueError`` if a required field is among them.
    """
    try:
        return model.model_validate(data, context=answered)
    except ValidationError as error:
        if isinstance(data, list) and len(data) == 1:
            return _read_leniently(model, data[0], answered)
        if not isinstance(data, Mapping):
            return model.model_validate({})
        names = spellings(model) | dict(answered or {})
        invalid = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        valid = {name: v for name, v in data.items() if names.get(name, name) not in invalid}
        return model.model_validate(valid, context=answered)
