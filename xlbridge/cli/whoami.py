"""``xlbridge whoami``: the user as the system knows them."""

from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import described_command, format_option
from xlbridge.cli.output import label, print_json, print_result, readable, remark
from xlbridge.client import RetryPolicy
from xlbridge.connection import connect
from xlbridge.wire.authentication import SYSTEM_INFO


@described_command(
    "whoami",
    pt="Quem é o usuário no sistema.",
    en="Who the user is in the system.",
)
@format_option
def command(form: str) -> None:
    with connect(command_settings(), remark, RetryPolicy.quick()) as client:
        info = client.call(SYSTEM_INFO).model_dump(mode="json")
        target = client.target
    where = {
        "profile": target.profile,
        "production": target.production,
        "base_url": target.base_url,
    }
    if form == "json":
        print_json({"version": 1, **where, "info": info})
        return
    for name, value in (where | info).items():
        print_result(f"{label(name)}: {readable(value)}")
