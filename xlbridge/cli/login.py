"""``xlbridge login``: creates and checks a profile, stores its password; ``whoami``: its user;
``profiles``: the configured environments, without their passwords."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from xlbridge.cli.help import complete_profiles
from xlbridge.cli.options import (
    command_settings,
    described_command,
    option,
    result_options,
    settings_without_profile,
)
from xlbridge.cli.output import (
    YES,
    ask,
    field_value,
    print_json,
    print_message,
    print_report,
    print_result,
)
from xlbridge.errors import ConfigError, UsageError
from xlbridge.extras import install_hint
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import Profile, ProfileSource, choose_profile, read_profile_file
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table
from xlbridge.saved_logins import (
    PasswordSource,
    delete_password,
    find_password,
    remove_profile,
    save_profile,
    set_default,
    store_password,
)
from xlbridge.settings import Settings, read_settings

if TYPE_CHECKING:
    from xlbridge.client import Client
    from xlbridge.wire.operations import Authentication

# Modules that need the network are imported in functions, as ``profiles`` does without it.

_NOT_STORED = "none"


@described_command(
    "login",
    pt="Confere as credenciais; com --url, cria o perfil e guarda a senha.",
    en="Checks the credentials; with --url, creates the profile and stores the password.",
)
@option(
    "--url",
    metavar="ADDRESS",
    pt="O endereço de um perfil novo.",
    en="The address of a new profile.",
)
@option(
    "--email",
    pt="O usuário de integração; num terminal, é perguntado.",
    en="The integration user; asked for on a terminal.",
)
@option(
    "--production/--no-production",
    default=None,
    pt="Se o perfil é de produção; com --url, obrigatório fora de um terminal.",
    en="Whether the profile is production; required with --url if there is no terminal.",
)
@option(
    "--store",
    type=click.Choice(
        ["auto", PasswordSource.KEYRING.value, PasswordSource.FILE.value, _NOT_STORED]
    ),
    default="auto",
    show_default=True,
    pt="Onde guardar a senha.",
    en="Where to store the password.",
)
@option(
    "--ask",
    "asks",
    is_flag=True,
    pt="Pede a senha de novo.",
    en="Asks for the password again.",
)
@option(
    "--password-stdin",
    is_flag=True,
    pt="Lê a senha da entrada padrão.",
    en="Reads the password from standard input.",
)
@result_options
def command(
    url: str | None,
    email: str | None,
    production: bool | None,
    store: str,
    asks: bool,
    password_stdin: bool,
    form: str,
) -> None:
    from xlbridge.client import Client, RetryPolicy, TokenFile
    from xlbridge.connection import connect, target_of

    if url is not None:
        settings, profile = _new_profile(url, email, production)
    else:
        settings = command_settings()
        profile = choose_profile(settings)
    asks |= password_stdin
    if not profile.is_stored:
        if asks:
            raise UsageError(
                Text(pt="Só um perfil guarda senha.", en="Only a profile has a stored password."),
                Text(
                    pt="Crie um: xlbridge login --profile NOME --url ENDEREÇO",
                    en="Create one: xlbridge login --profile NAME --url ADDRESS",
                ),
            )
        with connect(settings, print_message, RetryPolicy.quick()) as client:
            _print_login(client, client.login(), form)
        return
    known = find_password(settings, profile).source
    asks |= known is PasswordSource.NOWHERE
    if asks:
        if password_stdin:
            password = sys.stdin.readline().rstrip("\r\n")
        elif sys.stdin.isatty():
            password = ask(_PASSWORD.format(email=profile.email), hide_input=True)
        else:
            raise ConfigError(_NO_PASSWORD.format(name=profile.name), _HOW_TO_GIVE_PASSWORD)
        settings = replace(settings, password=password, base_url=profile.base_url)
    target = target_of(settings, profile)
    token_file = TokenFile(settings.home, target.base_url, target.email, target.password)
    with Client(target, token_file=token_file, retry_policy=RetryPolicy.quick()) as client:
        answer = client.login()
        if url is not None:
            save_profile(settings, profile)
            if not asks and store != _NOT_STORED and known is PasswordSource.ENVIRONMENT:
                print_message(_FROM_ENVIRONMENT.format(name=as_arguments(profile.name)))
        if asks and store != _NOT_STORED:
            source = store_password(
                settings,
                profile,
                target.password,
                None if store == "auto" else PasswordSource(store),
            )
            if source is PasswordSource.FILE:
                print_message(_NOT_ENCRYPTED.format(install=install_hint("keyring")))
        _print_login(client, answer, form)


_FROM_ENVIRONMENT = Text(
    pt="A senha é a de XLBRIDGE_PASSWORD e não foi guardada. Para guardá-la: xlbridge login "
    "--profile {name} --ask",
    en="The password is that of XLBRIDGE_PASSWORD and was not stored. To store it: xlbridge login "
    "--profile {name} --ask",
)
_NOT_ENCRYPTED = Text(
    pt="Atenção: a senha ficou num arquivo só seu, mas sem criptografia. O cofre de senhas do "
    "computador é melhor. {install}",
    en="Warning: the password is in a file that only you can read, but not encrypted. The system's "
    "keyring is better. {install}",
)


def _new_profile(url: str, email: str | None, production: bool | None) -> tuple[Settings, Profile]:
    from xlbridge.connection import new_profile

    settings = settings_without_profile()
    email = email or settings.email
    if settings.profile is not None and sys.stdin.isatty():
        email = email or ask(_EMAIL)
        if production is None:
            answers = dict.fromkeys(YES, True) | dict.fromkeys(_NO, False)
            while production is None:
                production = answers.get(ask(_IS_PRODUCTION).strip().casefold())
    if settings.profile is None or email is None or production is None:
        raise UsageError(
            Text(
                pt="Um perfil novo precisa de --profile, --email e --production ou "
                "--no-production.",
                en="A new profile needs --profile, --email, and --production or --no-production.",
            )
        )
    profile = new_profile(settings, Profile(settings.profile, url, email, production))
    if settings.credentials_profile is None:
        # The command names their address.
        settings = replace(settings, credentials_profile=profile.name)
    return settings, profile


_EMAIL = Text(pt="E-mail do usuário de integração", en="E-mail of the integration user")


_IS_PRODUCTION = Text(
    pt="É o sistema de produção, o que a empresa usa? [s/n]",
    en="Is it the production system, the one in daily use? [y/n]",
)
_NO = ("n", "não", "nao", "no")


_PASSWORD = Text(pt="Senha de {email}", en="Password of {email}")
_NO_PASSWORD = Text(
    pt="Falta a senha de {name}: não há terminal para perguntar.",
    en="The password of {name} is missing: there is no terminal to ask on.",
)
_HOW_TO_GIVE_PASSWORD = Text(
    pt="Use --password-stdin, ou defina XLBRIDGE_PASSWORD.",
    en="Use --password-stdin, or set XLBRIDGE_PASSWORD.",
)


def _print_login(client: "Client", answer: "Authentication", form: str) -> None:
    target = client.target
    if form == "json":
        print_json(
            {
                "version": 1,
                "authenticated": True,
                **target.to_json(),
                "email": target.email,
                "expiration": answer.expiration,
            }
        )
        return
    message = Text(
        pt="Credenciais aceitas: {email} em {url} (acesso válido até {expiration}).",
        en="Credentials accepted: {email} at {url} (token valid until {expiration}).",
    )
    print_result(
        message.format(email=target.email, url=target.base_url, expiration=answer.expiration_text)
    )


@described_command("whoami")
@result_options
def whoami_command(form: str) -> None:
    from xlbridge.client import RetryPolicy, read_system_info
    from xlbridge.connection import connect

    with connect(command_settings(), print_message, RetryPolicy.quick()) as client:
        info = read_system_info(client)
        environment = client.target.to_json()
    facts = [
        (_ENVIRONMENT_FIELDS.get(name, untranslated(name)), field_value(value))
        for name, value in (environment | info).items()
    ]
    document = {"version": 1, **environment, "info": info}
    print_report(ReportForms.of_report(lambda: Report(facts=facts), lambda: document), form)


_ENVIRONMENT_FIELDS: Mapping[str, Text] = {
    "profile": Text(pt="perfil", en="profile"),
    "base_url": Text(pt="endereço", en="address"),
    "production": Text(pt="produção", en="production"),
}
"""Displayed names of the environment's fields; those of the interface are Portuguese already."""


@described_command("profiles")
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
def profiles_command(default: str | None, remove: str | None, form: str) -> None:
    settings = read_settings()
    if default is not None:
        set_default(settings, default)
    if remove is not None:
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
