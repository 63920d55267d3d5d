"""Edits of a sheet's cells in memory: made, taken back, made again, and kept as plain data.

A cell shows a text, and a text that a person types stands for a value.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TypedDict

from xlbridge.i18n import active_language, localized_number
from xlbridge.resources import Column, Kind
from xlbridge.resources.findings import CorrectedValue
from xlbridge.validation.cells import date_meanings, display, number_meanings
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellColumn, CellEncoder, SheetCells


def displayed_text(cells: SheetCells, place: CellPosition) -> str:
    """Return a cell's content as Excel would show it in the general format."""
    if place in cells.raw.errors:
        return cells.raw.errors[place]
    value = cells.columns[place[1] - cells.first_column].value(place[0] - 1)
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return display(value.date())
    if isinstance(value, bool) and active_language() != "pt-BR":
        return str(value).upper()
    if isinstance(value, float):
        return str(localized_number(display(value)))
    return display(value)


def is_computed(cells: SheetCells, place: CellPosition) -> bool:
    """Tell whether a formula gives a cell's value."""
    runs = cells.raw.layout.formulas.get(place[1], ())
    return any(first <= place[0] <= last for first, last in runs)


def typed_value(column: Column | None, text: str) -> CorrectedValue:
    """Return what a typed text stands for in a column, as Excel would take it.

    Numbers are read as the page's language writes them, dates with the day first. A text that is
    neither stays one, and gets its finding.
    """
    text = text.strip()
    if column is None or not text:
        return text
    if column.kind.is_number and (number := number_meanings(text)) is not None:
        native, foreign = number.native, number.foreign
        first, second = (native, foreign) if active_language() == "pt-BR" else (foreign, native)
        return _first_of(first, second, text)
    is_day = column.kind is Kind.DATE and ":" not in text
    if is_day and (day := date_meanings(text)) is not None:
        return _first_of(day.native, day.foreign, text)
    return text


def value_text(value: CorrectedValue) -> str:
    """Return a value as the page's language writes it."""
    if isinstance(value, Decimal):
        return str(localized_number(f"{value:f}"))
    return display(value)


def _first_of(
    first: Decimal | date | None, second: Decimal | date | None, text: str
) -> CorrectedValue:
    value = first if first is not None else second
    return text if value is None else value


EditRecord = tuple[int, int, str, str]
"""Edit as plain data: row, column, kind of the value and its text."""


class KeptPart(TypedDict):
    """Kept part of one sheet: its edits, and its rows that are set aside."""

    edits: list[EditRecord]
    set_aside: list[int]


_Places = Mapping[int, list[int]]
"""Rows of cells by their columns."""


@dataclass(frozen=True, slots=True)
class _Step:
    """Cells that were edited at once, and what they became; what they were by column, what the
    sheet's XML said of them, and which were edited before."""

    places: _Places
    values: Mapping[CellPosition, CorrectedValue]
    before: Mapping[int, CellColumn]
    errors: Mapping[CellPosition, str]
    scaled: Mapping[CellPosition, float]
    without_result: Collection[CellPosition]
    edits: Mapping[CellPosition, CorrectedValue]


class CellEdits:
    """Edits of one sheet, in steps that can be taken back. Rows are Excel's numbers, columns count
    from zero."""

    def __init__(self, cells: SheetCells) -> None:
        self._cells = cells
        self.height = cells.height
        """Rows of the original, down to the last one that is filled."""
        self._undone: list[_Step] = []
        self._done: list[_Step] = []
        self.values: dict[CellPosition, CorrectedValue] = {}
        """The cells that differ from the original's, with their new contents."""

    def make(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Put values into cells, as one step; cells below the last row make new rows."""
        lowest = max((row for row, _ in values), default=0)
        for column in self._cells.columns:
            column.pad_to(lowest)
        step = self._step_of(values)
        self._write(step)
        self._done.append(step)
        self._undone.clear()

    def undo(self) -> list[CellPosition]:
        """Take the last step back; return its cells, none where there is no step."""
        return _moved(self._done, self._undone, self._restore)

    def redo(self) -> list[CellPosition]:
        """Make the last step again that was taken back; return its cells."""
        return _moved(self._undone, self._done, self._write)

    @property
    def new_rows(self) -> range:
        """Rows below the original's last one, down to the last that was edited."""
        return range(self.height + 1, max((row for row, _ in self.values), default=0) + 1)

    def records(self) -> list[EditRecord]:
        """Return the edits as plain data, to be kept."""
        return [(*place, *_stated(value)) for place, value in self.values.items()]

    def _step_of(self, values: Mapping[CellPosition, CorrectedValue]) -> _Step:
        """Return the step that gives cells their values; nothing is written yet."""
        raw, places = self._cells.raw, defaultdict[int, list[int]](list)
        for row, column in values:
            places[column].append(row)
        return _Step(
            places,
            values,
            {
                column: self._column(column).select([row - 1 for row in rows])
                for column, rows in places.items()
            },
            {place: raw.errors[place] for place in values if place in raw.errors},
            {place: raw.scaled[place] for place in values if place in raw.scaled},
            raw.without_result.intersection(values),
            {place: self.values[place] for place in values if place in self.values},
        )

    def _write(self, step: _Step) -> None:
        raw = self._cells.raw
        for column, rows in step.places.items():
            values = [step.values[row, column] for row in rows]
            contents = [float(it) if isinstance(it, Decimal) else it for it in values]
            self._column(column).replace([row - 1 for row in rows], CellEncoder().encode(contents))
        for place in step.errors:
            del raw.errors[place]
        for place in step.scaled:
            del raw.scaled[place]
        raw.without_result.difference_update(step.without_result)
        self.values.update(step.values)

    def _restore(self, step: _Step) -> None:
        raw = self._cells.raw
        for column, rows in step.places.items():
            self._column(column).replace([row - 1 for row in rows], step.before[column])
        raw.errors.update(step.errors)
        raw.scaled.update(step.scaled)
        raw.without_result.update(step.without_result)
        for place in step.values:
            del self.values[place]
        self.values.update(step.edits)

    def _column(self, place: int) -> CellColumn:
        return self._cells.columns[place - self._cells.first_column]


def _moved(
    taken: list[_Step], given: list[_Step], change: Callable[[_Step], None]
) -> list[CellPosition]:
    """Change cells by the last step that was taken, and give it to the others; return its cells."""
    if not taken:
        return []
    given.append(taken.pop())
    change(given[-1])
    return list(given[-1].values)


@dataclass(frozen=True, slots=True)
class _SheetStep:
    """Step in a sheet: cells that were edited at once, or rows that were set aside."""

    sheet: str
    aside: frozenset[int] = frozenset()


class WorkbookEdits:
    """Edits of the sheets of a workbook, and rows set aside in them as no records, in steps that
    are taken back across the sheets."""

    def __init__(self, sheet_named: Callable[[str], SheetCells]) -> None:
        self._sheet_named = sheet_named
        self._done: list[_SheetStep] = []
        self._undone: list[_SheetStep] = []
        self.by_sheet: dict[str, CellEdits] = {}
        self.aside: dict[str, set[int]] = {}

    @property
    def count(self) -> int:
        """Number of cells that differ from the original's."""
        return sum(len(edits.values) for edits in self.by_sheet.values())

    def of(self, sheet: str) -> CellEdits:
        """Return the edits of a sheet."""
        if sheet not in self.by_sheet:
            self.by_sheet[sheet] = CellEdits(self._sheet_named(sheet))
        return self.by_sheet[sheet]

    def make(self, sheet: str, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Put values into cells of a sheet, as one step."""
        self.of(sheet).make(values)
        self._done.append(_SheetStep(sheet))
        self._undone.clear()

    def put_aside(self, sheet: str, rows: Iterable[int]) -> None:
        """Set rows of a sheet aside, as one step."""
        known = self.aside.setdefault(sheet, set())
        new = frozenset(rows) - known
        if new:
            known |= new
            self._done.append(_SheetStep(sheet, new))
            self._undone.clear()

    def kept_parts(self) -> dict[str, KeptPart]:
        """Return the edits by sheet as plain data, to be kept."""
        return {
            name: {
                "edits": self.of(name).records(),
                "set_aside": sorted(self.aside.get(name, ())),
            }
            for name in {*self.by_sheet, *self.aside}
        }

    def repeat(self, sheet: str, records: Sequence[EditRecord]) -> list[CellPosition]:
        """Make the edits of a sheet that were kept, as one step; return its cells."""
        values = {(row, column): _value(kind, text) for row, column, kind, text in records}
        if values:
            self.make(sheet, values)
        return list(values)

    def undo(self) -> tuple[str, list[CellPosition]] | None:
        """Take the last step back; return its sheet, and its cells where it edited any. None is
        returned where there is no step."""
        return self._move(self._done, self._undone, CellEdits.undo)

    def redo(self) -> tuple[str, list[CellPosition]] | None:
        """Make the last step again that was taken back; return as ``undo`` does."""
        return self._move(self._undone, self._done, CellEdits.redo)

    def _move(
        self,
        taken: list[_SheetStep],
        given: list[_SheetStep],
        change: Callable[[CellEdits], list[CellPosition]],
    ) -> tuple[str, list[CellPosition]] | None:
        if not taken:
            return None
        step = taken.pop()
        given.append(step)
        if step.aside:
            # Rows that the step has set aside are so no more, or are so again.
            self.aside[step.sheet] ^= step.aside
            return step.sheet, []
        return step.sheet, change(self.of(step.sheet))


def _stated(value: CorrectedValue) -> tuple[str, str]:
    if isinstance(value, Decimal):
        return "number", str(value)
    return ("date", value.isoformat()) if isinstance(value, date) else ("text", value)


def _value(kind: str, text: str) -> CorrectedValue:
    if kind == "number":
        return Decimal(text)
    return date.fromisoformat(text) if kind == "date" else text
