"""``xlbridge upload``: validates and sends a workbook; ``retry``: sends its corrected rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import ExitCode, heavy_imports
from xlbridge.cli.options import (
    described_command,
    link_option,
    map_option,
    option,
    parse_options,
    report_format_option,
    sheet_options,
)
from xlbridge.cli.output import print_message
from xlbridge.cli.progress import show_progress
from xlbridge.cli.upload_arguments import UploadArguments, upload_options
from xlbridge.cli.upload_run import (
    find_job,
    forbid_yes_in_production,
    report_invalid_sheet,
    send_sheet,
)
from xlbridge.errors import UsageError
from xlbridge.files import as_argument, require_distinct
from xlbridge.i18n import Text
from xlbridge.settings import DateOrder, NumberStyle, ParseOptions, Settings
from xlbridge.upload import open_context
from xlbridge.upload.results import ensure_evidence
from xlbridge.validation import ValidationRequest
from xlbridge.workbook import WorkbookOrigin

if TYPE_CHECKING:
    from xlbridge.client import Target
    from xlbridge.upload import Job, Uploads
    from xlbridge.validation import ValidatedSheet


@described_command(
    "upload",
    pt="Confere um arquivo e o envia.",
    en="Validates a workbook and sends it.",
)
@click.argument("file", type=click.Path(readable=False, path_type=Path))
@sheet_options
@parse_options
@map_option
@link_option
@upload_options("upload")
@report_format_option
def command(
    file: Path,
    resource: str | None,
    sheet: str | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    mapping: Path | None,
    links: Mapping[str, str],
    **options: Any,
) -> ExitCode:
    arguments = UploadArguments.of(options)
    require_distinct([arguments.annotate], [file, *([mapping] if mapping else [])])
    with open_context(command_settings()) as context:
        title = Text(pt="Conferindo {f}", en="Checking {f}").format(f=file)
        # Most modules are imported in there, while the file is being parsed.
        with heavy_imports(), show_progress(title):
            if mapping is not None:
                from xlbridge.validation.mapping import read_mapping

            request = ValidationRequest(
                file=file,
                resource=resource,
                sheet=sheet,
                reading=ParseOptions(dates=dates, numbers=numbers),
                mapping=None if mapping is None else read_mapping(mapping),
                links=links,
            )
            validated = _validate(request, context.settings)
        with heavy_imports():
            from xlbridge.upload.planning import may_be_sent

        if validated.read_as is not None:
            print_message(validated.read_as)
        if request.mapping is not None:
            from xlbridge.cli.map_run import remember

            remember(request.mapping, [validated], context.settings)
        upload, chosen = arguments.options, validated.resource
        if chosen is None or not may_be_sent(validated, good_rows=upload.good_rows):
            code = report_invalid_sheet(context, request, validated, upload.mode, arguments.form)
            _suggest_mapping(request, validated, context.settings)
            return code
        choice = upload.choose_mode(chosen, with_lists=bool(validated.children))
        if validated.warnings:
            print_message(_warnings_text(request, validated, context.settings))

        def create(uploads: "Uploads", target: "Target", sheet: "ValidatedSheet") -> "Job":
            forbid_yes_in_production(target.production, arguments, choice.mode)
            print_message(
                _SUMMARY.format(
                    resource=chosen.name,
                    profile=target.profile,
                    rows=len(sheet.rows),
                    reason=choice.reason,
                )
            )
            return uploads.create(sheet, upload)

        return send_sheet(context, request, validated, arguments, upload.mode, create)


def _validate(request: ValidationRequest, settings: Settings) -> "ValidatedSheet":
    """Validate the sheet to send; an unknown header's error names the mapping."""
    from xlbridge.parallel import validate_single_sheet
    from xlbridge.validation.headers import NoFittingResource

    try:
        return validate_single_sheet(request, settings.schemas, settings.limits)
    except NoFittingResource as error:
        # Slow to import, and few sheets need it.
        from xlbridge.cli.map_run import with_mappings

        raise with_mappings(error, [request.file], settings, "upload") from None


def _warnings_text(request: ValidationRequest, sheet: "ValidatedSheet", settings: Settings) -> Text:
    """Return the number of warnings, and the command that shows them."""
    from xlbridge.cli.validate_run import reading_options

    options = reading_options(request, settings.limits.csv)
    arguments = " ".join(map(as_argument, [str(sheet.file), *options]))
    return _WARNINGS.format(n=sheet.warnings, arguments=arguments)


def _suggest_mapping(
    request: ValidationRequest, sheet: "ValidatedSheet", settings: Settings
) -> None:
    """Suggest a mapping for a sheet with a foreign header."""
    from xlbridge.cli.validate_run import has_foreign_header

    if request.mapping is None and has_foreign_header(sheet):
        # Slow to import, and few sheets need it.
        from xlbridge.cli.map_run import suggest_mappings

        suggest_mappings([request.file], settings, "upload")


def _job_of(file: Path) -> str:
    """Return the id of the upload that a workbook carries. Raises ``UsageError`` if it has none."""
    origin = WorkbookOrigin.of(file)
    if origin is None:
        raise UsageError(
            Text(
                pt="{file} não diz de que envio é.",
                en="{file} does not say to which upload it belongs.",
            ).format(file=file),
            Text(
                pt="Informe o envio: xlbridge retry ENVIO --file {file}",
                en="Name the upload: xlbridge retry JOB --file {file}",
            ).format(file=as_argument(file)),
        )
    return origin.job


_SUMMARY = Text(
    pt="{resource} para {profile} · linhas: {rows} · {reason}",
    en="{resource} to {profile} · rows: {rows} · {reason}",
)
_WARNINGS = Text(
    pt="Avisos na planilha: {n}. Veja-os com: xlbridge validate {arguments}",
    en="Warnings in the sheet: {n}. See them with: xlbridge validate {arguments}",
)


@described_command(
    "retry",
    pt="Envia de novo só as linhas rejeitadas que foram corrigidas: de um envio, ou de um arquivo, "
    "que diz de que envio é.",
    en="Sends only the rejected rows that have been fixed: those of an upload, or of a workbook, "
    "which says to which upload it belongs.",
)
@click.argument("job_or_file", metavar="JOB|FILE", shell_complete=complete_jobs)
@option(
    "--file",
    type=click.Path(path_type=Path),
    pt="O arquivo corrigido (padrão: o das linhas rejeitadas).",
    en="The corrected workbook (default: the rejects workbook).",
)
@parse_options
@map_option
@link_option
@upload_options("retry")
@report_format_option
def retry_command(
    job_or_file: str,
    file: Path | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
    mapping: Path | None,
    links: dict[str, str],
    **options: Any,
) -> ExitCode:
    arguments = UploadArguments.of(options)
    with heavy_imports():
        from xlbridge.parallel import validate_single_sheet
        from xlbridge.upload.planning import corrected_rows

        if mapping is not None:
            from xlbridge.validation.mapping import read_mapping

    with open_context(command_settings()) as context:
        job_id = job_or_file
        if file is None and Path(job_or_file).is_file():
            file = Path(job_or_file)
            job_id = _job_of(file)
        job = find_job(context, job_id)
        job.require_rejected()
        job = ensure_evidence(context, job)
        request = ValidationRequest(
            file=file or Path(job.last("rejects_file")),
            resource=context.catalogue.named(job.spec.resource).name,
            reading=ParseOptions(dates=dates, numbers=numbers),
            mapping=None if mapping is None else read_mapping(mapping),
            links=links,
        )
        settings = context.settings
        validated = validate_single_sheet(request, settings.schemas, settings.limits)

        def create(uploads: "Uploads", target: "Target", sheet: "ValidatedSheet") -> "Job":
            corrected = corrected_rows(context, job, sheet)
            forbid_yes_in_production(target.production, arguments, job.spec.mode)
            return uploads.create_retry(corrected, arguments.options)

        return send_sheet(context, request, validated, arguments, job.spec.mode, create)
