"""Text as people write it: invisible characters, look-alike letters, mojibake."""

import datetime as dt
import html
import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import strip_accents
from xlbridge.resources.findings import mark_of


def display(value: object) -> str:
    """Return a cell's value as text, as the analyst knows it."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, bool):
        return "VERDADEIRO" if value else "FALSO"
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


def localised_number(number: Decimal | None) -> Text:
    """Write a number as each language does."""
    return localized_number(f"{number:f}")


_LOOK_ALIKES = frozenset(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # Greek
)
_UNKNOWN = frozenset({"Co", "Cn"})
_KEPT_CONTROLS = frozenset("\t\n\r")
_ZERO_WIDTH_JOINER = "\u200d"
_HYPHENS = frozenset("‐‑‒–")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Mark that a program puts where it could not read a character."""
_ENTITY = re.compile(r"&(?:#\d{2,5}|[A-Za-z]{2,8});", re.ASCII)
_SECOND_BYTE = (
    "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # as Windows shows the second byte of UTF-8
)
_FIRST_BYTES = "ÂÃâ"
_MOJIBAKE = re.compile(f"[ÂÃ]{_SECOND_BYTE}|â{_SECOND_BYTE}{_SECOND_BYTE}")
_PLAUSIBLE = frozenset("áàâãäçéêíñóôõöúüÁÀÂÃÄÇÉÊÍÑÓÔÕÚÜªº°´–—‘’“”…•®©™€\N{NO-BREAK SPACE}")


_BLANK_LETTERS = re.compile("[\u2800\u3164\u115f\u1160\uffa0]")
"""Characters that are no spaces and look like nothing: fillers, the empty Braille pattern."""


def is_all_visible(text: str) -> bool:
    """Return whether there is nothing in a text that cannot be seen."""
    return text.isprintable() and (text.isascii() or _BLANK_LETTERS.search(text) is None)


def strip_invisible(text: str) -> tuple[str, str | None]:
    """Return the text without what cannot be seen, and the first such character.

    Other kinds of space become a space, as do letters that look blank. Line breaks and tabs stay,
    and so does what joins emoji, and what only another font or a newer Unicode shows.
    """
    if is_all_visible(text):
        return text, None
    kept, first = [], None
    for place, character in enumerate(text):
        is_blank = _BLANK_LETTERS.match(character) is not None
        if (character.isprintable() and not is_blank) or _is_kept(text, place):
            kept.append(character)
            continue
        first = first or character
        if is_blank or unicodedata.category(character) in {"Zs", "Zl", "Zp"}:
            kept.append(" ")
    return "".join(kept).strip(), first


def normalise_width(text: str) -> str:
    """Return the text with full-width and half-width letters and digits as the usual ones.

    Accents are composed. Nothing else is exchanged: a superscript digit is not the digit.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", "".join(map(_normal_width_of, text)))


def has_look_alikes(text: str) -> bool:
    """Return whether any letter of the text looks Latin and is not."""
    return not (text.isascii() or _LOOK_ALIKES.isdisjoint(text))


def find_look_alike(text: str) -> str | None:
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


def find_private_character(text: str) -> str | None:
    """Return the first character whose meaning is private to a font or unknown to Unicode."""
    if text.isprintable():
        return None
    return next((each for each in text if unicodedata.category(each) in _UNKNOWN), None)


def repair_mojibake(text: str) -> str | None:
    """Return what a text was before it was read in another encoding, or as HTML is written; None
    where it seems to be as it was."""
    meant = text
    if "&" in meant:
        meant = _ENTITY.sub(lambda found: html.unescape(found[0]), meant)
    if any(lead in meant for lead in _FIRST_BYTES):
        meant = _MOJIBAKE.sub(_as_utf8, meant)
    return None if meant == text else meant


def composed(text: str) -> str:
    """Return the text with each accent and its letter as one character, where there is one."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded_code(text: str) -> str:
    """Return a code as it is compared with others: without case and accents."""
    return (text if text.isascii() else strip_accents(text)).casefold()


def find_non_code_character(text: str) -> str | None:
    """Return the first character that no code has: a control, or a letter that is not Latin."""
    return next((character for character in text if _is_no_code_character(character)), None)


def _is_kept(text: str, place: int) -> bool:
    character = text[place]
    if character == _ZERO_WIDTH_JOINER and place:
        return unicodedata.category(text[place - 1]) in {"So", "Mn", "Sk"}
    return character in _KEPT_CONTROLS or unicodedata.category(character) in _UNKNOWN


def _as_utf8(found: re.Match[str]) -> str:
    single = (c.encode("cp1252" if ord(c) > 0xFF else "latin-1") for c in found[0])
    meant = b"".join(single).decode("utf-8", "replace")
    return meant if _PLAUSIBLE.issuperset(meant) else found[0]


def _normal_width_of(character: str) -> str:
    form, _, code = unicodedata.decomposition(character).partition(" ")
    return chr(int(code, 16)) if form in {"<wide>", "<narrow>"} else character


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN")


def _is_no_code_character(character: str) -> bool:
    if character in _HYPHENS:
        return False
    category = unicodedata.category(character)
    if category.startswith("L"):
        return not unicodedata.name(character, "").startswith(("LATIN", "FEMININE", "MASCULINE"))
    return category in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}


_MOST_NAMED = 5
_LONGEST_NAME = 31


def list_sheet_names(sheets: Sequence[str]) -> str:
    """Return the names of sheets as a message gives them: the first few."""
    named = ", ".join(quoted(name[:_LONGEST_NAME]) for name in sheets[:_MOST_NAMED])
    return named + (" …" if len(sheets) > _MOST_NAMED else "")
