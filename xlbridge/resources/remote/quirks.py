"""Quirks: how an installation of the system differs from this project's assumptions.

A quirks file, ``profiles.d/NAME.quirks.yaml`` in the home folder, declares them for the profile
NAME. Uploads, exports and look-ups follow it, and a sandbox with the same file behaves so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct, to_builtins

from xlbridge.errors import ConfigError, suggestion
from xlbridge.i18n import Text
from xlbridge.resources.models import Block, Name, Schema, json_schema, read_as
from xlbridge.resources.remote.record_operations import field_sets

if TYPE_CHECKING:
    from xlbridge.resources.catalogue import Catalogue
    from xlbridge.resources.resource import Resource
    from xlbridge.resources.yaml_files import YamlPath
    from xlbridge.wire.imports import ImportLog, ImportState

LogMeaning = Literal["pending", "running", "finished", "failed"]
QueueBehaviour = Literal["runs", "waits"]

FIRST_LINE: Literal[2] = 2
"""Line of the first row of a sheet with a header, as Excel numbers it."""


class Quirks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Quirks of one installation; the defaults are what this project assumes.

    log_words: The system's words for the status of a queued file, and their meanings.
    first_line: The number that logs and messages give to the first row of a sheet; 2 if the header
        is line 1.
    file_names: Whether logs name a file as it was sent, or by a name of the system's own.
    spellings: Fields of requests and headers of import files, and the spelling in which the system
        takes them; all others are sent in camelCase.
    names: Names in answers, and the names of the same fields in the interface's description.
    queue: Resources, and whether their queued files run by themselves or wait for
        processar-arquivo.
    window_end: The end of a window of update times. inclusive covers its whole minute or day,
        minute only its first moment, exclusive not even that.
    line_breaks: What separates several messages in one error.
    """

    log_words: Mapping[Name, LogMeaning] = {}
    first_line: Literal[2, 1, 0] = FIRST_LINE
    file_names: Literal["sent", "own"] = "sent"
    spellings: Mapping[Name, Name] = {}
    names: Mapping[Name, Name] = {}
    queue: Mapping[Name, QueueBehaviour] = {}
    window_end: Literal["inclusive", "minute", "exclusive"] = "inclusive"
    line_breaks: Annotated[str, Meta(min_length=1)] | None = None

    def state_of(self, log: "ImportLog") -> "ImportState | None":
        """Return the meaning of a log's status, None if the word is unknown.

        The interface does not document the words.
        """
        # Imported here, as most commands read no log.
        from xlbridge.wire.imports import FAILURE_WORDS, ImportState

        word = (log.situacao or "").strip().casefold()
        declared = {one.strip().casefold(): state for one, state in self.log_words.items()}
        if word in declared:
            return ImportState[declared[word].upper()]
        if word in FAILURE_WORDS:
            return ImportState.FAILED
        return next((state for state in ImportState if state.casefold() == word), None)

    def needs_start(self, resource: "Resource") -> bool:
        """Return whether queued files of a resource wait for processar-arquivo."""
        behaviour = self.queue.get(resource.name)
        return resource.paths.needs_processar if behaviour is None else behaviour == "waits"

    def messages(self, text: str) -> Sequence[str]:
        """Return the messages in the text of one error, each with the line named before it."""
        if self.line_breaks is None or self.line_breaks not in text:
            return [text]
        from xlbridge.wire.imports import LINE_NUMBER

        messages, named = [], ""
        for part in filter(None, map(str.strip, text.split(self.line_breaks))):
            if line := LINE_NUMBER.match(part):
                named = line[0]
            messages.append(part if line else named + part)
        return messages or [text]

    @property
    def first_lines(self) -> Sequence[int]:
        """Numbers that logs may give to the first row, the declared one first."""
        others = (line for line in (FIRST_LINE, 1, 0) if line != self.first_line)
        return self.first_line, *others


NO_QUIRKS = Quirks()


def quirks_path(home: Path, profile: str) -> Path:
    """Return the path of a profile's quirks file."""
    return home / "profiles.d" / f"{profile}.quirks.yaml"


def quirks_format() -> Schema:
    """Return the JSON Schema (2020-12) of a quirks file."""
    return json_schema(
        "xlbridge quirks",
        "How an installation differs from the assumptions of xlbridge.",
        Block.of(Quirks),
    )


def read_quirks(path: Path, catalogue: "Catalogue") -> Quirks:
    """Read a quirks file. Raises ``ConfigError`` with the line of each mistake."""
    from xlbridge.resources.yaml_files import (
        Mistake,
        document_mistake,
        format_mistakes,
        mistakes_of,
        read_document,
    )

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
    import yaml

    content = to_builtins(quirks)
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False)) if content else ""


def _mistakes_of_names(quirks: Quirks, catalogue: "Catalogue") -> "Iterator[tuple[YamlPath, Text]]":
    """Yield the names of fields that the interface does not have, and of resources without a
    queue."""
    from xlbridge.resources.yaml_files import unknown_value
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
