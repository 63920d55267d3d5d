"""``xlbridge batch``: many workbooks and exports, described once, run every month."""

import click

from xlbridge.cli.batch.rehearse import rehearse
from xlbridge.cli.batch.run import proof, resume, run
from xlbridge.cli.batch.standing import show_plan, status
from xlbridge.i18n import Text


@click.group(
    "batch",
    help=str(
        Text(
            pt="Muitos arquivos e exportações, descritos uma vez num plano e feitos todo mês.",
            en="Many workbooks and exports, described once in a plan and done every month.",
        )
    ),
)
def command() -> None:
    """The group of the commands of batches."""


for _command in (show_plan, status, run, resume, rehearse, proof):
    command.add_command(_command)
