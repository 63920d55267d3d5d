"""Session: login, the token of requests, and the file that shares it between processes.

A stored token is only used with the password that obtained it, and until it expires. How long it is
valid is the difference of two times of the system, and how old it is, is measured by a clock that
nobody sets; whether it is accepted, only the system's answer shows. Source: the spec,
Authentication.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx

from xlbridge.client.outcomes import (
    LOOK_BEFORE_REPEATING,
    SecretRedactor,
    content_type,
    parse_json,
)
from xlbridge.client.target import Target, build_call
from xlbridge.client.transport import (
    Call,
    NoAnswer,
    Reply,
    RetryPolicy,
    Transport,
    pause_after_reply,
)
from xlbridge.clock import Instant
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigError,
    InDoubt,
    TransportError,
)
from xlbridge.files import file_lock, write_private
from xlbridge.i18n import Text
from xlbridge.profiles import origin_of
from xlbridge.wire.authentication import (
    AUTHENTICATE,
    SYSTEM_INFO,
    Authentication,
    Credentials,
    parse_timestamp,
)

_EXPIRY_MARGIN = timedelta(minutes=1)


PROOF_COST = (2**14, 8, 1)
"""Cost, block size and parallelism (scrypt) of the proof that a stored token was obtained with the
same password."""


class TokenFile:
    """Stored token of one integration user at one address, shared by processes of this computer.

    ``locked`` is held while a token is read and renewed, so that several processes log in once.
    """

    def __init__(self, home: Path, base_url: str, email: str, password: str) -> None:
        self._who = {"origin": origin_of(base_url), "email": email}
        self._password = password.encode()
        name = hashlib.sha256("\n".join(self._who.values()).encode()).hexdigest()[:32]
        self._path = home / "tokens" / f"{name}.json"
        self._salt = secrets.token_bytes(16)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from reading and renewing the token for the block.

        Raises ``UsageError`` if the lock cannot be written.
        """
        with file_lock(self._path.with_suffix(".lock")):
            yield

    def read(self) -> "Token | None":
        """Return the token, None if there is no valid one."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            at, boot, uptime = stored["obtained"]
            obtained = Instant(datetime.fromisoformat(at), str(boot), float(uptime))
            token = Token(str(stored["token"]), obtained, timedelta(seconds=stored["lifetime"]))
            if token.is_expired() or stored["who"] != self._who:
                return None
            salt = bytes.fromhex(stored["salt"])
            if not secrets.compare_digest(stored["proof"], self._proof(salt, *stored["cost"])):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            # The file is missing or damaged: a login replaces it.
            return None
        # Computing a proof is slow: the next token is stored with the same one.
        self._salt = salt
        return token

    def write(self, token: "Token") -> None:
        """Store a login's token, if it is known to be valid for some time."""
        if token.lifetime is None:
            self.remove()
            return
        at, boot, uptime = token.obtained
        stored: dict[str, Any] = {
            "who": self._who,
            "obtained": [at.isoformat(), boot, uptime],
            "lifetime": token.lifetime.total_seconds(),
            "salt": self._salt.hex(),
            "cost": PROOF_COST,
            "proof": self._proof(self._salt, *PROOF_COST),
            "token": token.text,
        }
        write_private(self._path, json.dumps(stored))

    def remove(self) -> None:
        """Delete the stored token."""
        self._path.unlink(missing_ok=True)

    def _proof(self, salt: bytes, n: int, r: int, p: int) -> str:
        return _scrypt(self._password, salt, n, r, p)


@lru_cache(maxsize=8)
def _scrypt(password: bytes, salt: bytes, n: int, r: int, p: int) -> str:
    return hashlib.scrypt(password, salt=salt, n=n, r=r, p=p).hex()


@dataclass(frozen=True, slots=True)
class Token:
    """Token of a login: when it was obtained, and for how long it is valid.

    That is None if it is unknown, or too short to renew the token before its end.
    """

    text: str = field(repr=False)
    obtained: Instant
    lifetime: timedelta | None

    @classmethod
    def of_login(cls, text: str, answer: Authentication) -> "Token":
        """Return the token of a login's answer.

        An answer that does not tell when it was made has the time of this computer.
        """
        obtained = Instant.now()
        begin = parse_timestamp(answer.created) or obtained.at
        end = parse_timestamp(answer.expiration)
        lifetime = None if end is None else end - begin
        is_long = lifetime is not None and lifetime > 2 * _EXPIRY_MARGIN
        return cls(text, obtained, lifetime if is_long else None)

    def is_expired(self) -> bool:
        """Return whether the token has certainly expired, or will in a moment."""
        return (
            self.lifetime is not None
            and Instant.now().since(self.obtained) + _EXPIRY_MARGIN >= self.lifetime
        )


class Session:
    """Authenticated access of one integration user; the token is never shown."""

    def __init__(
        self,
        transport: Transport,
        target: Target,
        retry_policy: RetryPolicy,
        redactor: SecretRedactor,
        token_file: TokenFile | None,
    ) -> None:
        self._transport = transport
        self._target = target
        try:
            self._credentials = Credentials(email=target.email, password=target.password)
        except ValueError:
            raise ConfigError(
                Text(pt="Falta o e-mail ou a senha.", en="The e-mail or password is missing."),
                CHECK_CREDENTIALS,
            ) from None
        self._retry_policy = retry_policy
        self._redactor = redactor
        self._token_file = token_file
        self._token: Token | None = None
        self._refused: str | None = None
        self._lock = threading.Lock()

    def login(self) -> Authentication:
        """Obtain a new token and return the login's answer without it.

        Raises ``AuthenticationFailed`` with the remote system's message if it refuses the
        credentials, ``TransportError`` if there is no usable answer.
        """
        with self._lock, self._shared():
            answer, self._token = self._login()
            return answer

    def exchange(self, call: Call, *, streamed: bool = False) -> Reply:
        """Send a request that may be repeated, once more with a new token after a 401.

        ``streamed`` as in ``Transport.exchange``. Raises what ``login`` raises.
        """
        token = self._current_token()
        reply = self._transport.exchange(call, token, streamed=streamed)
        if not is_unauthorized(reply):
            return reply
        with self._lock:
            # Another thread may already have renewed the token.
            if self._token is None or self._token.text == token:
                self._token = self._renew(token)
            token = self._token.text
        return self._transport.exchange(call, token, streamed=streamed)

    def attempt(self, call: Call) -> tuple[Reply, bool]:
        """Send a write once; return the reply, and whether the token is refused elsewhere too.

        A 401 alone does not prove that the token has expired: a gateway may answer so after the
        commit. The token is checked with a read, and dropped if that is refused too. Raises what
        ``login`` raises; the request has not been sent then.
        """
        token = self._current_token()
        reply = self._transport.exchange(call, token)
        expired = is_unauthorized(reply) and is_unauthorized(
            self._retry_policy.repeat(
                lambda: self._transport.exchange(build_call(SYSTEM_INFO, {}), token),
                pause_after_reply,
            )
        )
        if expired:
            with self._lock:
                self._refused = token
                if self._token is not None and self._token.text == token:
                    self._token = None
        return reply, expired

    def exchange_write(self, call: Call) -> Reply:
        """Send a write, once more if its token had expired.

        Raises what ``login`` raises before the request is sent, ``InDoubt`` after it.
        """
        reply, expired = self.attempt(call)
        if not expired:
            return reply
        try:
            token = self._current_token()
        except ApiError as error:
            raise InDoubt(error.message, LOOK_BEFORE_REPEATING) from error
        return self._transport.exchange(call, token)

    def _current_token(self) -> str:
        with self._lock:
            if self._token is None or self._token.is_expired():
                self._token = self._renew(self._refused)
            return self._token.text

    def _renew(self, refused: str | None) -> Token:
        """Return a token that another process has obtained since, else log in."""
        with self._shared():
            token = None if self._token_file is None else self._token_file.read()
            if token is None or token.text == refused:
                _, token = self._login()
            self._redactor.add(token.text)
            return token

    def _shared(self) -> AbstractContextManager[None]:
        return nullcontext() if self._token_file is None else self._token_file.locked()

    def _login(self) -> tuple[Authentication, Token]:
        """Log in and return the answer without its token, and the token, which is stored."""
        call = build_call(AUTHENTICATE, {}, body=self._credentials)
        reply = self._retry_policy.repeat(lambda: self._transport.exchange(call), pause_after_reply)
        answer = self._read(reply)
        text = answer.accessToken
        if text is None:
            if self._token_file is not None:
                self._token_file.remove()
            raise AuthenticationFailed(
                Text(
                    pt="O sistema não aceitou as credenciais: {message}",
                    en="The system did not accept the credentials: {message}",
                ).format(message=self._redactor.redact(answer.message or "?")),
                CHECK_CREDENTIALS,
            )
        self._redactor.add(text)
        token = Token.of_login(text, answer)
        if self._token_file is not None:
            self._token_file.write(token)
        return answer.model_copy(update={"accessToken": None}), token

    def _read(self, reply: Reply) -> Authentication:
        """Read the login's answer, in which ``authenticated`` decides, not the status."""
        if isinstance(reply, NoAnswer):
            raise TransportError(reply.reason, self._target.address_hint)
        try:
            answer = Authentication.model_validate(parse_json(reply))
        except ValueError:
            raise _unusable_login_answer(reply, self._target) from None
        if not answer.authenticated:
            return answer.model_copy(update={"accessToken": None})
        token = answer.accessToken
        if not (token and token.isascii() and token.isprintable()):
            raise _unusable_login_answer(reply, self._target)
        return answer


CHECK_CREDENTIALS = Text(
    pt="Confira o e-mail e a senha (XLBRIDGE_EMAIL, XLBRIDGE_PASSWORD, ou xlbridge login --ask): "
    "cada ambiente tem os seus.",
    en="Check the e-mail and the password (XLBRIDGE_EMAIL, XLBRIDGE_PASSWORD, or xlbridge login "
    "--ask): they differ by environment.",
    page=Text(
        pt="Confira o e-mail e a senha: cada ambiente tem os seus. Para trocá-los, adicione o "
        "ambiente de novo em Ambientes.",
        en="Check the e-mail and the password: they differ by environment. To change them, add "
        "the environment again under Environments.",
    ),
)
LOGIN_REFUSED = Text(
    pt="O sistema não aceitou o e-mail ou a senha.",
    en="The system did not accept the e-mail or the password.",
)


def login_answer(reply: httpx.Response) -> Authentication | None:
    """Return the content of a reply to a login, None for any other reply."""
    if not reply.request.url.path.endswith(AUTHENTICATE.path):
        return None
    try:
        return Authentication.model_validate(parse_json(reply))
    except ValueError:
        return None


def is_unauthorized(reply: Reply) -> bool:
    """Return whether a reply is a 401."""
    return isinstance(reply, httpx.Response) and reply.status_code == HTTPStatus.UNAUTHORIZED


def _unusable_login_answer(reply: httpx.Response, target: Target) -> TransportError:
    # The body is not shown: it may contain a token that is not recognised as one.
    return TransportError(
        Text(
            pt="O login não teve resposta utilizável: status {status}, {type}.",
            en="The login got no usable answer: status {status}, {type}.",
        ).format(status=reply.status_code, type=content_type(reply)),
        target.address_hint,
    )
