"""``xlbridge profiles``: the configured environments, without their passwords."""

from collections.abc import Mapping

from xlbridge.cli.completion import complete_profiles
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import described_command, option, result_options
from xlbridge.cli.output import display_name, display_value, print_json, print_message, print_result
from xlbridge.i18n import Text
from xlbridge.profiles import (
    PasswordSource,
    Profile,
    ProfileSource,
    choose_profile,
    delete_password,
    find_password,
    read_profile_file,
)
from xlbridge.settings import Settings, read_settings


@described_command(
    "profiles",
    pt="Os ambientes configurados.",
    en="The configured environments.",
)
@option(
    "--default",
    metavar="NAME",
    shell_complete=complete_profiles,
    pt="Usa esse perfil quando nenhum é escolhido; não pode ser de produção.",
    en="Makes a profile the default; it cannot be a production profile.",
)
@option(
    "--remove",
    metavar="NAME",
    shell_complete=complete_profiles,
    pt="Retira o perfil e sua senha; o diário fica.",
    en="Removes the profile and its password; its journal stays.",
)
@result_options
def command(default: str | None, remove: str | None, form: str) -> None:
    home = read_settings().home
    if default is not None:
        # Slow to import, as it edits the file.
        from xlbridge.profiles import set_default

        set_default(home, default)
    if remove is not None:
        from xlbridge.profiles import remove_profile

        delete_password(home, remove_profile(home, remove))
        print_message(Text(pt="Retirado: {name}.", en="Removed: {name}.").format(name=remove))
    settings = command_settings()
    chosen = choose_profile(settings)
    others = [p for p in read_profile_file(home).profiles.values() if p.name != chosen.name]
    rows = [_as_json(settings, chosen, chosen=True)]
    # A password in the environment belongs to the chosen profile only.
    rows += [_as_json(Settings(home), profile, chosen=False) for profile in others]
    if form == "json":
        print_json({"version": 1, "profiles": rows})
        return
    for row in rows:
        pairs = ((display_name(name), _SOURCES.get(value, value)) for name, value in row.items())
        print_result("  ".join(f"{name}: {display_value(value)}" for name, value in pairs))


_SOURCES: Mapping[object, Text] = {
    ProfileSource.FILE: Text(pt="arquivo", en="file"),
    ProfileSource.ENVIRONMENT: Text(pt="variáveis de ambiente", en="environment"),
    ProfileSource.EMBEDDED: Text(pt="embutido", en="embedded"),
    PasswordSource.KEYRING: Text(pt="chaveiro", en="keyring"),
    PasswordSource.NOWHERE: Text(pt="falta", en="missing"),
}
"""Displayed sources of profiles and passwords, which share the values of file and environment."""


def _as_json(settings: Settings, profile: Profile, *, chosen: bool) -> dict[str, object]:
    row = {"profile": profile.name, "source": str(profile.source), "chosen": chosen}
    if profile.source is ProfileSource.EMBEDDED:
        return row | {"home": str(settings.home)}
    from xlbridge.client import parse_base_url

    return row | {
        "base_url": str(parse_base_url(profile.base_url)),
        "email": profile.email,
        "production": profile.production,
        "password": str(find_password(settings, profile).source),
    }
