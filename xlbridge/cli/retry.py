"""``xlbridge retry``: send again the rejected rows that were fixed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import ExitCode, heavy_imports
from xlbridge.cli.options import (
    described_command,
    link_option,
    option,
    parse_options,
    report_format_option,
)
from xlbridge.cli.upload_options import (
    UploadArguments,
    again_option,
    chunk_rows_option,
    plan_options,
    upload_options,
)
from xlbridge.cli.upload_run import forbid_yes_in_production, send_sheet
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions
from xlbridge.upload import open_context
from xlbridge.upload.results import ensure_evidence
from xlbridge.validation import ValidationRequest

if TYPE_CHECKING:
    from xlbridge.client import Target
    from xlbridge.upload import Job, Uploads
    from xlbridge.validation import ValidatedSheet


@described_command(
    "retry",
    pt="Envia de novo só as linhas rejeitadas que foram corrigidas.",
    en="Sends again only the rejected rows that have been fixed.",
)
@click.argument("job_id", metavar="JOB", shell_complete=complete_jobs)
@option(
    "--file",
    type=click.Path(path_type=Path),
    pt="O arquivo corrigido; sem ele, o das linhas rejeitadas.",
    en="The corrected workbook; without it, the rejects workbook.",
)
@again_option
@plan_options
@chunk_rows_option
@parse_options
@link_option
@upload_options
@report_format_option
def command(
    job_id: str,
    file: Path | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    links: dict[str, str],
    **given: Any,
) -> ExitCode:
    arguments = UploadArguments.of(given)
    # What judges and sends takes most of a second to import.
    with heavy_imports():
        from xlbridge.parallel import validate_single_sheet
        from xlbridge.upload.planning import corrected_rows, require_rejected

    with open_context(command_settings()) as context:
        job = context.journal.job(job_id)
        require_rejected(job)
        job = ensure_evidence(context, job)
        request = ValidationRequest(
            file=file or Path(job.last("rejects_file")),
            resource=context.catalogue.named(job.spec.resource).name,
            reading=ParseOptions(dates=dates, numbers=numbers),
            links=links,
        )
        judged = validate_single_sheet(request, context.settings.schemas, context.settings.limits)

        def create(uploads: "Uploads", target: "Target", sheet: "ValidatedSheet") -> "Job":
            corrected = corrected_rows(context, job, sheet)
            forbid_yes_in_production(target.production, arguments, job.spec.mode)
            return uploads.create_retry(corrected, arguments.options)

        return send_sheet(context, request, judged, arguments, job.spec.mode, create)
