"""``xlbridge retry``: sends again the rejected rows that were fixed."""

from pathlib import Path
from typing import Any

import click

from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import (
    UploadArguments,
    chunk_rows_option,
    format_option,
    parse_options,
    upload_options,
)
from xlbridge.cli.output import remark
from xlbridge.cli.process import heavy_imports
from xlbridge.cli.upload_common import ensure_evidence, open_upload_context
from xlbridge.i18n import Text
from xlbridge.upload import ModeChoice
from xlbridge.validation import DateOrder, NumberStyle, ParseOptions


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
@chunk_rows_option
@parse_options
@upload_options
@format_option
def command(
    job_id: str,
    file: Path | None,
    chunk_rows: int | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    **how: Any,
) -> ExitCode:
    sending = UploadArguments(**how)
    # What judges and sends takes most of a second to import.
    with heavy_imports():
        from xlbridge.cli.upload_run import (
            forbid_yes_in_production,
            report_invalid_sheet,
            run_upload,
        )
        from xlbridge.connection import connect
        from xlbridge.upload import corrected_rows, create_job, require_rejected
        from xlbridge.validation import validate_workbook

    with open_upload_context() as desk:
        job = desk.journal.job(job_id)
        require_rejected(job)
        job = ensure_evidence(desk, job)
        resource = desk.catalogue.named(job.what.resource)
        judged = validate_workbook(
            file or Path(job.last("rejects_file")),
            desk.catalogue,
            resource=resource.name,
            reading=ParseOptions(dates=dates, numbers=numbers),
            limits=desk.settings.limits,
        )
        if not judged.ok:
            return report_invalid_sheet(judged, job.what.mode, sending.form)
        mended = corrected_rows(desk, job, judged)
        _mention_left_out(mended.left_out)
        plan = ModeChoice(job.what.mode, Text(pt="como antes", en="as before"))
        with connect(desk.settings, remark) as client:
            profile = client.target.profile
            forbid_yes_in_production(client.target.production, sending, plan.mode)
            again = create_job(
                desk,
                mended.sheet,
                resource,
                plan,
                profile,
                retry=mended.retry,
                chunk_rows=chunk_rows,
            )
            return run_upload(desk, client, again, sending)


def _mention_left_out(rows: int) -> None:
    if rows:
        told = Text(
            pt="Linhas que ficam de fora (iguais, ou já enviadas): {n}.",
            en="Rows left out (unchanged, or sent already): {n}.",
        )
        remark(told.format(n=rows))
