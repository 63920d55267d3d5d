"""A client for the chosen profile, or for the embedded sandbox if nothing is configured."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from xlbridge.client import Client, RetryPolicy, Target, TokenFile, parse_base_url
from xlbridge.errors import ConfigError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.profiles import (
    EMBEDDED_NAME,
    Profile,
    ProfileSource,
    choose_profile,
    read_profile_file,
)
from xlbridge.resources import load_catalogue
from xlbridge.saved_logins import PasswordSource, check_profile, find_password
from xlbridge.settings import Settings
from xlbridge.wire.imports import NO_QUIRKS, Quirks


@contextmanager
def connect(
    settings: Settings,
    announce: Callable[[Text], None],
    retry_policy: RetryPolicy | None = None,
    *,
    silently: bool = False,
) -> Iterator[Client]:
    """Open a client to the chosen system; with nothing configured, to the embedded sandbox.

    ``announce`` is called with a message if the embedded sandbox is used; ``retry_policy`` replaces
    the default one; ``silently`` as for ``find_password``.

    Raises ``ConfigError`` if no profile can be chosen, it has no credentials, or the embedded
    sandbox is needed and not installed.
    """
    profile = choose_profile(settings)
    if profile.source is not ProfileSource.EMBEDDED:
        target = target_of(settings, profile, silently=silently)
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
    quirks, quirks_file = quirks_for(settings, profile)
    with embedded_sandbox(settings, quirks_file) as server:
        target = Target(
            EMBEDDED_NAME,
            server.base_url,
            server.email,
            server.password,
            system=server.system,
            timeout=profile.timeout_seconds,
            by_default=not profile.is_named,
            quirks=quirks,
            quirks_file=quirks_file,
        )
        with Client(target, retry_policy=retry_policy) as client:
            yield client


def read_branch_names(
    settings: Settings, announce: Callable[[Text], None], client: Client | None = None
) -> Mapping[str, str]:
    """Return the names of the chosen system's branches by their codes, those read earlier if they
    cannot be read at the first attempt.

    ``client`` is one that is open already.
    """
    # Slow to import, and needed by pages only.
    from xlbridge.client.registries import StoredNames
    from xlbridge.resources.references import BRANCH

    stored = StoredNames(settings, BRANCH)
    with suppress(XlbridgeError), ExitStack() as stack:
        quick = RetryPolicy.quick()
        opened = client or stack.enter_context(connect(settings, announce, quick))
        # Summaries have them later, without a connection.
        return stored.read_from(opened)
    return stored.read()[0]


def new_profile(settings: Settings, wanted: Profile) -> Profile:
    """Return a profile as it is saved: with its whole address, and what an earlier one of its name
    has beside address and user.

    Raises ``UsageError`` for an invalid address, ``ConfigError`` if saving it would be refused.
    """
    bundle = None if settings.ca_bundle is None else Path(settings.ca_bundle).absolute()
    address = str(parse_base_url(wanted.base_url)).rstrip("/")
    profile = dataclasses.replace(wanted, base_url=address, ca_bundle=bundle)
    old = read_profile_file(settings).profiles.get(profile.name)
    if old is not None:
        profile = dataclasses.replace(
            profile, settle_seconds=old.settle_seconds, ca_bundle=bundle or old.ca_bundle
        )
    check_profile(settings, profile)
    return profile


def target_of(settings: Settings, profile: Profile, *, silently: bool = False) -> Target:
    """Return a profile's target with its password, found as ``find_password`` does.

    Raises ``ConfigError`` if it has none.
    """
    password = find_password(settings, profile, silently=silently)
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
                page=Text(
                    pt="Adicione o ambiente em Ambientes, com o e-mail e a senha.",
                    en="Add the environment under Environments, with the e-mail and the password.",
                ),
            ).format(profile="".join(f" {word}" for word in profile.arguments)),
        )
    quirks, quirks_file = quirks_for(settings, profile)
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
        quirks=quirks,
        quirks_file=quirks_file,
        zone=profile.zone,
    )


def quirks_for(settings: Settings, profile: Profile) -> tuple[Quirks, Path | None]:
    """Return the quirks of a profile, and the file that declares them, None if there is none.

    That is its quirks file, or the profile's file if its section has quirks. A machine's profile
    has the machine's quirks file if the user has none. Words for the states of
    logs in the environment precede those of the file. Raises ``ConfigError`` for mistakes in the
    file, and if both declare quirks.
    """
    quirks, path = NO_QUIRKS, settings.quirks_file(profile.name)
    if profile.source is ProfileSource.MACHINE and profile.file is not None and not path.is_file():
        path = profile.file.parent / path.name
    # The name of an environment without a profile may be its address.
    declared_in = path if Path(profile.name).name == profile.name and path.is_file() else None
    # Commands that need no file start without YAML.
    if profile.quirks is not None and profile.file is not None:
        from xlbridge.resources.quirks_file import quirks_of_section

        section, file = f"profiles.{profile.name}.quirks", profile.file
        if declared_in is not None:
            raise ConfigError(
                Text(
                    pt="{section}, em {file}, e {path} declaram particularidades: deixe só um.",
                    en="{section}, in {file}, and {path} declare quirks: keep one of them.",
                ).format(section=section, file=file, path=path)
            )
        quirks = quirks_of_section(file, section, profile.quirks, load_catalogue(settings.schemas))
        declared_in = file
    elif declared_in is not None:
        from xlbridge.resources.quirks_file import read_quirks

        quirks = read_quirks(path, load_catalogue(settings.schemas))
    if settings.log_words:
        quirks = replace(quirks, log_words={**quirks.log_words, **settings.log_words})
    return quirks, declared_in
