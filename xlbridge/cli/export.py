"""``xlbridge export``: a listing into a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.completion import complete_listings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.export_run import ExportArguments, run_export
from xlbridge.cli.options import described_command, force_option, option, scheduler_option
from xlbridge.export import CSV_DIALECTS, FORMATS, Filter, ValueKind

_MOST_AT_ONCE = 8
_METAVARS = {
    ValueKind.MOMENT: "D",
    ValueKind.CODE: "N",
    ValueKind.CODES: "N",
    ValueKind.TEXT: "TEXT",
    ValueKind.TEXTS: "CODE",
}


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each filter that any listing has."""
    for name in reversed(Filter):
        kind = name.type
        attributes: dict[str, Any] = {"help": str(kind.meaning)}
        if kind.is_flag:
            attributes["is_flag"] = True
        else:
            attributes |= {"metavar": _METAVARS[kind.kind], "multiple": kind.is_repeatable}
        command = click.option(f"--{name}", _parameter_of(name), **attributes)(command)
    return command


def _parameter_of(name: Filter) -> str:
    return f"filter_{name.name.lower()}"


@described_command(
    "export",
    pt="Exporta uma listagem.",
    en="Exports a listing into a file.",
)
@click.argument("listing", shell_complete=complete_listings)
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    pt="O arquivo a gravar.",
    en="The file to write.",
)
@_filter_options
@option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    pt="O formato; sem ele, vale a extensão.",
    en="The format; without it, the extension's.",
)
@option(
    "--csv-dialect",
    type=click.Choice(list(CSV_DIALECTS)),
    pt="pt-br: ponto e vírgula, vírgula decimal, dd/mm/aaaa.",
    en="pt-br: semicolons, decimal commas, dd/mm/yyyy.",
)
@option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    pt="Grava quantos registros vieram e se algo falta.",
    en="Writes how many records came, and whether any are missing.",
)
@option(
    "--since-last",
    is_flag=True,
    pt="Continua de onde parou a última exportação completa com os mesmos filtros.",
    en="Continues where the last complete export with the same filters ended.",
)
@option(
    "--flat",
    metavar="SHEET",
    pt="Uma planilha só: cada linha de PLANILHA junto do seu registro.",
    en="One sheet only: each row of SHEET beside its record.",
)
@option(
    "--as-template",
    metavar="RESOURCE",
    is_flag=False,
    flag_value="",
    pt="Grava no leiaute da planilha de importação desse recurso (sem ele, o da listagem).",
    en="Writes in the layout of that resource's import sheet (default: the listing's own).",
)
@option(
    "--settled",
    is_flag=True,
    pt="Com --as-template: aceita títulos baixados, que enviados seriam novos.",
    en="With --as-template: takes settled titles, which uploaded would be new ones.",
)
@option(
    "--with-files",
    is_flag=True,
    pt="Lê cada registro pela chave, com a lista dos anexos.",
    en="Reads each record by its key, with the list of its attached files.",
)
@option(
    "--attachments",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    pt="Baixa os anexos para essa pasta (implica --with-files).",
    en="Downloads the attached files into that folder (implies --with-files).",
)
@option(
    "--keep-unknown",
    is_flag=True,
    pt="Guarda os campos desconhecidos, como JSON, na coluna outrosCampos.",
    en="Keeps unknown fields, as JSON, in the column outrosCampos.",
)
@option(
    "--at-once",
    type=click.IntRange(1, _MOST_AT_ONCE),
    default=2,
    show_default=True,
    metavar="N",
    pt="Quantas chamadas ao mesmo tempo.",
    en="How many calls side by side.",
)
@option(
    "--fresh",
    is_flag=True,
    pt="Pede tudo de novo, mesmo o que uma execução interrompida já buscou.",
    en="Asks for everything again, even what a run that broke off had fetched.",
)
@scheduler_option
@force_option
def command(**options: Any) -> ExitCode:
    filter_texts = {name: options.pop(_parameter_of(name)) for name in Filter}
    return run_export(ExportArguments(filter_texts=filter_texts, **options))
