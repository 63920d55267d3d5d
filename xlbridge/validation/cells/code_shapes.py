"""Codes that have lost the shape of the others of their column, or are written in two ways.

A shape has ``9`` for each digit and ``A`` for each letter. Codes lose zeros, points and letters on
their way through programs that take them for numbers; what most texts of a column have in common
tells which did.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, filterfalse
from operator import ne

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.validation.cells.column_cells import CellPositions, CellProblems, ColumnCells
from xlbridge.validation.cells.text import (
    display,
    folded_code,
    normalise_width,
    quoted,
    strip_invisible,
)
from xlbridge.workbook.read import CellKind

_FREE_FORM = frozenset({"str_length", "no_repeats", "notin", "not_equal_to"})
"""Rules that leave open what a code looks like."""
_CHUNK = 1 << 17
_FEWEST = 2
_MOST_ODD = 3
"""One of so many texts at most has another shape than the common one."""
_SHAPE = str.maketrans(
    dict.fromkeys("0123456789", "9")
    | dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "A")
)
_JOINT = "\0"
"""No code that is sent can hold it."""
_SEPARATORS = re.compile(r"[^9A]")
_DECIMALS = re.compile(r"^(\d+)[.,](\d+)$", re.ASCII | re.MULTILINE)
_NO_CENTS = re.compile(
    r"^(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+(?=,)|[1-9]\d{0,2}(?:,\d{3})+(?=\.))[.,]0{1,2}$",
    re.ASCII | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Codes:
    """Codes of a column that have no error yet: its ``texts`` as they are sent, which of them is
    in the cell at each of ``positions``, and the positions of the cells that hold numbers."""

    texts: Sequence[str]
    positions: CellPositions
    of_cells: npt.NDArray[np.intp]
    numbers: CellPositions

    def cells_of(self, places: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Yield the position and text of each cell that has one of some texts."""
        for number in np.flatnonzero(np.isin(self.of_cells, places)).tolist():
            yield int(self.positions[number]), self.texts[self.of_cells[number]]


def note_shapes(column: Column, cells: ColumnCells, problems: CellProblems) -> None:
    """Note the codes of a column that are written as numbers, in two ways, or unlike the others."""
    if column.kind is not Kind.CODE or column.allowed:
        return
    positions, of_cells, texts = cells.distinct_texts
    sound = ~problems.failed[positions]
    numbers = cells.of_kind(CellKind.NUMBER)
    codes = _Codes(
        _as_sent(texts),
        positions[sound],
        of_cells[sound],
        numbers[~problems.failed[numbers]],
    )
    joined = "\n".join(codes.texts)
    _note_decimals(codes, joined, problems)
    _note_spellings(codes, joined, problems)
    del joined
    if not _FREE_FORM.issuperset(column.checks):
        return
    shapes = _Shapes.of(codes)
    common = _common_shape(codes, shapes)
    if common is not None:
        _note_odd_texts(codes, common, shapes, problems)
        of_documents = _is_document(common.example)
        for position in codes.numbers.tolist():
            text = display(cells[position])
            if not common.lost_by_number(len(text), len(codes.numbers)):
                continue
            if of_documents and _is_document(text):
                continue
            if common.is_number:
                details = {"width": len(common.shape), "proposal": ""}
                problems.add(position, "code-leading-zeros", details)
            else:
                problems.add(position, "code-shape", {"example": quoted(common.example)})


def _as_sent(texts: Sequence[str]) -> list[str]:
    joined = "".join(texts)
    if joined.isascii() and joined.isprintable():
        return list(map(str.strip, texts))
    return [strip_invisible(normalise_width(text))[0].strip() for text in texts]


def _note_decimals(codes: _Codes, joined: str, problems: CellProblems) -> None:
    """Note the codes that a program wrote as numbers with decimals, unless others have some."""
    if ("." not in joined and "," not in joined) or not _NO_CENTS.search(joined):
        return
    if any(int(m[2]) for m in _DECIMALS.finditer(joined)):
        return
    wrong = [place for place, text in enumerate(codes.texts) if _NO_CENTS.match(text)]
    for position, text in codes.cells_of(wrong):
        bare = re.sub(r"[.,]", "", re.sub(r"[.,]0+$", "", text))
        problems.add(position, "code-decimals", {"read": bare})


def _note_spellings(codes: _Codes, joined: str, problems: CellProblems) -> None:
    """Note the codes that differ from the usual spelling in the column in case or accents only;
    each where none is the usual one."""
    if joined.isascii() and joined in (joined.upper(), joined.lower()):
        return
    if not _has_spellings(codes.texts):
        return
    in_cells = np.bincount(codes.of_cells, minlength=len(codes.texts)).tolist()
    spellings: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for text, cells in zip(codes.texts, in_cells, strict=True):
        counts = spellings[folded_code(text)]
        counts[text] = counts.get(text, 0) + cells
    usual = {folded: _usual_spellings(counts) for folded, counts in spellings.items()}
    several = {folded for folded, texts in spellings.items() if len(texts) > 1}
    places = [place for place, text in enumerate(codes.texts) if folded_code(text) in several]
    for position, text in codes.cells_of(places):
        others = [other for other in usual[folded_code(text)] if other != text]
        if others:
            problems.add(position, "code-spelling", {"other": quoted(others[0])})


def _has_spellings(texts: Sequence[str]) -> bool:
    """Return whether any two texts differ in case or accents only.

    No two that are in capitals are folded alike, nor any two in small letters: only the folded
    forms of the fewer others are looked for among them.
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


def _usual_spellings(counts: Mapping[str, int]) -> Sequence[str]:
    """Return the spellings of a code that most cells have: several where they have as many."""
    most = max(counts.values())
    return [text for text, count in counts.items() if count == most]


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Shapes of codes by their ``numbers``, which of them each distinct text has, and how many
    cells have each, most first."""

    numbers: Mapping[str, int]
    of_texts: npt.NDArray[np.intp]
    counts: pd.Series

    @classmethod
    def of(cls, codes: _Codes) -> "_Shapes":
        """Look at the texts of a column; few shapes differ."""
        numbers = defaultdict[str, int](count().__next__)
        of_texts = np.empty(len(codes.texts), dtype=np.intp)
        for begin in range(0, len(of_texts), _CHUNK):
            end = begin + _CHUNK
            found = _JOINT.join(codes.texts[begin:end]).translate(_SHAPE).split(_JOINT)
            of_texts[begin:end] = list(map(numbers.__getitem__, found))
        in_cells = np.bincount(codes.of_cells, minlength=len(of_texts))
        counts = pd.Series(np.bincount(of_texts, weights=in_cells), index=list(numbers))
        filled = counts[(counts > 0) & (counts.index != "")]
        return cls(numbers, of_texts, filled.sort_values(ascending=False, kind="stable"))


@dataclass(frozen=True, slots=True)
class CommonShape:
    """Shape that most texts of a column have, in so many ``cells``.

    ``example`` is one of them; ``padded`` tells of each number in them whether any begins with
    zeros.
    """

    shape: str
    example: str
    cells: int
    padded: tuple[bool, ...]

    @property
    def is_number(self) -> bool:
        """True where the texts are digits only."""
        return not self.shape.strip("9")

    def loss_test(self, shape: str) -> Callable[[str], bool] | None:
        """Return what tells of a text of another shape whether it may have had this one before a
        program took it for a number, or somebody left out its zeros or separators; None where no
        text of that shape may."""
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
        """Return whether one of ``numbers``, with so many digits, may have had this shape."""
        width = self.shape.count("9")
        are_most = self.cells >= numbers
        if self.is_number:
            return digits < width and (any(self.padded) or are_most)
        return are_most or ("A" not in self.shape and digits <= width)


def _bare(shape: str) -> str:
    return _SEPARATORS.sub("", shape)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text)).casefold()


def _is_document(text: str) -> bool:
    """Tell whether a code is a CPF or CNPJ, with or without mask: a column may have both."""
    bare = bare_document(text)
    return any(document.is_valid(bare) for document in DOCUMENTS.values())


def _common_shape(codes: _Codes, shapes: _Shapes) -> CommonShape | None:
    """Return the shape of most texts, None where there is none, or nothing has another."""
    counts = shapes.counts
    if not len(counts) or (len(counts) == 1 and not len(codes.numbers)):
        return None
    most = int(counts.iloc[0])
    if most < _FEWEST or 2 * most <= counts.sum():
        return None
    shape = str(counts.index[0])
    texts = list(compress(codes.texts, (shapes.of_texts == shapes.numbers[shape]).tolist()))
    runs = [match.span() for match in re.finditer("9+", shape)]
    padded = (end - at > 1 and any(text[at] == "0" for text in texts) for at, end in runs)
    return CommonShape(shape, texts[0], most, tuple(padded))


def _note_odd_texts(
    codes: _Codes, common: CommonShape, shapes: _Shapes, problems: CellProblems
) -> None:
    counts = shapes.counts
    if len(counts) == 1 or _MOST_ODD * (counts.sum() - common.cells) > counts.sum():
        return
    others = counts.index[1:]
    tests = {shapes.numbers[s]: t for s in others if (t := common.loss_test(s)) is not None}
    tested = np.flatnonzero(np.isin(shapes.of_texts, list(tests))).tolist()
    odd = [place for place in tested if tests[shapes.of_texts[place]](codes.texts[place])]
    of_documents = _is_document(common.example)
    for position, text in codes.cells_of(odd):
        if not problems.failed[position] and not (of_documents and _is_document(text)):
            problems.add(position, "code-shape", {"example": quoted(common.example)})
