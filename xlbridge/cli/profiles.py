"""``xlbridge profiles``: the configured environments, without their passwords."""

from collections.abc import Mapping

from xlbridge.cli.completion import complete_profiles
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import described_command, option, result_options
from xlbridge.cli.output import field_value, print_message, print_report
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
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table
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
    settings = read_settings()
    if default is not None:
        # Slow to import, as it edits the file.
        from xlbridge.profiles import set_default

        set_default(settings, default)
    if remove is not None:
        from xlbridge.profiles import remove_profile

        delete_password(settings.home, remove_profile(settings, remove))
        print_message(Text(pt="Retirado: {name}.", en="Removed: {name}.").format(name=remove))
    settings = command_settings()
    chosen = choose_profile(settings)
    others = [p for p in read_profile_file(settings).profiles.values() if p.name != chosen.name]
    rows = [_as_json(settings, chosen, chosen=True)]
    without = Settings(settings.home, machine=settings.machine)
    # A password in the environment belongs to the chosen profile only.
    rows += [_as_json(without, profile, chosen=False) for profile in others]
    names = [name for name in _TITLES if any(name in row for row in rows)]
    table = Table(
        sheet=Text(pt="Ambientes", en="Environments"),
        headings=tuple(Heading(_TITLES[name]) for name in names),
        lines=[
            Line(tuple(_SOURCES.get(one) or field_value(one) for one in map(row.get, names)))
            for row in rows
        ],
        aligned=True,
    )
    document = {"version": 1, "profiles": rows}
    print_report(ReportForms.of_report(lambda: Report(tables=[table]), lambda: document), form)


_TITLES: Mapping[str, Text] = {
    "profile": Text(pt="Perfil", en="Profile"),
    "chosen": Text(pt="Escolhido", en="Chosen"),
    "source": Text(pt="Origem", en="Source"),
    "base_url": Text(pt="Endereço", en="Address"),
    "email": Text(pt="E-mail", en="E-mail"),
    "production": Text(pt="Produção", en="Production"),
    "password": Text(pt="Senha", en="Password"),
    "home": Text(pt="Pasta", en="Home"),
}


_SOURCES: Mapping[object, Text] = {
    ProfileSource.FILE: Text(pt="arquivo", en="file"),
    ProfileSource.MACHINE: Text(pt="arquivo da TI", en="IT's file"),
    ProfileSource.ENVIRONMENT: Text(pt="variáveis de ambiente", en="environment"),
    ProfileSource.EMBEDDED: Text(pt="embutido", en="embedded"),
    PasswordSource.KEYRING: Text(pt="cofre de senhas", en="keyring"),
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
