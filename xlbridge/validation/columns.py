"""The data rows of a sheet as typed columns."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.i18n import numeral
from xlbridge.resources.column import Column
from xlbridge.resources.resource import Resource
from xlbridge.validation.cell_problems import CellProblems
from xlbridge.validation.cell_types import Cells
from xlbridge.validation.coercion import coerce
from xlbridge.validation.display import display
from xlbridge.validation.error_words import error_words
from xlbridge.validation.header import Header
from xlbridge.validation.reading import Reading
from xlbridge.workbook.cells import SheetCells
from xlbridge.workbook.raw_sheet import CellPlace


@dataclass(frozen=True, slots=True)
class TypedRows:
    """The rows below the header that hold anything.

    ``frame`` has one typed column for each of the resource's and a RangeIndex; ``rows`` gives
    Excel's number of each of its rows; ``problems`` has an entry for each column.
    """

    frame: pd.DataFrame
    rows: list[int]
    problems: Mapping[str, CellProblems]


OnColumn = Callable[[str, int, int, int], None]
"""Told each column before it is typed: its name, its place, of how many, and the rows."""


def typed_rows(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    reading: Reading,
    on_column: OnColumn = lambda *_: None,
) -> TypedRows:
    """Type the cells below the header, column by column.

    A column of the resource that the sheet lacks is there, with no values.
    """
    rows = _data_rows(cells, header.row)
    numbers = np.array(rows, dtype=np.int64)
    arrays, problems = {}, {}
    for number, column in enumerate(resource.columns, start=1):
        on_column(column.name, number, len(resource.columns), len(rows))
        place = header.columns.get(column.name)
        if place is None:
            arrays[column.name] = pd.Series(
                index=pd.RangeIndex(len(rows)), dtype=column.dtype
            ).array
            problems[column.name] = CellProblems.none(len(rows))
        else:
            filled = Cells(cells.columns[place], numbers)
            errors = list(filled.set_aside(error_words(cells.columns[place])))
            arrays[column.name], found = coerce(column, filled, reading)
            for position, word in errors:
                found.add(position, "cell-error", {"error": word})
            _note_raw(cells, cells.first_column + place, rows, found)
            _note_shown(column, cells, place, rows, found)
            problems[column.name] = found
    frame = pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False)
    return _without_blank_rows(TypedRows(frame, rows, problems))


def _data_rows(cells: SheetCells, header_row: int) -> list[int]:
    """Return Excel's numbers of the rows below the header that are not empty.

    A row whose only content is an error or a formula without result looks empty to the reader.
    """
    filled = np.zeros(cells.height, dtype=bool)
    for column in cells.columns:
        filled |= np.frombuffer(column.kinds, dtype=bool)
    rows = np.flatnonzero(filled[header_row:]) + header_row + 1
    noted = {row for row, _ in (*cells.raw.errors, *cells.raw.unvalued) if row > header_row}
    found: list[int] = (np.union1d(rows, list(noted)) if noted else rows).tolist()
    return found


def _note_raw(cells: SheetCells, place: int, rows: list[int], problems: CellProblems) -> None:
    """Note the cells of a column that show an error or have a formula without result."""
    for position, error in _of_column(cells.raw.errors, place, rows):
        problems.add(position, "cell-error", {"error": error})
    for position, _ in _of_column(dict.fromkeys(cells.raw.unvalued), place, rows):
        if not problems.failed[position]:
            problems.add(position, "formula-no-value")


def _of_column(
    noted: Mapping[CellPlace, Any], place: int, rows: list[int]
) -> Iterator[tuple[int, Any]]:
    """Yield what was noted of the cells of a column: their position among ``rows``, and what."""
    of_row = {row: what for (row, column), what in noted.items() if column == place}
    for row in sorted(of_row):
        position = bisect_left(rows, row)
        if position < len(rows) and rows[position] == row:
            yield position, of_row[row]


def _note_shown(
    column: Column, cells: SheetCells, place: int, rows: list[int], problems: CellProblems
) -> None:
    """Note the numbers that the sheet shows as something else than they are."""
    at = cells.first_column + place
    percents = {} if column.kind.is_text else dict.fromkeys(cells.raw.percents)
    for position, _ in _of_column(percents, at, rows):
        value = _usable_number(cells, place, rows[position], problems, position)
        if value is not None:
            shown, stored = numeral(f"{value * 100:.10g}%"), numeral(display(value))
            details = {"shown": shown, "stored": stored}
            problems.add(position, "number-percent", details)
    padded = cells.raw.padded if column.kind.is_code else {}
    for position, width in _of_column(padded, at, rows):
        value = _usable_number(cells, place, rows[position], problems, position)
        if value is not None and len(display(value)) < width:
            problems.add(position, "code-leading-zeros", {"width": width, "proposal": ""})


def _usable_number(
    cells: SheetCells, place: int, row: int, problems: CellProblems, position: int
) -> float | None:
    value = cells.columns[place].value(row - 1)
    return value if isinstance(value, float) and not problems.failed[position] else None


def _without_blank_rows(typed: TypedRows) -> TypedRows:
    """Leave out the rows that hold only spaces, or only cells outside the resource's columns."""
    filled = np.zeros(len(typed.rows), dtype=bool)
    for name, problems in typed.problems.items():
        filled |= typed.frame[name].notna().to_numpy() | problems.failed
        if filled.all():
            return typed
    return TypedRows(
        frame=typed.frame[filled].reset_index(drop=True),
        rows=np.array(typed.rows)[filled].tolist(),
        problems={name: column.keep(filled) for name, column in typed.problems.items()},
    )
