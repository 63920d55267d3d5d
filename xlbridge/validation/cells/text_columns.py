"""Coerce columns of text, codes and documents to the text that is sent."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from itertools import compress, count
from operator import ne
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.resources.findings import character_name
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.column_cells import (
    CellProblems,
    ColumnCells,
)
from xlbridge.validation.cells.text import (
    A_DATE,
    UNASSIGNED,
    display,
    folded_text,
    is_all_visible,
    is_printable_ascii,
    normalize_width,
    quoted,
    repair_mojibake,
    strip_invisible,
)
from xlbridge.workbook.read import CellKind

_EXCEL_DIGITS = 10**15
_MASK = str.maketrans("", "", ".-/ ‐‑‒–")
# As sheets write it, and as programs do for 10,000,000 and more; 12E4 and 1.5E2 may be codes.
_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+|\d[.,]\d+[eE](?:0?[7-9]|[1-9]\d)", re.ASCII)
# The letter is rarer than digits, and what is rare is found faster.
_PERHAPS_SCIENTIFIC = re.compile(r"[eE](?<=\d[eE])[+\d]", re.ASCII)
_MAX_ADDED_ZEROS = 2
"""Zeros that may be added before a document: with more, check digits match by chance."""
_PLACEHOLDERS = frozenset(
    {"-", "--", "---", "–", "—", "N/A", "n/a", "N/D", "n/d", "N.A.", "n.a.", "(null)", "(NULL)"}
    | {"[object Object]", "\\N", "[null]", "<nil>", "nil", "(nil)", "[NULL]", "#NULL", "#EMPTY"}
    | {"null", "Null", "NULL", "None", "NaN", "nan", "undefined", "NaT", "<NA>", "<null>", "<NULL>"}
    | {"SEM GTIN", "Sem GTIN", "sem gtin", "SEM EAN", "Sem EAN", "sem ean"}
    | {"(vazio)", "(Vazio)", "(em branco)", "(nenhum)", "(nulo)", "(blank)", "(empty)", "(none)"}
)
_DITTO_MARKS = frozenset(
    {'"', '""', "''", "″", "”", "“", "〃", "idem", "Idem", "IDEM", "idem.", "Idem.", "id.", "Id."}
)
_LOOK_ALIKES = frozenset(
    "АВЕЅІЈКМНОРСТУХаеорсухіјѕ"  # Cyrillic
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"  # Greek
)
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""Mark of a character that a program could not decode."""
_LOST_LETTERS = re.compile(r"\w*[^\W\d_]\?{1,2}[^\W\d_]\w*|(?<![\w?])\?{1,2}[^\W\d_]{3,}")
"""Word with question marks in place of letters: a program could not write them."""
_TYPED_APOSTROPHE = re.compile(r"'[\d+=-]", re.ASCII)
_A_NUMBER = Text(pt="um número", en="a number")
_A_BOOLEAN = Text(pt="verdadeiro ou falso", en="true or false")

_PROPOSAL = Text(
    pt="; com eles seria {code}, que os dígitos verificadores confirmam",
    en="; with them it would be {code}, which the check digits confirm",
)


def coerce_text(
    column: Column, cells: ColumnCells, _reading: ParseOptions, problems: CellProblems
) -> Any:
    """Return a text column as a pandas array, and add the problems of its cells."""
    found = cells.distinct_texts
    texts, stripped = found.values, cells.stripped_texts
    joined = "".join(stripped)
    sent: list[str | None] = [text or None for text in stripped]
    if column.kind in DOCUMENTS:
        sent = [text and text.translate(_MASK) for text in sent]
    # Only the texts that may be wrong are checked singly.
    plain: Callable[[str], bool] | None
    if column.allowed:
        plain = frozenset(column.allowed).__contains__
    elif column.kind in DOCUMENTS:
        plain = partial(_is_plain_document, DOCUMENTS[column.kind].masked)
    else:
        is_plain = _is_plain_text if column.kind is Kind.TEXT else _is_plain_code
        # All characters of the column: one test often suffices.
        plain = None if is_plain(joined) else is_plain
    unusual = () if plain is None else (i for i, text in enumerate(stripped) if not plain(text))
    spaced = compress(count(), map(ne, texts, stripped))
    placeholders: Iterable[int] = ()
    if "'" in joined or not (_PLACEHOLDERS | _DITTO_MARKS).isdisjoint(stripped):
        placeholders = (i for i, text in enumerate(stripped) if _placeholder_code(column, text))
    doubtful = [index for index in {*unusual, *spaced, *placeholders} if stripped[index]]
    for position, index in found.cells_with(doubtful):
        sent[index] = _check_text(column, position, texts[index], stripped[index], problems)
    indexes = np.full(len(cells), -1)
    indexes[found.positions] = found.indexes
    for position in cells.of_kind(CellKind.NUMBER).tolist():
        indexes[position] = len(sent)
        sent.append(_text_of_number(column, position, float(cells.numbers[position]), problems))
    for position in cells.others(CellKind.NUMBER).tolist():
        found_kind = _A_BOOLEAN if cells.kinds[position] == CellKind.BOOLEAN else A_DATE
        problems.add(position, "type-text", {"found": found_kind})
    indexes[problems.failed] = -1
    sent.append(None)  # the value of an index of -1
    return pd.array(np.array(sent, dtype=object)[indexes], dtype="str", copy=False)


def _is_plain_text(text: str) -> bool:
    """Return whether a text, or several joined, can be sent unchanged."""
    if "?" in text or not is_all_visible(text) or repair_mojibake(text) is not None:
        return False
    return _composed(text) == text and not _has_look_alikes(text) and _REPLACEMENT not in text


def _is_plain_code(text: str) -> bool:
    if not is_printable_ascii(text):
        return False
    # Searching for a single character first is many times faster.
    return not ("e" in text or "E" in text) or not _PERHAPS_SCIENTIFIC.search(text)


def _is_plain_document(masked: Callable[[str], str], text: str) -> bool:
    bare = text.translate(_MASK)
    is_usual = text in (bare, masked(bare)) and text.upper() == text
    return is_usual and bare.isascii() and bare.isalnum()


def _check_text(
    column: Column, position: int, raw: str, stripped: str, problems: CellProblems
) -> str | None:
    """Return one text as it is sent, and report at most one problem of its spelling."""
    text, invisible = strip_invisible(stripped)
    if not text:
        return None
    if fault := _text_fault(column, text):
        code, character = fault
        problems.add(position, code, {"character": character})
        return None if problems.stops(code) else text
    if meant := repair_mojibake(stripped):
        problems.add(position, "text-misread", {"read": quoted(meant)})
        return text
    sent, corrected = _canonical(column, text)
    if invisible is not None:
        details: dict[str, object] = {"character": character_name(invisible)}
        problems.add(position, "invisible-character", details, corrected=corrected)
    elif corrected != text:
        code = "accents-apart" if _composed(text) == corrected else "code-form"
        code = "value-spelling" if column.allowed else code
        problems.add(position, code, {"read": sent}, corrected=corrected)
    elif raw != text:
        problems.add(position, "text-spaces", corrected=corrected)
    return sent


def _text_fault(column: Column, text: str) -> tuple[str, str] | None:
    """Return the code of the finding that makes a text uncertain, and the character to name."""
    if code := _placeholder_code(column, text):
        return code, text
    if _REPLACEMENT in text:
        return "character-lost", ""
    if column.kind is Kind.TEXT:
        if "?" in text and (lost := _LOST_LETTERS.search(text)) and "://" not in text:
            return "letter-lost", lost[0]
        for character in () if text.isprintable() else text:
            if unicodedata.category(character) in UNASSIGNED:
                return "character-private", character_name(character)
        alike = _find_look_alike(text)
        return None if alike is None else ("look-alike-letter", character_name(alike))
    if _SCIENTIFIC.fullmatch(text):
        return "code-scientific", ""
    for character in normalize_width(text):
        # A code has no controls, and no letters that are not Latin.
        category = unicodedata.category(character)
        latin = "LATIN", "FEMININE", "MASCULINE"
        if category in {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"} or (
            category.startswith("L") and not unicodedata.name(character, "").startswith(latin)
        ):
            return "hidden-character", character_name(character)
    return None


def _placeholder_code(column: Column, text: str) -> str | None:
    """Return the code of the finding if a text stands for an empty cell or for the cell above, or
    begins with a typed apostrophe."""
    if column.allowed:
        return None
    is_document = column.kind in DOCUMENTS
    if text in _DITTO_MARKS:
        return "text-ditto"
    if text in _PLACEHOLDERS:
        return "document-placeholder" if is_document else "text-placeholder"
    return "text-apostrophe" if not is_document and _TYPED_APOSTROPHE.match(text) else None


def _canonical(column: Column, text: str) -> tuple[str, str]:
    """Return a text as it is sent, and as the cell should hold it."""
    if column.allowed and text not in column.allowed:
        same = [value for value in column.allowed if folded_text(value) == folded_text(text)]
        return (same[0], same[0]) if len(same) == 1 else (text, text)
    if column.kind is Kind.TEXT:
        return _composed(text), _composed(text)
    code = normalize_width(text).strip()
    if column.kind not in DOCUMENTS:
        return code, code
    document = DOCUMENTS[column.kind]
    bare = code.translate(_MASK).upper()
    if len(bare) != column.width:
        return code, code
    masked = document.masked(bare)
    return bare, text if text in (bare, masked) or not document.is_valid(bare) else masked


def _text_of_number(
    column: Column, position: int, value: float, problems: CellProblems
) -> str | None:
    if column.measure and math.isfinite(value) and 0 <= value < _EXCEL_DIGITS:
        return display(value + 0.0)
    if not math.isfinite(value) or value != int(value) or value < 0:
        problems.add(position, "type-text", {"found": _A_NUMBER})
        return None
    text = str(int(value))
    if value >= _EXCEL_DIGITS:
        problems.add(position, "code-digits-lost")
    elif column.width is not None and len(text) < column.width:
        # A valid CPF is reported with the other columns in view (``layout_checks``).
        if column.kind is Kind.CNPJ and DOCUMENTS[Kind.CPF].is_valid(text):
            return text
        padded = text.zfill(column.width)
        is_close = column.width - len(text) <= _MAX_ADDED_ZEROS and column.kind in DOCUMENTS
        if is_close and DOCUMENTS[column.kind].is_valid(padded):
            details = {"width": column.width, "proposal": _PROPOSAL.format(code=padded)}
            problems.add(position, "code-leading-zeros", details, corrected=padded)
            return padded
        problems.add(position, "code-leading-zeros", {"width": column.width, "proposal": ""})
        return None
    return text


def _has_look_alikes(text: str) -> bool:
    """Return whether the text has a letter of another alphabet that looks Latin."""
    return not (text.isascii() or _LOOK_ALIKES.isdisjoint(text))


def _find_look_alike(text: str) -> str | None:
    """Return the first letter of another alphabet that looks Latin, in a word that has Latin
    letters or looks entirely Latin.

    Other words that are clearly in another alphabet make the text one of that language.
    """
    if not _has_look_alikes(text):
        return None
    candidates: list[str] = []
    is_foreign = False
    for word in text.split():
        letters = [character for character in word if character.isalpha()]
        alike = [letter for letter in letters if letter in _LOOK_ALIKES]
        if alike and any(_is_latin(letter) for letter in letters):
            return alike[0]
        candidates += alike[:1]
        is_foreign |= len(alike) < sum(not _is_latin(letter) for letter in letters)
    return None if is_foreign else next(iter(candidates), None)


def _composed(text: str) -> str:
    """Return the text in composed form (NFC): a letter with its accent is one character."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _is_latin(character: str) -> bool:
    return character.isalpha() and unicodedata.name(character, "").startswith("LATIN")
