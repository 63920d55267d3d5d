"""``xlbridge profiles``: the configured environments, never their passwords."""

import click

from xlbridge.api.address import checked_address
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import report_format
from xlbridge.cli.output import in_words, remark, result, result_json
from xlbridge.credentials.passwords import find_password, forget_password
from xlbridge.credentials.profile_edits import remove_profile, set_default
from xlbridge.i18n import Text
from xlbridge.profiles.choice import choose_profile
from xlbridge.profiles.profile import Profile, Source
from xlbridge.profiles.profile_file import read_profile_file
from xlbridge.settings import Settings, read_settings


@click.command(
    "profiles", help=str(Text(pt="Os ambientes configurados.", en="The configured environments."))
)
@click.option(
    "--default",
    metavar="NAME",
    help=str(
        Text(
            pt="Usa esse perfil quando nenhum é escolhido; nunca um de produção.",
            en="Uses that profile where none is chosen; never one of production.",
        )
    ),
)
@click.option(
    "--remove",
    metavar="NAME",
    help=str(
        Text(
            pt="Retira o perfil e sua senha; o diário fica.",
            en="Removes the profile and its password; its journal stays.",
        )
    ),
)
@report_format
def command(default: str | None, remove: str | None, form: str) -> None:
    home = read_settings().home
    if default is not None:
        set_default(home, default)
    if remove is not None:
        forget_password(home, remove_profile(home, remove))
        remark(Text(pt="Retirado: {name}.", en="Removed: {name}.").format(name=remove))
    settings = command_settings()
    chosen = choose_profile(settings)
    others = [p for p in read_profile_file(home).profiles.values() if p.name != chosen.name]
    listed = [_described(settings, chosen, chosen=True)]
    # A password of the environment is the chosen profile's, and no other's.
    listed += [_described(Settings(home), profile, chosen=False) for profile in others]
    if form == "json":
        result_json({"version": 1, "profiles": listed})
        return
    for profile in listed:
        result("  ".join(f"{name}: {in_words(value)}" for name, value in profile.items()))


def _described(settings: Settings, profile: Profile, *, chosen: bool) -> dict[str, object]:
    described = {"profile": profile.name, "source": str(profile.source), "chosen": chosen}
    if profile.source is Source.EMBEDDED:
        return described | {"home": str(settings.home)}
    return described | {
        "base_url": str(checked_address(profile.base_url)),
        "email": profile.email,
        "production": profile.production,
        "password": str(find_password(settings, profile).place),
    }
