"""``xlbridge map``: proposes a mapping of a foreign sheet's columns to those of a resource."""

from pathlib import Path

import click

from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import (
    csv_options,
    described_command,
    force_option,
    numbers_option,
    option,
    schemas_option,
    sheet_options,
    stdout_by_dash,
)
from xlbridge.cli.output import print_json, print_message, print_result
from xlbridge.cli.progress import show_progress
from xlbridge.files import as_argument, replace_atomically, require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.settings import NumberStyle


def _print_format(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from xlbridge.validation.mapping import mapping_format

        print_json(mapping_format())
        context.exit(0)


@described_command(
    "map",
    pt="Propõe a que coluna de um recurso corresponde cada coluna de uma planilha de outro "
    "sistema.",
    en="Proposes the resource's column for each column of another system's sheet.",
)
@click.argument("file", type=click.Path(readable=False, path_type=Path))
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=stdout_by_dash,
    metavar="MAPPING",
    pt="Grava o mapeamento num arquivo YAML (padrão: mostra na tela).",
    en="Writes the mapping to a YAML file (default: shows it).",
)
@force_option
@sheet_options
@csv_options
@numbers_option
@schemas_option
@option(
    "--json-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_format,
    pt="Mostra o formato de um mapeamento, como JSON Schema para editores.",
    en="Prints the format of a mapping, as a JSON Schema for editors.",
)
def command(
    file: Path,
    output: Path | None,
    force: bool,
    resource: str | None,
    sheet: str | None,
    numbers: NumberStyle | None,
) -> None:
    require_distinct([output], [file])
    if output is not None and not force:
        require_new(output)
    settings = command_settings()
    with heavy_imports():
        from xlbridge.cli.map_run import describe_mapping, known_mapping
        from xlbridge.resources import load_catalogue
        from xlbridge.validation.mapping import propose_mapping, remembered_mappings
    with show_progress(Text(pt="Lendo {f}", en="Reading {f}").format(f=file)):
        proposal = known_mapping(file, settings, resource, sheet) or propose_mapping(
            file,
            load_catalogue(settings.schemas),
            settings.limits,
            resource=resource,
            sheet=sheet,
            earlier=remembered_mappings(settings.mappings),
            numbers=numbers,
        )
    text = describe_mapping(proposal)
    if output is None:
        print_result(text.rstrip())
        return
    with replace_atomically(output, shared=True) as partial:
        partial.write_text(text, encoding="utf-8")
    print_message(
        Text(
            pt="Mapeamento gravado em {path}. Confira cada coluna; depois: xlbridge validate "
            "{file} --map {path}",
            en="Mapping written to {path}. Check each column; then: xlbridge validate {file} "
            "--map {path}",
        ).format(path=as_argument(output), file=as_argument(file))
    )
