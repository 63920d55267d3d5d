"""Findings in data, and their kinds, which are the entries of the catalogue; marks that show the
invisible characters of a value.

Findings are returned, never raised. Their codes are stable and English; messages and hints are
rendered in the active language when they are displayed.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from string import Formatter

from xlbridge.i18n import Text, localized_number

__all__ = [
    "SEVERITY_WORDS",
    "CharacterMark",
    "CorrectedValue",
    "Finding",
    "FindingKind",
    "Severity",
    "character_name",
    "error",
    "mark_invisible",
    "mark_of",
    "show_invisible",
    "warning",
]

CorrectedValue = str | Decimal | date
"""Value of a corrected cell."""


class Severity(StrEnum):
    """Severity of a finding: an error stops an upload, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


SEVERITY_WORDS: Mapping[Severity, Text] = {
    Severity.ERROR: Text(pt="Erro", en="Error"),
    Severity.WARNING: Text(pt="Aviso", en="Warning"),
}
"""Names of the severities in reports."""


_SEVERAL_CELLS = Text(
    pt="{cells} células da coluna, a partir desta: {message}",
    en="{cells} cells of the column, from this one down: {message}",
)


@dataclass(frozen=True, slots=True)
class FindingKind:
    """Entry of the catalogue of findings; ``message`` and ``hint`` may have placeholders, which a
    finding's ``details`` fill.

    ``of_column``: it says more about a column than about its cells, so that more than a few of them
    are one finding. ``is_guess``: the value can be read, and a person may know that it is right.
    """

    code: str
    severity: Severity
    message: Text
    hint: Text
    of_column: bool = False
    is_guess: bool = False

    @property
    def acceptable(self) -> bool:
        """True if a person may accept the finding: then it is not reported again."""
        return self.is_guess or self.severity is Severity.WARNING

    def summary(self, known: Mapping[str, object]) -> Text:
        """Return the message with an ellipsis for each unknown placeholder."""
        names = (name for _, name, _, _ in Formatter().parse(self.message.en) if name)
        message = self.message.format(**{name: known.get(name, "…") for name in names})
        return Text(pt=message.pt.replace("….", "…"), en=message.en.replace("….", "…"))


# Not frozen: a bad sheet has millions, and freezing triples the time to create one.
@dataclass(slots=True)
class Finding:
    """Problem in the data, and its position.

    ``row`` and ``cell`` are Excel's row number and address in the analyst's sheet, None if the
    finding is about no single row or cell. ``header`` is the sheet's own name of the column, None
    if it is the resource's. ``value`` is the cell's content as text, with a decimal point for a
    ``numeric`` cell; ``corrected`` is the right value, None if it is not certain. ``cells`` is the
    number of cells if a report lists the finding once for several of them.
    """

    kind: FindingKind
    row: int | None = None
    column: str | None = None
    cell: str | None = None
    value: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    corrected: CorrectedValue | None = None
    numeric: bool = False
    header: str | None = None
    cells: int = 1

    @property
    def column_label(self) -> str | None:
        """Name of the column for the analyst, with the sheet's own header if it is mapped."""
        return self.column if self.header is None else f"{self.header} ({self.column})"

    @property
    def display_value(self) -> str | None:
        """The value in the format of the active language."""
        return str(localized_number(self.value)) if self.numeric and self.value else self.value

    @property
    def message(self) -> Text:
        """Description of the problem."""
        message = self.kind.message.format(**self.details)
        if self.cells == 1:
            return message
        return _SEVERAL_CELLS.format(cells=self.cells, message=message)

    @property
    def hint(self) -> Text:
        """Advice on how to correct it."""
        code, column = self.kind.code, self.column
        accepted = code if column is None else f"{code}:{column}"
        return self.kind.hint.format(**{"accepted": accepted, **self.details})

    def titled(self, column: str | None, title: Callable[[str], str]) -> "Finding":
        """Return the finding with another name of its ``column`` and of those in its texts, which
        ``title`` changes; options keep the interface's name."""
        details = {
            key: value.changed(title)
            if isinstance(value, Text)
            else title(value)
            if isinstance(value, str)
            else value
            for key, value in self.details.items()
        }
        accepted = {"accepted": f"{self.kind.code}:{self.column}"} if self.column else {}
        return replace(self, column=column, details={**accepted, **details})


def error(
    code: str, *, pt: str, en: str, hint_pt: str, hint_en: str, is_guess: bool = False
) -> FindingKind:
    """Return a kind of finding that stops an upload, by its message and hint."""
    texts = Text(pt=pt, en=en), Text(pt=hint_pt, en=hint_en)
    return FindingKind(code, Severity.ERROR, *texts, is_guess=is_guess)


def warning(
    code: str, *, pt: str, en: str, hint_pt: str, hint_en: str, of_column: bool = False
) -> FindingKind:
    """Return a kind of finding that does not stop an upload, by its message and hint."""
    texts = Text(pt=pt, en=en), Text(pt=hint_pt, en=hint_en)
    return FindingKind(code, Severity.WARNING, *texts, of_column=of_column)


@dataclass(frozen=True, slots=True)
class CharacterMark:
    """Sign that represents an invisible character, and the character's name."""

    sign: str
    name: Text | str


_MARKS: Mapping[str, CharacterMark] = {
    "\n": CharacterMark("↵", Text(pt="quebra de linha", en="line break")),
    "\r": CharacterMark("␍", Text(pt="retorno de carro", en="carriage return")),
    "\t": CharacterMark("⇥", Text(pt="tabulação", en="tab")),
}
_NAMELESS = Text(pt="caractere de controle", en="control character")
_OUTER_SPACE = CharacterMark(
    "·", Text(pt="espaço no começo ou no fim", en="space at the beginning or end")
)


def character_name(character: str) -> str:
    """Return the code point and Unicode name of a character."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def mark_invisible(text: str) -> Iterator[str | CharacterMark]:
    """Yield the visible parts of a text, with a mark for each invisible character and each space at
    its ends."""
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    yield from [_OUTER_SPACE] * len(before)
    if inner.isprintable():
        yield from [inner] if inner else []
    else:
        for is_visible, characters in groupby(inner, str.isprintable):
            part = "".join(characters)
            yield from [part] if is_visible else map(mark_of, part)
    yield from [_OUTER_SPACE] * len(after)


def mark_of(character: str) -> CharacterMark:
    """Return the mark of an invisible character."""
    if unicodedata.category(character) == "Zs":
        return CharacterMark("␣", character_name(character))
    name = unicodedata.name(character, "") or _NAMELESS
    return _MARKS.get(character) or CharacterMark(f"⟨U+{ord(character):04X}⟩", name)


def show_invisible(text: str) -> str:
    """Replace each invisible character of a text by its sign."""
    return "".join(it.sign if isinstance(it, CharacterMark) else it for it in mark_invisible(text))
