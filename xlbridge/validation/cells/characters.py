"""Characters that cannot be seen, and letters that only look like others."""

import html
import re
import unicodedata

_LOOK_ALIKES = frozenset(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # Greek
)
_KEPT_CONTROLS = frozenset("\t\n\r")
_JOINER = "\u200d"
_HYPHENS = frozenset("‐‑‒–")
_LOST = "\N{REPLACEMENT CHARACTER}"
_ENTITY = re.compile(r"&(?:#\d{2,5}|[A-Za-z]{2,8});", re.ASCII)
_BYTE = "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # as Windows shows the second byte of UTF-8
_LEADS = "ÂÃâ"
_MISREAD = re.compile(f"[ÂÃ]{_BYTE}|â{_BYTE}{_BYTE}")
_MEANT = frozenset("áàâãäçéêíñóôõöúüÁÀÂÃÄÇÉÊÍÑÓÔÕÚÜªº°´–—‘’“”…•®©™€\N{NO-BREAK SPACE}")


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


def has_lost(text: str) -> bool:
    """Whether a program put a mark where it could not read a character."""
    return _LOST in text


def before_misreading(text: str) -> str | None:
    """Return what a text was before it was read in another encoding, or as HTML is written; None
    where it seems to be as it was."""
    meant = text
    if "&" in meant:
        meant = _ENTITY.sub(lambda found: html.unescape(found[0]), meant)
    if any(lead in meant for lead in _LEADS):
        meant = _MISREAD.sub(_as_utf8, meant)
    return None if meant == text else meant


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


def _as_utf8(found: re.Match[str]) -> str:
    single = (c.encode("cp1252" if ord(c) > 0xFF else "latin-1") for c in found[0])
    meant = b"".join(single).decode("utf-8", "replace")
    return meant if _MEANT.issuperset(meant) else found[0]


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
