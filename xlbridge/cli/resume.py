"""``xlbridge resume``: continue an interrupted upload."""

from typing import Any

import click

from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import format_option
from xlbridge.cli.output import remark
from xlbridge.cli.process import heavy_imports
from xlbridge.cli.upload_common import print_job, save_status_copy
from xlbridge.cli.upload_options import UploadArguments, upload_options
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import Job, Journal, ensure_evidence, open_context


@click.command(
    "resume", help=str(Text(pt="Continua um envio interrompido.", en="Continues an upload."))
)
@click.argument("job_id", metavar="[JOB]", required=False)
@upload_options
@format_option
def command(job_id: str | None, **given: Any) -> ExitCode:
    arguments = UploadArguments.of(given)
    with open_context(command_settings()) as context:
        job = context.journal.job(job_id) if job_id else _only_open_job(context.journal)
        if job.state.is_final:
            job = ensure_evidence(context, job)
            if arguments.annotate is not None:
                save_status_copy(context, job, arguments.annotate)
            return print_job(context, job, arguments.form)
        # What talks to the system and reads what was sent takes its time to import.
        with heavy_imports():
            from xlbridge.cli.upload_run import forbid_yes_in_production, run_upload
            from xlbridge.connection import connect

        with connect(context.settings, remark) as client:
            forbid_yes_in_production(client.target.production, arguments, job.what.mode)
            return run_upload(context, client, job, arguments)


def _only_open_job(journal: Journal) -> Job:
    """Return the one job that is not over. Raises ``UsageError`` when there is none, or several."""
    waiting = [job for job in journal.jobs() if not job.state.is_final]
    if len(waiting) == 1:
        return waiting[0]
    if not waiting:
        raise UsageError(
            Text(pt="Não há envio para continuar.", en="There is no upload to continue.")
        )
    raise UsageError(
        Text(
            pt="Há mais de um envio para continuar: {jobs}. Informe qual.",
            en="There is more than one upload to continue: {jobs}. Say which.",
        ).format(jobs=", ".join(job.id for job in waiting))
    )
