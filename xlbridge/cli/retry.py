"""``xlbridge retry``: sends again what was rejected and has been mended."""

from pathlib import Path
from typing import Any

import click

from xlbridge.cli.desk import evidenced, open_desk
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.importing import importing
from xlbridge.cli.options import how_to_read, how_to_send, in_parts, report_format
from xlbridge.cli.output import remark
from xlbridge.cli.sending import Sending
from xlbridge.i18n import Text
from xlbridge.upload.plan import Plan
from xlbridge.validation.reading import DateOrder, NumberStyle, Reading


@click.command(
    "retry",
    help=str(
        Text(
            pt="Envia de novo só as linhas rejeitadas que foram corrigidas.",
            en="Sends again only the rejected rows that have been mended.",
        )
    ),
)
@click.argument("job_id", metavar="JOB")
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help=str(
        Text(
            pt="O arquivo corrigido; sem ele, o das linhas rejeitadas.",
            en="The mended workbook; without it, the rejects workbook.",
        )
    ),
)
@in_parts
@how_to_read
@how_to_send
@report_format
def command(
    job_id: str,
    file: Path | None,
    chunk_rows: int | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    **how: Any,
) -> ExitCode:
    sending = Sending(**how)
    # What judges and sends takes most of a second to import.
    with importing():
        from xlbridge.cli.connection import connect
        from xlbridge.cli.upload_session import carry_out, refuse_sheet, require_lawful
        from xlbridge.upload.retry import mended_rows, require_rejected
        from xlbridge.upload.send import write_down
        from xlbridge.validation.validate import validate_workbook

    with open_desk() as desk:
        job = desk.journal.job(job_id)
        require_rejected(job)
        job = evidenced(desk, job)
        resource = desk.catalogue.named(job.what.resource)
        judged = validate_workbook(
            file or Path(job.last("rejects_file")),
            desk.catalogue,
            resource=resource.name,
            reading=Reading(dates=dates, numbers=numbers),
            limits=desk.settings.limits,
        )
        if not judged.ok:
            return refuse_sheet(judged, job.what.mode, sending.form)
        mended = mended_rows(desk, job, judged)
        _mention_left_out(mended.left_out)
        plan = Plan(job.what.mode, Text(pt="como antes", en="as before"))
        with connect(desk.settings) as client:
            profile = client.target.profile
            require_lawful(client.target.production, sending, plan.mode)
            again = write_down(
                desk,
                mended.sheet,
                resource,
                plan,
                profile,
                retry=mended.retry,
                chunk_rows=chunk_rows,
            )
            return carry_out(desk, client, again, sending)


def _mention_left_out(rows: int) -> None:
    if rows:
        told = Text(
            pt="Linhas que ficam de fora (iguais, ou já enviadas): {n}.",
            en="Rows left out (unchanged, or sent already): {n}.",
        )
        remark(told.format(n=rows))
