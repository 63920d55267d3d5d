"""``xlbridge resources``: resources that can be imported."""

import click

from xlbridge.cli.options import format_option, schemas_option
from xlbridge.cli.output import print_json, print_result
from xlbridge.i18n import Text
from xlbridge.resources import Resource, load_catalogue, schema_file_format
from xlbridge.settings import read_settings


@click.command(
    "resources", help=str(Text(pt="O que se pode importar.", en="What can be imported."))
)
@click.option(
    "--json-schema",
    "file_format",
    is_flag=True,
    help=str(
        Text(
            pt="Mostra o que cabe num arquivo de recurso, como JSON Schema para editores.",
            en="Prints what a resource file may hold, as a JSON Schema for editors.",
        )
    ),
)
@schemas_option
@format_option
def command(form: str, file_format: bool) -> None:
    if file_format:
        print_json(schema_file_format())
        return
    catalogue = load_catalogue(read_settings().schemas)
    if form == "json":
        print_json({"version": 1, "resources": [_as_json(r) for r in catalogue.values()]})
        return
    for resource in catalogue.values():
        modes = ", ".join(resource.paths.modes)
        print_result(f"{resource.name}  ({resource.title})  [{modes}]")
        required = Text(pt="  obrigatórias: {names}", en="  required: {names}")
        print_result(required.format(names=", ".join(resource.required)))


def _as_json(resource: Resource) -> dict[str, object]:
    return {
        "resource": resource.name,
        "title": str(resource.title),
        "modes": list(resource.paths.modes),
        "needs_processar": resource.paths.needs_processar,
        "required": list(resource.required),
        "columns": [column.name for column in resource.columns],
        "natural_keys": list(resource.natural_keys),
        "fingerprint": resource.fingerprint,
    }
