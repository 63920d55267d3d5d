"""Invisible characters in a value: their names, and the signs shown in their place."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class CharacterMark:
    """Sign displayed in place of an invisible character, and the character's name."""

    sign: str
    name: Text | str


_MARKS: Mapping[str, CharacterMark] = {
    "\n": CharacterMark("↵", Text(pt="quebra de linha", en="line break")),
    "\r": CharacterMark("␍", Text(pt="retorno de carro", en="carriage return")),
    "\t": CharacterMark("⇥", Text(pt="tabulação", en="tab")),
}
_NAMELESS = Text(pt="caractere de controle", en="control character")
_OUTER_SPACE = CharacterMark(
    "·", Text(pt="espaço no começo ou no fim", en="space at the end or at the beginning")
)


def character_name(character: str) -> str:
    """Name a character by its code point, as Unicode does."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def mark_invisible(text: str) -> Iterator[str | CharacterMark]:
    """Yield the visible parts of a text, with a mark for each invisible character.

    Without quotes the spaces at its ends cannot be seen either.
    """
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    yield from [_OUTER_SPACE] * len(before)
    if inner.isprintable():
        yield from [inner] if inner else []
    else:
        for is_seen, characters in groupby(inner, str.isprintable):
            part = "".join(characters)
            yield from [part] if is_seen else map(mark_of, part)
    yield from [_OUTER_SPACE] * len(after)


def mark_of(character: str) -> CharacterMark:
    """Return the mark of an invisible character."""
    if unicodedata.category(character) == "Zs":
        return CharacterMark("␣", character_name(character))
    name = unicodedata.name(character, "") or _NAMELESS
    return _MARKS.get(character) or CharacterMark(f"⟨U+{ord(character):04X}⟩", name)


def show_invisible(text: str) -> str:
    """Return a text with a sign in place of each invisible character."""
    return "".join(it.sign if isinstance(it, CharacterMark) else it for it in mark_invisible(text))
