"""Settings and profile of the running command."""

import os

import click

from xlbridge.cli.completion import complete_profiles
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.settings import Settings, read_settings

_VARIABLES = {
    "profile": "XLBRIDGE_PROFILE",
    "ca_bundle": "XLBRIDGE_CA_BUNDLE",
    "timeout": "XLBRIDGE_TIMEOUT",
}
"""Environment options of commands, and the variables that they override."""

_CONTEXT_KEY = "xlbridge.environment"


def add_environment_options(command: click.Command) -> click.Command:
    """Add the options that choose the environment to a command."""
    if not any(parameter.name in _VARIABLES for parameter in command.params):
        command.params += [
            _option(
                ["--profile"],
                "NAME",
                Text(
                    pt="O ambiente, um nome de profiles.toml.",
                    en="The environment, a name from profiles.toml.",
                ),
            ),
            _option(
                ["--ca-bundle"],
                "FILE",
                Text(
                    pt="Autoridades certificadoras em que confiar (PEM).",
                    en="Certificate authorities to trust (PEM).",
                ),
            ),
            _option(
                ["--timeout"],
                "SECONDS",
                Text(
                    pt="Tempo de espera por uma resposta (60; importações diretas grandes podem "
                    "precisar de mais).",
                    en="How long to wait for an answer (60; large direct imports may need more).",
                ),
            ),
        ]
    return command


def settings_without_profile() -> Settings:
    """Return the settings of environment variables and options, without those of a profile.

    Raises ``ConfigError`` for invalid settings.
    """
    context = click.get_current_context(silent=True)
    options: dict[str, str] = dict(context.meta.get(_CONTEXT_KEY, {})) if context else {}
    profile = options.pop(_VARIABLES["profile"], None)
    settings = read_settings(os.environ | options)
    return settings if profile is None else settings.with_profile(profile)


def command_settings() -> Settings:
    """Return the settings of the running command, with those of its profile.

    Raises ``ConfigError`` for invalid settings or profiles.
    """
    settings = settings_without_profile()
    return settings_for(settings, choose_profile(settings))


def _option(names: list[str], metavar: str, help_text: Text) -> click.Option:
    return click.Option(
        names,
        metavar=metavar,
        help=str(help_text),
        expose_value=False,
        callback=_store_option,
        shell_complete=complete_profiles if names == ["--profile"] else None,
    )


def _store_option(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None and parameter.name:
        context.meta.setdefault(_CONTEXT_KEY, {})[_VARIABLES[parameter.name]] = value
