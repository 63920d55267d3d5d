"""Text of cells: display, invisible characters, mojibake, words of totals."""

import datetime as dt
import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from decimal import Decimal
from itertools import islice
from typing import Literal

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import strip_accents
from xlbridge.resources.findings import mark_of

A_DATE = Text(pt="uma data ou hora", en="a date or time")


def display(value: object) -> str:
    """Return a cell's value as text, in the format that the analyst knows."""
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
    """Return a text in quotes, with a visible mark for each invisible character."""
    if text.isprintable():
        return f"'{text}'"
    return f"'{''.join(it if it.isprintable() else mark_of(it).sign for it in text)}'"


def format_decimal(number: Decimal | None) -> Text:
    """Format a number in the style of each language."""
    return localized_number(f"{number:f}")


UNASSIGNED = frozenset({"Co", "Cn"})
"""Unicode categories of characters that are private to a font or not assigned."""
_KEPT_CONTROLS = frozenset("\t\n\r")
_ZERO_WIDTH_JOINER = "\u200d"
_ENTITY = re.compile(r"&(?:#\d{2,5}|[A-Za-z]{2,8});", re.ASCII)
_ESCAPES = ("%C3%", "%c3%", "=C3=", "\\u00")
_ESCAPED_BYTES = re.compile(r"%[Cc]3%[89ABab][0-9A-Fa-f]|=C3=[89AB][0-9A-F]")
_ESCAPED_LETTER = re.compile(r"\\u00[CDEFcdef][0-9A-Fa-f]")
_WORD = re.compile(r"[^\s\0]+")
"""Accented letters as addresses, mails and JSON escape them, and words, also of joined texts."""
_SECOND_BYTE = (
    "[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # as Windows shows the second byte of UTF-8
)
_FIRST_BYTES = "ÂÃâ"
_MOJIBAKE = re.compile(f"[ÂÃ]{_SECOND_BYTE}|â{_SECOND_BYTE}{_SECOND_BYTE}")
_PLAUSIBLE = frozenset("áàâãäçéêíñóôõöúüÁÀÂÃÄÇÉÊÍÑÓÔÕÚÜªº°´–—‘’“”…•®©™€\N{NO-BREAK SPACE}")


_PRINTABLE = bytes(range(0x20, 0x7F))
_BLANK_LETTERS = re.compile("[\u2800\u3164\u115f\u1160\uffa0]")
"""Letters without a visible shape: fillers, the empty Braille pattern."""


def is_printable_ascii(text: str) -> bool:
    """Return whether a text has only printable ASCII characters; fast for long texts."""
    return text.isascii() and not text.encode("ascii").translate(None, _PRINTABLE)


def is_all_visible(text: str) -> bool:
    """Return whether a text has no invisible character."""
    return is_printable_ascii(text) or (text.isprintable() and _BLANK_LETTERS.search(text) is None)


def strip_invisible(text: str) -> tuple[str, str | None]:
    """Return the text without invisible characters, and the first of them.

    Unusual spaces and blank letters become a space. Line breaks and tabs stay, and so do joiners of
    emoji, and characters that need another font or a newer Unicode.
    """
    if is_all_visible(text):
        return text, None
    kept, first = [], None
    for index, character in enumerate(text):
        is_blank = _BLANK_LETTERS.match(character) is not None
        if character.isprintable() and not is_blank:
            kept.append(character)
            continue
        category = unicodedata.category(character)
        if character == _ZERO_WIDTH_JOINER and index:
            is_kept = unicodedata.category(text[index - 1]) in {"So", "Mn", "Sk"}
        else:
            is_kept = character in _KEPT_CONTROLS or category in UNASSIGNED
        if is_kept:
            kept.append(character)
            continue
        first = first or character
        if is_blank or category in {"Zs", "Zl", "Zp"}:
            kept.append(" ")
    return "".join(kept).strip(), first


def normalize_width(text: str) -> str:
    """Replace full-width and half-width characters by the usual ones, and compose accents.

    Nothing else is replaced: a superscript digit is not the digit.
    """
    if text.isascii():
        return text
    usual = []
    for character in text:
        form, _, code = unicodedata.decomposition(character).partition(" ")
        usual.append(chr(int(code, 16)) if form in {"<wide>", "<narrow>"} else character)
    return unicodedata.normalize("NFC", "".join(usual))


def repair_mojibake(text: str) -> str | None:
    """Return a text as it was before it was decoded wrongly, or escaped as in HTML, JSON, addresses
    or mails, None if it seems unchanged."""
    meant = text
    if "&" in meant:
        meant = _ENTITY.sub(lambda found: html.unescape(found[0]), meant)
    if any(mark in meant for mark in _ESCAPES):
        meant = _WORD.sub(_unescaped, meant)
    if any(lead in meant for lead in _FIRST_BYTES):

        def as_utf8(found: re.Match[str]) -> str:
            single = (c.encode("cp1252" if ord(c) > 0xFF else "latin-1") for c in found[0])
            decoded = b"".join(single).decode("utf-8", "replace")
            return decoded if _PLAUSIBLE.issuperset(decoded) else found[0]

        meant = _MOJIBAKE.sub(as_utf8, meant)
    return None if meant == text else meant


def _unescaped(found: re.Match[str]) -> str:
    """Return a word with its escaped letters; an address keeps them."""
    if "://" in found[0]:
        return found[0]
    text = _ESCAPED_BYTES.sub(
        lambda pair: bytes.fromhex(re.sub("[%=]", "", pair[0])).decode("utf-8", "replace"), found[0]
    )
    return _ESCAPED_LETTER.sub(lambda code: chr(int(code[0][2:], 16)), text)


def folded_text(text: str) -> str:
    """Return a text without case and accents, for comparisons."""
    return (text if text.isascii() else strip_accents(text)).casefold()


MAX_LISTED = 12
"""Number of values that messages list."""


def quote_some(texts: Collection[str], most: int) -> str:
    """Return the first texts in quotes for a message, with an ellipsis if there are more."""
    return ", ".join(map(quoted, islice(texts, most))) + (" …" if len(texts) > most else "")


_MAX_NAMES = 5
_MAX_NAME_LENGTH = 31


def list_sheet_names(sheets: Sequence[str]) -> str:
    """Return the names of sheets for a message, the first few of them."""
    return quote_some([name[:_MAX_NAME_LENGTH] for name in sheets], _MAX_NAMES)


_MINUS = re.compile(r"^\s*(?:R\$)?\s*[-−(]|[-−]\s*$")


def sign_of(value: object) -> Literal["positive", "negative"] | None:
    """Return the sign of an amount, None if the cell has none."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return None if not value else "negative" if value < 0 else "positive"
    text = display(value)
    if not any(map(str.isdecimal, text)):
        return None
    return "negative" if _MINUS.search(text) else "positive"
