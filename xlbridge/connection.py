"""A client for the chosen profile, or for the embedded sandbox if nothing is configured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from xlbridge.client import Client, RetryPolicy, Target, TokenFile
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.profiles import (
    EMBEDDED_NAME,
    PasswordSource,
    Profile,
    ProfileSource,
    choose_profile,
    find_password,
)
from xlbridge.settings import Settings


@contextmanager
def connect(
    settings: Settings,
    announce: Callable[[Text], None],
    retry_policy: RetryPolicy | None = None,
) -> Iterator[Client]:
    """Open a client to the chosen system; with nothing configured, to the embedded sandbox.

    ``announce`` is called with a message if the embedded sandbox is used; ``retry_policy`` replaces
    the default one.

    Raises ``ConfigError`` if no profile can be chosen, it has no credentials, or the embedded
    sandbox is needed and not installed.
    """
    profile = choose_profile(settings)
    if profile.source is not ProfileSource.EMBEDDED:
        target = target_of(settings, profile)
        token_file = TokenFile(settings.home, target.base_url, target.email, target.password)
        with Client(target, token_file=token_file, retry_policy=retry_policy) as client:
            yield client
        return
    from xlbridge.sandbox import embedded_sandbox

    announce(
        Text(
            pt="{why} o ambiente de testes embutido (dados em {home}).",
            en="{why} the embedded sandbox (data in {home}).",
        ).format(
            why=Text(pt="Usando", en="Using")
            if profile.is_named
            else Text(pt="Nada configurado: usando", en="Nothing configured: using"),
            home=settings.home,
        )
    )
    with embedded_sandbox(settings) as server:
        target = Target(
            EMBEDDED_NAME,
            server.base_url,
            server.email,
            server.password,
            system=server.system,
            timeout=profile.timeout_seconds,
            by_default=not profile.is_named,
        )
        with Client(target, retry_policy=retry_policy) as client:
            yield client


def target_of(settings: Settings, profile: Profile) -> Target:
    """Return a profile's target with its password. Raises ``ConfigError`` if it has none."""
    password = find_password(settings, profile)
    if not profile.email or password.source is PasswordSource.NOWHERE:
        raise ConfigError(
            Text(
                pt="Falta o e-mail ou a senha do ambiente {name}.",
                en="The e-mail or password of the environment {name} is missing.",
            ).format(name=profile.name),
            Text(
                pt="Use xlbridge login{profile}, ou defina XLBRIDGE_EMAIL e XLBRIDGE_PASSWORD "
                "junto com XLBRIDGE_PROFILE ou XLBRIDGE_BASE_URL.",
                en="Use xlbridge login{profile}, or set XLBRIDGE_EMAIL and XLBRIDGE_PASSWORD "
                "together with XLBRIDGE_PROFILE or XLBRIDGE_BASE_URL.",
            ).format(profile="".join(f" {word}" for word in profile.arguments)),
        )
    return Target(
        profile.name,
        profile.base_url,
        profile.email,
        password.value,
        profile.production,
        profile.ca_bundle,
        trust_429=profile.trust_429,
        exclusive=profile.exclusive,
        timeout=profile.timeout_seconds,
    )
