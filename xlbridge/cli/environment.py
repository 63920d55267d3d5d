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


def add_environment_options(command: click.Command) -> None:
    """Add the options that choose the environment to a command."""
    if any(parameter.name in _VARIABLES for parameter in command.params):
        return

    def store(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None and parameter.name:
            context.meta.setdefault(_CONTEXT_KEY, {})[_VARIABLES[parameter.name]] = value

    command.params += [
        click.Option(
            [name],
            metavar=metavar,
            help=str(text),
            expose_value=False,
            callback=store,
            shell_complete=complete_profiles if name == "--profile" else None,
        )
        for name, (metavar, text) in _OPTIONS.items()
    ]


_OPTIONS = {
    "--profile": (
        "NAME",
        Text(
            pt="O ambiente, um nome de profiles.toml.",
            en="The environment, a name from profiles.toml.",
        ),
    ),
    "--ca-bundle": (
        "FILE",
        Text(
            pt="Autoridades certificadoras em que confiar (PEM).",
            en="Certificate authorities to trust (PEM).",
        ),
    ),
    "--timeout": (
        "SECONDS",
        Text(
            pt="Tempo de espera por uma resposta (60; importações diretas grandes podem "
            "precisar de mais).",
            en="How long to wait for an answer (60; large direct imports may need more).",
        ),
    ),
}


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
