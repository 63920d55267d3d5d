"""The login, and calls that carry its token.

Source: the spec, Authentication.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus

import httpx

from xlbridge.api.answer import content_type, parse_json
from xlbridge.api.backoff import Backoff
from xlbridge.api.outcome import CHECK_ADDRESS
from xlbridge.api.redaction import Secrets
from xlbridge.api.target import Target
from xlbridge.api.transport import Call, NoAnswer, Reply, Transport, call_of
from xlbridge.credentials.tokens import TokenFile
from xlbridge.errors import AuthenticationFailed, ConfigError, TransportError
from xlbridge.i18n import Text
from xlbridge.wire.authentication import Authentication, Credentials
from xlbridge.wire.operations.utilities import AUTHENTICATE


class Session:
    """One integration user's access. The token is never shown; ``kept`` outlives the process."""

    def __init__(
        self,
        transport: Transport,
        target: Target,
        backoff: Backoff,
        secrets: Secrets,
        kept: TokenFile | None,
    ) -> None:
        self._transport = transport
        self._credentials = _credentials(target)
        self._backoff = backoff
        self._secrets = secrets
        self._kept = kept
        self._token: str | None = None
        self._lock = threading.Lock()

    def login(self) -> Authentication:
        """Obtain a new token and return the login's answer without it.

        Raises ``AuthenticationFailed`` with the remote system's message when it does not accept
        the credentials, ``TransportError`` when no usable answer came.
        """
        with self._lock, self._shared():
            return self._login()

    def exchange(self, call: Call, *, streamed: bool = False) -> Reply:
        """Send an authenticated request; after a 401, once more with a new token.

        ``streamed`` is the transport's. Raises what ``login`` raises: the request itself has not
        been sent then, or was refused.
        """
        token = self._current_token()
        reply = self._transport.exchange(call, token, streamed=streamed)
        if not is_unauthorized(reply):
            return reply
        return self._transport.exchange(call, self._token_after(token), streamed=streamed)

    def _current_token(self) -> str:
        with self._lock:
            if self._token is None:
                self._renew(None)
            return self._held()

    def _token_after(self, refused: str) -> str:
        with self._lock:
            # Another thread may have renewed the token already.
            if self._token == refused:
                self._renew(refused)
            return self._held()

    def _renew(self, refused: str | None) -> None:
        """Take the token that another process has got since, else log in."""
        with self._shared():
            token = None if self._kept is None else self._kept.read()
            if token is None or token == refused:
                self._login()
                return
            self._secrets.add(token)
            self._token = token

    def _shared(self) -> AbstractContextManager[None]:
        return nullcontext() if self._kept is None else self._kept.locked()

    def _held(self) -> str:
        if self._token is None:
            raise AssertionError("a login either sets the token or raises")
        return self._token

    def _login(self) -> Authentication:
        call = call_of(AUTHENTICATE, {}, body=self._credentials)
        answer = self._read(self._backoff.repeat(lambda: self._transport.exchange(call)))
        if answer.accessToken is None:
            if self._kept is not None:
                self._kept.remove()
            raise AuthenticationFailed(
                Text(
                    pt="O sistema não aceitou as credenciais: {message}",
                    en="The system did not accept the credentials: {message}",
                ).format(message=self._secrets.hide(answer.message or "?")),
                Text(
                    pt="Confira XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD: cada ambiente tem os seus.",
                    en="Check XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD: each environment has its own.",
                ),
            )
        self._secrets.add(answer.accessToken)
        self._token = answer.accessToken
        if self._kept is not None:
            self._kept.write(answer)
        return answer.model_copy(update={"accessToken": None})

    def _read(self, reply: Reply) -> Authentication:
        """Read the login's answer; ``authenticated`` decides, whatever the status says."""
        if isinstance(reply, NoAnswer):
            raise TransportError(reply.reason, CHECK_ADDRESS)
        try:
            answer = Authentication.model_validate(parse_json(reply))
        except ValueError:
            raise _unusable(reply) from None
        if not answer.authenticated:
            return answer.model_copy(update={"accessToken": None})
        if not _can_be_sent(answer.accessToken):
            raise _unusable(reply)
        return answer


LOGIN_REFUSED = Text(
    pt="O sistema não aceitou o e-mail ou a senha.",
    en="The system did not accept the e-mail or the password.",
)


def is_refused_login(reply: httpx.Response) -> bool:
    """Say whether a reply is a login's answer that its credentials were not accepted."""
    answer = _login_answer(reply)
    return answer is not None and not answer.authenticated


def token_in(reply: httpx.Response) -> str | None:
    """Return the token that a reply grants, None where it is no login's answer."""
    answer = _login_answer(reply)
    return answer.accessToken if answer else None


def _login_answer(reply: httpx.Response) -> Authentication | None:
    if not reply.request.url.path.endswith(AUTHENTICATE.path):
        return None
    try:
        return Authentication.model_validate(parse_json(reply))
    except ValueError:
        return None


def is_unauthorized(reply: Reply) -> bool:
    """Say whether a reply is a 401."""
    return isinstance(reply, httpx.Response) and reply.status_code == HTTPStatus.UNAUTHORIZED


def _credentials(target: Target) -> Credentials:
    try:
        return Credentials(email=target.email, password=target.password)
    except ValueError:
        raise ConfigError(
            Text(pt="Falta o e-mail ou a senha.", en="The e-mail or the password is missing.")
        ) from None


def _unusable(reply: httpx.Response) -> TransportError:
    # None of the body is shown: a login's answer may hold a token that is not known to be one.
    return TransportError(
        Text(
            pt="O login não teve resposta que se possa usar: status {status}, {kind}.",
            en="The login got no usable answer: status {status}, {kind}.",
        ).format(status=reply.status_code, kind=content_type(reply)),
        CHECK_ADDRESS,
    )


def _can_be_sent(token: str | None) -> bool:
    return bool(token) and token is not None and token.isascii() and token.isprintable()
