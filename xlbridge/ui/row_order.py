"""Layout of a sheet on the page, the texts of its columns, and what is found, sorted and filtered.

The order of rows and what is hidden concern the page alone: files keep all rows in their order.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from xlbridge.resources import Column
from xlbridge.ui.cell_edits import displayed_text, shown_text, typed_value
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import SheetCells

Rows = npt.NDArray[np.intp]
"""Row numbers, as Excel counts them."""


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """Filter of the rows by a column: its text contains ``contains``, and is one of ``values``."""

    contains: str = ""
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Column by which rows are sorted."""

    column: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """Layout of a shown sheet: order and filters of its rows; columns that are hidden, widths in
    pixels, and how many of the first columns stay in view. Columns count from zero."""

    sort: SortOrder | None = None
    filters: Mapping[int, ColumnFilter] = field(default_factory=dict)
    hidden: tuple[int, ...] = ()
    widths: Mapping[int, int] = field(default_factory=dict)
    frozen: int = 0

    @property
    def columns(self) -> frozenset[int]:
        """Columns that the layout names."""
        sorted_by = [] if self.sort is None else [self.sort.column]
        return frozenset([*sorted_by, *self.filters, *self.hidden, *self.widths])

    @property
    def arranges(self) -> bool:
        """True if rows are sorted or filtered."""
        return self.sort is not None or bool(self.filters)


def read_layout(stored: Mapping[str, Any]) -> SheetLayout:
    """Return a layout from its JSON."""
    import msgspec

    return msgspec.convert(stored, SheetLayout, strict=False, str_keys=True)


@dataclass(frozen=True, slots=True)
class SoughtText:
    """Text to find: anywhere in a cell or as a ``whole`` one, upper and lower case alike; in one
    column, or in all if it is None."""

    text: str
    column: int | None = None
    whole: bool = False

    def replace(self, text: str, replacement: str) -> str:
        """Return a cell's text with the replacement."""
        if self.whole:
            return replacement if text.lower() == self.text.lower() else text
        return re.sub(re.escape(self.text), lambda _: replacement, text, flags=re.IGNORECASE)


class ColumnTexts:
    """Texts of a column as they are shown, each different value once, those of edited cells once
    more; rows below the last one are empty."""

    def __init__(self, cells: SheetCells, index: int, column: Column | None) -> None:
        source = cells.columns[index - cells.first_column]
        self._source, self._edits = source, source.edits
        self._height = len(source.kinds)
        self._column = column
        kind = None if column is None else column.kind
        numbers: dict[tuple[type, object], int] = {(str, ""): 0}
        codes = [
            numbers.setdefault((type(value), value), len(numbers))
            for value in source.values(range(self._height))
        ]
        self._codes = np.array([*codes, 0], np.int32)
        self._values: list[object] = [value for _, value in numbers]
        self._texts: list[str] = [shown_text(value, kind) for value in self._values]
        self._lowered = [text if text.islower() else text.lower() for text in self._texts]
        for row, at in cells.raw.errors:
            if at == index and row <= self._height:
                self._read(cells, (row, index))

    def follow(self, cells: SheetCells, index: int) -> bool:
        """Read the cells that were edited since; return whether these are the texts of a column."""
        source = cells.columns[index - cells.first_column]
        height = len(source.kinds)
        if source is not self._source or height < self._height:
            return False
        edited = {at + 1 for step in source.replaced[self._edits :] for at in step}
        self._codes = np.append(self._codes, np.zeros(height - self._height, np.int32))
        self._height, self._edits = height, source.edits
        for row in edited:
            self._read(cells, (row, index))
        return True

    def _read(self, cells: SheetCells, position: CellPosition) -> None:
        """Read the value and text of a cell anew."""
        kind = None if self._column is None else self._column.kind
        self._codes[position[0] - 1] = len(self._texts)
        text = displayed_text(cells, position, kind)
        is_error = position in cells.raw.errors
        self._values.append(text if is_error else self._source.value(position[0] - 1))
        self._texts.append(text)
        self._lowered.append(text.lower())

    def text(self, row: int) -> str:
        """Return the text of a row."""
        return self._texts[int(self._codes[min(row - 1, self._height)])]

    def find(self, sought: SoughtText) -> Rows:
        """Return the rows in whose text another one is found, an empty one in none."""
        text, texts = sought.text.lower(), self._lowered
        if not text:
            return np.zeros(0, np.intp)
        is_found = [it == text for it in texts] if sought.whole else [text in it for it in texts]
        return np.flatnonzero(np.array(is_found, np.bool_)[self._codes]) + 1

    def keeps(self, kept: ColumnFilter, rows: Sequence[int]) -> list[int]:
        """Return those of the rows that a filter keeps."""
        contained, values = kept.contains.lower(), kept.values
        is_kept = [contained in text for text in self._lowered]
        if values is not None:
            known = frozenset(values)
            is_kept = [it and text in known for it, text in zip(is_kept, self._texts, strict=True)]
        numbers = np.asarray(rows, np.intp)
        return list(numbers[np.array(is_kept, np.bool_)[self._codes_of(numbers)]].tolist())

    def sorted(self, rows: Sequence[int], *, descending: bool) -> list[int]:
        """Return rows by their values: numbers, dates, texts; empty ones last in both orders.

        Texts in a column of numbers or dates count as what they would be if they were typed.
        """
        keys = [_sort_key(value, self._column) for value in self._values]
        ranks = np.zeros(len(keys), np.intp)
        rank, before = 0, None
        for code in sorted(range(len(keys)), key=keys.__getitem__):
            rank += keys[code] != before
            ranks[code], before = rank, keys[code]
        if descending:
            ranks = -ranks
        ranks[[not text for text in self._texts]] = rank + 1
        numbers = np.asarray(rows, np.intp)
        order = np.argsort(ranks[self._codes_of(numbers)], kind="stable")
        return list(numbers[order].tolist())

    def in_order(self, texts: Iterable[str]) -> list[str]:
        """Return texts of the column in the order of ``sorted``."""
        values = dict(zip(self._texts, self._values, strict=True))
        return sorted(texts, key=lambda it: (not it, _sort_key(values[it], self._column)))

    def _codes_of(self, rows: Rows) -> Rows:
        return self._codes[np.minimum(rows - 1, self._height)].astype(np.intp)


def _sort_key(value: object, column: Column | None) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = typed_value(column, value)
    if isinstance(value, bool | str):
        # Numbers in texts are compared as numbers: NF-9 comes before NF-10.
        parts = re.split(r"(\d+)", shown_text(value).casefold())
        return 2, [int(part) if n % 2 else part for n, part in enumerate(parts)]
    if isinstance(value, int | float | Decimal):
        return 0, value
    if isinstance(value, datetime):
        return 1, value
    if isinstance(value, date):
        return 1, datetime.combine(value, time())
    return 2, [shown_text(value)]
