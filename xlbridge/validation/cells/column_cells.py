"""Cells of one column: their values by their types in the file, and checks of what they display
instead of their values: errors, scaled numbers, number formats.

A value is sent as its author sees it, apart from separators and rounding, or it is reported.
"""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import Column, Kind, Resource
from xlbridge.settings import NumberStyle
from xlbridge.validation.cells.text import A_DATE, display, quoted
from xlbridge.validation.sheet_findings import CellProblems, Positions as Positions
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
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells

if TYPE_CHECKING:
    from xlbridge.validation.headers.header_row import Header


@dataclass(frozen=True, slots=True)
class SheetOrder:
    """Order of day and month in the text dates of a sheet: the Brazilian one if ``native``, as
    ``column`` proves."""

    native: bool
    column: str


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """Distinct ``values`` of a column as texts.

    ``positions``: positions of the cells that have one of them; ``indexes``: the index of each
    one's value.
    """

    values: Sequence[str]
    positions: Positions
    indexes: Positions

    def cells_with(self, indexes: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the position and value index of each cell with one of the given values."""
        is_wanted = np.zeros(len(self.values), dtype=bool)
        is_wanted[list(indexes)] = True
        found = is_wanted[self.indexes]
        yield from zip(self.positions[found].tolist(), self.indexes[found].tolist(), strict=True)


_FEW_TEXTS = 16
"""Factor by which a column has more texts than the cells whose texts are sorted, not counted."""


class ColumnCells:
    """Cells of one column in the given rows; a ``position`` counts those rows from zero.

    ``kinds``, ``numbers`` and ``wholes`` have one entry for each cell: its ``CellKind``, and its
    content as stored by ``CellColumn``, as a double and as an integer. ``sheet_style`` returns the
    style on which the text numbers of the whole sheet agree, None if they do not; ``sheet_dates``
    the order of day and month that the text dates of another column prove.
    """

    def __init__(
        self,
        column: CellColumn,
        rows: npt.NDArray[np.integer],
        sheet_style: Callable[[], NumberStyle | None] = lambda: None,
        sheet_dates: Callable[[], "SheetOrder | None"] = lambda: None,
    ) -> None:
        """``rows`` are Excel's numbers; those below the column's last row are empty."""
        self.source = column
        self.sheet_style = sheet_style
        self.sheet_dates = sheet_dates
        self._rows = rows
        indexes: slice | Positions = np.minimum(rows, len(column.kinds)) - 1
        below = rows > len(column.kinds)
        if len(rows) and not below[-1] and (np.diff(rows) == 1).all():
            # A slice avoids a copy of the content, which is only read.
            indexes = slice(int(rows[0]) - 1, int(rows[-1]))
        self.kinds = np.frombuffer(column.kinds, dtype=np.uint8)[indexes].copy()
        self.kinds[below] = CellKind.EMPTY
        self.wholes = np.frombuffer(column.content, dtype=np.int64)[indexes]
        self.numbers = self.wholes.view(np.float64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: int | np.intp) -> Any:
        return self.source.value(int(self._rows[position]) - 1)

    def of_kind(self, kind: CellKind) -> Positions:
        """Return the positions of the cells of a kind."""
        return np.flatnonzero(self.kinds == kind)

    def others(self, *expected: CellKind) -> Positions:
        """Return the positions of the filled cells that are neither text nor of an expected
        kind."""
        return np.flatnonzero((self.kinds > CellKind.TEXT) & ~np.isin(self.kinds, expected))

    def texts(self) -> tuple[Positions, list[str]]:
        """Return the positions and stripped contents of the text cells that are not blank."""
        found = self.distinct_texts
        stripped = np.array(self.stripped_texts, dtype=object)[found.indexes]
        filled = stripped != ""
        return found.positions[filled], stripped[filled].tolist()

    def clear_texts(self, texts: Mapping[int, str]) -> Iterator[tuple[int, str]]:
        """Empty the cells with the given texts, whose keys are the column's text indexes; yield
        the position and text of each."""
        if not texts:
            return
        positions = self.of_kind(CellKind.TEXT)
        for position in positions[np.isin(self.wholes[positions], list(texts))].tolist():
            self.kinds[position] = CellKind.EMPTY
            yield position, texts[int(self.wholes[position])]

    @cached_property
    def text_indexes(self) -> Positions:
        """Index of each distinct text in the column's ``texts``."""
        wholes = self.wholes[self.of_kind(CellKind.TEXT)]
        if _FEW_TEXTS * len(wholes) < len(self.source.texts):
            return np.unique(wholes).astype(np.intp)
        used = np.zeros(len(self.source.texts), dtype=bool)
        used[wholes] = True
        return np.flatnonzero(used)

    @cached_property
    def text_cells(self) -> tuple[Positions, Positions]:
        """Positions of the text cells, and the number of each one's distinct text."""
        positions, indexes = self.of_kind(CellKind.TEXT), self.text_indexes
        numbers = np.empty(len(self.source.texts), np.intp)
        numbers[indexes] = np.arange(len(indexes))
        return positions, numbers[self.wholes[positions]]

    @cached_property
    def distinct_texts(self) -> ColumnValues:
        """Distinct texts, and the text cells."""
        texts = list(map(self.source.texts.__getitem__, self.text_indexes.tolist()))
        return ColumnValues(texts, *self.text_cells)

    @cached_property
    def stripped_texts(self) -> list[str]:
        """Distinct texts without spaces at their ends."""
        return list(map(str.strip, self.distinct_texts.values))


_SEPARATORS = re.compile(r"[^0-9A-Za-z]")
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
            is_same = _SEPARATORS.sub("", shown.pt) == stored
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
