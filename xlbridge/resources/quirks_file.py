"""Quirks of an installation: read from a YAML file or a section of profiles.toml, and written."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import to_builtins

from xlbridge.errors import ConfigError, suggestion
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources.models import Block, Schema, json_schema, read_as
from xlbridge.resources.remote import field_sets
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlDocument,
    YamlPath,
    document_mistake,
    format_mistakes,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.wire.imports import NO_QUIRKS, Quirks

if TYPE_CHECKING:
    from xlbridge.resources.catalogue import Catalogue

__all__ = ["format_quirks", "quirks_format", "quirks_of_section", "read_quirks"]


def quirks_format() -> Schema:
    """Return the JSON Schema (2020-12) of a quirks file."""
    return json_schema(
        "xlbridge quirks",
        "How an installation differs from the assumptions of xlbridge.",
        Block.of(Quirks),
    )


def read_quirks(path: Path, catalogue: "Catalogue") -> Quirks:
    """Read a quirks file. Raises ``ConfigError`` with the line of each mistake."""
    document = read_document(path, dates=False)
    if isinstance(document, Mistake):
        raise ConfigError(format_mistakes(path, [document]), _WHAT_IT_MAY_HOLD)
    quirks = _quirks_in(document, catalogue)
    if isinstance(quirks, Quirks):
        return quirks
    raise ConfigError(format_mistakes(path, quirks), _WHAT_IT_MAY_HOLD)


def quirks_of_section(
    path: Path, section: str, content: Mapping[str, Any], catalogue: "Catalogue"
) -> Quirks:
    """Return the quirks in a section of another file. Raises ``ConfigError`` with all mistakes."""
    # The same checks as of a file; its lines say nothing, but the keys do.
    document = YamlDocument(yaml.safe_dump(dict(content), allow_unicode=True), dates=False)
    quirks = _quirks_in(document, catalogue)
    if isinstance(quirks, Quirks):
        return quirks
    lines = [
        untranslated("{path}: {place}: {message}").format(
            path=path, place=".".join(filter(None, (section, one.place))), message=one.message
        )
        for one in quirks
    ]
    raise ConfigError(joined(lines, "\n"), _WHAT_IT_MAY_HOLD)


_WHAT_IT_MAY_HOLD = Text(
    pt="O que as particularidades podem conter: docs/how-to/quirks.md",
    en="What quirks may hold: docs/how-to/quirks.md",
)


def _quirks_in(document: YamlDocument, catalogue: "Catalogue") -> Quirks | Sequence[Mistake]:
    """Return the quirks in a document, or its mistakes."""
    if document.content is None:
        return NO_QUIRKS
    if mistakes := mistakes_of(document, Block.of(Quirks)):
        return mistakes
    quirks = read_as(Quirks, document.content)
    found = _mistakes_of_names(quirks, catalogue)
    return [document_mistake(document, *one) for one in found] or quirks


def format_quirks(quirks: Quirks) -> str:
    """Return the text of a quirks file; fields with the default are left out."""
    content = to_builtins(quirks)
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False)) if content else ""


def _mistakes_of_names(quirks: Quirks, catalogue: "Catalogue") -> Iterator[tuple[YamlPath, Text]]:
    """Yield the names of fields that the interface does not have, and of resources without a
    queue."""
    from xlbridge.wire import OPERATIONS

    resources = catalogue.values()
    operations = OPERATIONS.values()
    answered = frozenset().union(*(one for each in operations for one in field_sets(each.data)))
    sent = frozenset().union(*(one for each in operations for one in field_sets(each.body)))
    columns = {
        column.name
        for resource in resources
        for part in (resource, *resource.children)
        for column in part.columns
    }
    for name in quirks.spellings:
        if name not in sent | columns:
            yield ("spellings", name), _unknown_field(name, sent | columns)
    for name, field in quirks.names.items():
        if field not in answered:
            yield ("names", name), _unknown_field(field, answered)
    queued = [one.name for one in resources if one.paths.queue_name is not None]
    for name in quirks.queue:
        if name not in queued:
            yield ("queue", name), unknown_value(name, queued)


def _unknown_field(name: str, known: Collection[str]) -> Text:
    return Text(
        pt="{name} não é um campo da interface. {suggestion}",
        en="{name} is not a field of the interface. {suggestion}",
    ).format(name=name, suggestion=suggestion(name, known))
