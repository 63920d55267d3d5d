"""Quirks files: the quirks of an installation, read from YAML and written as such."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from msgspec import to_builtins

from xlbridge.errors import ConfigError, suggestion
from xlbridge.i18n import Text
from xlbridge.resources.models import Block, Schema, json_schema, read_as
from xlbridge.resources.remote.record_operations import field_sets
from xlbridge.resources.yaml_files import (
    Mistake,
    YamlPath,
    document_mistake,
    format_mistakes,
    mistakes_of,
    read_document,
    unknown_value,
)
from xlbridge.wire.quirks import NO_QUIRKS, Quirks

if TYPE_CHECKING:
    from xlbridge.resources.catalogue import Catalogue


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
        mistakes = [document]
    elif document.content is None:
        return NO_QUIRKS
    elif not (mistakes := mistakes_of(document, Block.of(Quirks))):
        quirks = read_as(Quirks, document.content)
        found = _mistakes_of_names(quirks, catalogue)
        if not (mistakes := [document_mistake(document, *one) for one in found]):
            return quirks
    raise ConfigError(
        format_mistakes(path, mistakes),
        Text(
            pt="O que um arquivo de particularidades pode conter: docs/how-to/quirks.md",
            en="What a quirks file may hold: docs/how-to/quirks.md",
        ),
    )


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
