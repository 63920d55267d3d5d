"""Which remote system a command talks to: the chosen profile's, or the embedded sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.cli.output import remark
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.profiles.choice import choose_profile
from xlbridge.profiles.profile import EMBEDDED_NAME, Profile, Source
from xlbridge.settings import Settings


@contextmanager
def connect(settings: Settings) -> Iterator[Client]:
    """Open a client to the chosen system; with nothing configured, to the embedded sandbox.

    Raises ``ConfigError`` when a profile cannot be chosen or has no credentials, or the embedded
    sandbox is needed and not installed.
    """
    profile = choose_profile(settings)
    if profile.source is not Source.EMBEDDED:
        with Client(_target(settings, profile)) as client:
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
        target = Target(EMBEDDED_NAME, server.base_url, server.email, server.password)
        with Client(target) as client:
            yield client


def _target(settings: Settings, profile: Profile) -> Target:
    if not profile.email or not settings.password:
        raise ConfigError(
            Text(
                pt="O ambiente {name} não tem e-mail ou senha: falta XLBRIDGE_EMAIL ou "
                "XLBRIDGE_PASSWORD.",
                en="The environment {name} has no e-mail or password: XLBRIDGE_EMAIL or "
                "XLBRIDGE_PASSWORD is missing.",
            ).format(name=profile.name)
        )
    return Target(
        profile.name,
        profile.base_url,
        profile.email,
        settings.password,
        profile.production,
        profile.ca_bundle,
    )
