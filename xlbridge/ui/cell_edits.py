"""Edits of a workbook's cells in memory, with undo and redo, and their form for storage.

Also converts between the values of cells and the texts that are shown and typed.
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


def displayed_text(cells: SheetCells, position: CellPosition) -> str:
    """Return a cell's content as Excel shows it in the general format."""
    if position in cells.raw.errors:
        return cells.raw.errors[position]
    value = cells.columns[position[1] - cells.first_column].value(position[0] - 1)
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return display(value.date())
    if isinstance(value, bool) and active_language() != "pt-BR":
        return str(value).upper()
    if isinstance(value, float):
        return str(localized_number(display(value)))
    return display(value)


def is_computed(cells: SheetCells, position: CellPosition) -> bool:
    """Return whether a cell's value is computed by a formula."""
    runs = cells.raw.layout.formulas.get(position[1], ())
    return any(first <= position[0] <= last for first, last in runs)


def typed_value(column: Column | None, text: str) -> CorrectedValue:
    """Return the value of a text typed into a column, as Excel would convert it.

    Numbers are parsed by the page's language, dates with the day first. Anything else remains text,
    and gets its finding.
    """
    text = text.strip()
    if column is None or not text:
        return text
    if column.kind.is_number and (number := number_meanings(text)) is not None:
        native, foreign = number.native, number.foreign
        first, second = (native, foreign) if active_language() == "pt-BR" else (foreign, native)
        return _first_given(first, second, text)
    is_day = column.kind is Kind.DATE and ":" not in text
    if is_day and (day := date_meanings(text)) is not None:
        return _first_given(day.native, day.foreign, text)
    return text


def value_text(value: CorrectedValue) -> str:
    """Return a value as the page's language writes it."""
    if isinstance(value, Decimal):
        return str(localized_number(f"{value:f}"))
    return display(value)


def _first_given(
    first: Decimal | date | None, second: Decimal | date | None, text: str
) -> CorrectedValue:
    value = first if first is not None else second
    return text if value is None else value


EditRecord = tuple[int, int, str, str]
"""Edit for storage: row, column, kind of the value and its text."""


class StoredEdits(TypedDict):
    """Edits of one sheet for storage, and its rows that are set aside."""

    edits: list[EditRecord]
    set_aside: list[int]


@dataclass(frozen=True, slots=True)
class _Step:
    """Cells edited together, and their new values.

    ``rows`` are the rows of the cells by column. The others are the previous state: ``before`` the
    contents by column; ``errors``, ``scaled`` and ``without_result`` details of the sheet's XML;
    ``edits`` earlier edits of the same cells.
    """

    rows: Mapping[int, list[int]]
    values: Mapping[CellPosition, CorrectedValue]
    before: Mapping[int, CellColumn]
    errors: Mapping[CellPosition, str]
    scaled: Mapping[CellPosition, float]
    without_result: Collection[CellPosition]
    edits: Mapping[CellPosition, CorrectedValue]


class CellEdits:
    """Edits of one sheet, with undo. Rows are Excel's numbers, columns count from zero."""

    def __init__(self, cells: SheetCells) -> None:
        self._cells = cells
        self.height = cells.height
        """Number of rows of the original, up to the last filled one."""
        self._undone: list[_Step] = []
        self._done: list[_Step] = []
        self.values: dict[CellPosition, CorrectedValue] = {}
        """Cells that differ from the original, with their new values."""

    def edit(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Write values into cells as one step; cells below the last row create rows."""
        lowest = max((row for row, _ in values), default=0)
        for column in self._cells.columns:
            column.pad_to(lowest)
        step = self._prepare_step(values)
        self._write(step)
        self._done.append(step)
        self._undone.clear()

    def undo(self) -> list[CellPosition]:
        """Undo the last step; return its cells, none if there is no step."""
        return _move_step(self._done, self._undone, self._restore)

    def redo(self) -> list[CellPosition]:
        """Redo the step undone last; return its cells, none if there is no step."""
        return _move_step(self._undone, self._done, self._write)

    @property
    def new_rows(self) -> range:
        """Rows added below the last one of the original."""
        return range(self.height + 1, max((row for row, _ in self.values), default=0) + 1)

    def to_json(self) -> list[EditRecord]:
        """Return the edits for storage."""
        return [(*position, *_value_record(value)) for position, value in self.values.items()]

    def _prepare_step(self, values: Mapping[CellPosition, CorrectedValue]) -> _Step:
        raw, rows_by_column = self._cells.raw, defaultdict[int, list[int]](list)
        for row, column in values:
            rows_by_column[column].append(row)
        return _Step(
            rows_by_column,
            values,
            {
                column: self._column(column).select([row - 1 for row in rows])
                for column, rows in rows_by_column.items()
            },
            {position: raw.errors[position] for position in values if position in raw.errors},
            {position: raw.scaled[position] for position in values if position in raw.scaled},
            raw.without_result.intersection(values),
            {position: self.values[position] for position in values if position in self.values},
        )

    def _write(self, step: _Step) -> None:
        raw = self._cells.raw
        for column, rows in step.rows.items():
            values = [step.values[row, column] for row in rows]
            contents = [float(v) if isinstance(v, Decimal) else v for v in values]
            self._column(column).replace([row - 1 for row in rows], CellEncoder().encode(contents))
        for position in step.errors:
            del raw.errors[position]
        for position in step.scaled:
            del raw.scaled[position]
        raw.without_result.difference_update(step.without_result)
        self.values.update(step.values)

    def _restore(self, step: _Step) -> None:
        raw = self._cells.raw
        for column, rows in step.rows.items():
            self._column(column).replace([row - 1 for row in rows], step.before[column])
        raw.errors.update(step.errors)
        raw.scaled.update(step.scaled)
        raw.without_result.update(step.without_result)
        for position in step.values:
            del self.values[position]
        self.values.update(step.edits)

    def _column(self, column: int) -> CellColumn:
        return self._cells.columns[column - self._cells.first_column]


def _move_step(
    source: list[_Step], target: list[_Step], apply: Callable[[_Step], None]
) -> list[CellPosition]:
    """Apply the last step of ``source``, move it to ``target``, and return its cells."""
    if not source:
        return []
    step = source.pop()
    target.append(step)
    apply(step)
    return list(step.values)


@dataclass(frozen=True, slots=True)
class _SheetStep:
    """Step in a sheet: an edit of cells, or rows that were set aside."""

    sheet: str
    aside: frozenset[int] = frozenset()


class WorkbookEdits:
    """Edits of all sheets of a workbook, and rows set aside as non-records, with undo."""

    def __init__(self, sheet_cells: Callable[[str], SheetCells]) -> None:
        self._sheet_cells = sheet_cells
        self._done: list[_SheetStep] = []
        self._undone: list[_SheetStep] = []
        self.by_sheet: dict[str, CellEdits] = {}
        self.aside: dict[str, set[int]] = {}

    @property
    def count(self) -> int:
        """Number of cells that differ from the original."""
        return sum(len(edits.values) for edits in self.by_sheet.values())

    def of(self, sheet: str) -> CellEdits:
        """Return the edits of a sheet."""
        if sheet not in self.by_sheet:
            self.by_sheet[sheet] = CellEdits(self._sheet_cells(sheet))
        return self.by_sheet[sheet]

    def edit(self, sheet: str, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Write values into cells of a sheet as one step."""
        self.of(sheet).edit(values)
        self._done.append(_SheetStep(sheet))
        self._undone.clear()

    def set_aside_rows(self, sheet: str, rows: Iterable[int]) -> None:
        """Set rows of a sheet aside as one step."""
        known = self.aside.setdefault(sheet, set())
        new = frozenset(rows) - known
        if new:
            known |= new
            self._done.append(_SheetStep(sheet, new))
            self._undone.clear()

    def to_json(self) -> dict[str, StoredEdits]:
        """Return the edits by sheet for storage."""
        return {
            name: {
                "edits": self.of(name).to_json(),
                "set_aside": sorted(self.aside.get(name, ())),
            }
            for name in {*self.by_sheet, *self.aside}
        }

    def load(self, sheet: str, records: Sequence[EditRecord]) -> list[CellPosition]:
        """Restore stored edits of a sheet as one step; return its cells."""
        values = {(row, column): _value(kind, text) for row, column, kind, text in records}
        if values:
            self.edit(sheet, values)
        return list(values)

    def undo(self) -> tuple[str, list[CellPosition]] | None:
        """Undo the last step; return its sheet and edited cells, None if there is no step."""
        return self._move(self._done, self._undone, CellEdits.undo)

    def redo(self) -> tuple[str, list[CellPosition]] | None:
        """Redo the step undone last; return what ``undo`` returns."""
        return self._move(self._undone, self._done, CellEdits.redo)

    def _move(
        self,
        source: list[_SheetStep],
        target: list[_SheetStep],
        apply: Callable[[CellEdits], list[CellPosition]],
    ) -> tuple[str, list[CellPosition]] | None:
        if not source:
            return None
        step = source.pop()
        target.append(step)
        if step.aside:
            # Undo and redo both toggle these rows.
            self.aside[step.sheet] ^= step.aside
            return step.sheet, []
        return step.sheet, apply(self.of(step.sheet))


def _value_record(value: CorrectedValue) -> tuple[str, str]:
    if isinstance(value, Decimal):
        return "number", str(value)
    return ("date", value.isoformat()) if isinstance(value, date) else ("text", value)


def _value(kind: str, text: str) -> CorrectedValue:
    if kind == "number":
        return Decimal(text)
    return date.fromisoformat(text) if kind == "date" else text
