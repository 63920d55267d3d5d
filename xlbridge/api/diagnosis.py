"""What is configured, what answers, what is wrong: one check at a time."""

import importlib.util
import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.request import getproxies

import httpx

from xlbridge import __version__
from xlbridge.api.client import Client
from xlbridge.api.outcome import Executed
from xlbridge.errors import ApiError, AuthenticationFailed, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.settings import Settings
from xlbridge.wire.operations.utilities import SYSTEM_INFO

_SKEW_SECONDS = 300.0
_SERVER_PACKAGES = ("multipart", "sqlalchemy", "starlette", "uvicorn")


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a stable English name, what was found, and what to do where it is a problem.

    ``remote`` says that the problem is the remote system's or the way to it.
    """

    name: str
    ok: bool
    message: Text
    advice: Text | None = None
    remote: bool = False


def diagnose_here(settings: Settings) -> Iterator[Check]:
    """Check this computer: versions, settings, home folder, proxies."""
    versions = f"xlbridge {__version__}, Python {platform.python_version()}, {platform.system()}"
    yield Check("versions", True, _same(versions))
    yield _settings(settings)
    yield _home(settings)
    yield _proxies()
    installed = all(importlib.util.find_spec(name) for name in _SERVER_PACKAGES)
    yield Check(
        "sandbox-extra",
        installed or settings.base_url is not None,
        Text(pt="instalado", en="installed")
        if installed
        else Text(pt="não instalado", en="not installed"),
        None if installed else _same("pip install 'xlbridge[sandbox]'"),
    )


def diagnose_remote(client: Client) -> Iterator[Check]:
    """Check the remote system: does it answer, accept the credentials, agree on the time."""
    address = _same(client.target.base_url)
    try:
        client.login()
        reply = client.raw(SYSTEM_INFO.method, SYSTEM_INFO.path)
    except AuthenticationFailed as error:
        yield Check("address", True, address)
        yield problem("login", error)
        return
    except ApiError as error:
        yield problem("address", error)
        return
    yield Check("address", True, address)
    yield Check("login", True, _same(client.target.email))
    yield _answers(client, reply)
    yield _clock(reply)


def problem(name: str, error: XlbridgeError) -> Check:
    """Return the failed check that an error stands for."""
    return Check(name, False, error.message, error.hint, remote=isinstance(error, ApiError))


def _same(text: str) -> Text:
    return Text(pt=text, en=text)


def _settings(settings: Settings) -> Check:
    if settings.base_url is None:
        return Check(
            "settings",
            True,
            Text(
                pt="nada configurado: sistema de ensaio embutido",
                en="nothing configured: embedded sandbox",
            ),
        )
    missing = [
        name
        for name, value in (
            ("XLBRIDGE_EMAIL", settings.email),
            ("XLBRIDGE_PASSWORD", settings.password),
        )
        if not value
    ]
    if missing:
        names = ", ".join(missing)
        advice = Text(pt="Defina {names}.", en="Set {names}.").format(names=names)
        told = Text(pt="falta {names}", en="{names} missing").format(names=names)
        return Check("settings", False, told, advice)
    return Check("settings", True, Text(pt="do ambiente", en="from the environment"))


def _home(settings: Settings) -> Check:
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.home):
            pass
    except OSError as error:
        told = Text(
            pt="não se pode gravar em {home}: {reason}", en="cannot write to {home}: {reason}"
        ).format(home=settings.home, reason=error.strerror)
        advice = Text(
            pt="Defina XLBRIDGE_HOME com uma pasta sua.", en="Set XLBRIDGE_HOME to your own folder."
        )
        return Check("home", False, told, advice)
    return Check("home", True, _same(str(settings.home)))


_NONE = Text(pt="nenhum", en="none")


def _proxies() -> Check:
    # Only the host: a proxy's address may hold a password.
    hosts = sorted({httpx.URL(url).host for name, url in getproxies().items() if name != "no"})
    certificates = os.environ.get("SSL_CERT_FILE")
    told = Text(
        pt="proxies: {hosts}; certificados: {certificates}",
        en="proxies: {hosts}; certificates: {certificates}",
    )
    return Check(
        "network",
        True,
        told.format(hosts=", ".join(hosts) or _NONE, certificates=certificates or "certifi"),
    )


def _answers(client: Client, reply: httpx.Response) -> Check:
    outcome = client.outcome_of(reply)
    told = _same(f"{SYSTEM_INFO.path}: {reply.status_code}")
    if isinstance(outcome, Executed):
        return Check("answers", True, told)
    advice = Text(
        pt="Confira XLBRIDGE_BASE_URL e as permissões do usuário.",
        en="Check XLBRIDGE_BASE_URL and the user's permissions.",
    )
    return Check("answers", False, told, advice, remote=True)


def _clock(reply: httpx.Response) -> Check:
    try:
        server = parsedate_to_datetime(reply.headers.get("Date", ""))
    except ValueError:
        return Check(
            "clock", True, Text(pt="o sistema não diz a hora", en="the system tells no time")
        )
    aware = server if server.tzinfo else server.replace(tzinfo=UTC)
    seconds = round((datetime.now(UTC) - aware).total_seconds())
    told = Text(pt="{s} s de diferença", en="{s} s apart").format(s=abs(seconds))
    advice = Text(
        pt="Acerte o relógio: os períodos das listagens dependem dele.",
        en="Set the clock: the periods of listings depend on it.",
    )
    return Check("clock", abs(seconds) <= _SKEW_SECONDS, told, advice)
