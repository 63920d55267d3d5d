"""``xlbridge resume``: continues an interrupted upload."""

from typing import Any

import click

from xlbridge.cli.desk import evidenced, leave_living_copy, open_desk, print_job
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.importing import importing
from xlbridge.cli.options import how_to_send, report_format
from xlbridge.cli.sending import Sending
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal


@click.command(
    "resume", help=str(Text(pt="Continua um envio interrompido.", en="Continues an upload."))
)
@click.argument("job_id", metavar="[JOB]", required=False)
@how_to_send
@report_format
def command(job_id: str | None, **how: Any) -> ExitCode:
    sending = Sending(**how)
    with open_desk() as desk:
        job = desk.journal.job(job_id) if job_id else _only_open(desk.journal)
        if job.state.is_final:
            job = evidenced(desk, job)
            if sending.annotate is not None:
                leave_living_copy(desk, job, sending.annotate)
            return print_job(job, sending.form)
        # What talks to the system and reads what was sent takes its time to import.
        with importing():
            from xlbridge.cli.connection import connect
            from xlbridge.cli.upload_session import carry_out, require_lawful

        with connect(desk.settings) as client:
            require_lawful(client.target.production, sending, job.what.mode)
            return carry_out(desk, client, job, sending)


def _only_open(journal: Journal) -> Job:
    """Return the one job that is not over. Raises ``UsageError`` when there is none, or several."""
    waiting = [job for job in journal.jobs() if not job.state.is_final]
    if len(waiting) == 1:
        return waiting[0]
    if not waiting:
        raise UsageError(Text(pt="Não há envio a continuar.", en="There is no upload to continue."))
    raise UsageError(
        Text(
            pt="Há mais de um envio a continuar: {jobs}. Diga qual.",
            en="There is more than one upload to continue: {jobs}. Say which.",
        ).format(jobs=", ".join(job.id for job in waiting))
    )
