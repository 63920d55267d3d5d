"""Coerce columns of text, codes and documents to the text that is sent; check the shapes of codes.

A shape has ``9`` for each digit and ``A`` for each letter. Programs that treat codes as numbers
drop zeros, points and letters; the common shape of a column reveals it. A code with two spellings
is reported, too.
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress, count, filterfalse
from operator import ne
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, bare_document
from xlbridge.resources.findings import Severity, character_name
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.column_cells import (
    CellProblems,
    ColumnCells,
    ColumnValues,
    Positions,
)
from xlbridge.validation.cells.text import (
    A_DATE,
    UNASSIGNED,
    display,
    folded_code,
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
    texts, stripped, joined = found.values, cells.stripped_texts, cells.joined_texts
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
    if not is_all_visible(text) or repair_mojibake(text) is not None:
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
        return None if CATALOGUE[code].severity is Severity.ERROR else text
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
        same = [value for value in column.allowed if folded_code(value) == folded_code(text)]
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


_FREE_FORM = frozenset({"str_length", "no_repeats", "notin", "not_equal_to"})
"""Rules that do not prescribe the shape of a code."""
_CHUNK = 1 << 17
_MIN_CELLS = 2
_MAX_ODD_SHARE = 3
"""At most one in this many texts has another shape than the common one."""
_SHAPE = str.maketrans(
    dict.fromkeys("0123456789", "9")
    | dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "A")
)
_JOINT = "\0"
"""Character that no code can contain."""
_SEPARATORS = re.compile(r"[^9A]")
_DECIMALS = re.compile(r"^(\d+)[.,](\d+)$", re.ASCII | re.MULTILINE)
_NO_CENTS = re.compile(
    r"^(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+(?=,)|[1-9]\d{0,2}(?:,\d{3})+(?=\.))[.,]0{1,2}$",
    re.ASCII | re.MULTILINE,
)


def check_code_shapes(column: Column, cells: ColumnCells, problems: CellProblems) -> None:
    """Report the codes of a column that are written as numbers, in two ways, or unlike others."""
    if column.kind is not Kind.CODE or column.allowed:
        return
    found = cells.distinct_texts
    usable = ~problems.failed[found.positions]
    numbers = cells.of_kind(CellKind.NUMBER)
    numbers = numbers[~problems.failed[numbers]]
    sent = cells.stripped_texts
    if not is_printable_ascii(cells.joined_texts):
        sent = [strip_invisible(normalize_width(text))[0].strip() for text in found.values]
    codes = ColumnValues(sent, found.positions[usable], found.indexes[usable])
    joined = "\n".join(codes.values)
    # Numbers with zero decimals are no codes, unless others have real ones.
    has_no_cents = ("." in joined or "," in joined) and _NO_CENTS.search(joined)
    if has_no_cents and not any(int(m[2]) for m in _DECIMALS.finditer(joined)):
        wrong = [index for index, text in enumerate(codes.values) if _NO_CENTS.match(text)]
        for position, index in codes.cells_with(wrong):
            bare = re.sub(r"[.,]", "", re.sub(r"[.,]0+$", "", codes.values[index]))
            problems.add(position, "code-decimals", {"read": bare})
    _check_spellings(codes, joined, problems)
    del joined
    if not _FREE_FORM.issuperset(column.checks):
        return
    shapes = _Shapes.of(codes)
    common = CommonShape.of(codes, shapes, has_numbers=len(numbers) > 0)
    if common is not None:
        _check_odd_texts(codes, common, shapes, problems)
        has_documents = _is_document(common.example)
        for position in numbers.tolist():
            text = display(cells[position])
            is_lost = common.lost_by_number(len(text), len(numbers))
            if not is_lost or (has_documents and _is_document(text)):
                continue
            if common.is_number:
                details = {"width": len(common.shape), "proposal": ""}
                problems.add(position, "code-leading-zeros", details)
            else:
                problems.add(position, "code-shape", {"example": quoted(common.example)})


def _check_spellings(codes: ColumnValues, joined: str, problems: CellProblems) -> None:
    """Report the codes that differ only in case or accents from the most frequent spelling, or
    all of them if there is a tie."""
    is_one_case = joined.isascii() and joined in (joined.upper(), joined.lower())
    if is_one_case or not _has_spellings(codes.values):
        return
    folded = list(map(folded_code, codes.values))
    cell_counts = np.bincount(codes.indexes, minlength=len(folded)).tolist()
    spellings: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for text, code, cells in zip(codes.values, folded, cell_counts, strict=True):
        spellings[code][text] = spellings[code].get(text, 0) + cells
    usual = {
        code: [text for text, count in counts.items() if count == max(counts.values())]
        for code, counts in spellings.items()
        if len(counts) > 1
    }
    for position, index in codes.cells_with([i for i, code in enumerate(folded) if code in usual]):
        others = [other for other in usual[folded[index]] if other != codes.values[index]]
        if others:
            problems.add(position, "code-spelling", {"other": quoted(others[0])})


def _has_spellings(texts: Sequence[str]) -> bool:
    """Return whether any two texts differ only in case or accents.

    Two ASCII texts in capitals never fold to the same, nor do two in small letters: only the
    folded forms of the fewer other texts need to be looked up, ten times as fast.
    """
    odd = set[str]()
    for in_one_case in (str.upper, str.lower):
        other = compress(texts, map(ne, texts, map(in_one_case, texts)))
        odd = {*other, *filterfalse(str.isascii, texts)}
        if 2 * len(odd) <= len(texts):
            break
    folded = set(map(folded_code, odd))
    if len(folded) < len(odd):
        return True
    return not set(map(in_one_case, filter(str.isascii, folded))).isdisjoint(texts)


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Numbers of the shapes of a column, the shape number of each distinct text, and the count of
    cells with each shape, most frequent first."""

    numbers: Mapping[str, int]
    of_texts: Positions
    counts: pd.Series

    @classmethod
    def of(cls, codes: ColumnValues) -> "_Shapes":
        """Determine the shapes of a column's texts, of which few are different."""
        numbers = defaultdict[str, int](count().__next__)
        of_texts = np.empty(len(codes.values), dtype=np.intp)
        for begin in range(0, len(of_texts), _CHUNK):
            end = begin + _CHUNK
            found = _JOINT.join(codes.values[begin:end]).translate(_SHAPE).split(_JOINT)
            of_texts[begin:end] = list(map(numbers.__getitem__, found))
        cell_counts = np.bincount(codes.indexes, minlength=len(of_texts))
        counts = pd.Series(np.bincount(of_texts, weights=cell_counts), index=list(numbers))
        filled = counts[(counts > 0) & (counts.index != "")]
        return cls(numbers, of_texts, filled.sort_values(ascending=False, kind="stable"))


@dataclass(frozen=True, slots=True)
class CommonShape:
    """Shape that most texts of a column have.

    ``example``: one of those texts; ``cells``: number of cells; ``padded``: for each number in the
    shape, whether any text has leading zeros there.
    """

    shape: str
    example: str
    cells: int
    padded: tuple[bool, ...]

    @classmethod
    def of(cls, codes: ColumnValues, shapes: _Shapes, *, has_numbers: bool) -> "CommonShape | None":
        """Return the shape of most texts, None if there is none or all cells have it."""
        counts = shapes.counts
        if not len(counts) or (len(counts) == 1 and not has_numbers):
            return None
        most = int(counts.iloc[0])
        if most < _MIN_CELLS or 2 * most <= counts.sum():
            return None
        shape = str(counts.index[0])
        texts = list(compress(codes.values, (shapes.of_texts == shapes.numbers[shape]).tolist()))
        runs = [match.span() for match in re.finditer("9+", shape)]
        padded = (end - at > 1 and any(text[at] == "0" for text in texts) for at, end in runs)
        return cls(shape, texts[0], most, tuple(padded))

    @property
    def is_number(self) -> bool:
        """True if the texts are digits only."""
        return not self.shape.strip("9")

    def loss_test(self, shape: str) -> Callable[[str], bool] | None:
        """Return the test whether a text of another shape may have had this one before a program
        treated it as a number, or somebody left out zeros or separators; None if none may."""
        digits = self.shape.count("9")
        if _bare(shape) == _bare(self.shape):
            return lambda _: True
        if not shape.strip("9") and not self.is_number:
            return lambda text: len(text) == digits or (len(text) < digits and text[0] != "0")
        if re.sub("9+", "9", shape) != re.sub("9+", "9", self.shape):
            return None
        widths = map(len, re.findall("9+", self.shape))
        odd = [
            (run.start(), len(run[0]) > width)
            for padded, run, width in zip(
                self.padded, re.finditer("9+", shape), widths, strict=True
            )
            if padded and len(run[0]) != width
        ]
        if not odd:
            return None
        letters = _letters(self.example)
        return lambda text: (
            any((text[at] == "0") is longer for at, longer in odd) and _letters(text) == letters
        )

    def lost_by_number(self, digits: int, numbers: int) -> bool:
        """Return whether a number of that many digits, one of ``numbers`` in the column, may have
        had this shape."""
        width = self.shape.count("9")
        is_majority = self.cells >= numbers
        if self.is_number:
            return digits < width and (any(self.padded) or is_majority)
        return is_majority or ("A" not in self.shape and digits <= width)


def _bare(shape: str) -> str:
    return _SEPARATORS.sub("", shape)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text)).casefold()


def _is_document(text: str) -> bool:
    """Return whether a code is a CPF or CNPJ, with or without mask: a column may have both."""
    bare = bare_document(text)
    return any(document.is_valid(bare) for document in DOCUMENTS.values())


def _check_odd_texts(
    codes: ColumnValues, common: CommonShape, shapes: _Shapes, problems: CellProblems
) -> None:
    counts = shapes.counts
    if len(counts) == 1 or _MAX_ODD_SHARE * (counts.sum() - common.cells) > counts.sum():
        return
    others = counts.index[1:]
    tests = {shapes.numbers[s]: t for s in others if (t := common.loss_test(s)) is not None}
    tested = np.flatnonzero(np.isin(shapes.of_texts, list(tests))).tolist()
    odd = [index for index in tested if tests[shapes.of_texts[index]](codes.values[index])]
    has_documents = _is_document(common.example)
    for position, index in codes.cells_with(odd):
        is_document = has_documents and _is_document(codes.values[index])
        if not problems.failed[position] and not is_document:
            problems.add(position, "code-shape", {"example": quoted(common.example)})
