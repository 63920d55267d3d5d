"""Checks of cells whose value may not be the one that their author means.

What they display instead: errors, scaled numbers, number formats. A value is sent as its author
sees it, apart from separators and rounding, or it is reported.

Codes that lost a part, and their spellings. A shape has ``9`` for each digit and ``A`` for each
letter. Programs that treat codes as numbers drop zeros, points and letters; the common shape of a
column reveals it. All of this is a guess, so its findings are warnings: a column may mix several
kinds of codes.

- Zeros: codes of the common shape have leading zeros, and others are shorter just there. That is
  reported however many these are.
- Separators or letters: a code has the digits of the common shape without them. As mixtures are
  ordinary (``4512/1`` and ``4513``), only rare ones are reported.
"""

import datetime as dt
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress, count
from operator import eq, itemgetter
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import DOCUMENTS, is_masked_document
from xlbridge.validation.cells.contents import (
    A_DATE,
    BoolArray,
    ColumnCells,
    ColumnValues,
    Positions,
    display,
    folded_text,
    is_printable_ascii,
    normalize_width,
    quoted,
    strip_invisible,
)
from xlbridge.validation.sheet_findings import CellProblems
from xlbridge.workbook import CellPosition
from xlbridge.workbook.formats import (
    DATE_PARTS,
    Display,
    alters_texts,
    can_display_differently,
    compare_display,
    displayed_date_parts,
    displayed_number,
    displayed_text,
    foreign_currency,
    scale_factor,
)
from xlbridge.workbook.read import CellKind, SheetCells

if TYPE_CHECKING:
    from xlbridge.validation.header_row import Header


_MASK_CHARACTER = re.compile(r"[^0-9A-Za-z]")
_GROUPED = re.compile(r"(?<=\d)[.,](?=\d{3}(?:\D|$))", re.ASCII)

_DATE_PARTS: Mapping[frozenset[str], Text] = {
    frozenset("d"): Text(pt="o dia", en="the day"),
    frozenset("m"): Text(pt="o mês", en="the month"),
    frozenset("y"): Text(pt="o ano", en="the year"),
    frozenset("dm"): Text(pt="o dia e o mês", en="the day and the month"),
    frozenset("my"): Text(pt="o mês e o ano", en="the month and the year"),
    frozenset("dy"): Text(pt="o dia e o ano", en="the day and the year"),
}


FormatLookup = Callable[[Mapping[int, str], Collection[int]], Mapping[CellPosition, str]]
"""Lookup of the cells in some zero-based columns that have one of the given number formats, by
style."""


def significant_formats(
    resource: Resource, header: "Header", cells: SheetCells, formats_of: FormatLookup
) -> Mapping[CellPosition, str]:
    """Return the number formats of cells that may display something else than their values.

    Each format is classified once, and only the cells of significant ones are looked up: for
    numbers in text columns all formats, for other numbers those that show another number, words or
    another currency, for texts those that change them, for dates those that omit a part.
    """
    formats, found = cells.raw.formats, dict[CellPosition, str]()
    unchanged = header.columns.keys() - header.converted
    texts = frozenset(kind for kind in Kind if kind.is_text)
    numbers = frozenset({Kind.INTEGER, Kind.NUMBER})

    def may_change_amount(code: str) -> bool:
        return foreign_currency(code) is not None or can_display_differently(code, percents=False)

    for kinds, cell_kind, is_significant in (
        (texts, CellKind.NUMBER, lambda _: True),
        ({Kind.MONEY}, CellKind.NUMBER, may_change_amount),
        (numbers, CellKind.NUMBER, partial(can_display_differently, percents=True)),
        (texts, CellKind.TEXT, alters_texts),
        ({Kind.DATE}, CellKind.DATE, _omits_date_part),
        ({Kind.DATE}, CellKind.DATETIME, _omits_date_part),
    ):
        significant = {style: code for style, code in formats.items() if is_significant(code)}
        indexes = {
            header.columns[column.name]
            for column in resource.columns
            if column.kind in kinds and column.name in unchanged
        }
        filled = [index for index in indexes if cell_kind in cells.columns[index].kinds]
        if significant and filled:
            found |= formats_of(significant, [cells.first_column + index for index in filled])
    return found


_MONTH = frozenset("my")
_WORDS_OF_ZERO = frozenset(
    {"", "0", "zero", "nihil", "nada", "isento", "isenta", "gratis", "grátis", "sem", "não há"}
)
"""Words for zero, in small letters."""
_UNIT = re.compile(r"^[\d.,\s]+|[\s.]+$")
"""Digits before the unit of a displayed number, and points and spaces after it."""
_MAX_EXACT = 1e15


def is_shown_as_text(value: object, form: str | None) -> bool:
    """Return whether a cell with a number format shows what ``display`` returns, apart from
    thousands separators. Without a format, a number shows at most 15 digits."""
    if isinstance(value, dt.date):
        return form is None or displayed_date_parts(form) == DATE_PARTS
    if not isinstance(value, float):
        return True
    if form is None:
        return abs(value) < _MAX_EXACT
    shown = displayed_number(form, value)
    return shown is not None and display(value) in _without_groups(shown)


def _without_groups(number: Text) -> set[str]:
    return {_GROUPED.sub("", text.strip()) for text in (number.pt, number.en)}


def _omits_date_part(code: str) -> bool:
    return displayed_date_parts(code) != DATE_PARTS


@dataclass(frozen=True, slots=True)
class DisplayedCells:
    """Cells of one column of a sheet: ``index`` is its position in ``cells.columns``, ``rows`` are
    Excel's numbers of its data rows; findings are added to ``problems``."""

    column: Column
    cells: SheetCells
    index: int
    rows: Sequence[int]
    problems: CellProblems

    def check(self, formats: Mapping[CellPosition, str]) -> None:
        """Report what the cells display instead of their values; ``formats`` are the significant
        ones."""
        # Some programs store the name of an error as the text of its cell.
        reported = set(self.problems.positions_of("cell-error").tolist())
        for position, error in self._of_column(self.cells.raw.errors):
            if position not in reported:
                self.problems.add(position, "cell-error", {"error": error})
        for position, _ in self._of_column(dict.fromkeys(self.cells.raw.without_result)):
            if not self.problems.failed[position]:
                self.problems.add(position, "formula-no-value")
        scaled = {} if self.column.kind.is_text else self.cells.raw.scaled
        for position, factor in self._of_column(scaled):
            value = self._usable_value(position)
            if not isinstance(value, float):
                continue
            code, sign = ("number-percent", "%") if factor > 1 else ("number-scaled", "")
            shown = localized_number(f"{value * factor:.10g}{sign}")
            details = {"shown": shown, "stored": localized_number(display(value))}
            self.problems.add(position, code, details)
        self._check_formats(formats)
        reported = set[int]()
        for code, (top, left, bottom, right) in self.cells.raw.conditional_formats:
            if left <= self.cells.first_column + self.index <= right:
                first, last = (bisect_left(self.rows, row) for row in (top, bottom + 1))
                self._check_conditional(code, range(first, last), reported)

    def _check_conditional(self, form: str, positions: range, reported: set[int]) -> None:
        """Report the numbers that a conditional format may show as others, once each; its
        condition is not evaluated."""
        currency = foreign_currency(form) if self.column.kind is Kind.MONEY else None
        is_same = scale_factor(form) == 1 and currency is None
        percents = self.column.kind is Kind.NUMBER
        if is_same and not can_display_differently(form, percents=percents):
            return
        for position in positions:
            value = self._usable_value(position)
            if not isinstance(value, float) or position in reported:
                continue
            seen, shown = self._compare(form, value)
            if not is_same or seen is not Display.SAME:
                reported.add(position)
                details = {"shown": shown, "stored": localized_number(display(value))}
                self.problems.add(position, "number-shown-conditionally", details)

    def _check_formats(self, formats: Mapping[CellPosition, str]) -> None:
        for position, form in self._of_column(formats):
            value = self._usable_value(position)
            if isinstance(value, dt.date):
                # The time is not sent anyway.
                parts = displayed_date_parts(form)
                stored = display(dt.date(value.year, value.month, value.day))
                if not parts:
                    self.problems.add(position, "date-not-shown", {"stored": stored})
                elif parts != DATE_PARTS and not (
                    self.column.month and value.day == 1 and parts == _MONTH
                ):
                    in_part = {"shown": _DATE_PARTS[parts], "stored": stored}
                    self.problems.add(position, "date-shown-in-part", in_part)
            elif isinstance(value, str):
                seen = displayed_text(form, value)
                if seen.strip() != value.strip():
                    details = {"shown": seen, "stored": quoted(value)}
                    self.problems.add(position, "text-shown-otherwise", details)
            elif isinstance(value, float) and self.column.kind.is_code and not self.column.measure:
                self._check_code(position, display(value), form)
            elif isinstance(value, float) and self.column.kind.is_text:
                shown, stored = self._shown(form, value), display(value)
                # A measure is compared in the notation in which it is sent.
                is_measure = self.column.measure and shown.en.replace(",", "") == stored
                if not is_measure and _without_groups(shown) != {stored}:
                    self.problems.add(
                        position, "text-shown-otherwise", {"shown": shown, "stored": quoted(stored)}
                    )
            elif isinstance(value, float):
                self._check_number(position, value, form)

    def _check_number(self, position: int, value: float, form: str) -> None:
        """Report a number that is shown as another one, with words, or in another currency."""
        currency = foreign_currency(form) if self.column.kind is Kind.MONEY else None
        seen, shown = self._compare(form, value)
        details = {"shown": shown, "stored": localized_number(display(value))}
        if value == 0 and shown.pt.strip(" -–—").casefold() in _WORDS_OF_ZERO:
            return
        if seen is Display.DIFFERENT:
            self.problems.add(position, "number-shown-otherwise", details)
        elif currency is not None:
            self.problems.add(position, "number-currency", {"currency": currency})
        elif seen is Display.WITH_TEXT and scale_factor(form) == 1:
            self.problems.add(position, "number-with-words", details)

    def _compare(self, form: str, value: float) -> tuple[Display, Text]:
        """Return how a number is shown, the same if with a unit of the column, and its text."""
        seen = compare_display(form, value, percents=self.column.kind is Kind.NUMBER)
        shown, units = self._shown(form, value), {unit.casefold() for unit in self.column.units}
        is_unit = seen is Display.WITH_TEXT and _UNIT.sub("", shown.pt).casefold() in units
        return Display.SAME if is_unit else seen, shown

    def _check_code(self, position: int, stored: str, form: str) -> None:
        width = self.column.width
        # A code that is too short has a finding already.
        if width is not None and len(stored) < width:
            return
        shown = self._shown(form, float(stored))
        if width is not None or "telephone" in self.column.checks:
            is_same = _MASK_CHARACTER.sub("", shown.pt) == stored
        else:
            is_same = {shown.pt.strip(), shown.en.strip()} == {stored}
        bare = shown.en.strip()
        if not is_same and bare.isdecimal() and int(bare) == int(stored):
            details = {"width": len(bare), "proposal": ""}
            self.problems.add(position, "code-leading-zeros", details)
        elif not is_same:
            self.problems.add(position, "code-shown-otherwise", {"shown": shown, "stored": stored})

    def _shown(self, form: str, value: float) -> Text:
        return displayed_number(form, value) or A_DATE

    def _usable_value(self, position: int) -> object:
        """Return the value of a cell, None if the cell has an error."""
        value = self.cells.columns[self.index].value(self.rows[position] - 1)
        return None if self.problems.failed[position] else value

    def _of_column(self, entries: Mapping[CellPosition, Any]) -> Iterator[tuple[int, Any]]:
        """Yield the entries for cells of the column, with their positions among the rows."""
        index = self.cells.first_column + self.index
        by_row = {row: entry for (row, column), entry in entries.items() if column == index}
        for row in sorted(by_row):
            position = bisect_left(self.rows, row)
            if position < len(self.rows) and self.rows[position] == row:
                yield position, by_row[row]


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
