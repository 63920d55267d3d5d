"""Rows of the shown sheet: views, their order and filters, what is found and filled in them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.findings import CorrectedValue, Severity
from xlbridge.ui.cell_edits import (
    continue_series,
    displayed_texts,
    is_computed,
    is_series,
    typed_value,
)
from xlbridge.ui.row_order import ColumnTexts, Rows, SoughtText
from xlbridge.ui.row_remarks import PLANNED, REFUSED
from xlbridge.ui.sheet_editor import MAX_ROWS, SheetEditor
from xlbridge.workbook import CellPosition

ALL, WRONG = "all", "wrong"
_MAX_ROWS = 500
_OTHER_ROWS = Text(
    pt="As linhas desta visualização mudaram; selecione-as de novo.",
    en="The rows of this view have changed; select them again.",
)


@dataclass(frozen=True, slots=True)
class CellBlock:
    """Cells of a view: those of the rows from one to another, in its order, and of some columns."""

    view: str
    first: int
    last: int
    left: int
    right: int


class SheetRows:
    """Rows of the sheet that an editor shows, as the page asks for them."""

    def __init__(self, editor: SheetEditor) -> None:
        self.editor = editor
        self._views: dict[tuple[str, str], Sequence[int]] = {}
        self._renewals = editor.renewals
        self._texts: dict[tuple[str, int], ColumnTexts] = {}

    def view(self, name: str, *, renew: bool = False) -> Sequence[int]:
        """Return the row numbers of a view: all, those with problems, or those of a rule; sorted
        and filtered as the sheet's layout says.

        A view remains the same until it is renewed, so that rows do not vanish while they are
        corrected. The view of all rows ends with an empty one for a new row, unless it is sorted or
        filtered.
        """
        if self._renewals != self.editor.renewals:
            self._renewals = self.editor.renewals
            self._views.clear()
        key = self.editor.findings_view.sheet.sheet, name
        if name == ALL and not self.editor.layout.arranges:
            rows, last = self._all_rows, self.editor.edits.last_row
            if last >= MAX_ROWS:
                return rows
            return range(rows.start, last + 2) if isinstance(rows, range) else [*rows, last + 1]
        if renew or key not in self._views:
            rows = self._all_rows if name == ALL else self._rows_of(name)
            layout = self.editor.layout
            for column, kept in layout.filters.items():
                rows = self.texts(column).keeps(kept, rows)
            if layout.sort is not None:
                texts = self.texts(layout.sort.column)
                rows = texts.sorted(rows, descending=layout.sort.descending)
            self._views[key] = rows
        edits, rows = self.editor.edits, self._views[key]
        if edits.deleted or edits.last_row > edits.height:
            return [row for row in rows if row not in edits.deleted and row <= edits.last_row]
        return rows

    @property
    def _header(self) -> int:
        return self.editor.findings_view.sheet.header_row or 0

    @property
    def _all_rows(self) -> Sequence[int]:
        return self.editor.edits.shown_rows(self._header + 1)

    def _rows_of(self, name: str) -> list[int]:
        editor = self.editor
        if name.startswith(PLANNED):
            planned = editor.remarks.planned if editor.shows_chosen else {}
            # The view of an action has the rows of all its reasons.
            return sorted(
                row for row, it in planned.items() if f"{it.view}:".startswith(f"{name}:")
            )
        shown = editor.findings_view.sheet.sheet
        if name.startswith(REFUSED):
            return sorted({row for row, _ in editor.remarks.cells_of(shown, name)})
        rows = {
            row
            for row in editor.findings_view.rows(None if name == WRONG else name)
            if row > self._header
        }
        if name == WRONG:
            rows |= {row for row, _ in editor.remarks.refused(shown)}
        return sorted(rows)

    def window(
        self, query: Mapping[str, str], known_names: Callable[[str], Mapping[str, str]]
    ) -> dict[str, Any]:
        """Return some rows of a view for the page, with their number; names as for ``rows``."""
        start, count = int(query.get("start", 0)), int(query.get("count", 100))
        numbers = self.view(query.get("view", WRONG), renew=query.get("renew") == "1")
        shown = self.rows(numbers[start : start + min(count, _MAX_ROWS)], known_names)
        return {"total": len(numbers), "start": start, "rows": shown}

    def rows(
        self, numbers: Sequence[int], known_names: Callable[[str], Mapping[str, str]]
    ) -> list[dict[str, Any]]:
        """Return rows of the sheet: the texts and marks of their cells, and the names that codes
        stand for; ``known_names`` returns those of a registry."""
        editor = self.editor
        registries = [
            (n, known_names(registry))
            for n, index in enumerate(editor.column_indexes)
            if (registry := editor.registry(index)) is not None
        ]
        edited, set_aside = editor.edits.values, editor.set_aside
        columns = [
            displayed_texts(editor.cells, numbers, n, editor.kind(n)) for n in editor.column_indexes
        ]
        texts = dict(zip(numbers, map(list, zip(*columns, strict=True)), strict=True))
        marks = self._marks(numbers)
        return [
            {
                "row": row,
                "cells": cells,
                "names": {n: names[cells[n]] for n, names in registries if cells[n] in names},
                "marks": {} if row in set_aside else marks[row],
                "aside": row in set_aside,
                "edited": [
                    n for n, column in enumerate(editor.column_indexes) if (row, column) in edited
                ],
            }
            for row, cells in texts.items()
        ]

    def _marks(self, rows: Collection[int]) -> Mapping[int, Mapping[int, list[dict[str, Any]]]]:
        """Return the marks of the cells of rows, by the row and their index in it."""
        editor = self.editor
        marks = {row: defaultdict[int, list[dict[str, Any]]](list) for row in rows}
        first, shown = editor.column_indexes.start, editor.findings_view.sheet.sheet
        for (row, column), mark in editor.findings_view.marks(rows):
            marks[row][column - first].append(mark)
        planned = editor.validated.record_columns if editor.shows_chosen else {}
        for row, of_row in marks.items():
            remarks = [*editor.remarks.marks(shown, row)]
            if editor.shows_chosen:
                remarks += editor.remarks.planned_marks(row, planned, first)
            for column, mark in remarks:
                of_row[column - first].append(mark)
        return marks

    def next_error(self, row: int, column: int) -> CellPosition | None:
        """Return the next cell with an error or refusal, continuing from the top after the last.

        If there is none, return the next one with a warning.

        Source: the product brief, contract of the page.
        """
        shown = self.editor.findings_view.sheet.sheet
        refused = list(self.editor.remarks.refused(shown))
        for severity in (Severity.ERROR, Severity.WARNING):
            for after in ((row, column), (0, -1)):
                found = self.editor.findings_view.next_cell(severity, after)
                later = [
                    position
                    for position in (found, *refused)
                    if position is not None and position > after
                ]
                if later:
                    return min(later)
        return None

    def texts(self, column: int) -> ColumnTexts:
        """Return the texts of a column. Raises ``UsageError`` if the sheet does not have it."""
        cells = self.editor.cells
        if column not in self.editor.column_indexes:
            raise UsageError(_OTHER_ROWS)
        known = self._texts.get((cells.name, column))
        if known is None or not known.follow(cells, column):
            known = ColumnTexts(cells, column, self.editor.column_at(column))
            self._texts[cells.name, column] = known
        return known

    def values(self, column: int, contains: str) -> Counter[str]:
        """Count the values of a column that contain a text, in rows that other filters keep."""
        texts, layout = self.texts(column), self.editor.layout
        rows = self._all_rows
        for index, kept in layout.filters.items():
            if index != column:
                rows = self.texts(index).keeps(kept, rows)
        sought = contains.lower()
        counts = Counter(texts.text(row) for row in rows)
        return Counter({text: n for text, n in counts.items() if sought in text.lower()})

    def found(self, sought: SoughtText) -> dict[int, Rows]:
        """Return the rows in which a text is found, by column; deleted ones and the header not."""
        editor = self.editor
        columns = editor.column_indexes if sought.column is None else (sought.column,)
        deleted = list(editor.edits.deleted)
        found = {}
        for column in columns:
            rows = self.texts(column).find(sought)
            is_shown = rows > self._header
            if deleted:
                is_shown &= ~np.isin(rows, deleted)
            found[column] = rows[is_shown]
        return found

    def next_found(
        self, found: dict[int, Rows], view: str, after: CellPosition
    ) -> tuple[CellPosition, int | None] | None:
        """Return the next found cell after another one, with its position in a view; the first one
        after the last. Cells of the view's rows are found in its order, then all others."""
        numbers = np.asarray(self.view(view), np.intp)
        places: npt.NDArray[np.intp] = np.full(MAX_ROWS + 1, -1, np.intp)
        places[numbers] = np.arange(len(numbers))
        width = self.editor.column_indexes.stop
        keys = [(places[rows], column) for column, rows in found.items()]
        inside = np.concatenate([at[at >= 0] * width + column for at, column in keys])
        if not len(inside):
            others = [(int(rows[0]), column) for column, rows in found.items() if len(rows)]
            return (min(others), None) if others else None
        row, column = after
        current = int(places[row]) * width + column if 0 <= row <= MAX_ROWS else -1
        later = inside[inside > current]
        at, column = divmod(int((later if len(later) else inside).min()), width)
        return (int(numbers[at]), column), at

    def replacements(
        self, sought: SoughtText, replacement: str, only: CellPosition | None = None
    ) -> dict[CellPosition, tuple[str, CorrectedValue]]:
        """Return the old text and new value of each cell in which a text is replaced; computed
        cells keep theirs."""
        editor, changed = self.editor, dict[CellPosition, tuple[str, CorrectedValue]]()
        for column, rows in self.found(sought).items():
            target, texts = editor.column_at(column), self.texts(column)
            values: dict[str, CorrectedValue] = {}
            for row in rows.tolist() if only is None else [only[0]]:
                position, before = (row, column), texts.text(row)
                if only not in {None, position} or is_computed(editor.cells, position):
                    continue
                if before not in values:
                    after = sought.replace(before, replacement)
                    values[before] = typed_value(target, after) if after != before else before
                if values[before] != before:
                    changed[position] = before, values[before]
        return changed

    def edge(self, view: str, row: int, column: int, *, down: bool) -> int | None:
        """Return the position in a view of the end of the filled or empty cells from a row on, as
        Ctrl and an arrow go to; None if the view does not have the row."""
        numbers, texts = self.view(view), self.texts(column)
        if row not in numbers:
            return None
        at, step = numbers.index(row), 1 if down else -1
        end = len(numbers) - 1 if down else 0

        def is_filled(place: int) -> bool:
            return bool(texts.text(numbers[place]))

        if at != end and is_filled(at) and is_filled(at + step):
            while at != end and is_filled(at + step):
                at += step
            return at
        at += step * (at != end)
        while at != end and not is_filled(at):
            at += step
        return at

    def _block_rows(self, block: CellBlock) -> Sequence[int]:
        numbers = self.view(block.view)
        if block.first not in numbers or block.last not in numbers:
            raise UsageError(_OTHER_ROWS)
        return numbers[numbers.index(block.first) : numbers.index(block.last) + 1]

    def fill(self, block: CellBlock, *, as_series: bool) -> None:
        """Fill a block downwards with the values of its first row, or continue the first one or two
        of each column as a series; one step. Raises as ``SheetEditor.edit`` does."""
        rows, values = self._block_rows(block), dict[CellPosition, CorrectedValue]()
        for column in range(block.left, block.right + 1):
            texts, target = self.texts(column), self.editor.column_at(column)
            seeds = [typed_value(target, texts.text(row)) for row in rows[:2]]
            if not as_series or not is_series(seeds):
                seeds = seeds[:1]
            rest = rows[len(seeds) :]
            following: Iterator[CorrectedValue] = continue_series(seeds)
            new = (
                islice(following, len(rest)) if as_series and seeds[0] != "" else seeds * len(rest)
            )
            values |= {(row, column): value for row, value in zip(rest, new, strict=True)}
        self.editor.set_values(values)

    def insert(self, above: int | None, count: int) -> list[int]:
        """Insert empty rows, shown below another one or, if it is None, the header; return their
        numbers.

        Raises ``UsageError`` if the other one is not shown, or the sheet has no room.
        """
        if above is None:
            above = self._header
        elif above not in self._all_rows:
            raise UsageError(_OTHER_ROWS)
        last = self.editor.edits.last_row
        new = [last + n for n in range(1, count + 1)]
        first = self.editor.column_indexes.start
        places = dict(zip(new, [above, *new], strict=False))
        self.editor.set_values(dict.fromkeys(((row, first) for row in new), ""), (), places)
        for key, rows in self._views.items():
            if key[0] == self.editor.findings_view.sheet.sheet:
                at = rows.index(above) + 1 if above in rows else 0
                self._views[key] = [*rows[:at], *new, *rows[at:]]
        return new

    def delete(self, block: CellBlock) -> None:
        """Delete the rows of a block: their cells are emptied. Raises as ``SheetEditor.edit`` does,
        also for rows with formulas."""
        rows, columns = self._block_rows(block), self.editor.column_indexes
        last = self.editor.edits.last_row
        rows = [row for row in rows if row <= last]
        filled = [
            (row, column) for row in rows for column in columns if self.texts(column).text(row)
        ]
        first = [(row, columns.start) for row in rows]
        self.editor.set_values(dict.fromkeys([*first, *filled], ""), rows)
