"""Sessions: the environment that is addressed, calls of its operations, login and token.

A token is stored in a file, which processes share. It is only used with the password that obtained
it, and until it expires. How long it is valid is the difference of two times of the system, and how
old it is, is measured by a clock that nobody sets; whether it is accepted, only the system's answer
shows. Source: the spec, Authentication.
"""

import hashlib
import json
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from xlbridge.client.outcomes import (
    LOOK_BEFORE_REPEATING,
    SecretRedactor,
    content_type,
    parse_json,
)
from xlbridge.client.transport import (
    Call,
    NoAnswer,
    Reply,
    RetryPolicy,
    Transport,
    UploadFile,
    pause_after_reply,
)
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigError,
    InDoubt,
    TransportError,
    UsageError,
)
from xlbridge.files import file_lock, write_private
from xlbridge.i18n import Text
from xlbridge.processes import Instant
from xlbridge.profiles import origin_of
from xlbridge.wire.imports import NO_QUIRKS, Quirks
from xlbridge.wire.model import MINUTE_FORMAT, Operation, WireModel, format_moment, with_spellings
from xlbridge.wire.operations import (
    AUTHENTICATE,
    SYSTEM_INFO,
    Authentication,
    Credentials,
    parse_timestamp,
)


@dataclass(frozen=True, slots=True)
class Target:
    """One environment: its address and the integration user's credentials.

    ``profile`` is its name in the journal and in messages; environments never share credentials,
    tokens or data. Source: the spec, What the service does.

    ``ca_bundle`` is a PEM file with the certificate authorities to trust instead of the default
    ones. ``system`` is the id stored in the database of the embedded sandbox, whose address
    changes; None for any other system. ``trust_429``: the system answers 429 before it writes
    anything. ``exclusive``: nobody else writes during an upload. ``timeout`` limits each step of a
    request, in seconds; None is the default. ``zone`` is the time zone of its times, None for that
    of this computer. ``by_default``: it is the embedded sandbox, and nobody chose it.
    ``quirks_file`` is the file of its ``quirks``, None if they are not from a file.
    """

    profile: str
    base_url: str
    email: str
    password: str = field(repr=False)
    production: bool = False
    ca_bundle: str | Path | None = None
    system: str | None = None
    trust_429: bool = False
    exclusive: bool = False
    timeout: float | None = None
    zone: tzinfo | None = None
    by_default: bool = False
    quirks: Quirks = field(default=NO_QUIRKS, hash=False, repr=False)
    quirks_file: Path | None = None

    def require_choice(self) -> None:
        """Raise ``UsageError`` if nobody chose the target, and there is nobody to see it.

        Otherwise a script whose settings are missing would write to the embedded sandbox, and
        report success.
        """
        if self.by_default and not (sys.stdin and sys.stdin.isatty()):
            raise UsageError(_NOBODY_CHOSE, _CHOOSE_BY_NAME)

    @property
    def label(self) -> str:
        """Name and address for messages; the address alone if it has no profile."""
        return (
            self.profile if self.profile == self.base_url else f"{self.profile} ({self.base_url})"
        )

    def to_json(self) -> dict[str, Any]:
        """Return what outcomes say about the environment, with its quirks file if it has one.

        See the product brief, environment.
        """
        known = {
            "profile": self.profile,
            "base_url": self.base_url,
            "production": self.production,
        }
        return known if self.quirks_file is None else {**known, "quirks": str(self.quirks_file)}

    @property
    def address_hint(self) -> Text:
        """Advice if the system does not answer, or something else does."""
        return Text(
            pt="Confira o endereço do ambiente {label}, a rede e o proxy: xlbridge doctor",
            en="Check the address of the environment {label}, the network and the proxy: xlbridge "
            "doctor",
            page=Text(
                pt="Confira a rede, o proxy e o endereço de {label} em Ambientes, ou tente mais "
                "tarde; “Testar o acesso” mostra se o sistema responde.",
                en="Check the network, the proxy, and the address of {label} under Environments, "
                "or try again later; “Test the login” shows whether the system answers.",
            ),
        ).format(label=self.label)


_NOBODY_CHOSE = Text(
    pt="Nenhum ambiente foi escolhido, e sem um terminal nada é gravado no ambiente de testes "
    "embutido.",
    en="No environment was chosen, and without a terminal nothing is written to the embedded "
    "sandbox.",
    page=Text(
        pt="Nenhum ambiente foi escolhido, e nada é gravado no ambiente de testes embutido sem "
        "que alguém o escolha.",
        en="No environment was chosen, and nothing is written to the embedded sandbox unless "
        "someone chooses it.",
    ),
)
_CHOOSE_BY_NAME = Text(
    pt="Escolha-o pelo nome: --profile sandbox, XLBRIDGE_PROFILE=sandbox ou, em Python, "
    'connect(profile="sandbox"). Para o seu sistema: xlbridge login --profile NOME --url ENDEREÇO',
    en="Choose it by name: --profile sandbox, XLBRIDGE_PROFILE=sandbox or, in Python, "
    'connect(profile="sandbox"). For your system: xlbridge login --profile NAME --url ADDRESS',
    page=Text(
        pt="Escolha-o em Ambientes. Para o seu sistema, adicione um ambiente ali.",
        en="Choose it under Environments. For your system, add an environment there.",
    ),
)


def build_call(
    operation: Operation,
    path: Mapping[str, object],
    query: WireModel | None = None,
    body: WireModel | Mapping[str, object] | None = None,
    file: UploadFile | None = None,
    quirks: Quirks = NO_QUIRKS,
) -> Call:
    """Return the call of an operation with some values; fields that are None are not sent.

    ``quirks`` decide the spelling of the body's fields, and the end of a window of update times.
    """
    values = {name: quote(str(path[name]), safe="") for name in operation.path_parameters}
    sent = _dump(body) if isinstance(body, WireModel) else body
    model = type(body) if isinstance(body, WireModel) else operation.body
    if sent is not None and model is not None and quirks.spellings:
        sent = with_spellings(model, sent, quirks.spellings)
    return Call(
        method=operation.method,
        path=operation.path.format(**values),
        query={} if query is None else _query_of(query, quirks),
        body=sent,
        file=file,
    )


_WINDOW_END = "dataSuperior"


def _query_of(query: WireModel, quirks: Quirks) -> dict[str, Any]:
    """Return the parameters of a query; a window that would end too early ends a minute later.

    A period that a listing requires is one of dates, not of update times.
    """
    parameters = _dump(query)
    end: str | None = parameters.get(_WINDOW_END)
    if end is None or quirks.window_end == "inclusive":
        return parameters
    if not type(query).model_fields[_WINDOW_END].is_required():
        later = datetime.strptime(end, MINUTE_FORMAT) + timedelta(minutes=1)
        parameters[_WINDOW_END] = format_moment(later)
    return parameters


def _dump(model: WireModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True, by_alias=True)


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
