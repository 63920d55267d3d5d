"""``xlbridge resources``: resources that can be imported, ``new`` proposes another one;
``listings``: listings that can be exported."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from xlbridge import titles
from xlbridge.cli.help_texts import COMMANDS
from xlbridge.cli.options import (
    csv_options,
    described_command,
    force_option,
    option,
    result_options,
    schemas_option,
    stdout_by_dash,
)
from xlbridge.cli.output import print_document, print_json, print_message, print_report
from xlbridge.files import replace_atomically, require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table
from xlbridge.settings import read_settings

if TYPE_CHECKING:
    from xlbridge.export import Listing
    from xlbridge.resources import Resource


@click.group("resources", invoke_without_command=True, help=str(COMMANDS["resources"]))
@option(
    "--json-schema",
    "file_format",
    is_flag=True,
    pt="Mostra o formato de um arquivo de recurso, como JSON Schema para editores.",
    en="Prints the format of a resource file, as a JSON Schema for editors.",
)
@schemas_option
@result_options
@click.pass_context
def command(context: click.Context, form: str, file_format: bool) -> None:
    if context.invoked_subcommand is not None:
        return
    from xlbridge.resources import load_catalogue, schema_file_format

    if file_format:
        print_json(schema_file_format())
        return
    resources = list(load_catalogue(read_settings().schemas).values())
    lines = [
        Line(
            (
                f"{resource.name}  ({resource.title})  [{', '.join(resource.modes)}]",
                ", ".join(resource.required),
            )
        )
        for resource in resources
    ]
    table = Table(sheet=_RESOURCES, headings=_HEADINGS, lines=lines)
    document = {"version": 1, "resources": list(map(_as_json, resources))}
    print_report(ReportForms.of_report(lambda: Report(tables=[table]), lambda: document), form)


_RESOURCES = Text(pt="Recursos", en="Resources")
_HEADINGS = (
    Heading(Text(pt="recurso", en="resource")),
    Heading(Text(pt="obrigatórias", en="required")),
)


def _as_json(resource: "Resource") -> dict[str, object]:
    return {
        "resource": resource.name,
        "title": str(resource.title),
        "modes": list(resource.modes),
        "needs_processar": resource.paths.needs_processar,
        "required": list(resource.required),
        "columns": [column.name for column in resource.columns],
        "natural_keys": list(resource.natural_keys),
        "fingerprint": resource.fingerprint,
    }


@described_command(
    "new",
    pt="Propõe um arquivo de recurso a partir de uma planilha de exemplo.",
    en="Proposes a resource file from an example workbook.",
)
@option(
    "--from",
    "example",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    metavar="FILE",
    pt="O arquivo de exemplo.",
    en="The example workbook.",
)
@option(
    "--sheet",
    pt="A planilha do arquivo.",
    en="The sheet of the workbook.",
)
@option(
    "--name",
    pt="O nome do recurso (padrão: o do arquivo).",
    en="The name of the resource (default: the file's).",
)
@option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=stdout_by_dash,
    pt="Onde gravar (padrão: mostra na tela).",
    en="Where to write (default: shows it).",
)
@csv_options
@force_option
def new_command(
    example: Path, sheet: str | None, name: str | None, output: Path | None, force: bool
) -> None:
    # Slow to import, as it reads workbooks.
    from xlbridge.validation import propose_schema

    if output is not None:
        require_distinct([output], [example])
        if not force:
            require_new(output)
    proposal = propose_schema(example, read_settings().limits, sheet, name)
    for column in proposal.columns:
        print_message(
            Text(
                pt="  {header} → {name}: {kind}, {n} {n:célula|células}",
                en="  {header} → {name}: {kind}, {n} {n:cell|cells}",
            ).format(
                header=column.header, name=column.name, kind=column.kind.value, n=column.filled
            )
        )
    if output is None:
        print_document(proposal.schema_file().rstrip())
    else:
        with replace_atomically(output, shared=True) as partial:
            partial.write_text(proposal.schema_file(), encoding="utf-8")
        print_message(Text(pt="Proposta em {path}", en="Proposal in {path}").format(path=output))
    print_message(
        Text(
            pt="Confira cada coluna e ponha o arquivo na pasta schemas de XLBRIDGE_HOME; depois: "
            "xlbridge template {name}",
            en="Check each column and put the file into the schemas folder of XLBRIDGE_HOME; then: "
            "xlbridge template {name}",
        ).format(name=proposal.name)
    )


command.add_command(new_command)


@described_command("listings")
@result_options
def listings_command(form: str) -> None:
    from xlbridge.export import LISTINGS

    lines = [
        Line(
            (
                f"{listing.name}  ({listing.title})",
                ", ".join(sheet.name for sheet in listing.sheets),
                ", ".join(f"--{name}" for name in listing.filters) or None,
            )
        )
        for listing in LISTINGS.values()
    ]
    table = Table(sheet=titles.LISTINGS, headings=_LISTING_HEADINGS, lines=lines)
    document = {"version": 1, "listings": list(map(_listing_json, LISTINGS.values()))}
    print_report(ReportForms.of_report(lambda: Report(tables=[table]), lambda: document), form)


_LISTING_HEADINGS = (
    Heading(Text(pt="listagem", en="listing")),
    Heading(Text(pt="planilhas", en="sheets")),
    Heading(Text(pt="filtros", en="filters")),
)


def _listing_json(listing: "Listing") -> dict[str, object]:
    return {
        "listing": listing.name,
        "title": str(listing.title),
        "operation": listing.operation.name,
        "filters": list(listing.filters),
        "required": list(listing.required),
        "files": listing.details is not None,
        "key": list(listing.key),
        "cap": listing.cap,
        "sheets": [
            {"sheet": sheet.name, "columns": [column.name for column in sheet.columns]}
            for sheet in listing.sheets
        ],
    }
