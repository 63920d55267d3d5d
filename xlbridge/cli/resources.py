"""``xlbridge template``: blank import workbooks; ``resources``: what can be imported, ``new``
proposes another resource; ``listings``: what can be exported."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xlbridge import titles
from xlbridge.cli.help import COMMANDS, complete_resources
from xlbridge.cli.options import (
    WORKBOOK_OUTPUT,
    csv_options,
    described_command,
    force_option,
    form_option,
    headers_option,
    option,
    result_options,
    schemas_option,
    settings_without_profile,
    stdout_by_dash,
)
from xlbridge.cli.output import (
    print_document,
    print_json,
    print_message,
    print_report,
    show_progress,
)
from xlbridge.errors import UsageError
from xlbridge.files import (
    as_arguments,
    replace_atomically,
    report_write_errors,
    require_distinct,
    require_new,
)
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table
from xlbridge.settings import read_settings

if TYPE_CHECKING:
    from xlbridge.export import Listing
    from xlbridge.resources import Catalogue, Resource
    from xlbridge.settings import Headers, Settings, WorkbookLimits


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
def template_command(
    resource: str | None,
    output: Path | None,
    folder: Path | None,
    old: Path | None,
    sheet: str | None,
    with_lists: bool,
    headers: "Headers | None",
    force: bool,
    form: str,
) -> None:
    if with_lists and (folder is not None or old is not None):
        raise UsageError(_LISTS_FOR_ONE_ONLY)
    if folder is not None and (resource is not None or output is not None or old is not None):
        raise UsageError(_ALL_EXCLUDES_OTHERS)
    if sheet is not None and old is None:
        raise UsageError(_SHEET_NEEDS_MIGRATE)
    # Imported late: other commands of this module need none of them.
    from xlbridge.resources import load_catalogue
    from xlbridge.workbook.write import write_template

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
    path: Path,
    resource: "Resource",
    catalogue: "Catalogue",
    settings: "Settings",
    headers: "Headers",
) -> None:
    # Slow to import, and only needed here.
    from xlbridge.connection import connect
    from xlbridge.resources.links import listing_resource
    from xlbridge.resources.references import REFERENCES
    from xlbridge.upload.lookup import registry_lists
    from xlbridge.workbook.write import write_template

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
    resource: "Resource",
    limits: "WorkbookLimits",
    sheet: str | None,
    headers: "Headers",
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
