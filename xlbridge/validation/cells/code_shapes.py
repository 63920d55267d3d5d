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
from functools import cached_property
from itertools import compress, count
from operator import eq, itemgetter
from string import ascii_letters, digits
from typing import Literal

import numpy as np

from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import DOCUMENTS, is_masked_document
from xlbridge.validation.cells.column_cells import ColumnCells, ColumnValues
from xlbridge.validation.cells.text import (
    display,
    folded_text,
    is_printable_ascii,
    normalize_width,
    quoted,
    strip_invisible,
)
from xlbridge.validation.sheet_findings import BoolArray, CellProblems, Positions
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
_SHAPE = bytes.maketrans(
    (digits + ascii_letters).encode(), b"9" * len(digits) + b"A" * len(ascii_letters)
)
"""Table for texts in UTF-8, of which other characters have no ASCII byte: a text that is not all
ASCII is translated ten times as fast as by a table of characters."""
_JOINT = "\0"
"""Character that no code can contain."""
_CASES = str.upper, str.lower
_SEPARATORS = re.compile(r"[^9A]")
_DECIMALS = re.compile(r"^(\d+)[.,](\d+)$", re.ASCII | re.MULTILINE)
_NO_CENTS = re.compile(
    r"^(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+(?=,)|[1-9]\d{0,2}(?:,\d{3})+(?=\.))[.,]0{1,2}$",
    re.ASCII | re.MULTILINE,
)


class CodeTexts:
    """Texts of a column's codes, as they are sent, with their shapes and their case: determined
    once for each text, however often the column is checked again after edits.

    ``numbers`` are those of the shapes, of which few are different.
    """

    def __init__(self) -> None:
        self.numbers = defaultdict[str, int](count().__next__)
        self._sent = np.empty(0, dtype=object)
        self._shapes = np.empty(0, dtype=np.intp)
        self._cases = np.empty(0, dtype=np.uint8)

    def read(self, cells: ColumnCells) -> tuple[list[str], Positions]:
        """Return the distinct texts of a column, with the number of the shape of each."""
        indexes, source = cells.text_indexes, cells.source.texts
        missing = len(source) - len(self._sent)
        self._sent = np.append(self._sent, np.empty(missing, dtype=object))
        self._shapes = np.append(self._shapes, np.full(missing, -1, dtype=np.intp))
        self._cases = np.append(self._cases, np.zeros(missing, dtype=np.uint8))
        new = indexes[self._shapes[indexes] < 0]
        for begin in range(0, len(new), _CHUNK):
            chunk = new[begin : begin + _CHUNK]
            texts = [source[at].strip() for at in chunk.tolist()]
            if not is_printable_ascii("".join(texts)):
                texts = [strip_invisible(normalize_width(text))[0].strip() for text in texts]
            self._sent[chunk] = texts
            shapes = _shape(_JOINT.join(texts)).split(_JOINT)
            self._shapes[chunk] = list(map(self.numbers.__getitem__, shapes))
        return self._sent[indexes].tolist(), self._shapes[indexes]

    def have_spellings(self, indexes: Positions, texts: Sequence[str]) -> bool:
        """Return whether any two of the read texts differ only in case or accents.

        Two ASCII texts in capitals never fold to the same, nor do two in small letters: only the
        folded forms of the fewer other texts need to be looked up, ten times as fast.
        """
        new = indexes[self._cases[indexes] == 0]
        if len(new):
            known = self._sent[new].tolist()
            is_ascii = np.array(list(map(str.isascii, known)))
            for case, in_case in enumerate(_CASES, start=1):
                is_of = np.array(list(map(eq, known, map(in_case, known))))
                self._cases[new] |= (is_ascii & is_of).astype(np.uint8) << case
            self._cases[new] |= 1
        cases = self._cases[indexes]
        odd = [np.flatnonzero(~(cases >> n & 1).astype(bool)) for n in range(1, len(_CASES) + 1)]
        fewest = min(range(len(odd)), key=lambda n: len(odd[n]))
        others = {texts[at] for at in odd[fewest].tolist()}
        folded = set(map(folded_text, others))
        if len(folded) < len(others):
            return True
        return not set(map(_CASES[fewest], filter(str.isascii, folded))).isdisjoint(texts)


def check_code_shapes(
    column: Column, cells: ColumnCells, problems: CellProblems, known: CodeTexts
) -> None:
    """Report the codes of a column that are written as numbers, in two ways, or unlike others;
    ``known`` are its texts that were checked before."""
    if column.kind is not Kind.CODE or column.allowed or column.measure:
        return
    positions, indexes = cells.text_cells
    usable = ~problems.failed[positions]
    numbers = cells.of_kind(CellKind.NUMBER)
    numbers = numbers[~problems.failed[numbers]]
    sent, shape_numbers = known.read(cells)
    codes = ColumnValues(sent, positions[usable], indexes[usable])
    joined = "\n".join(codes.values)
    # Numbers with zero decimals are no codes, unless others have real ones.
    has_no_cents = ("." in joined or "," in joined) and _NO_CENTS.search(joined)
    if has_no_cents and not any(int(m[2]) for m in _DECIMALS.finditer(joined)):
        wrong = [index for index, text in enumerate(codes.values) if _NO_CENTS.match(text)]
        for position, index in codes.cells_with(wrong):
            bare = re.sub(r"[.,]", "", re.sub(r"[.,]0+$", "", codes.values[index]))
            problems.add(position, "code-decimals", {"read": bare})
    is_one_case = joined.isascii() and joined in (joined.upper(), joined.lower())
    if not is_one_case and known.have_spellings(cells.text_indexes, sent):
        _check_spellings(codes, problems)
    del joined
    if not _FREE_FORM.issuperset(column.checks):
        return
    common = CommonShape.of(codes, shape_numbers, known.numbers, has_numbers=len(numbers) > 0)
    if common is not None:
        # The shapes that may once have been the common one.
        others = [at for shape, at in known.numbers.items() if shape and common.may_be(shape)]
        at_odds = np.flatnonzero(np.isin(shape_numbers, others)).tolist()
        odd = [(position, codes.values[index]) for position, index in codes.cells_with(at_odds)]
        odd += [(int(at), text) for at in numbers if (text := display(cells[at]))]
        _report_losses(common, odd, len(positions) + len(numbers), problems)


def _report_losses(
    common: "CommonShape", odd: Sequence[tuple[int, str]], cells: int, problems: CellProblems
) -> None:
    """Report the texts that lost zeros, and those that lost separators or letters if rare."""
    # A column may have both CPFs and CNPJs.
    has_documents = is_masked_document(common.example, DOCUMENTS)
    lost: dict[bool, list[int]] = {True: [], False: []}
    for position, text in odd:
        loss = None if problems.failed[position] else common.loss_of(text)
        if loss is not None and not (has_documents and is_masked_document(text, DOCUMENTS)):
            lost[loss == "zeros"].append(position)
    is_padded, padded = not lost[True], max(common.padded, default=0)
    # Too few leading zeros show no habit.
    is_padded |= padded >= _FEW and padded * _MAX_PER_PADDED >= len(lost[True])
    guesses = lost[False] if is_padded else [*lost[True], *lost[False]]
    rare = guesses if len(guesses) <= max(_FEW, cells // _MIN_PER_ODD) else []
    for position in sorted([*(lost[True] if is_padded else ()), *rare]):
        problems.add(position, "code-shape", {"example": quoted(common.example)})


def _check_spellings(codes: ColumnValues, problems: CellProblems) -> None:
    """Report the codes that differ only in case or accents from the most frequent spelling, or
    all of them if there is a tie."""
    folded = list(map(folded_text, codes.values))
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


@dataclass(frozen=True)
class CommonShape:
    """Shape that most texts of a column have, those of its ``codes`` that ``has_shape`` marks, and
    one of them as an example."""

    shape: str
    example: str
    codes: ColumnValues
    has_shape: BoolArray

    @classmethod
    def of(
        cls,
        codes: ColumnValues,
        of_texts: Positions,
        numbers: Mapping[str, int],
        *,
        has_numbers: bool,
    ) -> "CommonShape | None":
        """Return the shape of most texts, None if there is none or all cells have it; ``of_texts``
        has the number of each text's shape, ``numbers`` those of all shapes."""
        cells = np.bincount(codes.indexes, minlength=len(of_texts))
        found = np.bincount(of_texts, weights=cells, minlength=len(numbers)).astype(int).tolist()
        counts = {shape: n for shape, n in zip(numbers, found, strict=True) if shape and n}
        if not counts or (len(counts) == 1 and not has_numbers):
            return None
        shape, most = max(counts.items(), key=itemgetter(1))
        if most < _FEW or 2 * most <= sum(counts.values()):
            return None
        has_shape = of_texts == numbers[shape]
        return cls(shape, codes.values[int(has_shape.argmax())], codes, has_shape)

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """For each number in the shape, the count of cells with a leading zero there."""
        texts = list(compress(self.codes.values, self.has_shape.tolist()))
        cells = np.bincount(self.codes.indexes, minlength=len(self.has_shape))[self.has_shape]
        runs = [match.span() for match in re.finditer("9+", self.shape)]

        # All texts of a shape have its length.
        characters = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        characters = characters.reshape(len(texts), len(self.shape))

        def count_padded(at: int, end: int) -> int:
            return int(cells[characters[:, at] == ord("0")].sum()) if end - at > 1 else 0

        return tuple(count_padded(*run) for run in runs)

    def may_be(self, shape: str) -> bool:
        """Return whether some text of another shape may have had this one."""
        if shape == self.shape:
            return False
        is_digits = not shape.strip("9") and len(shape) <= self.shape.count("9")
        return is_digits or _bare(shape) == _bare(self.shape) or _form(shape) == _form(self.shape)

    def loss_of(self, text: str) -> Literal["zeros", "form"] | None:
        """Return what a text of another shape may have lost, leading zeros or the separators and
        letters of its form, if it had this one before a program treated it as a number, or somebody
        left them out; None if nothing."""
        shape, count_of_digits = _shape(text), self.shape.count("9")
        if _form(shape) == _form(self.shape):
            widths = map(len, re.findall("9+", self.shape))
            is_odd = any(
                padded and len(run[0]) != width and (run[0][0] == "0") is (len(run[0]) > width)
                for padded, run, width in zip(
                    self.padded, re.finditer(r"[0-9]+", text), widths, strict=True
                )
            )
            return "zeros" if is_odd and _letters(text) == _letters(self.example) else None
        if _bare(shape) == _bare(self.shape):
            return "form"
        is_digits = not shape.strip("9")
        is_whole = len(text) == count_of_digits or (len(text) < count_of_digits and text[0] != "0")
        return "form" if is_digits and is_whole else None


def _shape(text: str) -> str:
    return text.encode(errors="surrogatepass").translate(_SHAPE).decode(errors="surrogatepass")


def _bare(shape: str) -> str:
    return _SEPARATORS.sub("", shape)


def _form(shape: str) -> str:
    """Return a shape without the widths of its numbers."""
    return re.sub("9+", "9", shape)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text)).casefold()
