"""Displays of cells beside their values: errors, scaled numbers, number formats that say more.

What leaves a workbook is what its author sees, but for separators and rounding, or it is named.
"""

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text, localized_number
from xlbridge.resources import Column, Kind, Resource
from xlbridge.validation.cells.text import display, quoted
from xlbridge.workbook import CellPosition
from xlbridge.workbook.formats import (
    DATE_PARTS,
    Shown,
    changes_texts,
    foreign_currency,
    may_show_otherwise,
    number_shown_as,
    scale_factor,
    shown_date_parts,
    shown_number,
    shown_text,
)
from xlbridge.workbook.read import CellKind, SheetCells

if TYPE_CHECKING:
    from xlbridge.validation.cells.column_cells import CellProblems
    from xlbridge.validation.headers.header_row import Header

_SEPARATORS = re.compile(r"[^0-9A-Za-z]")
_GROUPED = re.compile(r"(?<=\d)[.,](?=\d{3}(?:\D|$))", re.ASCII)
_A_DATE = Text(pt="uma data ou hora", en="a date or time")
_DATE_PARTS: Mapping[frozenset[str], Text] = {
    frozenset("d"): Text(pt="o dia", en="the day"),
    frozenset("m"): Text(pt="o mês", en="the month"),
    frozenset("y"): Text(pt="o ano", en="the year"),
    frozenset("dm"): Text(pt="o dia e o mês", en="the day and the month"),
    frozenset("my"): Text(pt="o mês e o ano", en="the month and the year"),
    frozenset("dy"): Text(pt="o dia e o ano", en="the day and the year"),
}


FormatLookup = Callable[[Mapping[int, str], Collection[int]], Mapping[CellPosition, str]]
"""Tells which cells of some columns, zero-based, have which of some number formats, given by the
style that has them."""


def significant_formats(
    resource: Resource, header: "Header", cells: SheetCells, formats_of: FormatLookup
) -> Mapping[CellPosition, str]:
    """Return the formats by which cells tell more than their values.

    Each format is judged once, and its cells are looked for only where it may say something else:
    of numbers in texts all formats, of other numbers those that show another number, words or
    another currency, of texts those that change them, of dates those that leave out some of it.
    """
    formats, found = cells.raw.formats, dict[CellPosition, str]()
    for kinds, cell_kind, tells in (
        (frozenset(kind for kind in Kind if kind.is_text), CellKind.NUMBER, lambda _: True),
        (frozenset({Kind.MONEY}), CellKind.NUMBER, _tells_of_amount),
        (
            frozenset({Kind.INTEGER, Kind.NUMBER}),
            CellKind.NUMBER,
            partial(may_show_otherwise, percents=True),
        ),
        (frozenset(kind for kind in Kind if kind.is_text), CellKind.TEXT, changes_texts),
        (frozenset({Kind.DATE}), CellKind.DATE, _tells_part_of_date),
        (frozenset({Kind.DATE}), CellKind.DATETIME, _tells_part_of_date),
    ):
        telling = {style: code for style, code in formats.items() if tells(code)}
        names = [
            column.name
            for column in resource.columns
            if column.kind in kinds and column.name not in header.converted
        ]
        places = {header.columns[name] for name in names if name in header.columns}
        filled = [place for place in places if cell_kind in cells.columns[place].kinds]
        if telling and filled:
            found |= formats_of(telling, [cells.first_column + place for place in filled])
    return found


def _tells_of_amount(code: str) -> bool:
    return foreign_currency(code) is not None or may_show_otherwise(code, percents=False)


def _tells_part_of_date(code: str) -> bool:
    return shown_date_parts(code) != DATE_PARTS


@dataclass(frozen=True, slots=True)
class DisplayedCells:
    """One column of a sheet, of which ``problems`` takes what was noted; ``rows`` are Excel's
    numbers of its data rows, ``place`` is its place among the columns of ``cells``."""

    column: Column
    cells: SheetCells
    place: int
    rows: Sequence[int]
    problems: "CellProblems"

    def note_all(self, formats: Mapping[CellPosition, str]) -> None:
        """Note what the cells show instead of their values; ``formats`` are those that may."""
        for position, error in self._noted(self.cells.raw.errors):
            self.problems.add(position, "cell-error", {"error": error})
        for position, _ in self._noted(dict.fromkeys(self.cells.raw.unvalued)):
            if not self.problems.failed[position]:
                self.problems.add(position, "formula-no-value")
        self._note_scaled()
        self._note_formats(formats)

    def _note_scaled(self) -> None:
        """Note the numbers that are shown as percentages or in thousands."""
        if self.column.kind.is_text:
            return
        for position, times in self._noted(self.cells.raw.scaled):
            value = self._usable_value(position)
            if not isinstance(value, float):
                continue
            code, sign = ("number-percent", "%") if times > 1 else ("number-scaled", "")
            shown, stored = (
                localized_number(f"{value * times:.10g}{sign}"),
                localized_number(display(value)),
            )
            self.problems.add(position, code, {"shown": shown, "stored": stored})

    def _note_formats(self, formats: Mapping[CellPosition, str]) -> None:
        for position, form in self._noted(formats):
            value = self._usable_value(position)
            if isinstance(value, dt.date):
                self._note_date(position, value, form)
            elif isinstance(value, str):
                seen = shown_text(form, value)
                if seen.strip() != value.strip():
                    details = {"shown": seen, "stored": quoted(value)}
                    self.problems.add(position, "text-shown-otherwise", details)
            elif isinstance(value, float) and self.column.kind.is_code:
                self._note_code(position, display(value), form)
            elif isinstance(value, float) and self.column.kind is Kind.TEXT:
                shown, stored = self._shown(form, value), display(value)
                plain = {_GROUPED.sub("", text.strip()) for text in (shown.pt, shown.en)}
                if plain != {stored}:
                    self.problems.add(
                        position, "text-shown-otherwise", {"shown": shown, "stored": quoted(stored)}
                    )
            elif isinstance(value, float):
                self._note_number(position, value, form)

    def _note_date(self, position: int, day: dt.date, form: str) -> None:
        """Note a date that is shown in part, or not as one; a time beside it is not sent."""
        parts = shown_date_parts(form)
        stored = display(dt.date(day.year, day.month, day.day))
        if not parts:
            self.problems.add(position, "date-not-shown", {"stored": stored})
        elif parts != DATE_PARTS:
            details = {"shown": _DATE_PARTS[parts], "stored": stored}
            self.problems.add(position, "date-shown-in-part", details)

    def _note_number(self, position: int, value: float, form: str) -> None:
        """Note a number that is shown as another one, with words, or as other money."""
        currency = foreign_currency(form) if self.column.kind is Kind.MONEY else None
        is_rate = self.column.kind is Kind.NUMBER
        seen = number_shown_as(form, value, percents=is_rate)
        details = {"shown": self._shown(form, value), "stored": localized_number(display(value))}
        if seen is Shown.OTHERWISE:
            self.problems.add(position, "number-shown-otherwise", details)
        elif currency is not None:
            self.problems.add(position, "number-currency", {"currency": currency})
        elif seen is Shown.WITH_WORDS and scale_factor(form) == 1:
            self.problems.add(position, "number-with-words", details)

    def _note_code(self, position: int, stored: str, form: str) -> None:
        width = self.column.width
        # What is shorter than its code has its finding already.
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
        return shown_number(form, value) or _A_DATE

    def _usable_value(self, position: int) -> object:
        """Return what a cell holds, None where no rule may look at it any more."""
        value = self.cells.columns[self.place].value(self.rows[position] - 1)
        return None if self.problems.failed[position] else value

    def _noted(self, noted: Mapping[CellPosition, Any]) -> Iterator[tuple[int, Any]]:
        """Yield what was noted of cells of the column: their position among the rows, and what."""
        place = self.cells.first_column + self.place
        of_row = {row: what for (row, column), what in noted.items() if column == place}
        for row in sorted(of_row):
            position = bisect_left(self.rows, row)
            if position < len(self.rows) and self.rows[position] == row:
                yield position, of_row[row]
