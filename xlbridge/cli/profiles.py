"""``xlbridge profiles``: the configured environments, never their passwords."""

import click

from xlbridge.api.transport import checked_address
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import report_format
from xlbridge.cli.output import result, result_json
from xlbridge.i18n import Text
from xlbridge.profiles.profile import EMBEDDED_NAME
from xlbridge.settings import Settings


@click.command(
    "profiles", help=str(Text(pt="Os ambientes configurados.", en="The configured environments."))
)
@report_format
def command(form: str) -> None:
    settings = command_settings()
    profile = _embedded(settings) if settings.base_url is None else _configured(settings)
    if form == "json":
        result_json({"version": 1, "profiles": [profile]})
        return
    for name, value in profile.items():
        result(f"{name}: {value}")


def _embedded(settings: Settings) -> dict[str, object]:
    return {"profile": EMBEDDED_NAME, "source": "embedded", "home": str(settings.home)}


def _configured(settings: Settings) -> dict[str, object]:
    base_url = str(checked_address(settings.base_url or ""))
    return {
        "profile": settings.profile or base_url,
        "source": "environment",
        "base_url": base_url,
        "email": settings.email,
        "password_set": bool(settings.password),
    }
