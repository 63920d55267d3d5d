"""What a command works with: the settings and the profile that was chosen for it."""

import os

import click

from xlbridge.profiles.choice import choose_profile, settings_for
from xlbridge.settings import Settings, read_settings

OPTIONS = {"profile": "XLBRIDGE_PROFILE", "ca_bundle": "XLBRIDGE_CA_BUNDLE"}
"""The options of all commands, and the variables that they stand for."""


def command_settings() -> Settings:
    """Return the settings of the command that is being run.

    Raises ``ConfigError`` for settings or profiles that cannot be used.
    """
    settings = read_settings(os.environ | _given())
    return settings_for(settings, choose_profile(settings))


def _given() -> dict[str, str]:
    context = click.get_current_context(silent=True)
    options = context.find_root().params if context else {}
    return {OPTIONS[name]: value for name, value in options.items() if name in OPTIONS and value}
