"""Which remote system a command talks to: the configured one, or the embedded sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.cli.output import remark
from xlbridge.cli.profile_names import EMBEDDED_PROFILE
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.settings import Settings


@contextmanager
def connect(settings: Settings) -> Iterator[Client]:
    """Open a client to the configured system; with nothing configured, to the embedded sandbox.

    Raises ``ConfigError`` when an address is configured without credentials, or the embedded
    sandbox is needed and not installed.
    """
    if settings.base_url is not None:
        with Client(_configured(settings, settings.base_url)) as client:
            yield client
        return
    from xlbridge.sandbox.embedded import embedded_sandbox

    remark(
        Text(
            pt="Nada configurado: usando o sistema de ensaio embutido (dados em {home}).",
            en="Nothing configured: using the embedded sandbox (data in {home}).",
        ).format(home=settings.home)
    )
    with embedded_sandbox(settings) as server:
        target = Target(EMBEDDED_PROFILE, server.base_url, server.email, server.password)
        with Client(target) as client:
            yield client


def _configured(settings: Settings, base_url: str) -> Target:
    if not settings.email or not settings.password:
        raise ConfigError(
            Text(
                pt="XLBRIDGE_BASE_URL está definida, mas falta XLBRIDGE_EMAIL ou "
                "XLBRIDGE_PASSWORD.",
                en="XLBRIDGE_BASE_URL is set, but XLBRIDGE_EMAIL or XLBRIDGE_PASSWORD is missing.",
            )
        )
    return Target(settings.profile or base_url, base_url, settings.email, settings.password)
