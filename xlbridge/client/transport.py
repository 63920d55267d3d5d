"""HTTP transport: one request with one reply, and the policy of retries.

TLS is always verified and redirects are never followed: a write must not be repeated elsewhere,
and ``Authorization`` must not reach another origin. Plain HTTP is allowed for loopback only, which
is never accessed through a proxy.
"""

import errno
import ipaddress
import logging
import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from http import HTTPStatus
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import httpx

from xlbridge import __version__
from xlbridge.errors import ConfigError, UsageError, os_error_reason
from xlbridge.i18n import Text, joined
from xlbridge.wire.model import UPLOAD_FIELD, XLSX_TYPE


@dataclass(frozen=True, slots=True)
class UploadFile:
    """A workbook to send: its file name and bytes."""

    filename: str
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, source: "UploadFile | str | PathLike[str]") -> "UploadFile":
        """Return the workbook at a path. Raises ``UsageError`` if it cannot be read."""
        if isinstance(source, UploadFile):
            return source
        path = Path(source)
        try:
            return cls(path.name, path.read_bytes())
        except OSError as error:
            raise UsageError(
                Text(
                    pt="O arquivo {path} não pôde ser lido: {reason}",
                    en="The file {path} cannot be read: {reason}",
                ).format(path=path, reason=os_error_reason(error)),
                Text(pt="Confira o caminho.", en="Check the path."),
            ) from error


_MAX_CONNECT_SECONDS = 10.0
_ANSWER_TIMEOUTS = 10
"""Timeouts that an answer may take as a whole; each of them is for the next bytes."""

_MAX_ANSWER, _MAX_WRITE_ANSWER = 512 * 2**20, 64 * 2**20
"""Longest body of an answer, unpacked, in bytes; that to a write has no records but its own."""

_OF_TRANSFER = {"content-encoding", "content-length", "transfer-encoding"}
_STALE = {"110", "111", "112", "113"}
_FROM_CACHE = Text(
    pt="{address} respondeu de um cache, com dados que podem ser antigos. Peça à TI que as "
    "respostas de /v2 não fiquem em cache.",
    en="{address} answered from a cache, with data that may be old. Ask IT not to cache the "
    "answers of /v2.",
)
_ENDLESS = Text(
    pt="A resposta de {address} não termina.", en="The answer of {address} does not end."
)
_UNKNOWN_HOST = Text(pt="servidor não encontrado", en="host not found")
_CONNECTION_ERRORS: Mapping[int | None, Text] = {
    errno.ECONNREFUSED: Text(pt="conexão recusada", en="connection refused"),
    errno.ENETUNREACH: Text(pt="rede inacessível", en="network unreachable"),
    errno.EHOSTUNREACH: Text(pt="servidor inacessível", en="host unreachable"),
    errno.ETIMEDOUT: Text(pt="tempo esgotado", en="timed out"),
}


@dataclass(frozen=True, slots=True)
class Call:
    """A request as data, so that it can be sent again with another token."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: object | None = field(default=None, repr=False)
    file: UploadFile | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Failure of a request without a complete answer.

    ``may_be_executed``: sending had begun; ``permanent``: repeating the request cannot help.
    """

    reason: Text
    may_be_executed: bool
    permanent: bool = False


Reply = httpx.Response | NoAnswer

_Result = TypeVar("_Result")


_LOGGER = logging.getLogger(__name__)
_SENDING: ContextVar[bool] = ContextVar("sending", default=False)
# httpx logs addresses with their queries, which may contain documents of people.
logging.getLogger(httpx.__name__).addFilter(lambda _record: not _SENDING.get())


class Transport:
    """Connections to one address.

    Raises ``ConfigError`` for an unsafe address, and for unusable certificates and proxies.
    """

    def __init__(self, base_url: str, timeout: float, ca_bundle: str | Path | None = None) -> None:
        url = parse_base_url(base_url)
        self.is_local: bool = is_loopback(url.host)
        self.answer_seconds: float = _ANSWER_TIMEOUTS * timeout
        self._base = str(url).rstrip("/")
        try:
            self._http = httpx.Client(
                verify=_ssl_verification(url, ca_bundle),
                follow_redirects=False,
                trust_env=not self.is_local,
                timeout=httpx.Timeout(timeout, connect=min(timeout, _MAX_CONNECT_SECONDS)),
                headers={
                    "User-Agent": f"xlbridge/{__version__}",
                    "Accept": "application/json",
                    # What is read is evidence of what was written.
                    "Cache-Control": "no-cache",
                },
            )
        except (ImportError, ValueError, httpx.InvalidURL):
            # The proxy is not quoted: its address may contain a password.
            raise ConfigError(
                Text(
                    pt="O proxy em HTTPS_PROXY, HTTP_PROXY ou ALL_PROXY não pode ser usado.",
                    en="The proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used.",
                ),
                Text(
                    pt="Escreva http://servidor:porta; para socks5://: pip install 'httpx[socks]'.",
                    en="Write http://host:port; for socks5://: pip install 'httpx[socks]'.",
                ),
            ) from None

    def close(self) -> None:
        """Close every connection."""
        self._http.close()

    def exchange(self, call: Call, token: str | None = None, *, streamed: bool = False) -> Reply:
        """Send a request once and read its answer; log both.

        With ``streamed`` the caller reads the body of a success and closes the reply.
        """
        begun = time.monotonic()
        reply = self._exchange(call, token, streamed=streamed)
        answer = reply.status_code if isinstance(reply, httpx.Response) else reply.reason.en
        # The query stays out: it may contain documents of people.
        path, milliseconds = call.path.partition("?")[0], 1000 * (time.monotonic() - begun)
        _LOGGER.debug("%s %s: %s after %.0f ms", call.method, path, answer, milliseconds)
        return reply

    def _exchange(self, call: Call, token: str | None, *, streamed: bool) -> Reply:
        if self._http.is_closed:
            raise UsageError(
                Text(pt="A conexão já foi fechada.", en="The connection is already closed."),
                Text(
                    pt="Abra outra: with xb.connect(...) as erp.",
                    en="Open another: with xb.connect(...) as erp.",
                ),
            )
        request_begun = False

        def trace(event: str, info: Mapping[str, Any]) -> None:
            nonlocal request_begun
            # CONNECT goes to a proxy: nothing has reached the remote system yet.
            if event.endswith("send_request_headers.started"):
                request_begun = request_begun or info["request"].method != b"CONNECT"

        try:
            request = self._http.build_request(
                call.method,
                _parse_url(self._base + call.path),
                # An empty mapping would remove the query of the path itself.
                params=call.query or None,
                json=call.body,
                files=None
                if call.file is None
                else {UPLOAD_FIELD: (call.file.filename, call.file.content, XLSX_TYPE)},
                headers={} if token is None else {"Authorization": f"Bearer {token}"},
                extensions={"trace": trace},
            )
            sending = _SENDING.set(True)
            try:
                reply = self._http.send(request, stream=True)
            finally:
                _SENDING.reset(sending)
            age, warning = (reply.headers.get(name, "") for name in ("Age", "Warning"))
            is_kept = (age.isdigit() and int(age) > 0) or warning[:3] in _STALE
            if call.method == "GET" and is_kept:
                reply.close()
                return NoAnswer(_FROM_CACHE.format(address=self._base), request_begun)
            if not (streamed and reply.is_success):
                with closing(reply):
                    reply = _read_whole(reply, time.monotonic() + self.answer_seconds)
        except _EndlessAnswer:
            return NoAnswer(_ENDLESS.format(address=self._base), request_begun, permanent=True)
        except httpx.RequestError as error:
            reason = Text(
                pt="{address} não respondeu ({detail}).",
                en="{address} did not answer ({detail}).",
            ).format(address=self._base, detail=_reason(error))
            untrusted = any(isinstance(e, ssl.SSLCertVerificationError) for e in _causes(error))
            if untrusted:
                reason = joined((reason, _HOW_TO_TRUST), " ")
            return NoAnswer(reason, request_begun, permanent=untrusted)
        return reply


class _EndlessAnswer(Exception):
    """An answer is too long, or takes too long as a whole."""


def _read_whole(reply: httpx.Response, deadline: float) -> httpx.Response:
    """Return a streamed reply with its body. Raises ``_EndlessAnswer``."""
    longest = _MAX_ANSWER if reply.request.method == "GET" else _MAX_WRITE_ANSWER
    if int(reply.headers.get("Content-Length") or 0) > longest:
        raise _EndlessAnswer
    body = bytearray()
    for chunk in reply.iter_bytes():
        body += chunk
        if len(body) > longest or time.monotonic() > deadline:
            raise _EndlessAnswer
    headers = [(n, v) for n, v in reply.headers.multi_items() if n.lower() not in _OF_TRANSFER]
    return httpx.Response(
        reply.status_code, headers=headers, content=bytes(body), request=reply.request
    )


_parse_url = lru_cache(maxsize=64)(httpx.URL)
"""Cached, as parsing is slow and few addresses are used many times."""


CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
"""Variables of other programs that name a PEM file of the authorities to trust."""

_HOW_TO_TRUST = Text(
    pt="Se um proxy da empresa assina as conexões, peça à TI o arquivo PEM e informe-o em "
    "XLBRIDGE_CA_BUNDLE.",
    en="If a proxy of the company signs connections, ask IT for its PEM file, and set "
    "XLBRIDGE_CA_BUNDLE to it.",
    page=Text(
        pt="Se um proxy da empresa assina as conexões, peça à TI que instale o certificado dele "
        "neste computador.",
        en="If a proxy of the company signs connections, ask IT to install its certificate on "
        "this computer.",
    ),
)


def _ssl_verification(url: httpx.URL, ca_bundle: str | Path | None) -> ssl.SSLContext:
    """Return the certificates to trust; none for plain HTTP, as loading them is slow.

    Without a file of its own, those of the computer, where IT installs the company's, beside those
    of certifi, which a bare container needs.
    """
    if ca_bundle is None and url.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    variable = next((name for name in CA_VARIABLES if os.environ.get(name)), None)
    if ca_bundle is None and variable is None:
        # Imported late: plain HTTP, as to the embedded sandbox, needs neither.
        import certifi
        import truststore

        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(certifi.where())
        return context
    try:
        return ssl.create_default_context(cafile=ca_bundle or os.environ[variable or ""])
    except OSError as error:
        if ca_bundle is None:
            # Its value is not quoted: variables are not for messages.
            raise ConfigError(
                Text(
                    pt="{variable} não é um arquivo PEM de certificados: {reason}",
                    en="{variable} is not a PEM file of certificates: {reason}",
                ).format(variable=variable, reason=os_error_reason(error)),
                Text(pt="Corrija a variável ou remova-a.", en="Correct the variable, or unset it."),
            ) from None
        raise ConfigError(
            Text(
                pt="{file} não é um arquivo PEM de certificados: {reason}",
                en="{file} is not a PEM file of certificates: {reason}",
            ).format(file=ca_bundle, reason=os_error_reason(error)),
            Text(
                pt="Confira --ca-bundle, XLBRIDGE_CA_BUNDLE ou ca_bundle em profiles.toml.",
                en="Check --ca-bundle, XLBRIDGE_CA_BUNDLE, or ca_bundle in profiles.toml.",
                page=Text(
                    pt="Peça à TI, ou a quem cuida do ambiente, que confira o arquivo de "
                    "certificados.",
                    en="Ask IT, or the person who looks after the environment, to check the file "
                    "of certificates.",
                ),
            ),
        ) from None


_FAILURES: tuple[tuple[type[httpx.RequestError], Text], ...] = (
    (httpx.TimeoutException, Text(pt="o tempo esgotou", en="it timed out")),
    (httpx.NetworkError, Text(pt="a conexão foi interrompida", en="the connection broke")),
    (httpx.RemoteProtocolError, Text(pt="a conexão foi interrompida", en="the connection broke")),
)


def _reason(error: httpx.RequestError) -> Text | str:
    """Return why there is no answer, untranslated if the reason is uncommon.

    Only connection errors are quoted: others may contain what was sent.
    """
    if not isinstance(error, httpx.ConnectError):
        texts = (text for kind, text in _FAILURES if isinstance(error, kind))
        return next(texts, type(error).__name__)
    for cause in _causes(error):
        if isinstance(cause, socket.gaierror):
            return _UNKNOWN_HOST
        if isinstance(cause, OSError) and cause.errno in _CONNECTION_ERRORS:
            return _CONNECTION_ERRORS[cause.errno]
    return str(error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


FIRST_PAUSE = 0.5
"""Longest pause before the second try of a request, in seconds; later ones grow from it."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number of tries of a request, and pauses between them. Source: the spec, Errors (5xx).

    Exponential backoff with full jitter: before try n + 1, up to ``first`` · 2ⁿ⁻¹ seconds.

    ``longest`` limits one pause, ``total`` all tries and pauses together, both in seconds. A longer
    ``Retry-After`` is honoured; one that exceeds ``total`` ends the retries.
    """

    first: float = field(default_factory=lambda: FIRST_PAUSE)
    longest: float = 20.0
    tries: int = 6
    total: float = 120.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random

    @classmethod
    def quick(cls) -> "RetryPolicy":
        """Return the policy of commands that check whether the system answers."""
        return cls(tries=2)

    def repeat(
        self,
        attempt: Callable[[], _Result],
        least_pause: Callable[[_Result], float | None],
    ) -> _Result:
        """Return the first result that needs no retry, or the last one.

        ``least_pause`` returns the minimum pause after a result, in seconds; None for no retry.
        """
        end = self.clock() + self.total
        result = attempt()
        for number in range(self.tries - 1):
            least = least_pause(result)
            if least is None:
                break
            jitter = self.random() * min(self.longest, self.first * 2.0**number)
            pause = max(jitter, least)
            if self.clock() + pause > end:
                break
            _LOGGER.info("no usable answer: try %d follows after %.1f s", number + 2, pause)
            self.sleep(pause)
            result = attempt()
        return result


def is_busy(reply: Reply) -> bool:
    """Return whether a reply is a 429."""
    return isinstance(reply, httpx.Response) and reply.status_code == HTTPStatus.TOO_MANY_REQUESTS


def pause_after_reply(reply: Reply) -> float | None:
    """Return the minimum pause before repeating an idempotent request, in seconds.

    None if the reply needs no retry.
    """
    if isinstance(reply, NoAnswer):
        return None if reply.permanent else 0.0
    if reply.is_server_error or is_busy(reply):
        return retry_after(reply) or 0.0
    return None


def retry_after(reply: httpx.Response) -> float | None:
    """Return the seconds that a reply's ``Retry-After`` (seconds or a date) asks to wait."""
    text = reply.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text)
    end = _parse_date(text)
    if end is None:
        return None
    # By the clock of the system itself, if it says what time it is there.
    now = answered_at(reply) or datetime.now(UTC)
    return max(0.0, (end - now).total_seconds())


def answered_at(reply: httpx.Response) -> datetime | None:
    """Return when a system answered by its own clock, None if it does not say so."""
    return _parse_date(reply.headers.get("Date", ""))


def _parse_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def parse_base_url(base_url: str) -> httpx.URL:
    """Return the URL of a system's address. Raises ``ConfigError`` for an unsafe or invalid one."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        fault = Text(
            pt="O endereço do sistema não está completo: começa com https:// e tem o nome do "
            "servidor.",
            en="The system's address is not complete: it begins with https:// and has the "
            "name of the server.",
        )
    elif url.userinfo or url.query or url.fragment:
        fault = Text(
            pt="O endereço do sistema não pode conter usuário, senha, ? nem #.",
            en="The system's address must not contain a user, a password, ? or #.",
        )
    elif url.scheme == "http" and not is_loopback(url.host):
        fault = Text(
            pt="http sem TLS só é aceito para este computador: {host} precisa de https.",
            en="http without TLS is only accepted for this computer: {host} needs https.",
        ).format(host=url.host)
    else:
        return url
    raise ConfigError(fault, _EXAMPLE)


_EXAMPLE = Text(
    pt="Exemplo de endereço: https://erp.exemplo.com.br",
    en="Example of an address: https://erp.example.com",
)


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
