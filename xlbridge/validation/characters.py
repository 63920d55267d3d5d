"""Characters that cannot be seen, and letters that only look like others."""

import unicodedata

_LOOK_ALIKES = frozenset(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # Greek
)
_KEPT_CONTROLS = frozenset("\t\n\r")
_JOINER = "\u200d"
_HYPHENS = frozenset("‐‑‒–")


def describe(character: str) -> str:
    """Name a character by its code point, as Unicode does."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def visible(text: str) -> tuple[str, str | None]:
    """Return the text without what cannot be seen, and the first such character.

    Other kinds of space become a space. Line breaks and tabs stay, and so does what joins emoji.
    """
    if text.isprintable():
        return text, None
    kept, first = [], None
    for place, character in enumerate(text):
        if character.isprintable() or _belongs(text, place):
            kept.append(character)
            continue
        first = first or character
        if unicodedata.category(character) in {"Zs", "Zl", "Zp"}:
            kept.append(" ")
    return "".join(kept).strip(), first


def usual_width(text: str) -> str:
    """Return the text with full-width and half-width letters and digits as the usual ones.

    Accents are composed. Nothing else is exchanged: a superscript digit is not the digit.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(map(_usual, text)))


def has_look_alikes(text: str) -> bool:
    """Whether any letter of the text looks Latin and is not."""
    return not (text.isascii() or _LOOK_ALIKES.isdisjoint(text))


def look_alike(text: str) -> str | None:
    """Return the first letter that looks Latin and is not, in a word that has Latin ones or looks
    wholly Latin.

    A text in which other words show another alphabet is in that language.
    """
    if not has_look_alikes(text):
        return None
    seeming: list[str] = []
    shows_another = False
    for word in text.split():
        letters = [character for character in word if character.isalpha()]
        alike = [letter for letter in letters if letter in _LOOK_ALIKES]
        if alike and any(_is_latin(letter) for letter in letters):
            return alike[0]
        seeming += alike[:1]
        shows_another |= len(alike) < sum(not _is_latin(letter) for letter in letters)
    return None if shows_another else next(iter(seeming), None)


def is_composed(text: str) -> bool:
    """Whether every accent of the text is one character with its letter."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def composed(text: str) -> str:
    """Return the text with each accent and its letter as one character, where there is one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def foreign_to_codes(text: str) -> str | None:
    """Return the first character that no code has: a control, or a letter that is not Latin."""
    return next((character for character in text if _is_foreign(character)), None)


def _belongs(text: str, place: int) -> bool:
    character = text[place]
    if character == _JOINER and place:
        return unicodedata.category(text[place - 1]) in {"So", "Mn", "Sk"}
    return character in _KEPT_CONTROLS


def _usual(character: str) -> str:
    form, _, code = unicodedata.decomposition(character).partition(" ")
    return chr(int(code, 16)) if form in {"<wide>", "<narrow>"} else character


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN")


def _is_foreign(character: str) -> bool:
    if character in _HYPHENS:
        return False
    category = unicodedata.category(character)
    if category.startswith("L"):
        return not unicodedata.name(character, "").startswith(("LATIN", "FEMININE", "MASCULINE"))
    return category in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}
