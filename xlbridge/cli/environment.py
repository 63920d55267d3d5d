"""Settings and profile of the command that is being run."""

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
"""The options that every command of an environment has, and the variables that they stand for."""

_CONTEXT_KEY = "xlbridge.environment"


def add_environment_options(command: click.Command) -> click.Command:
    """Give a command the options that choose its environment."""
    if not any(parameter.name in _VARIABLES for parameter in command.params):
        command.params += [
            _option(
                ["--profile"],
                "NAME",
                Text(
                    pt="O ambiente, como profiles.toml o chama.",
                    en="The environment, as profiles.toml calls it.",
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
                    pt="Quanto esperar por uma resposta (60; importações diretas grandes podem "
                    "precisar de mais).",
                    en="How long to wait for an answer (60; large direct imports may need more).",
                ),
            ),
        ]
    return command


def settings_without_profile() -> Settings:
    """Return what the environment and the command's options say; no profile is looked for.

    Raises ``ConfigError`` for settings that cannot be used.
    """
    context = click.get_current_context(silent=True)
    given: dict[str, str] = dict(context.meta.get(_CONTEXT_KEY, {})) if context else {}
    profile = given.pop(_VARIABLES["profile"], None)
    settings = read_settings(os.environ | given)
    return settings if profile is None else settings.with_profile(profile)


def command_settings() -> Settings:
    """Return the settings of the command that is being run.

    Raises ``ConfigError`` for settings or profiles that cannot be used.
    """
    settings = settings_without_profile()
    return settings_for(settings, choose_profile(settings))


def _option(names: list[str], metavar: str, help_text: Text) -> click.Option:
    return click.Option(
        names,
        metavar=metavar,
        help=str(help_text),
        expose_value=False,
        callback=_remember,
        shell_complete=complete_profiles if names == ["--profile"] else None,
    )


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None and parameter.name:
        context.meta.setdefault(_CONTEXT_KEY, {})[_VARIABLES[parameter.name]] = value
