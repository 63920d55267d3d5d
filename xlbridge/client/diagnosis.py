"""Checks of ``xlbridge doctor``: this computer, the profile, and the remote system."""

import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.request import getproxies

import httpx

from xlbridge import __version__
from xlbridge.client.client import Client
from xlbridge.client.transport import CA_VARIABLES, answered_at
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigError,
    LocalFailure,
    RemoteRejected,
    TransportError,
    XlbridgeError,
    is_local_failure,
    os_error_reason,
)
from xlbridge.extras import require_extra
from xlbridge.files import make_private_folder
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import Profile, ProfileSource
from xlbridge.saved_logins import PasswordSource, find_password
from xlbridge.settings import Settings
from xlbridge.wire.operations import SYSTEM_INFO, SystemInfo

_SKEW_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class DiagnosticCheck:
    """One check: its stable English name, the result, and advice if it failed.

    ``remote``: the problem lies with the remote system or the connection; ``local``: this computer
    failed.
    """

    name: str
    ok: bool
    message: Text
    advice: Text | None = None
    remote: bool = False
    local: bool = False

    @classmethod
    def failed(cls, name: str, error: XlbridgeError) -> "DiagnosticCheck":
        """Return the failed check for an error."""
        return cls(
            name,
            False,
            error.message,
            error.hint,
            remote=isinstance(error, ApiError),
            local=isinstance(error, LocalFailure),
        )

    @classmethod
    def of_computer(cls, settings: Settings, profile: Profile) -> Iterator["DiagnosticCheck"]:
        """Check this computer: versions, the profile and its password, home folder, proxies."""
        versions = (
            f"xlbridge {__version__}, Python {platform.python_version()}, {platform.system()}"
        )
        yield cls("versions", True, untranslated(versions))
        yield _check_profile(profile)
        if profile.source is not ProfileSource.EMBEDDED:
            yield _check_password(settings, profile)
        yield _check_home(settings)
        yield _check_network(profile)
        try:
            require_extra("sandbox")
        except ConfigError as error:
            failed = cls.failed("sandbox-extra", error)
            yield replace(failed, ok=profile.source is not ProfileSource.EMBEDDED)
        else:
            yield cls("sandbox-extra", True, Text(pt="instalado", en="installed"))

    @classmethod
    def of_system(cls, client: Client) -> Iterator["DiagnosticCheck"]:
        """Check the remote system: its address, the login, an answer, the clock."""
        address = untranslated(client.target.base_url)
        try:
            client.login()
            reply = client.raw(SYSTEM_INFO.method, SYSTEM_INFO.path)
        except AuthenticationFailed as error:
            yield cls("address", True, address)
            yield cls.failed("login", error)
            return
        except ApiError as error:
            check = cls.failed("address", error)
            advice = _CHECK_ADDRESS.format(label=client.target.label)
            yield (
                replace(check, advice=advice) if error.hint == client.target.address_hint else check
            )
            return
        yield cls("address", True, address)
        yield cls("login", True, untranslated(client.target.email))
        try:
            read_system_info(client)
        except ApiError as error:
            yield cls.failed("answers", error)
        else:
            message = untranslated(f"{SYSTEM_INFO.path}: {reply.status_code}")
            yield cls("answers", True, message)
        yield _check_clock(reply)


_CHECK_ADDRESS = Text(
    pt="Confira o endereço do ambiente {label}, a rede e o proxy.",
    en="Check the address of the environment {label}, the network and the proxy.",
)


def read_system_info(client: Client) -> dict[str, Any]:
    """Return the system's answer about the user by its fields, with values of other types as they
    came.

    Raises ``TransportError`` also if the system rejects the request, which has nothing to correct,
    ``UnknownFields`` if nothing of the answer is understood.
    """
    try:
        info = client.system_info()
    except RemoteRejected as error:
        advice = Text(
            pt="Confira o endereço do ambiente {label} e as permissões do usuário.",
            en="Check the address of the environment {label} and the user's permissions.",
        ).format(label=client.target.label)
        raise TransportError(error.message, advice) from error
    return {name: info.get(name) for name in SystemInfo.model_fields}


def _check_profile(profile: Profile) -> DiagnosticCheck:
    if profile.source is ProfileSource.EMBEDDED:
        message = Text(
            pt="nada configurado: ambiente de testes embutido",
            en="nothing configured: embedded sandbox",
        )
        return DiagnosticCheck("settings", True, message)
    source = {
        ProfileSource.FILE: Text(pt="de profiles.toml", en="from profiles.toml"),
        ProfileSource.MACHINE: Text(pt="do arquivo da TI {file}", en="from IT's file {file}"),
        ProfileSource.ENVIRONMENT: Text(
            pt="das variáveis de ambiente", en="from environment variables"
        ),
    }[profile.source].format(file=profile.file)
    message = untranslated("{name} {source}{kind}").format(
        name=profile.name,
        source=source,
        kind=Text(pt=", produção", en=", production") if profile.production else "",
    )
    if profile.email:
        return DiagnosticCheck("settings", True, message)
    message = Text(pt="falta XLBRIDGE_EMAIL", en="XLBRIDGE_EMAIL missing")
    return DiagnosticCheck("settings", False, message, Text(pt="Defina-a.", en="Set it."))


_PASSWORD_SOURCES = {
    PasswordSource.ENVIRONMENT: Text(
        pt="das variáveis de ambiente", en="from environment variables"
    ),
    PasswordSource.KEYRING: Text(
        pt="no cofre de senhas do computador", en="in the system's keyring"
    ),
    PasswordSource.FILE: Text(
        pt="num arquivo privado, sem criptografia", en="in a private file, not encrypted"
    ),
}


def _check_password(settings: Settings, profile: Profile) -> DiagnosticCheck:
    try:
        place = find_password(settings, profile).source
    except ConfigError as error:
        return DiagnosticCheck.failed("password", error)
    if place in _PASSWORD_SOURCES:
        return DiagnosticCheck("password", True, _PASSWORD_SOURCES[place])
    message = Text(pt="falta XLBRIDGE_PASSWORD", en="XLBRIDGE_PASSWORD missing")
    return DiagnosticCheck(
        "password", False, message, Text(pt="Ou use xlbridge login.", en="Or use xlbridge login.")
    )


def _check_home(settings: Settings) -> DiagnosticCheck:
    try:
        make_private_folder(settings.home)
        with tempfile.TemporaryFile(dir=settings.home):
            pass
    except OSError as error:
        message = Text(
            pt="não é possível gravar em {home}: {reason}", en="cannot write to {home}: {reason}"
        ).format(home=settings.home, reason=os_error_reason(error))
        advice = Text(
            pt="Defina XLBRIDGE_HOME com uma pasta sua.", en="Set XLBRIDGE_HOME to your own folder."
        )
        return DiagnosticCheck("home", False, message, advice, local=is_local_failure(error))
    return DiagnosticCheck("home", True, untranslated(str(settings.home)))


_NONE = Text(pt="nenhum", en="none")
_OF_COMPUTER = Text(pt="os deste computador", en="those of this computer")


def _check_network(profile: Profile) -> DiagnosticCheck:
    # Only the hosts: the address of a proxy may contain a password.
    proxies = getproxies()
    hosts = sorted(
        f"{scheme} {httpx.URL(url).host}" for scheme, url in proxies.items() if scheme != "no"
    )
    named = [profile.ca_bundle, *map(os.environ.get, CA_VARIABLES)]
    certificates = next(filter(None, named), None) or _OF_COMPUTER
    message = Text(
        pt="proxies: {hosts}; sem proxy: {direct}; certificados: {certificates}",
        en="proxies: {hosts}; without proxy: {direct}; certificates: {certificates}",
    ).format(
        hosts=", ".join(hosts) or _NONE,
        direct=proxies.get("no") or _NONE,
        certificates=certificates,
    )
    return DiagnosticCheck("network", True, message)


def _check_clock(reply: httpx.Response) -> DiagnosticCheck:
    server = answered_at(reply)
    if server is None:
        return DiagnosticCheck(
            "clock",
            True,
            Text(pt="o sistema não informa a hora", en="the system does not report the time"),
        )
    seconds = round((datetime.now(UTC) - server).total_seconds())
    message = Text(pt="{s} s de diferença", en="{s} s of difference").format(s=abs(seconds))
    advice = Text(
        pt="Acerte o relógio: os períodos das listagens dependem dele.",
        en="Set the clock: the periods of listings depend on it.",
    )
    return DiagnosticCheck("clock", abs(seconds) <= _SKEW_SECONDS, message, advice)
