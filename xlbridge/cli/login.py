"""``xlbridge login``: whether the configured credentials work."""

import click

from xlbridge.cli.connection import connect
from xlbridge.cli.environment import command_settings
from xlbridge.cli.options import report_format
from xlbridge.cli.output import result, result_json
from xlbridge.i18n import Text


@click.command("login", help=str(Text(pt="Confere as credenciais.", en="Checks the credentials.")))
@report_format
def command(form: str) -> None:
    with connect(command_settings()) as client:
        expiration = client.login().expiration
        target = client.target
    if form == "json":
        result_json(
            {
                "version": 1,
                "authenticated": True,
                "profile": target.profile,
                "base_url": target.base_url,
                "email": target.email,
                "expiration": expiration,
            }
        )
        return
    told = Text(
        pt="Credenciais aceitas: {email} em {url} (o token valeria até {expiration}).",
        en="Credentials accepted: {email} at {url} (the token would be valid until {expiration}).",
    )
    result(told.format(email=target.email, url=target.base_url, expiration=expiration or "?"))
