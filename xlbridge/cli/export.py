"""``xlbridge export``: a listing into a workbook."""

from pathlib import Path

import click

from xlbridge.cli.connection import connect
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import may_replace
from xlbridge.cli.output import remark, result
from xlbridge.cli.progress import Activity, working
from xlbridge.export.books.csv_book import CSV_DIALECTS
from xlbridge.export.export import Progress, export_listing, require_writable
from xlbridge.export.filters import Filters, read_date
from xlbridge.export.formats import FORMATS, format_of, opener_of
from xlbridge.export.listings import Filter, find_listing
from xlbridge.export.overwriting import require_replaceable
from xlbridge.export.result import ExportResult, describe_hole, write_manifest
from xlbridge.i18n import Text
from xlbridge.workbook.atomic import require_apart

_TELL_EVERY = 100


@click.command(
    "export", help=str(Text(pt="Exporta uma listagem.", en="Exports a listing into a file."))
)
@click.argument("listing")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help=str(Text(pt="O arquivo a gravar.", en="The file to write.")),
)
@click.option(
    "--from",
    "start",
    metavar="D",
    help=str(
        Text(pt="Atualizados desde: 31/01/2026.", en="Updated since: 31/01/2026 or 2026-01-31.")
    ),
)
@click.option(
    "--to",
    "end",
    metavar="D",
    help=str(
        Text(
            pt="Atualizados até esse dia, inclusive.",
            en="Updated until that day, the day itself included.",
        )
    ),
)
@click.option(
    "--branch",
    type=click.IntRange(min=1),
    metavar="N",
    help=str(Text(pt="Só essa filial.", en="That branch only.")),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help=str(
        Text(
            pt="O formato; sem ele, vale a extensão.",
            en="The format; without it, the extension's.",
        )
    ),
)
@click.option(
    "--csv-dialect",
    type=click.Choice(list(CSV_DIALECTS)),
    help=str(
        Text(
            pt="pt-br: ponto e vírgula, vírgula decimal, dd/mm/aaaa.",
            en="pt-br: semicolons, decimal commas, dd/mm/yyyy.",
        )
    ),
)
@click.option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=str(
        Text(
            pt="Grava quantos registros vieram e se algo falta.",
            en="Writes how many records came, and whether any are missing.",
        )
    ),
)
@may_replace
def command(
    listing: str,
    output: Path,
    start: str | None,
    end: str | None,
    branch: int | None,
    form: str | None,
    csv_dialect: str | None,
    manifest: Path | None,
    force: bool,
) -> ExitCode:
    wanted = find_listing(listing)
    filters = Filters(read_date(Filter.FROM, start), read_date(Filter.TO, end), branch)
    filters.check(wanted)
    chosen = format_of(output, form)
    open_book = opener_of(chosen, csv_dialect)
    for path in filter(None, (output, manifest)):
        require_writable(path)
    require_apart([output, manifest])
    if not force:
        require_replaceable(output, chosen)
    with connect(command_settings()) as client, working(wanted.title) as activity:
        exported = export_listing(
            client, wanted, filters, output, open_book, _counting(wanted.title, activity)
        )
    if manifest:
        write_manifest(manifest, exported)
    return _tell(exported, output)


def _counting(title: Text, activity: Activity) -> Progress:
    def count(records: int) -> None:
        if records % _TELL_EVERY == 0:
            told = Text(pt="{title}: {n} registros", en="{title}: {n} records")
            activity.tell(told.format(title=title, n=records))

    return count


def _tell(exported: ExportResult, output: Path) -> ExitCode:
    rows = ", ".join(f"{name} {count}" for name, count in exported.sheets.items())
    told = Text(
        pt="{file}: {n} registros ({rows})",
        en="{file}: {n} records ({rows})",
    )
    result(told.format(file=output, n=exported.records, rows=rows))
    if not exported.records:
        remark(Text(pt="Nada foi encontrado.", en="Nothing was found."))
    for hole in exported.holes:
        remark(describe_hole(hole))
    return ExitCode.GOOD if exported.complete else ExitCode.DATA_ERRORS
