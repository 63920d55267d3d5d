"""``xlbridge undo``: reverse what an upload wrote, as far as the interface allows."""

from typing import Any

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import described_command, report_format_option
from xlbridge.cli.output import remark
from xlbridge.cli.upload_options import UploadArguments, at_once_option, consent_options
from xlbridge.cli.upload_run import forbid_yes_in_production, run_upload
from xlbridge.upload import open_context


@described_command(
    "undo",
    pt="Desfaz o que um envio gravou, até onde a interface permite.",
    en="Reverses what an upload wrote, as far as the interface allows.",
)
@click.argument("job_id", metavar="JOB", shell_complete=complete_jobs)
@consent_options
@at_once_option
@report_format_option
def command(job_id: str, **given: Any) -> ExitCode:
    arguments = UploadArguments.of({**given, "annotate": None})
    # What talks to the system and reads what was sent takes its time to import.
    with heavy_imports():
        from xlbridge.connection import connect
        from xlbridge.resources import Mode
        from xlbridge.upload import Uploads

    with open_context(command_settings()) as context:
        job = context.journal.job(job_id)
        with connect(context.settings, remark) as client:
            forbid_yes_in_production(client.target.production, arguments, Mode.UNDO)
            undo = Uploads(context, client).create_undo(job, remark)
            return run_upload(context, client, undo, arguments)
