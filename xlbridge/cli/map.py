"""``xlbridge map``: proposes a mapping of a foreign sheet's columns to those of a resource.

Other commands remember the mappings that they use, and suggest them for sheets with such a header.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xlbridge.cli.options import (
    command_settings,
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
from xlbridge.cli.output import print_document, print_json, print_message, show_progress
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.files import as_arguments, replace_atomically, require_distinct, require_new
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.processes import heavy_imports
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.settings import NumberStyle, Settings

if TYPE_CHECKING:
    from xlbridge.validation import ValidationResult
    from xlbridge.validation.mapping import MappingProposal, SheetMapping
    from xlbridge.validation.sheet_choice import NoFittingResource

# What needs pandas is imported in functions, as most sheets need no mapping.


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
            from xlbridge.connection import connect
            from xlbridge.upload.lookup import OnlineCheck

            (cells,) = (one for one in workbook().sheets if one.name == proposal.sheet)
            with connect(settings, print_message) as client:
                proposal = OnlineCheck(client).ask_unknown_names(proposal, cells, catalogue)
    text = _describe(proposal)
    if sheet is None and isinstance(proposal, MappingProposal):
        _report_other_sheets(proposal, [cells.name for cells in workbook().sheets], propose)
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


def known_mapping(
    file: Path, settings: Settings, resource: str | None, sheet: str | None
) -> "SheetMapping | None":
    """Return the mapping that was used before for the header of a file, if any.

    Raises what ``read_workbook`` raises.
    """
    from xlbridge.validation.mapping import mapping_for, remembered_mappings
    from xlbridge.workbook.read import read_workbook

    mappings = remembered_mappings(settings.mappings)
    if not mappings:
        return None
    limits = settings.limits.with_headers(mappings)
    return mapping_for(read_workbook(file, limits, sheet), mappings, resource)


def _describe(proposal: "MappingProposal | SheetMapping") -> str:
    """Print the columns of a proposal with their confidence, and return the mapping file's text."""
    from xlbridge.validation.mapping import CONFIDENCE_WORDS, SheetMapping, mapping_text

    if isinstance(proposal, SheetMapping):
        message = Text(
            pt="Este cabeçalho é conhecido: este é o mapeamento usado antes para {resource}.",
            en="This header is known: this is the mapping used before for {resource}.",
        )
        print_message(message.format(resource=proposal.resource))
        return proposal.path.read_text("utf-8")
    summary = Text(
        pt="{resource} · planilha {sheet} · colunas da planilha: {n}, sem uso: {unused}",
        en="{resource} · sheet {sheet} · columns of the sheet: {n}, unused: {unused}",
    )
    print_message(
        summary.format(
            resource=proposal.resource.name,
            sheet=proposal.sheet,
            n=len(proposal.header),
            unused=len(proposal.ignore),
        )
    )
    for remark in _base_remarks(proposal):
        print_message(remark)
    for name, column in proposal.open_columns.items():
        source = " + ".join(column.sources) or str(column.body.get("constant"))
        confidence = CONFIDENCE_WORDS[column.confidence]
        print_message(
            untranslated("  {source} → {name}: {confidence}").format(
                source=source, name=name, confidence=confidence
            )
        )
    if incomplete := proposal.incomplete:
        print_message(
            Text(
                pt="Substitua cada ? pelo valor que só você conhece: {names}",
                en="Replace each ? with the value that only you know: {names}",
            ).format(names=", ".join(incomplete))
        )
    columns = {column.name for column in proposal.columns}
    if missing := [name for name in proposal.resource.required if name not in columns]:
        print_message(
            Text(
                pt="Nenhuma coluna parece ser {names}, que é obrigatória e diferente em cada "
                "registro; escolha uma, em columns do mapeamento.",
                en="No column seems to be {names}, which is required and different in each "
                "record; choose one, in columns of the mapping.",
            ).format(names=", ".join(missing))
        )
    return mapping_text(proposal)


def _base_remarks(proposal: "MappingProposal") -> Iterator[Text]:
    """Yield which mapping or layout a proposal builds on, and what is different."""
    base = proposal.base
    if base is None:
        return
    if base.title is not None:
        yield _LAYOUT.format(title=base.title, source=base.source or base.path)
        return
    gone, new = proposal.changes()
    yield _CHANGED.format(mapping=base.path)
    if gone:
        yield _GONE.format(headers=", ".join(gone))
    if new:
        yield _NEW.format(headers=", ".join(new))


def _report_other_sheets(
    proposal: "MappingProposal", sheets: Iterable[str], propose: "Callable[..., MappingProposal]"
) -> None:
    """Print which sheet was chosen, if others of the workbook have its required columns, too."""
    required = _matched_names(proposal).intersection(proposal.resource.required)
    others = []
    for name in sheets:
        if name == proposal.sheet:
            continue
        try:
            other = propose(resource=proposal.resource.name, sheet=name)
        except UsageError:
            continue  # The sheet has no header, or no rows below it.
        if required and required <= _matched_names(other):
            others.append(f"“{name}”")
    if others:
        remark = _OTHER_SHEETS.format(sheet=proposal.sheet, others=", ".join(others))
        print_message(remark)


def _matched_names(proposal: "MappingProposal") -> set[str]:
    return {column.name for column in proposal.columns if column.sources}


def remember(
    mapping: "SheetMapping", results: "Sequence[ValidationResult]", settings: Settings
) -> None:
    """Store a mapping for the profile of the command, if a sheet with rows was read by it."""
    from xlbridge.validation import ValidatedSheet
    from xlbridge.validation.mapping import remember_mapping

    if not any(isinstance(result, ValidatedSheet) and len(result.rows) for result in results):
        return
    try:
        remember_mapping(settings_for(settings, choose_profile(settings)).mappings, mapping)
    except XlbridgeError as error:
        print_message(_NOT_REMEMBERED.format(why=error.message))


def suggest_mappings(files: Iterable[Path], settings: Settings, command: str) -> None:
    """Print the commands that read sheets whose headers match no resource."""
    for suggestion in _suggestions(files, settings, command, []):
        print_message(suggestion)


def with_mappings(
    error: "NoFittingResource", files: Iterable[Path], settings: Settings, command: str
) -> "NoFittingResource":
    """Return the error with the commands that read the files' sheets in its hint."""
    from xlbridge.validation.sheet_choice import NoFittingResource

    hints = [] if error.hint is None else [error.hint]
    suggestions = _suggestions(files, settings, command, hints)
    return NoFittingResource(error.message, joined(suggestions, "\n"))


def _suggestions(
    files: Iterable[Path], settings: Settings, command: str, others: Sequence[Text]
) -> list[Text]:
    """Return how to read the files' sheets; ``others``: further hints if no mapping is known."""
    found = [text for file in files for text in _suggestion(file, settings, command, others)]
    return list(dict.fromkeys(found))


def _suggestion(
    file: Path, settings: Settings, command: str, others: Sequence[Text]
) -> Sequence[Text]:
    try:
        profile_settings = settings_for(settings, choose_profile(settings))
        known = known_mapping(file, profile_settings, None, None)
    except XlbridgeError:
        # The command itself reports why the file cannot be read.
        return others
    if known is None:
        return [_MAP_IT.format(file=as_arguments(file)), *others]
    options = as_arguments(file, "--map", known.path)
    return [_KNOWN.format(command=command, options=options, resource=known.resource)]


_NOT_REMEMBERED = Text(
    pt="O mapeamento não foi guardado para a próxima vez: {why}",
    en="The mapping was not stored for the next time: {why}",
)
_MAP_IT = Text(
    pt="Se a planilha tem cabeçalhos próprios: xlbridge map {file} -o MAPEAMENTO.yaml",
    en="If the sheet has its own headers: xlbridge map {file} -o MAPPING.yaml",
)
_LAYOUT = Text(
    pt="O cabeçalho é o de um leiaute conhecido: {title}. Fonte: {source}.",
    en="The header is that of a known layout: {title}. Source: {source}.",
)
_CHANGED = Text(
    pt="O cabeçalho mudou desde o mapeamento usado antes, {mapping}; o resto dele continua. "
    "Confira só o que mudou:",
    en="The header has changed since the mapping used before, {mapping}; the rest of it is kept. "
    "Check only what has changed:",
)
_GONE = Text(pt="  não está mais na planilha: {headers}", en="  no longer in the sheet: {headers}")
_NEW = Text(pt="  novo na planilha: {headers}", en="  new in the sheet: {headers}")
_OTHER_SHEETS = Text(
    pt="Outras planilhas do arquivo também servem: {others}; este mapeamento é da planilha "
    "“{sheet}”. Para escolher outra: --sheet.",
    en="Other sheets of the workbook fit, too: {others}; this mapping is of the sheet “{sheet}”. "
    "To choose another one: --sheet.",
)
_KNOWN = Text(
    pt="Este cabeçalho já foi lido como {resource}: xlbridge {command} {options}",
    en="This header was read as {resource} before: xlbridge {command} {options}",
)
