"""Cells of which the sheet shows more, or something else, than the value that was read."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import numeral
from xlbridge.resources.column import Column, Kind
from xlbridge.resources.resource import Resource
from xlbridge.validation.cells.cell_problems import CellProblems
from xlbridge.validation.display import display
from xlbridge.validation.headers.header import Header
from xlbridge.workbook.reading.cells import CellKind, SheetCells
from xlbridge.workbook.reading.currencies import foreign_currency
from xlbridge.workbook.reading.raw_sheet import CellPlace
from xlbridge.workbook.reading.shown_number import shown_number

_SEPARATORS = re.compile(r"[^0-9A-Za-z]")


FormatsOf = Callable[[Mapping[int, str], Collection[int]], Mapping[CellPlace, str]]
"""Tells which cells of some columns, zero-based, have which of some number formats, given by the
style that has them."""


def telling_formats(
    resource: Resource, header: Header, cells: SheetCells, formats_of: FormatsOf
) -> Mapping[CellPlace, str]:
    """Return the formats by which cells tell more than their numbers: of codes all that may show
    something else than the digits, of amounts those that show another currency."""
    formats = cells.raw.formats
    foreign = {style: code for style, code in formats.items() if foreign_currency(code)}
    codes = [column for column in resource.columns if column.kind.is_code]
    amounts = [column for column in resource.columns if column.kind is Kind.MONEY]
    return {
        **formats_of(formats, _with_numbers(codes, header, cells)),
        **formats_of(foreign, _with_numbers(amounts, header, cells) if foreign else ()),
    }


def _with_numbers(columns: Iterable[Column], header: Header, cells: SheetCells) -> frozenset[int]:
    """Return the zero-based places of the columns that have numbers."""
    places = (header.columns[c.name] for c in columns if c.name in header.columns)
    return frozenset(
        cells.first_column + place
        for place in places
        if CellKind.NUMBER in cells.columns[place].kinds
    )


@dataclass(frozen=True, slots=True)
class NotedCells:
    """One column of a sheet, of which ``problems`` takes what was noted; ``rows`` are Excel's
    numbers of its data rows, ``place`` is its place among the columns of ``cells``."""

    column: Column
    cells: SheetCells
    place: int
    rows: list[int]
    problems: CellProblems

    def note_raw(self) -> None:
        """Note the cells that show an error or have a formula without result."""
        for position, error in self._noted(self.cells.raw.errors):
            self.problems.add(position, "cell-error", {"error": error})
        for position, _ in self._noted(dict.fromkeys(self.cells.raw.unvalued)):
            if not self.problems.failed[position]:
                self.problems.add(position, "formula-no-value")

    def note_scaled(self) -> None:
        """Note the numbers that are shown as percentages or in thousands."""
        if self.column.kind.is_text:
            return
        for position, times in self._noted(self.cells.raw.scaled):
            value = self._usable_number(position)
            if value is None:
                continue
            code, sign = ("number-percent", "%") if times > 1 else ("number-scaled", "")
            shown, stored = numeral(f"{value * times:.10g}{sign}"), numeral(display(value))
            self.problems.add(position, code, {"shown": shown, "stored": stored})

    def note_shown(self, formats: Mapping[CellPlace, str]) -> None:
        """Note the codes that show not just their digits, the amounts that show other money."""
        for position, form in self._noted(formats):
            value = self._usable_number(position)
            if value is None:
                continue
            if self.column.kind.is_code:
                self._note_shown(position, display(value), form)
            else:
                currency = {"currency": foreign_currency(form)}
                self.problems.add(position, "number-currency", currency)

    def _note_shown(self, position: int, stored: str, form: str) -> None:
        width = self.column.width
        shown = shown_number(form, int(stored))
        # What is shorter than its code has its finding already.
        if shown is None or (width is not None and len(stored) < width):
            return
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

    def _usable_number(self, position: int) -> float | None:
        value = self.cells.columns[self.place].value(self.rows[position] - 1)
        return value if isinstance(value, float) and not self.problems.failed[position] else None

    def _noted(self, noted: Mapping[CellPlace, Any]) -> Iterator[tuple[int, Any]]:
        """Yield what was noted of cells of the column: their position among the rows, and what."""
        place = self.cells.first_column + self.place
        of_row = {row: what for (row, column), what in noted.items() if column == place}
        for row in sorted(of_row):
            position = bisect_left(self.rows, row)
            if position < len(self.rows) and self.rows[position] == row:
                yield position, of_row[row]
