"""Session: login, the token that requests carry, and the file that keeps it between processes.

The token file is of no use with another password, and is not used once the token has expired.
Source: the spec, Authentication.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from xlbridge.client.outcomes import (
    CHECK_ADDRESS,
    LOOK_BEFORE_REPEATING,
    SecretRedactor,
    content_type,
    parse_json,
)
from xlbridge.client.retry_policy import RetryPolicy
from xlbridge.client.transport import (
    Call,
    NoAnswer,
    Reply,
    Target,
    Transport,
    call_of,
    pause_after_reply,
)
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
    TIMESTAMP_FORMAT,
    Authentication,
    Credentials,
)

_EXPIRY_MARGIN = timedelta(minutes=1)


class ProofCost(NamedTuple):
    """Cost of scrypt: its work, block size and parallelism."""

    n: int
    r: int
    p: int


PROOF_COST = ProofCost(n=2**14, r=8, p=1)
"""Cost of the proof that a stored token is its reader's own."""


class TokenFile:
    """The stored token of one user at one address, shared by all processes of this computer's user.

    ``locked`` is held while a token is looked up and renewed, so that several processes log in
    once.
    """

    def __init__(self, home: Path, base_url: str, email: str, password: str) -> None:
        self._who = {"origin": origin_of(base_url), "email": email}
        self._password = password.encode()
        name = hashlib.sha256("\n".join(self._who.values()).encode()).hexdigest()[:32]
        self._path = home / "tokens" / f"{name}.json"
        self._salt = secrets.token_bytes(16)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from looking up and renewing for the length of the block.

        Raises ``UsageError`` where nothing can be written.
        """
        with file_lock(self._path.with_suffix(".lock")):
            yield

    def read(self) -> str | None:
        """Return the token, None where there is none that is still good."""
        try:
            stored = json.loads(self._path.read_text(encoding="utf-8"))
            if not _is_unexpired(stored["expiration"]) or stored["who"] != self._who:
                return None
            salt, cost = bytes.fromhex(stored["salt"]), stored.get("cost", PROOF_COST)
            same = secrets.compare_digest(stored["proof"], self._proof(salt, ProofCost(*cost)))
            if not same:
                return None
            # A proof takes its time: the next token is kept with this one.
            self._salt = salt
            return str(stored["token"])
        except (OSError, ValueError, KeyError, TypeError):
            # Whatever is not what ``write`` leaves is no token; a login makes a new one.
            return None

    def write(self, answer: Authentication) -> None:
        """Keep a login's token; one that does not say how long it is good is not kept."""
        if answer.accessToken is None or not _is_unexpired(answer.expiration):
            self.remove()
            return
        salt = self._salt
        stored: dict[str, Any] = {
            "who": self._who,
            "expiration": answer.expiration,
            "salt": salt.hex(),
            "cost": PROOF_COST,
            "proof": self._proof(salt, PROOF_COST),
            "token": answer.accessToken,
        }
        write_private(self._path, json.dumps(stored))

    def remove(self) -> None:
        """Keep no token."""
        self._path.unlink(missing_ok=True)

    def _proof(self, salt: bytes, cost: ProofCost) -> str:
        return _scrypt(self._password, salt, cost)


@lru_cache(maxsize=8)
def _scrypt(password: bytes, salt: bytes, cost: ProofCost) -> str:
    return hashlib.scrypt(password, salt=salt, **cost._asdict()).hex()


def _is_unexpired(expiration: str | None) -> bool:
    try:
        end = datetime.strptime(expiration or "", TIMESTAMP_FORMAT)
    except ValueError:
        return False
    return datetime.now() + _EXPIRY_MARGIN < end


class Attempt(NamedTuple):
    """Reply to a request that writes, and whether its token is refused elsewhere, too."""

    reply: Reply
    token_expired: bool


class Session:
    """Access of one integration user; the token is never shown."""

    def __init__(
        self,
        transport: Transport,
        target: Target,
        retry_policy: RetryPolicy,
        redactor: SecretRedactor,
        token_file: TokenFile | None,
    ) -> None:
        self._transport = transport
        self._credentials = _credentials(target)
        self._retry_policy = retry_policy
        self._redactor = redactor
        self._token_file = token_file
        self._token: str | None = None
        self._refused: str | None = None
        self._lock = threading.Lock()

    def login(self) -> Authentication:
        """Obtain a new token and return the login's answer without it.

        Raises ``AuthenticationFailed`` with the remote system's message when it does not accept
        the credentials, ``TransportError`` when no usable answer came.
        """
        with self._lock, self._shared():
            return self._login()

    def exchange(self, call: Call, *, streamed: bool = False) -> Reply:
        """Send a request that may be repeated; after a 401, once more with a new token.

        ``streamed`` is the transport's. Raises what ``login`` raises.
        """
        token = self._current_token()
        reply = self._transport.exchange(call, token, streamed=streamed)
        if not is_unauthorized(reply):
            return reply
        return self._transport.exchange(call, self._token_after(token), streamed=streamed)

    def attempt(self, call: Call) -> Attempt:
        """Send a request that writes, once.

        A 401 alone does not tell that the token has expired: a gateway may answer so after the
        commit. The same token is tried on a request that writes nothing, which is repeated as all
        reads are. An expired one is not used again. Raises what ``login`` raises: the request has
        not been sent then.
        """
        token = self._current_token()
        reply = self._transport.exchange(call, token)
        expired = is_unauthorized(reply) and is_unauthorized(
            self._retry_policy.repeat(
                lambda: self._transport.exchange(call_of(SYSTEM_INFO, {}), token),
                pause_after_reply,
            )
        )
        if expired:
            self._forget(token)
        return Attempt(reply, expired)

    def exchange_write(self, call: Call) -> Reply:
        """Send a request that writes; once more where its token had expired.

        Raises what ``login`` raises before the request is sent, and ``InDoubt`` after it.
        """
        attempt = self.attempt(call)
        if not attempt.token_expired:
            return attempt.reply
        try:
            token = self._current_token()
        except ApiError as error:
            raise InDoubt(error.message, LOOK_BEFORE_REPEATING) from error
        return self._transport.exchange(call, token)

    def _current_token(self) -> str:
        with self._lock:
            if self._token is None:
                self._renew(self._refused)
            return self._held()

    def _forget(self, refused: str) -> None:
        with self._lock:
            self._refused = refused
            if self._token == refused:
                self._token = None

    def _token_after(self, refused: str) -> str:
        with self._lock:
            # Another thread may have renewed the token already.
            if self._token == refused:
                self._renew(refused)
            return self._held()

    def _renew(self, refused: str | None) -> None:
        """Take the token that another process has got since, else log in."""
        with self._shared():
            token = None if self._token_file is None else self._token_file.read()
            if token is None or token == refused:
                self._login()
                return
            self._redactor.add(token)
            self._token = token

    def _shared(self) -> AbstractContextManager[None]:
        return nullcontext() if self._token_file is None else self._token_file.locked()

    def _held(self) -> str:
        if self._token is None:
            raise AssertionError("a login either sets the token or raises")
        return self._token

    def _login(self) -> Authentication:
        call = call_of(AUTHENTICATE, {}, body=self._credentials)
        reply = self._retry_policy.repeat(lambda: self._transport.exchange(call), pause_after_reply)
        answer = self._read(reply)
        if answer.accessToken is None:
            if self._token_file is not None:
                self._token_file.remove()
            raise AuthenticationFailed(
                Text(
                    pt="O sistema não aceitou as credenciais: {message}",
                    en="The system did not accept the credentials: {message}",
                ).format(message=self._redactor.redact(answer.message or "?")),
                Text(
                    pt="Confira XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD: cada ambiente tem os seus.",
                    en="Check XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD: each environment has its own.",
                ),
            )
        self._redactor.add(answer.accessToken)
        self._token = answer.accessToken
        if self._token_file is not None:
            self._token_file.write(answer)
        return answer.model_copy(update={"accessToken": None})

    def _read(self, reply: Reply) -> Authentication:
        """Read the login's answer; ``authenticated`` decides, whatever the status says."""
        if isinstance(reply, NoAnswer):
            raise TransportError(reply.reason, CHECK_ADDRESS)
        try:
            answer = Authentication.model_validate(parse_json(reply))
        except ValueError:
            raise _unusable_login_answer(reply) from None
        if not answer.authenticated:
            return answer.model_copy(update={"accessToken": None})
        token = answer.accessToken
        if not (token and token.isascii() and token.isprintable()):
            raise _unusable_login_answer(reply)
        return answer


LOGIN_REFUSED = Text(
    pt="O sistema não aceitou o e-mail ou a senha.",
    en="The system did not accept the e-mail or the password.",
)


def login_answer(reply: httpx.Response) -> Authentication | None:
    """Return what a reply to a login says, None for a reply to anything else."""
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


def _unusable_login_answer(reply: httpx.Response) -> TransportError:
    # None of the body is shown: a login's answer may hold a token that is not known to be one.
    return TransportError(
        Text(
            pt="O login não teve resposta utilizável: status {status}, {kind}.",
            en="The login got no usable answer: status {status}, {kind}.",
        ).format(status=reply.status_code, kind=content_type(reply)),
        CHECK_ADDRESS,
    )
