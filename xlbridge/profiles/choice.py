"""Which environment a command is for."""

from dataclasses import replace

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.profiles.profile import EMBEDDED_NAME, Profile, Source, origin_of
from xlbridge.profiles.profile_file import ProfileFile, read_profile_file
from xlbridge.settings import Settings


def choose_profile(settings: Settings) -> Profile:
    """Return the profile that is named, else the environment's, the default, or the sandbox's.

    A profile of the file and the environment's address and user must not contradict each other.
    Raises ``ConfigError`` when they do, when no such profile exists, and what
    ``read_profile_file`` raises.
    """
    known = read_profile_file(settings.home)
    name = settings.profile or (None if settings.base_url else known.default)
    if name is not None and name in known.profiles:
        profile = known.profiles[name]
        _require_agreement(settings, profile)
    elif settings.base_url:
        profile = _of_environment(settings, known)
    elif name in (None, EMBEDDED_NAME):
        profile = Profile(EMBEDDED_NAME, "", "", source=Source.EMBEDDED)
    else:
        raise _unknown(name, known)
    return replace(
        profile,
        settle_seconds=profile.settle_seconds if settings.settle is None else settings.settle,
        ca_bundle=settings.ca_bundle or profile.ca_bundle,
    )


def settings_for(settings: Settings, profile: Profile) -> Settings:
    """Return the settings as they are for a profile: its settle time, its journal and payloads."""
    return replace(
        settings, settle=profile.settle_seconds, state=profile.state_folder(settings.home)
    )


def _of_environment(settings: Settings, known: ProfileFile) -> Profile:
    base_url = settings.base_url or ""
    real = {profile.origin for profile in known.profiles.values() if profile.production}
    return Profile(
        # A password may stand in the address, which is refused later: it must not be a name.
        name=settings.profile or base_url.rpartition("@")[2],
        base_url=base_url,
        email=settings.email or "",
        production=origin_of(base_url) in real,
        source=Source.ENVIRONMENT,
    )


def _require_agreement(settings: Settings, profile: Profile) -> None:
    given = (
        ("XLBRIDGE_BASE_URL", settings.base_url, profile.base_url),
        ("XLBRIDGE_EMAIL", settings.email, profile.email),
    )
    for variable, said, known in given:
        if said is not None and said.rstrip("/") != known.rstrip("/"):
            raise ConfigError(
                Text(
                    pt="{variable} contradiz o perfil {name}.",
                    en="{variable} contradicts the profile {name}.",
                ).format(variable=variable, name=profile.name),
                Text(
                    pt="Retire a variável, ou escolha outro perfil.",
                    en="Unset the variable, or choose another profile.",
                ),
            )


def _unknown(name: str | None, known: ProfileFile) -> ConfigError:
    names = ", ".join(known.profiles) or "-"
    return ConfigError(
        Text(pt="Não existe o perfil {name!r}.", en="There is no profile {name!r}.").format(
            name=name
        ),
        Text(
            pt="Existem: {names}. Para criar um: xlbridge login --profile NOME --url ENDEREÇO",
            en="There are: {names}. To make one: xlbridge login --profile NAME --url ADDRESS",
        ).format(names=names),
    )
