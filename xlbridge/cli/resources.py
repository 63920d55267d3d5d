"""``xlbridge resources``: what can be imported."""

import click

from xlbridge.cli.options import report_format
from xlbridge.cli.output import result, result_json
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.resources.resource import Resource
from xlbridge.settings import read_settings


@click.command(
    "resources", help=str(Text(pt="O que se pode importar.", en="What can be imported."))
)
@report_format
def command(form: str) -> None:
    catalogue = load_catalogue(read_settings().schemas)
    if form == "json":
        result_json({"version": 1, "resources": [_as_json(r) for r in catalogue.values()]})
        return
    for resource in catalogue.values():
        modes = ", ".join(resource.paths.modes)
        result(f"{resource.name}  ({resource.title})  [{modes}]")
        required = Text(pt="  obrigatórias: {names}", en="  required: {names}")
        result(required.format(names=", ".join(resource.required)))


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
