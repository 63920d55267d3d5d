"""``xlbridge upload``: validates and sends a workbook; ``retry``: sends its corrected rows."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.help import complete_jobs
from xlbridge.cli.options import (
    ReadingArguments,
    command_settings,
    described_command,
    option,
    page_result_options,
    parse_options,
    saved_stdin,
    sheet_options,
)
from xlbridge.cli.output import print_json, print_message, print_report, show_progress
from xlbridge.cli.upload_run import (
    UploadArguments,
    find_job,
    forbid_yes_in_production,
    run_upload,
    upload_options,
)
from xlbridge.errors import ExitCode
from xlbridge.files import as_arguments, require_distinct
from xlbridge.i18n import Text, joined
from xlbridge.processes import heavy_imports
from xlbridge.profiles import choose_profile
from xlbridge.settings import Settings
from xlbridge.upload import UploadContext, open_context
from xlbridge.upload.results import ROW_COUNTS, ensure_evidence
from xlbridge.validation import ValidationRequest
from xlbridge.workbook import WorkbookOrigin

if TYPE_CHECKING:
    from xlbridge.upload import Job
    from xlbridge.validation import ValidatedSheet


@described_command("upload")
@click.argument("file", type=click.Path(readable=False, path_type=Path))
@sheet_options
@parse_options
@upload_options("upload")
@page_result_options
def command(
    file: Path,
    resource: str | None,
    sheet: str | None,
    **options: Any,
) -> ExitCode:
    reading = ReadingArguments.take(options)
    arguments = UploadArguments.of(options)
    mapping = [] if reading.mapping is None else [reading.mapping]
    settings = command_settings()
    file = saved_stdin(file, settings.frames)
    require_distinct([arguments.annotate], [file, *mapping])
    with open_context(settings) as context:
        title = Text(pt="Conferindo {f}", en="Checking {f}").format(f=file)
        # Most modules are imported in there, while the file is being parsed.
        with heavy_imports(), show_progress(title):
            folder = context.settings.accepted
            [request] = reading.requests([file], folder, resource=resource, sheet=sheet)
            validated = _validate(request, context.settings)
        request.accepted.remember(context.settings.accepted, validated.with_children)
        if validated.read_as is not None:
            print_message(validated.read_as)
        if request.mapping is not None:
            from xlbridge.cli.map import remember

            remember(request.mapping, [validated], context.settings)
        return _send(context, request, validated, arguments)


def _validate(request: ValidationRequest, settings: Settings) -> "ValidatedSheet":
    """Validate the sheet to send; an unknown header's error names the mapping."""
    from xlbridge.parallel import validate_single_sheet
    from xlbridge.validation.sheet_choice import NoFittingResource

    try:
        return validate_single_sheet(request, settings.schemas, settings.limits)
    except NoFittingResource as error:
        # Slow to import, and few sheets need it.
        from xlbridge.cli.map import with_mappings

        raise with_mappings(error, [request.file], settings, "upload") from None


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
@upload_options("retry")
@page_result_options
def retry_command(
    job_or_file: str,
    file: Path | None,
    **options: Any,
) -> ExitCode:
    reading = ReadingArguments.take(options)
    arguments = UploadArguments.of(options)
    with heavy_imports():
        from xlbridge.parallel import validate_single_sheet

    with open_context(command_settings()) as context:
        job_id = job_or_file
        named = Path(job_or_file)
        if file is None and (named.is_file() or named.suffix):
            file = named
            job_id = WorkbookOrigin.job_of(file)
        job = find_job(context, job_id)
        job.require_rejected()
        job = ensure_evidence(context, job)
        settings, resource = context.settings, context.catalogue.named(job.spec.resource)
        path = file or Path(job.notes.rejects_file or "")
        origin = WorkbookOrigin.of(path)
        sheet = job.spec.sheet if origin and origin.copy else None
        if not WorkbookOrigin.is_of_rejects(path):
            reading = replace(reading, links={**job.notes.links, **reading.links})
            from xlbridge.cli.map import known_mapping

            if not reading.mapping and (
                known := known_mapping(path, settings, resource.name, sheet)
            ):
                reading = replace(reading, mapping=known.path)
        [request] = reading.requests([path], settings.accepted, resource=resource.name, sheet=sheet)
        validated = validate_single_sheet(request, settings.schemas, settings.limits)
        request.accepted.remember(settings.accepted, validated.with_children)
        return _send(context, request, validated, arguments, job)


def _send(
    context: UploadContext,
    request: ValidationRequest,
    sheet: "ValidatedSheet",
    arguments: UploadArguments,
    earlier: "Job | None" = None,
) -> ExitCode:
    """Upload a validated sheet, or its corrected rows of an ``earlier`` upload, with its report.

    Why an invalid sheet is not sent is reported too; without a connection if it has the errors
    itself.
    """
    with heavy_imports():
        from xlbridge.connection import connect
        from xlbridge.upload import InvalidSheet, Uploads
        from xlbridge.upload.planning import may_be_sent

    options = arguments.options
    mode: str = options.mode if earlier is None else earlier.spec.mode
    resource = sheet.resource
    if resource is None or not may_be_sent(sheet, good_rows=options.good_rows):
        code = _report_invalid(context, request, sheet, mode, arguments.form)
        from xlbridge.cli.validate import has_foreign_header

        if earlier is None and request.mapping is None and has_foreign_header(sheet):
            # Slow to import, and few sheets need it.
            from xlbridge.cli.map import suggest_mappings

            suggest_mappings([request.file], context.settings, "upload")
        return code
    choice = None
    if earlier is None:
        choice = options.choose_mode(resource, with_lists=bool(sheet.children))
        if sheet.warnings:
            from xlbridge.cli.validate import reading_options

            options_of_reading = reading_options(request, context.settings.limits.csv)
            text = as_arguments(sheet.file, *options_of_reading)
            print_message(_WARNINGS.format(n=sheet.warnings, arguments=text))
    with connect(context.settings, print_message) as client:
        uploads = Uploads(context, client)
        try:
            rows = uploads.rows_to_send(sheet, options, earlier)
        except InvalidSheet as error:
            return _report_invalid(context, request, error.sheet, mode, arguments.form)
        forbid_yes_in_production(client, arguments, mode)
        if choice is not None:
            print_message(
                _SUMMARY.format(
                    resource=resource.name,
                    profile=client.target.profile,
                    rows=len(sheet.rows),
                    reason=choice.reason,
                )
            )
        job = uploads.create(rows, options)
        return run_upload(context, client, job, arguments, uploads)


_SUMMARY = Text(
    pt="{resource} para {profile} · linhas: {rows} · {reason}",
    en="{resource} to {profile} · rows: {rows} · {reason}",
)
_WARNINGS = Text(
    pt="Avisos na planilha: {n}. Veja-os com: xlbridge validate {arguments}",
    en="Warnings in the sheet: {n}. See them with: xlbridge validate {arguments}",
)


def _report_invalid(
    context: UploadContext,
    request: ValidationRequest,
    sheet: "ValidatedSheet",
    mode: str,
    form: str,
) -> ExitCode:
    """Report why the sheet is not sent, and the next step."""
    from xlbridge.cli.validate import reading_options
    from xlbridge.upload import InvalidSheet
    from xlbridge.validation.report import Report
    from xlbridge.validation.report_formats import report_forms

    profile = choose_profile(context.settings)
    from_system = any(finding.kind.code.startswith("link-") for finding in sheet.findings)
    report = Report(
        sheet.with_children,
        options=[
            *reading_options(request, context.settings.limits.csv),
            *profile.arguments,
        ],
        validation_options=["--online"] if from_system else [],
    )
    verdict = [InvalidSheet.FIX_FIRST]
    if sheet.has_stray_rows:
        verdict.append(_STRAY_ROWS)
    elif sheet.readable:
        verdict.append(_GOOD_ROWS)
    forms = report_forms(report, joined(verdict, " "))
    for line in forms.lines():
        print_message(line)
    if form == "html":
        print_report(forms, form)
    if form == "json":
        print_json(
            {
                "version": 1,
                "job": None,
                "state": "rejected",
                "target": profile.to_json(),
                "mode": mode,
                "resource": sheet.resource_name,
                "log_id": None,
                "rows": {
                    **dict.fromkeys(ROW_COUNTS, 0),
                    **dict.fromkeys(("read", "rejected"), len(sheet.rows)),
                },
                "rejected": [
                    {
                        "row": finding.row,
                        "cell": finding.cell,
                        "column": finding.column,
                        "message": str(finding.message),
                        **({"sheet": part.sheet} if sheet.children else {}),
                    }
                    for part in sheet.with_children
                    for finding in part.error_findings()
                ],
                "rejects_file": None,
            }
        )
    return ExitCode.DATA_ERRORS


_STRAY_ROWS = Text(
    pt="Há linhas com erro sem registro: sem elas, algum registro iria incompleto.",
    en="Some rows with errors belong to no record: without them a record would be incomplete.",
)
_GOOD_ROWS = Text(
    pt="Para enviar só as linhas sem erros: --good-rows",
    en="To send only the rows without errors: --good-rows",
)
