"""``xlbridge resume``: continues an interrupted upload."""

import click

from xlbridge.cli.connection import connect
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import how_to_send, report_format
from xlbridge.cli.upload_session import carry_out, open_desk, print_job
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.journal import Job, Journal
from xlbridge.upload.send import with_evidence


@click.command(
    "resume", help=str(Text(pt="Continua um envio interrompido.", en="Continues an upload."))
)
@click.argument("job_id", metavar="[JOB]", required=False)
@how_to_send
@report_format
def command(job_id: str | None, yes: bool, wait: bool, preview: bool, form: str) -> ExitCode:
    with open_desk() as desk:
        job = desk.journal.job(job_id) if job_id else _only_open(desk.journal)
        if job.state.is_final:
            return print_job(with_evidence(desk, job), form)
        with connect(desk.settings) as client:
            return carry_out(desk, client, job, yes=yes, wait=wait, preview=preview, form=form)


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
