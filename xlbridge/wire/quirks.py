"""Quirks: how an installation of the system differs from this project's assumptions.

A quirks file, ``profiles.d/NAME.quirks.yaml`` in the home folder, declares them for the profile
NAME. Uploads, exports and look-ups follow it, and a sandbox with the same file behaves so.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from xlbridge.wire.imports import FAILURE_WORDS, LINE_NUMBER, ImportLog, ImportState

LogMeaning = Literal["pending", "running", "finished", "failed"]
QueueBehaviour = Literal["runs", "waits"]

FIRST_LINE: Literal[2] = 2
"""Line of the first row of a sheet with a header, as Excel numbers it."""

Name = Annotated[str, Meta(min_length=1)]


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

    def state_of(self, log: ImportLog) -> ImportState | None:
        """Return the meaning of a log's status, None if the word is unknown.

        The interface does not document the words.
        """
        word = (log.situacao or "").strip().casefold()
        declared = {one.strip().casefold(): state for one, state in self.log_words.items()}
        if word in declared:
            return ImportState[declared[word].upper()]
        if word in FAILURE_WORDS:
            return ImportState.FAILED
        return next((state for state in ImportState if state.casefold() == word), None)

    def needs_start(self, resource: str, assumed: bool) -> bool:
        """Return whether queued files of a resource wait for processar-arquivo.

        ``assumed`` is what its schema file says.
        """
        behaviour = self.queue.get(resource)
        return assumed if behaviour is None else behaviour == "waits"

    def messages(self, text: str) -> Sequence[str]:
        """Return the messages in the text of one error, each with the line named before it."""
        if self.line_breaks is None or self.line_breaks not in text:
            return [text]
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
