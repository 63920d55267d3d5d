"""``xlbridge template``: blank import workbooks."""

from collections.abc import Iterable
from pathlib import Path

import click

from xlbridge.cli.completion import complete_resources
from xlbridge.cli.options import (
    WORKBOOK_OUTPUT,
    described_command,
    force_option,
    form_option,
    headers_option,
    option,
    schemas_option,
    settings_without_profile,
)
from xlbridge.cli.output import print_json, print_message, show_progress
from xlbridge.errors import UsageError
from xlbridge.files import as_arguments, report_write_errors, require_distinct, require_new
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Catalogue, Resource, load_catalogue
from xlbridge.settings import Headers, Settings, WorkbookLimits
from xlbridge.workbook.write import write_template


@described_command("template")
@click.argument("resource", required=False, shell_complete=complete_resources)
@option(
    "-o",
    "--output",
    type=WORKBOOK_OUTPUT,
    pt="Onde gravar (padrão: RECURSO.xlsx).",
    en="Where to write (default: RESOURCE.xlsx).",
)
@option(
    "--all",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    pt="Grava nesta pasta os modelos de todos os recursos que vêm com o xlbridge.",
    en="Writes the templates of all resources shipped with xlbridge into this folder.",
)
@option(
    "--migrate",
    "old",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="OLD",
    pt="Grava uma cópia de um arquivo feito com um modelo anterior, com os cabeçalhos do atual.",
    en="Writes a copy of a workbook made from an earlier template, with the current headers.",
)
@option(
    "--sheet",
    pt="A planilha do arquivo ANTIGO.",
    en="The sheet of the workbook OLD.",
)
@option(
    "--with-lists",
    is_flag=True,
    pt="Inclui listas de escolha: clientes, fornecedores, produtos, filiais … do sistema.",
    en="Includes lists to choose from: the system's clients, suppliers, products, branches …",
)
@headers_option
@schemas_option
@force_option
@form_option
def command(
    resource: str | None,
    output: Path | None,
    folder: Path | None,
    old: Path | None,
    sheet: str | None,
    with_lists: bool,
    headers: Headers | None,
    force: bool,
    form: str,
) -> None:
    if with_lists and (folder is not None or old is not None):
        raise UsageError(_LISTS_FOR_ONE_ONLY)
    if folder is not None and (resource is not None or output is not None or old is not None):
        raise UsageError(_ALL_EXCLUDES_OTHERS)
    if sheet is not None and old is None:
        raise UsageError(_SHEET_NEEDS_MIGRATE)
    if folder is not None:
        with report_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        shipped = {folder / f"{name}.xlsx": one for name, one in load_catalogue().items()}
        # None is written if one exists already: it may have been filled in.
        for path in () if force else shipped:
            require_new(path)
        for path, one in shipped.items():
            write_template(path, one, headers=headers or "titles")
            print_message(_WRITTEN.format(path=path))
        _print_written(shipped, form)
        return
    settings = settings_without_profile()
    catalogue = load_catalogue(settings.schemas)
    if resource is None:
        known = _KNOWN.format(known=", ".join(catalogue))
        raise UsageError(
            Text(pt="Falta o nome do recurso.", en="The name of the resource is missing."), known
        )
    chosen = catalogue.named(resource)
    path = output or Path(f"{chosen.name}.xlsx")
    require_distinct([path], [] if old is None else [old])
    if not force:
        require_new(path)
    if old is not None:
        _migrate(old, path, chosen, settings.limits, sheet, headers or "titles")
    else:
        if with_lists:
            _write_with_lists(path, chosen, catalogue, settings, headers or "titles")
        else:
            write_template(path, chosen, headers=headers or "titles")
        print_message(_WRITTEN.format(path=path))
    following = _NEXT if old is None else _CHECK
    print_message(following.format(path=as_arguments(path)))
    _print_written([path], form)


def _print_written(paths: Iterable[Path], form: str) -> None:
    if form == "json":
        print_json({"version": 1, "files": list(map(str, paths))})


def _write_with_lists(
    path: Path, resource: Resource, catalogue: Catalogue, settings: Settings, headers: Headers
) -> None:
    # Slow to import, and only needed here.
    from xlbridge.connection import connect
    from xlbridge.resources.references import REFERENCES, listing_resource
    from xlbridge.upload.lookup import registry_lists

    form = listing_resource(resource, catalogue)
    if form is resource:
        raise UsageError(_NO_REGISTRY.format(resource=resource.name))
    with (
        connect(settings, print_message) as client,
        show_progress(
            Text(pt="Lendo os cadastros", en="Reading the registries"), counts=True
        ) as activity,
    ):
        lists = registry_lists(client, form, print_message, activity)
    write_template(path, form, lists, headers)
    for registry in lists.lists:
        title = REFERENCES[registry.registry].title
        print_message(_LISTED.format(title=title, n=len(registry.records)))


def _migrate(
    old: Path,
    path: Path,
    resource: Resource,
    limits: WorkbookLimits,
    sheet: str | None,
    headers: Headers,
) -> None:
    # Slow to import, and only needed here.
    from xlbridge.validation import migrate

    migration = migrate(old, path, resource, limits, sheet, headers)
    print_message(_MIGRATED.format(path=path, rows=migration.rows))
    for header, name in migration.renamed.items():
        print_message(untranslated("  {old} → {new}").format(old=header, new=name))
    if migration.new:
        print_message(_ADDED.format(names=", ".join(migration.new)))
    for header, cells in migration.removed.items():
        print_message(_REMOVED.format(header=header, n=cells))


_ALL_EXCLUDES_OTHERS = Text(
    pt="--all grava todos os modelos; não aceita recurso, -o nem --migrate.",
    en="--all writes every template; it does not accept a resource, -o or --migrate.",
)
_SHEET_NEEDS_MIGRATE = Text(
    pt="--sheet só vale com --migrate, para o arquivo ANTIGO.",
    en="--sheet is only valid with --migrate, for the workbook OLD.",
)
_LISTS_FOR_ONE_ONLY = Text(
    pt="--with-lists grava o modelo de um recurso, sem --all nem --migrate.",
    en="--with-lists writes the template of one resource, without --all or --migrate.",
)
_NO_REGISTRY = Text(
    pt="Nenhuma coluna de {resource} se refere a um cadastro; grave o modelo sem --with-lists.",
    en="No column of {resource} refers to a registry; write the template without --with-lists.",
)
_KNOWN = Text(pt="Existem: {known}.", en="There are: {known}.")
_LISTED = Text(pt="  nas listas: {title} ({n})", en="  in the lists: {title} ({n})")
_WRITTEN = Text(pt="Modelo gravado em {path}", en="Template written to {path}")
_MIGRATED = Text(
    pt="Cópia gravada em {path}. Linhas: {rows}. O arquivo antigo não foi alterado.",
    en="Copy written to {path}. Rows: {rows}. The old workbook is unchanged.",
)
_ADDED = Text(pt="  novas, vazias, no fim: {names}", en="  new, empty, at the end: {names}")
_REMOVED = Text(
    pt="  fora do modelo, não é enviada: {header} (células preenchidas: {n})",
    en="  not in the template, not sent: {header} (filled cells: {n})",
)
_NEXT = Text(
    pt="Preencha-o no Excel ou no LibreOffice e confira: xlbridge validate {path}",
    en="Fill it in with Excel or LibreOffice, then check it: xlbridge validate {path}",
)

_CHECK = Text(pt="Confira-o: xlbridge validate {path}", en="Check it: xlbridge validate {path}")
