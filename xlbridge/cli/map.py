"""``xlbridge map``: proposes a mapping of a foreign sheet's columns to those of a resource."""

from functools import cache, partial
from pathlib import Path

import click

from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import (
    csv_options,
    described_command,
    force_option,
    form_option,
    numbers_option,
    option,
    saved_stdin,
    schemas_option,
    sheet_options,
    stdout_by_dash,
)
from xlbridge.cli.output import print_document, print_json, print_message
from xlbridge.cli.progress import show_progress
from xlbridge.files import as_arguments, replace_atomically, require_distinct, require_new
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
@option(
    "--online",
    is_flag=True,
    pt="Procura no sistema os nomes de filiais, centros de custo e outros cadastros da empresa, e "
    "pergunta pelos que ele não tem.",
    en="Looks up the names of branches, cost centres and other things of the company in the "
    "system, and asks for those that it does not have.",
)
@sheet_options
@csv_options
@numbers_option
@schemas_option
@form_option
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
    online: bool,
    resource: str | None,
    sheet: str | None,
    numbers: NumberStyle | None,
    form: str,
) -> None:
    named, file = file, saved_stdin(file)
    require_distinct([output], [file])
    if output is not None and not force:
        require_new(output)
    settings = command_settings()
    with heavy_imports():
        from xlbridge.cli.map_run import (
            describe_mapping,
            known_mapping,
            report_other_sheets,
            with_names_asked,
        )
        from xlbridge.resources import load_catalogue
        from xlbridge.validation.mapping import (
            MappingProposal,
            propose_mapping,
            remembered_mappings,
        )
        from xlbridge.workbook.read import read_workbook
    with show_progress(Text(pt="Lendo {f}", en="Reading {f}").format(f=file)):
        catalogue = load_catalogue(settings.schemas)
        mappings = remembered_mappings(settings.mappings)
        limits = settings.limits.with_headers(mappings)
        workbook = cache(lambda: read_workbook(file, limits))
        propose = partial(
            propose_mapping,
            file,
            catalogue,
            limits,
            earlier=mappings,
            workbook=workbook,
            numbers=numbers,
        )
        known = None if online else known_mapping(file, settings, resource, sheet)
        proposal = known or propose(resource=resource, sheet=sheet)
        if online and isinstance(proposal, MappingProposal):
            proposal = with_names_asked(proposal, workbook(), catalogue, settings)
    text = describe_mapping(proposal)
    if sheet is None and isinstance(proposal, MappingProposal):
        report_other_sheets(proposal, [cells.name for cells in workbook().sheets], propose)
    if output is not None:
        with replace_atomically(output, shared=True) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    if form == "json":
        import yaml

        written = None if output is None else str(output)
        print_json({"version": 1, "file": written, "mapping": yaml.safe_load(text)})
    elif output is None:
        print_document(text.rstrip())
    if output is None:
        return
    print_message(
        Text(
            pt="Mapeamento gravado em {path}. Confira cada coluna; depois: xlbridge validate "
            "{file} --map {path}",
            en="Mapping written to {path}. Check each column; then: xlbridge validate {file} "
            "--map {path}",
        ).format(path=as_arguments(output), file=as_arguments(named))
    )
