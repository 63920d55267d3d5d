"""Checks of codes whose shape differs from the others of their column, or that have two spellings.

A shape has ``9`` for each digit and ``A`` for each letter. Programs that treat codes as numbers
drop zeros, points and letters; the common shape of a column reveals it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, filterfalse
from operator import ne

import numpy as np
import pandas as pd

from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.validation.cells.column_cells import (
    CellProblems,
    ColumnCells,
    ColumnValues,
    Positions,
)
from xlbridge.validation.cells.text import (
    display,
    folded_code,
    is_printable_ascii,
    normalize_width,
    quoted,
    strip_invisible,
)
from xlbridge.workbook.read import CellKind

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
    common = _common_shape(codes, shapes, has_numbers=len(numbers) > 0)
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


def _common_shape(codes: ColumnValues, shapes: _Shapes, *, has_numbers: bool) -> CommonShape | None:
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
    return CommonShape(shape, texts[0], most, tuple(padded))


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
