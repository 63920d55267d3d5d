"""Target of a client: address, credentials, and the rules for addresses."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.settings import DEFAULT_TIMEOUT_SECONDS


@dataclass(frozen=True, slots=True)
class Target:
    """One environment: its address and the integration user's credentials.

    ``profile`` names it in the journal and to the user; credentials, tokens and data are never
    shared between two. ``production`` says that what is written there counts. Source: the spec,
    What the service does.

    ``ca_bundle`` is a PEM file with the certificate authorities to trust instead of the usual
    ones. ``system`` is the id that the embedded sandbox keeps in its database, as its address
    changes; None for every other system. ``trust_429`` says that the system answers a 429 before
    it writes anything, ``exclusive`` that nobody else writes while an upload runs; ``timeout`` is
    how long each step of a request may take, in seconds.
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
    timeout: float = DEFAULT_TIMEOUT_SECONDS


def parse_base_url(base_url: str) -> httpx.URL:
    """Return an address that calls may go to. Raises ``ConfigError`` for any other."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(
            Text(
                pt="O endereço do sistema não é um endereço http(s) completo.",
                en="The system's address is not a complete http(s) address.",
            ),
            Text(
                pt="Exemplo: XLBRIDGE_BASE_URL=https://erp.exemplo.com.br",
                en="Example: XLBRIDGE_BASE_URL=https://erp.example.com",
            ),
        )
    if url.userinfo or url.query or url.fragment:
        raise ConfigError(
            Text(
                pt="O endereço do sistema não pode conter usuário, senha, ? nem #.",
                en="The system's address must not hold a user, a password, ? or #.",
            )
        )
    if url.scheme == "http" and not is_loopback(url.host):
        raise ConfigError(
            Text(
                pt="http sem TLS só é aceito para este computador: {host} precisa de https.",
                en="http without TLS is only for this computer: {host} needs https.",
            ).format(host=url.host)
        )
    return url


def is_loopback(host: str) -> bool:
    """Say whether a host is this computer itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
