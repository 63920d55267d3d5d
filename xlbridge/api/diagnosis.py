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
from xlbridge.credentials.passwords import Place, find_password
from xlbridge.errors import ApiError, AuthenticationFailed, ConfigError, XlbridgeError
from xlbridge.i18n import Text, reason_of
from xlbridge.profiles.profile import Profile, Source
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


def diagnose_here(settings: Settings, profile: Profile) -> Iterator[Check]:
    """Check this computer: versions, the profile and its password, home folder, proxies."""
    versions = f"xlbridge {__version__}, Python {platform.python_version()}, {platform.system()}"
    yield Check("versions", True, _same(versions))
    yield _profile(profile)
    if profile.source is not Source.EMBEDDED:
        yield _password(settings, profile)
    yield _home(settings)
    yield _network(profile)
    installed = all(importlib.util.find_spec(name) for name in _SERVER_PACKAGES)
    yield Check(
        "sandbox-extra",
        installed or profile.source is not Source.EMBEDDED,
        Text(pt="instalado", en="installed")
        if installed
        else Text(pt="não instalado", en="not installed"),
        None if installed else _same('pip install "xlbridge[sandbox]"'),
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


def _profile(profile: Profile) -> Check:
    if profile.source is Source.EMBEDDED:
        told = Text(
            pt="nada configurado: sistema de ensaio embutido",
            en="nothing configured: embedded sandbox",
        )
        return Check("settings", True, told)
    kind = Text(pt="produção", en="production") if profile.production else None
    source = {
        Source.FILE: Text(pt="de profiles.toml", en="from profiles.toml"),
        Source.ENVIRONMENT: Text(pt="do ambiente", en="from the environment"),
    }[profile.source]
    told = Text(pt="{name} {source}{kind}", en="{name} {source}{kind}").format(
        name=profile.name,
        source=source,
        kind=Text(pt=", {kind}", en=", {kind}").format(kind=kind) if kind else "",
    )
    if profile.email:
        return Check("settings", True, told)
    told = Text(pt="falta XLBRIDGE_EMAIL", en="XLBRIDGE_EMAIL missing")
    return Check("settings", False, told, Text(pt="Defina-a.", en="Set it."))


_PLACES = {
    Place.ENVIRONMENT: Text(pt="do ambiente", en="from the environment"),
    Place.KEYRING: Text(pt="no chaveiro do sistema", en="in the system's keyring"),
    Place.FILE: Text(pt="num arquivo privado, sem cifra", en="in a private file, not encrypted"),
}


def _password(settings: Settings, profile: Profile) -> Check:
    try:
        place = find_password(settings, profile).place
    except ConfigError as error:
        return problem("password", error)
    if place in _PLACES:
        return Check("password", True, _PLACES[place])
    told = Text(pt="falta XLBRIDGE_PASSWORD", en="XLBRIDGE_PASSWORD missing")
    return Check(
        "password", False, told, Text(pt="Ou use xlbridge login.", en="Or use xlbridge login.")
    )


def _home(settings: Settings) -> Check:
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.home):
            pass
    except OSError as error:
        told = Text(
            pt="não se pode gravar em {home}: {reason}", en="cannot write to {home}: {reason}"
        ).format(home=settings.home, reason=reason_of(error))
        advice = Text(
            pt="Defina XLBRIDGE_HOME com uma pasta sua.", en="Set XLBRIDGE_HOME to your own folder."
        )
        return Check("home", False, told, advice)
    return Check("home", True, _same(str(settings.home)))


_NONE = Text(pt="nenhum", en="none")


def _network(profile: Profile) -> Check:
    # Only the hosts: a proxy's address may hold a password.
    proxies = getproxies()
    hosts = sorted(
        f"{scheme} {httpx.URL(url).host}" for scheme, url in proxies.items() if scheme != "no"
    )
    certificates = profile.ca_bundle or os.environ.get("SSL_CERT_FILE") or "certifi"
    told = Text(
        pt="proxies: {hosts}; sem proxy: {direct}; certificados: {certificates}",
        en="proxies: {hosts}; without proxy: {direct}; certificates: {certificates}",
    ).format(
        hosts=", ".join(hosts) or _NONE,
        direct=proxies.get("no") or _NONE,
        certificates=certificates,
    )
    return Check("network", True, told)


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
