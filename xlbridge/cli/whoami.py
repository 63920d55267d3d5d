"""``xlbridge whoami``: who the user is in the system."""

import click

from xlbridge.cli.connection import connect
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import report_format
from xlbridge.cli.output import in_words, result, result_json
from xlbridge.i18n import Text
from xlbridge.wire.operations.utilities import SYSTEM_INFO


@click.command(
    "whoami",
    help=str(Text(pt="Quem é o usuário no sistema.", en="Who the user is in the system.")),
)
@report_format
def command(form: str) -> None:
    with connect(command_settings()) as client:
        info = client.call(SYSTEM_INFO).model_dump(mode="json")
        target = client.target
    where = {
        "profile": target.profile,
        "production": target.production,
        "base_url": target.base_url,
    }
    if form == "json":
        result_json({"version": 1, **where, "info": info})
        return
    for name, value in (where | info).items():
        result(f"{name}: {in_words(value)}")
