"""Work of ``xlbridge map``, and of remembering and offering mappings in other commands."""

from pathlib import Path

from xlbridge.cli.output import remark
from xlbridge.errors import XlbridgeError
from xlbridge.files import as_argument
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.resources import load_catalogue
from xlbridge.settings import NumberStyle, Settings
from xlbridge.validation import ValidatedSheet, ValidationResult
from xlbridge.validation.mapping import (
    CONFIDENCE_WORDS,
    MappingProposal,
    SheetMapping,
    mapping_for,
    mapping_text,
    propose_mapping,
    remember_mapping,
    remembered_mappings,
)
from xlbridge.workbook.read import read_workbook


def known_mapping(
    file: Path, settings: Settings, resource: str | None, sheet: str | None
) -> SheetMapping | None:
    """Return the mapping that was used before for the header of a file, None where there is none.

    Raises what reading the file raises.
    """
    mappings = remembered_mappings(settings.mappings)
    if not mappings:
        return None
    return mapping_for(read_workbook(file, settings.limits, sheet), mappings, resource)


def propose(
    file: Path,
    settings: Settings,
    resource: str | None,
    sheet: str | None,
    numbers: NumberStyle | None,
) -> MappingProposal:
    """Propose a mapping of a file. Raises what ``propose_mapping`` raises."""
    return propose_mapping(
        file,
        load_catalogue(settings.schemas),
        settings.limits,
        resource=resource,
        sheet=sheet,
        earlier=remembered_mappings(settings.mappings),
        numbers=numbers,
    )


def tell(proposal: MappingProposal | SheetMapping) -> str:
    """Print how sure each column of a proposal is, or that the header is known; return the text of
    the file."""
    if isinstance(proposal, SheetMapping):
        said = Text(
            pt="Este cabeçalho é conhecido: é oferecido o mapeamento usado antes para {resource}.",
            en="This header is known: the mapping used before for {resource} is offered.",
        )
        remark(said.format(resource=proposal.resource))
        return proposal.path.read_text("utf-8")
    head = Text(
        pt="{resource} · planilha {sheet} · colunas da planilha: {n}, sem uso: {unused}",
        en="{resource} · sheet {sheet} · columns of the sheet: {n}, unused: {unused}",
    )
    remark(
        head.format(
            resource=proposal.resource.name,
            sheet=proposal.sheet,
            n=len(proposal.header),
            unused=len(proposal.ignore),
        )
    )
    for column in proposal.columns:
        source = " + ".join(column.sources) or str(column.body.get("constant"))
        sure = CONFIDENCE_WORDS[column.confidence]
        remark(
            untranslated("  {source} → {name}: {sure}").format(
                source=source, name=column.name, sure=sure
            )
        )
    if asked := [column.name for column in proposal.columns if column.is_incomplete]:
        remark(
            Text(
                pt="Falta escrever o que só você sabe, no lugar de ?: {names}",
                en="What only you know is still to be written in place of ?: {names}",
            ).format(names=", ".join(asked))
        )
    return mapping_text(proposal)


def remember(mapping: SheetMapping, results: list[ValidationResult], settings: Settings) -> None:
    """Keep a mapping by which a sheet with rows was read, for the profile of the command."""
    if not any(isinstance(item, ValidatedSheet) and len(item.rows) for item in results):
        return
    try:
        remember_mapping(settings_for(settings, choose_profile(settings)).mappings, mapping)
    except XlbridgeError as error:
        remark(_NOT_REMEMBERED.format(why=error.message))


def offer(file: Path, settings: Settings, command: str = "validate") -> None:
    """Name the command that reads a sheet whose header fits no resource."""
    try:
        chosen = settings_for(settings, choose_profile(settings))
        known = known_mapping(file, chosen, None, None)
    except XlbridgeError:
        # What cannot be read has its own message.
        return
    if known is None:
        remark(_MAP_IT.format(file=as_argument(file)))
    else:
        options = f"{as_argument(file)} --map {as_argument(known.path)}"
        remark(_KNOWN.format(command=command, options=options, resource=known.resource))


_NOT_REMEMBERED = Text(
    pt="O mapeamento não foi guardado para a próxima vez: {why}",
    en="The mapping was not kept for the next time: {why}",
)
_MAP_IT = Text(
    pt="Se a planilha tem cabeçalhos próprios: xlbridge map {file} -o MAPEAMENTO.yaml",
    en="If the sheet has headers of its own: xlbridge map {file} -o MAPPING.yaml",
)
_KNOWN = Text(
    pt="Este cabeçalho já foi lido como {resource}: xlbridge {command} {options}",
    en="This header was read as {resource} before: xlbridge {command} {options}",
)
