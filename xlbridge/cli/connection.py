"""Which remote system a command talks to: the chosen profile's, or the embedded sandbox."""

from collections.abc import Iterator
from contextlib import contextmanager

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.cli.output import remark
from xlbridge.credentials.passwords import Place, find_password
from xlbridge.credentials.tokens import TokenFile
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
        target = target_of(settings, profile)
        kept = TokenFile(settings.home, target.base_url, target.email, target.password)
        with Client(target, kept=kept) as client:
            yield client
        return
    from xlbridge.sandbox.serving.embedded import embedded_sandbox

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


def target_of(settings: Settings, profile: Profile) -> Target:
    """Return a profile's target with its password. Raises ``ConfigError`` when it has none."""
    password = find_password(settings, profile)
    if not profile.email or password.place is Place.NOWHERE:
        raise ConfigError(
            Text(
                pt="Falta o e-mail ou a senha do ambiente {name}.",
                en="The e-mail or the password of the environment {name} is missing.",
            ).format(name=profile.name),
            Text(
                pt="Use xlbridge login, ou defina XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD.",
                en="Use xlbridge login, or set XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD.",
            ),
        )
    return Target(
        profile.name,
        profile.base_url,
        profile.email,
        password.value,
        profile.production,
        profile.ca_bundle,
    )
