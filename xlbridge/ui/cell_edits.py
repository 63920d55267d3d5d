"""Edits of a workbook's cells in memory, with undo and redo, and their form for storage.

Also converts between the values of cells and the texts that are shown and typed.
"""

import re
from calendar import monthrange
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count, cycle
from typing import Any, NotRequired, TypedDict

from xlbridge.i18n import Text, active_language, localized_number
from xlbridge.report_forms import grouped_number
from xlbridge.resources import Column, Kind
from xlbridge.resources.findings import CorrectedValue
from xlbridge.validation.cells import date_meanings, display, number_meanings
from xlbridge.workbook import CellPosition, cell_address
from xlbridge.workbook.read import CellColumn, CellEncoder, SheetCells


def displayed_text(cells: SheetCells, position: CellPosition, kind: Kind | None = None) -> str:
    """Return a cell's content as Excel shows it in the general format, money with its cents and
    thousands; ``kind`` is that of its column."""
    return displayed_texts(cells, [position[0]], position[1], kind)[0]


def displayed_texts(
    cells: SheetCells, rows: Sequence[int], column: int, kind: Kind | None
) -> list[str]:
    """Return the contents of some rows of a column as ``displayed_text`` does."""
    errors = cells.raw.errors
    values = cells.columns[column - cells.first_column].values(row - 1 for row in rows)
    if not errors:
        return [shown_text(value, kind) for value in values]
    return [
        errors[row, column] if (row, column) in errors else shown_text(value, kind)
        for row, value in zip(rows, values, strict=True)
    ]


def shown_text(value: Any, kind: Kind | None = None) -> str:
    """Return a value as ``displayed_text`` shows it."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return display(value.date())
    if isinstance(value, bool) and active_language() != "pt-BR":
        return str(value).upper()
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    if is_number and kind is Kind.MONEY:
        amount = Decimal(display(value))
        if amount == round(amount, 2):
            return str(grouped_number(amount))
        return str(localized_number(f"{amount:f}"))
    text = display(value)
    return str(localized_number(text)) if "." in text and isinstance(value, float) else text


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


_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_MONTHS = 12


def is_series(seeds: Sequence[CorrectedValue]) -> bool:
    """Return whether values may be the beginning of one series: the second one is filled, of the
    same kind, and differs from a numbered text by the number alone."""
    first, last = seeds[0], seeds[-1]
    if isinstance(first, str) and isinstance(last, str):
        one, other = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(last)
        is_alike = one is None or (other is not None and one[1] == other[1])
        return last != "" and is_alike
    return type(first) is type(last)


def continue_series(seeds: Sequence[CorrectedValue]) -> Iterator[CorrectedValue]:
    """Yield what follows one value by steps of one, or two values by their difference: numbers,
    days, texts with a number at their end; days of two months by months, the last of a month as
    such. Two equal values, and other texts, are repeated."""
    first, last = seeds[0], seeds[-1]
    if len(seeds) > 1 and first == last:
        yield from cycle(seeds)
    if isinstance(first, Decimal) and isinstance(last, Decimal):
        step = last - first or Decimal(1)
        yield from (last + step * n for n in count(1))
    if isinstance(first, date) and isinstance(last, date):
        yield from _continue_days(first, last)
    match = _NUMBERED.fullmatch(last) if isinstance(last, str) else None
    if match is None:
        yield from cycle(seeds)
        return
    stem, digits = match.groups()
    before = _NUMBERED.fullmatch(first) if isinstance(first, str) else None
    number = int(digits)
    by = 1 if before is None else number - int(before[2]) or 1
    yield from (f"{stem}{number + by * n:0{len(digits)}}" for n in count(1))


def _continue_days(first: date, last: date) -> Iterator[date]:
    months = (last.year - first.year) * _MONTHS + last.month - first.month
    ends = _is_month_end(first) and _is_month_end(last)
    if not months or not (ends or first.day == last.day):
        days = last - first or timedelta(1)
        yield from (last + days * n for n in count(1))
    for n in count(1):
        year, month = divmod(last.year * _MONTHS + last.month - 1 + months * n, _MONTHS)
        longest = monthrange(year, month + 1)[1]
        yield date(year, month + 1, longest if ends else min(last.day, longest))


def _is_month_end(day: date) -> bool:
    return (day + timedelta(1)).day == 1


EditRecord = tuple[int, int, str, str]
"""Edit for storage: row, column, kind of the value and its text."""


class StoredEdits(TypedDict):
    """Edits of one sheet for storage, and its rows that are set aside, deleted and inserted."""

    edits: list[EditRecord]
    set_aside: list[int]
    deleted: NotRequired[list[int]]
    inserted: NotRequired[list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class _Step:
    """Cells of a sheet edited together, and their new values.

    ``rows`` are the rows of the cells by column. The others are the previous state: ``before`` the
    contents by column; ``errors``, ``scaled`` and ``without_result`` details of the sheet's XML;
    ``edits`` earlier edits of the same cells. ``deleted`` and ``inserted`` are the rows that the
    step deletes or inserts.
    """

    rows: Mapping[int, list[int]]
    values: Mapping[CellPosition, CorrectedValue]
    before: Mapping[int, CellColumn]
    errors: Mapping[CellPosition, str]
    scaled: Mapping[CellPosition, float]
    without_result: Collection[CellPosition]
    edits: Mapping[CellPosition, CorrectedValue]
    deleted: frozenset[int]
    inserted: Mapping[int, int]


class CellEdits:
    """Edits of one sheet. Rows are Excel's numbers, columns count from zero.

    Rows keep their numbers here, and in the copy that is sent: a deleted one is emptied and no
    longer shown, an inserted one follows the last row of the sheet and is shown elsewhere.
    """

    def __init__(self, cells: SheetCells) -> None:
        self._cells = cells
        self.height = cells.height
        """Number of rows of the original, up to the last filled one."""
        self.values: dict[CellPosition, CorrectedValue] = {}
        """Cells that differ from the original, with their new values."""
        self.deleted: set[int] = set()
        self.inserted: dict[int, int] = {}
        """Inserted rows, each with the row below which it is shown."""

    @property
    def new_rows(self) -> range:
        """Rows added below the last one of the original."""
        return range(self.height + 1, max((row for row, _ in self.values), default=0) + 1)

    @property
    def last_row(self) -> int:
        """The last row, including new ones."""
        return max(self.height, self.new_rows.stop - 1)

    def shown_rows(self, first: int) -> Sequence[int]:
        """Return the rows from ``first`` on in the order in which they are shown."""
        if not self.deleted and not self.inserted:
            return range(first, self.last_row + 1)
        return [row for row in self.order if row >= first and row not in self.deleted]

    @property
    def order(self) -> list[int]:
        """All rows, deleted ones too, in the order in which they are shown."""
        below = defaultdict[int, list[int]](list)
        for row, above in self.inserted.items():
            below[above].append(row)
        # The row inserted last is the nearest one.
        waiting = [row for row in range(self.last_row, -1, -1) if row not in self.inserted]
        ordered = []
        while waiting:
            row = waiting.pop()
            waiting += below.get(row, ())
            ordered.append(row)
        return ordered[1:]  # 0 stands for what is above the first row

    def changes(self, values: Mapping[CellPosition, str]) -> dict[CellPosition, str]:
        """Return the typed texts without those that empty an empty cell, except in new rows above
        others with a text, which are added without a gap."""
        last = self.last_row
        lowest = max((row for (row, _), text in values.items() if text), default=0)
        return {
            position: text
            for position, text in values.items()
            if text or last < position[0] < lowest or not self._is_empty(position)
        }

    def _is_empty(self, position: CellPosition) -> bool:
        """Return whether the sheet has a cell, and it is empty."""
        row, column = position
        if not 0 <= column - self._cells.first_column < len(self._cells.columns):
            return False
        return position not in self._cells.raw.errors and self._column(column).value(row - 1) == ""

    def edit(
        self,
        values: Mapping[CellPosition, CorrectedValue],
        deleted: Collection[int] = (),
        inserted: Mapping[int, int] | None = None,
    ) -> _Step:
        """Write values into cells as one step; cells below the last row create rows."""
        lowest = max((row for row, _ in values), default=0)
        for column in self._cells.columns:
            column.pad_to(lowest)
        raw, rows_by_column = self._cells.raw, defaultdict[int, list[int]](list)
        for row, index in values:
            rows_by_column[index].append(row)
        step = _Step(
            rows_by_column,
            values,
            {
                index: self._column(index).select([row - 1 for row in rows])
                for index, rows in rows_by_column.items()
            },
            {position: raw.errors[position] for position in values if position in raw.errors},
            {position: raw.scaled[position] for position in values if position in raw.scaled},
            raw.without_result.intersection(values),
            {position: self.values[position] for position in values if position in self.values},
            frozenset(deleted),
            inserted or {},
        )
        self.write(step)
        return step

    def write(self, step: _Step) -> None:
        """Write the values of a step."""
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
        self.deleted |= step.deleted
        self.inserted |= step.inserted

    def restore(self, step: _Step) -> None:
        """Restore the state before a step."""
        raw = self._cells.raw
        for column, rows in step.rows.items():
            self._column(column).replace([row - 1 for row in rows], step.before[column])
        raw.errors.update(step.errors)
        raw.scaled.update(step.scaled)
        raw.without_result.update(step.without_result)
        for position in step.values:
            del self.values[position]
        self.values.update(step.edits)
        self.deleted -= step.deleted
        for row in step.inserted:
            del self.inserted[row]

    def _column(self, column: int) -> CellColumn:
        return self._cells.columns[column - self._cells.first_column]


_SHOWN_ROWS = 5
_CELL_BACK = Text(pt="{cell} volta a “{value}”", en="{cell} becomes “{value}” again")
_CELL_EMPTY = Text(pt="{cell} volta a ficar vazia", en="{cell} becomes empty again")
_CELLS_BACK = Text(
    pt="{cell} volta a “{value}”, e mais {n} {n:célula|células}",
    en="{cell} becomes “{value}” again, and {n} more {n:cell|cells}",
)
_CELLS_EMPTY = Text(
    pt="{cell} volta a ficar vazia, e mais {n} {n:célula muda|células mudam}",
    en="{cell} becomes empty again, and {n} more {n:cell changes|cells change}",
)
_ROWS_BACK = Text(
    pt="{n:volta a linha|voltam as linhas} {rows}",
    en="{n:row|rows} {rows} {n:comes|come} back",
)
_ROWS_OUT = Text(
    pt="{n:linha|linhas} {rows}: {n:deixada|deixadas} de fora",
    en="{n:row|rows} {rows} set aside",
)
_ROWS_DELETED = Text(
    pt="{n:linha excluída|linhas excluídas}: {rows}", en="{n:row|rows} {rows} deleted"
)
_ROWS_INSERTED = Text(pt="{n:linha nova|linhas novas}: {rows}", en="new {n:row|rows} {rows}")
_INSERTED_OUT = Text(
    pt="{n:sai a linha nova|saem as linhas novas} {rows}",
    en="new {n:row|rows} {rows} {n:is|are} removed",
)


class WorkbookEdits:
    """Edits of all sheets of a workbook, and rows set aside as non-records, with undo.

    Each step belongs to a sheet: an edit of its cells, or the rows that were set aside.
    """

    def __init__(self, sheet_cells: Callable[[str], SheetCells]) -> None:
        self._sheet_cells = sheet_cells
        self._done: list[tuple[str, _Step | frozenset[int]]] = []
        self._undone: list[tuple[str, _Step | frozenset[int]]] = []
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

    def edit(
        self,
        sheet: str,
        values: Mapping[CellPosition, CorrectedValue],
        deleted: Collection[int] = (),
        inserted: Mapping[int, int] | None = None,
    ) -> None:
        """Write values into cells of a sheet as one step, which may delete or insert their rows; no
        values are no step."""
        if not values:
            return
        self._done.append((sheet, self.of(sheet).edit(values, deleted, inserted)))
        self._undone.clear()

    def set_aside_rows(self, sheet: str, rows: Iterable[int]) -> None:
        """Set rows of a sheet aside as one step."""
        known = self.aside.setdefault(sheet, set())
        new = frozenset(rows) - known
        if new:
            known |= new
            self._done.append((sheet, new))
            self._undone.clear()

    @property
    def next_undo(self) -> str:
        """Text of what ``undo`` restores, empty if there is no step."""
        return "" if not self._done else self._step_text(*self._done[-1], restored=True)

    @property
    def next_redo(self) -> str:
        """Text of what ``redo`` writes again, empty if there is no step."""
        return "" if not self._undone else self._step_text(*self._undone[-1], restored=False)

    def _step_text(self, sheet: str, step: _Step | frozenset[int], *, restored: bool) -> str:
        if isinstance(step, frozenset):
            return _rows_text(_ROWS_BACK if restored else _ROWS_OUT, step)
        if step.deleted:
            return _rows_text(_ROWS_BACK if restored else _ROWS_DELETED, step.deleted)
        if step.inserted:
            return _rows_text(_INSERTED_OUT if restored else _ROWS_INSERTED, step.inserted)
        position = min(step.values)
        if restored:
            row, column = position
            at = step.rows[column].index(row)
            value = step.errors.get(position) or shown_text(step.before[column].value(at))
        else:
            value = value_text(step.values[position])
        cell, more = cell_address(*position), len(step.values) - 1
        cell = cell if len(self.by_sheet) == 1 else f"{sheet}!{cell}"
        texts = (_CELLS_BACK, _CELL_BACK) if value else (_CELLS_EMPTY, _CELL_EMPTY)
        return str(texts[not more].format(cell=cell, value=value, n=more))

    def undo(self) -> tuple[str, list[CellPosition]] | None:
        """Undo the last step; return its sheet and edited cells, None if there is no step."""
        return self._move(self._done, self._undone, CellEdits.restore)

    def redo(self) -> tuple[str, list[CellPosition]] | None:
        """Redo the step undone last; return what ``undo`` returns."""
        return self._move(self._undone, self._done, CellEdits.write)

    def _move(
        self,
        source: list[tuple[str, _Step | frozenset[int]]],
        target: list[tuple[str, _Step | frozenset[int]]],
        apply: Callable[[CellEdits, _Step], None],
    ) -> tuple[str, list[CellPosition]] | None:
        if not source:
            return None
        sheet, step = source.pop()
        target.append((sheet, step))
        if isinstance(step, frozenset):
            # Undo and redo both toggle these rows.
            self.aside[sheet] ^= step
            return sheet, []
        apply(self.of(sheet), step)
        return sheet, list(step.values)

    def to_json(self) -> dict[str, StoredEdits]:
        """Return the edits by sheet for storage."""
        stored: dict[str, StoredEdits] = {}
        for name in {*self.by_sheet, *self.aside}:
            records: list[EditRecord] = []
            for position, value in self.of(name).values.items():
                if isinstance(value, Decimal):
                    records.append((*position, "number", str(value)))
                elif isinstance(value, date):
                    records.append((*position, "date", value.isoformat()))
                else:
                    records.append((*position, "text", value))
            stored[name] = {
                "edits": records,
                "set_aside": sorted(self.aside.get(name, ())),
                "deleted": sorted(self.of(name).deleted),
                "inserted": list(self.of(name).inserted.items()),
            }
        return stored

    def load(self, sheet: str, stored: StoredEdits) -> list[CellPosition]:
        """Restore stored edits of a sheet as one step; return its cells."""
        parsers: Mapping[str, Callable[[str], CorrectedValue]] = {
            "number": Decimal,
            "date": date.fromisoformat,
            "text": str,
        }
        values = {(row, column): parsers[kind](text) for row, column, kind, text in stored["edits"]}
        self.edit(sheet, values, stored.get("deleted", ()), dict(stored.get("inserted", ())))
        self.aside[sheet] = set(stored["set_aside"])
        return list(values)


def _rows_text(text: Text, rows: Collection[int]) -> str:
    listed = [str(row) for row in sorted(rows)[:_SHOWN_ROWS]]
    shown = ", ".join([*listed, "…"] if len(rows) > len(listed) else listed)
    return str(text.format(n=len(rows), rows=shown))
