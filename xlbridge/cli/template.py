"""``xlbridge template``: blank import workbooks."""

from pathlib import Path

import click

from xlbridge.cli.options import may_replace
from xlbridge.cli.output import remark
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import read_settings
from xlbridge.workbook.atomic import require_new
from xlbridge.workbook.template import write_template, write_templates


@click.command(
    "template",
    help=str(Text(pt="Grava um modelo de planilha.", en="Writes a blank import workbook.")),
)
@click.argument("resource", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help=str(
        Text(
            pt="Onde gravar (se não for dito: RESOURCE.xlsx).",
            en="Where to write (default: RESOURCE.xlsx).",
        )
    ),
)
@click.option(
    "--all",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help=str(
        Text(
            pt="Grava nesta pasta os modelos de todos os recursos que vêm com o xlbridge.",
            en="Writes the templates of all resources shipped with xlbridge into this folder.",
        )
    ),
)
@may_replace
def command(resource: str | None, output: Path | None, folder: Path | None, force: bool) -> None:
    if folder is not None:
        if resource is not None or output is not None:
            raise UsageError(
                Text(
                    pt="--all grava todos os modelos; não leva recurso nem -o.",
                    en="--all writes every template; it takes neither a resource nor -o.",
                )
            )
        for path in write_templates(folder, load_catalogue().values()):
            remark(_WRITTEN.format(path=path))
        return
    catalogue = load_catalogue(read_settings().schemas)
    if resource is None:
        raise UsageError(
            Text(pt="Falta o nome do recurso.", en="The name of the resource is missing."),
            Text(pt="Existem: {known}.", en="There are: {known}.").format(
                known=", ".join(catalogue)
            ),
        )
    wanted = catalogue.named(resource)
    path = output or Path(f"{wanted.name}.xlsx")
    if not force:
        require_new(path)
    write_template(path, wanted)
    remark(_WRITTEN.format(path=path))
    remark(_NEXT.format(path=path))


_WRITTEN = Text(pt="Modelo gravado em {path}", en="Template written to {path}")
_NEXT = Text(
    pt="Preencha-o no Excel ou no LibreOffice e confira: xlbridge validate {path}",
    en="Fill it in with Excel or LibreOffice, then check it: xlbridge validate {path}",
)
