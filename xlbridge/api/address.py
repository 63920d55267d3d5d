"""Which addresses calls may go to: https ones, and this computer itself."""

import ipaddress

import httpx

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text


def checked_address(base_url: str) -> httpx.URL:
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
    """Whether a host is this computer itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
