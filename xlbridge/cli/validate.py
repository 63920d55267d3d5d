"""``xlbridge validate``: checks workbooks locally, without the network."""

import json
from pathlib import Path

import click

from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import how_to_read, report_format, which_sheet
from xlbridge.cli.output import remark, result, result_json
from xlbridge.cli.progress import working
from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import read_settings
from xlbridge.validation.reading import DateOrder, NumberStyle, Reading
from xlbridge.validation.report import Judged, RefusedFile, report_json, report_text
from xlbridge.validation.validate import ValidatedSheet, validate_workbook
from xlbridge.workbook.atomic import replacing, require_apart


@click.command(
    "validate",
    help=str(
        Text(
            pt="Confere planilhas no próprio computador, sem usar a rede.",
            en="Checks workbooks on this computer, without the network.",
        )
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(Text(pt="Grava o relatório num arquivo.", en="Writes the report to a file.")),
)
@click.option(
    "--annotate",
    "annotated",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(
        Text(
            pt="Grava uma cópia da pasta com as células marcadas.",
            en="Writes a copy of the workbook with its cells marked.",
        )
    ),
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=str(
        Text(
            pt="Quantos achados listar por arquivo, em JSON.",
            en="How many findings to list for each file, in JSON.",
        )
    ),
)
@which_sheet
@how_to_read
@report_format
def command(
    files: tuple[Path, ...],
    resource: str | None,
    sheet: str | None,
    form: str,
    output: Path | None,
    annotated: Path | None,
    limit: int | None,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
) -> ExitCode:
    if annotated and len(files) > 1:
        raise UsageError(
            Text(
                pt="--annotate serve para um arquivo de cada vez.",
                en="--annotate takes one file at a time.",
            )
        )
    require_apart([output, annotated], files)
    settings = read_settings()
    catalogue = load_catalogue(settings.schemas)
    reading = Reading(dates=dates, numbers=numbers)
    judged: list[Judged] = []
    unusable: list[UsageError] = []
    for file in files:
        with working(Text(pt="Conferindo {f}", en="Checking {f}").format(f=file)):
            try:
                judged.append(
                    validate_workbook(
                        file,
                        catalogue,
                        resource=resource,
                        sheet=sheet,
                        reading=reading,
                        limits=settings.limits,
                    )
                )
            except WorkbookRefused as refusal:
                judged.append(RefusedFile(file, refusal))
            except UsageError as error:
                judged.append(RefusedFile(file, error))
                unusable.append(error)
    _print(judged, form, output, limit)
    if unusable:
        raise unusable[0]
    if annotated and isinstance(judged[0], ValidatedSheet):
        _annotate(judged[0], annotated)
    if any(isinstance(item, RefusedFile) for item in judged):
        return ExitCode.REFUSED
    good = all(isinstance(item, ValidatedSheet) and item.ok for item in judged)
    return ExitCode.GOOD if good else ExitCode.DATA_ERRORS


def _print(judged: list[Judged], form: str, output: Path | None, limit: int | None) -> None:
    if form == "json":
        document = report_json(judged, limit)
        if output is None:
            result_json(document)
        else:
            _write(output, json.dumps(document, ensure_ascii=False) + "\n")
        return
    lines = report_text(judged)
    if output is None:
        for line in lines:
            result(line)
    else:
        _write(output, "".join(f"{line}\n" for line in lines))


def _write(output: Path, content: str) -> None:
    with replacing(output) as temporary:
        temporary.write_text(content, encoding="utf-8")
    remark(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def _annotate(judged: ValidatedSheet, target: Path) -> None:
    # openpyxl takes its time to import, and most runs do not need it.
    from xlbridge.validation.annotation import annotate_sheet

    with working(Text(pt="Marcando as células", en="Marking the cells")):
        annotate_sheet(judged, target)
    remark(Text(pt="Cópia marcada em {f}", en="Marked copy in {f}").format(f=target))
