"""``xlbridge profiles``: the configured environments, never their passwords."""

from collections.abc import Mapping

from xlbridge.cli.completion import complete_profiles
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import described_command, format_option, option
from xlbridge.cli.output import label, print_json, print_result, readable, remark
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
    pt="Usa esse perfil quando nenhum é escolhido; nunca um de produção.",
    en="Uses that profile where none is chosen; never one of production.",
)
@option(
    "--remove",
    metavar="NAME",
    shell_complete=complete_profiles,
    pt="Retira o perfil e sua senha; o diário fica.",
    en="Removes the profile and its password; its journal stays.",
)
@format_option
def command(default: str | None, remove: str | None, form: str) -> None:
    home = read_settings().home
    # Late, as what edits the file and what knows addresses take their time to import.
    if default is not None:
        from xlbridge.profiles import set_default

        set_default(home, default)
    if remove is not None:
        from xlbridge.profiles import remove_profile

        delete_password(home, remove_profile(home, remove))
        remark(Text(pt="Retirado: {name}.", en="Removed: {name}.").format(name=remove))
    settings = command_settings()
    chosen = choose_profile(settings)
    others = [p for p in read_profile_file(home).profiles.values() if p.name != chosen.name]
    listed = [_described(settings, chosen, chosen=True)]
    # A password of the environment is the chosen profile's, and no other's.
    listed += [_described(Settings(home), profile, chosen=False) for profile in others]
    if form == "json":
        print_json({"version": 1, "profiles": listed})
        return
    for profile in listed:
        told = ((label(name), _SOURCES.get(value, value)) for name, value in profile.items())
        print_result("  ".join(f"{name}: {readable(value)}" for name, value in told))


_SOURCES: Mapping[object, Text] = {
    ProfileSource.FILE: Text(pt="arquivo", en="file"),
    ProfileSource.ENVIRONMENT: Text(pt="variáveis de ambiente", en="environment"),
    ProfileSource.EMBEDDED: Text(pt="embutido", en="embedded"),
    PasswordSource.KEYRING: Text(pt="chaveiro", en="keyring"),
    PasswordSource.NOWHERE: Text(pt="falta", en="missing"),
}
"""Places of profiles and passwords; a file and the environment are called alike for both."""


def _described(settings: Settings, profile: Profile, *, chosen: bool) -> dict[str, object]:
    described = {"profile": profile.name, "source": str(profile.source), "chosen": chosen}
    if profile.source is ProfileSource.EMBEDDED:
        return described | {"home": str(settings.home)}
    from xlbridge.client import parse_base_url

    return described | {
        "base_url": str(parse_base_url(profile.base_url)),
        "email": profile.email,
        "production": profile.production,
        "password": str(find_password(settings, profile).source),
    }
