"""Check the shapes of a column's codes, and their spellings.

A shape has ``9`` for each digit and ``A`` for each letter. Programs that treat codes as numbers
drop zeros, points and letters; the common shape of a column reveals it. All of this is a guess, so
its findings are warnings: a column may mix several kinds of codes.

- Zeros: codes of the common shape have leading zeros, and others are shorter just there. That is
  reported however many these are.
- Separators or letters: a code has the digits of the common shape without them. As mixtures are
  ordinary (``4512/1`` and ``4513``), only rare ones are reported.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress, count, filterfalse
from operator import itemgetter, ne

import numpy as np

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
_FEW = 2
"""Number of cells that make a shape or a habit, and that are rare in any column."""
_MIN_PER_ODD = 50
"""Number of cells for each one that is called odd, where the column may be a mixture."""
_MAX_PER_PADDED = 5
"""Number of shorter codes for each code with leading zeros: of house numbers, few have any."""
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
    if column.kind is not Kind.CODE or column.allowed or column.measure:
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
        odd = _odd_texts(codes, common, shapes)
        odd += [(int(at), text) for at in numbers if (text := display(cells[at]))]
        _report_losses(common, odd, len(found.positions) + len(numbers), problems)


def _odd_texts(
    codes: ColumnValues, common: "CommonShape", shapes: "_Shapes"
) -> list[tuple[int, str]]:
    """Return the position and text of the cells of a shape that may once have been the common
    one."""
    others = [shapes.numbers[shape] for shape in shapes.counts if common.may_be(shape)]
    odd = np.flatnonzero(np.isin(shapes.of_texts, others)).tolist()
    return [(position, codes.values[index]) for position, index in codes.cells_with(odd)]


def _report_losses(
    common: "CommonShape", odd: Sequence[tuple[int, str]], cells: int, problems: CellProblems
) -> None:
    """Report the texts that lost zeros, and those that lost separators or letters if rare."""
    has_documents = _is_document(common.example)
    lost: dict[bool, list[int]] = {True: [], False: []}
    for position, text in odd:
        loss = None if problems.failed[position] else common.loss_of(text)
        if loss is not None and not (has_documents and _is_document(text)):
            lost[loss is Loss.ZEROS].append(position)
    is_padded = common.padded_cells * _MAX_PER_PADDED >= len(lost[True])
    guesses = lost[False] if is_padded else [*lost[True], *lost[False]]
    rare = guesses if len(guesses) <= max(_FEW, cells // _MIN_PER_ODD) else []
    for position in sorted([*(lost[True] if is_padded else ()), *rare]):
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
    counts: Mapping[str, int]

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
        counts = np.bincount(of_texts, weights=cell_counts).astype(int).tolist()
        filled = [it for it in zip(numbers, counts, strict=False) if it[0] and it[1]]
        return cls(numbers, of_texts, dict(sorted(filled, key=itemgetter(1), reverse=True)))


class Loss(Enum):
    """Part that a code may have lost."""

    ZEROS = "leading zeros"
    FORM = "separators or letters"


@dataclass(frozen=True, slots=True)
class CommonShape:
    """Shape that most texts of a column have, and one of those texts as an example.

    ``padded``: for each number in the shape, the count of cells with a leading zero there.
    """

    shape: str
    example: str
    padded: tuple[int, ...]

    @classmethod
    def of(cls, codes: ColumnValues, shapes: _Shapes, *, has_numbers: bool) -> "CommonShape | None":
        """Return the shape of most texts, None if there is none or all cells have it."""
        counts = shapes.counts
        if not counts or (len(counts) == 1 and not has_numbers):
            return None
        shape, most = next(iter(counts.items()))
        if most < _FEW or 2 * most <= sum(counts.values()):
            return None
        has_shape = shapes.of_texts == shapes.numbers[shape]
        texts = list(compress(codes.values, has_shape.tolist()))
        cells = np.bincount(codes.indexes, minlength=len(codes.values))[has_shape]
        runs = [match.span() for match in re.finditer("9+", shape)]

        def count_padded(at: int, end: int) -> int:
            is_padded = [text[at] == "0" for text in texts] if end - at > 1 else []
            return int(cells[np.flatnonzero(is_padded)].sum())

        return cls(shape, texts[0], tuple(count_padded(*run) for run in runs))

    @property
    def padded_cells(self) -> int:
        """Number of cells with a leading zero, zero if there are too few to show a habit."""
        most = max(self.padded, default=0)
        return most if most >= _FEW else 0

    def may_be(self, shape: str) -> bool:
        """Return whether some text of another shape may have had this one."""
        if shape == self.shape:
            return False
        is_digits = not shape.strip("9") and len(shape) <= self.shape.count("9")
        return is_digits or _bare(shape) == _bare(self.shape) or _form(shape) == _form(self.shape)

    def loss_of(self, text: str) -> Loss | None:
        """Return what a text of another shape may have lost, if it had this one before a program
        treated it as a number, or somebody left out zeros or separators; None if nothing."""
        shape, digits = text.translate(_SHAPE), self.shape.count("9")
        if _form(shape) == _form(self.shape):
            widths = map(len, re.findall("9+", self.shape))
            is_odd = any(
                padded and len(run[0]) != width and (run[0][0] == "0") is (len(run[0]) > width)
                for padded, run, width in zip(
                    self.padded, re.finditer(r"[0-9]+", text), widths, strict=True
                )
            )
            return Loss.ZEROS if is_odd and _letters(text) == _letters(self.example) else None
        if _bare(shape) == _bare(self.shape):
            return Loss.FORM
        is_digits = not shape.strip("9")
        is_whole = len(text) == digits or (len(text) < digits and text[0] != "0")
        return Loss.FORM if is_digits and is_whole else None


def _bare(shape: str) -> str:
    return _SEPARATORS.sub("", shape)


def _form(shape: str) -> str:
    """Return a shape without the widths of its numbers."""
    return re.sub("9+", "9", shape)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text)).casefold()


def _is_document(text: str) -> bool:
    """Return whether a code is a CPF or CNPJ, with or without mask: a column may have both."""
    bare = bare_document(text)
    return any(document.is_valid(bare) for document in DOCUMENTS.values())
