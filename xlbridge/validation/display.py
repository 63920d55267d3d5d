"""Values as people write them."""

import datetime as dt
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby

from xlbridge.i18n import Text, numeral
from xlbridge.validation.characters import describe


@dataclass(frozen=True, slots=True)
class Mark:
    """What is shown in the place of a character that cannot be seen, and what that one is."""

    sign: str
    name: Text | str


_MARKS: Mapping[str, Mark] = {
    "\n": Mark("↵", Text(pt="quebra de linha", en="line break")),
    "\r": Mark("␍", Text(pt="retorno de carro", en="carriage return")),
    "\t": Mark("⇥", Text(pt="tabulação", en="tab")),
}
_NAMELESS = Text(pt="caractere de controle", en="control character")
_OUTER_SPACE = Mark(
    "·", Text(pt="espaço no começo ou no fim", en="space at the end or at the beginning")
)


def display(value: object) -> str:
    """Return a cell's value as text, as the analyst knows it."""
    if isinstance(value, bool):
        return "VERDADEIRO" if value else "FALSO"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.strftime("%d/%m/%Y %H:%M:%S")
    if isinstance(value, dt.date):
        return value.strftime("%d/%m/%Y")
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, dt.time):
        return value.strftime("%H:%M:%S")
    return str(value)


def quoted(text: str) -> str:
    """Return a text between quotes, with a visible mark for each character that cannot be seen."""
    if text.isprintable():
        return f"'{text}'"
    return f"'{''.join(it if it.isprintable() else mark_of(it).sign for it in text)}'"


def marked(text: str) -> Iterator[str | Mark]:
    """Yield the stretches of a text, with a mark for each character that cannot be seen.

    Without quotes the spaces at its ends cannot be seen either.
    """
    inner = text.strip(" ")
    before, _, after = text.partition(inner) if inner else (text, "", "")
    yield from [_OUTER_SPACE] * len(before)
    if inner.isprintable():
        yield from [inner] if inner else []
    else:
        for is_seen, characters in groupby(inner, str.isprintable):
            stretch = "".join(characters)
            yield from [stretch] if is_seen else map(mark_of, stretch)
    yield from [_OUTER_SPACE] * len(after)


def mark_of(character: str) -> Mark:
    """Return the mark of a character that cannot be seen."""
    if unicodedata.category(character) == "Zs":
        return Mark("␣", describe(character))
    name = unicodedata.name(character, "") or _NAMELESS
    return _MARKS.get(character) or Mark(f"⟨U+{ord(character):04X}⟩", name)


def written(number: Decimal | None) -> Text:
    """Write a number as each language does."""
    return numeral(f"{number:f}")
