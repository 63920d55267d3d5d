"""The data rows of a sheet as typed columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.resources.column import Column
from xlbridge.resources.resource import Resource
from xlbridge.validation.cells.cell_problems import CellProblems, Positions
from xlbridge.validation.cells.cell_types import Cells
from xlbridge.validation.cells.coercion import coerce
from xlbridge.validation.cells.error_words import error_words
from xlbridge.validation.headers.header import Header
from xlbridge.validation.headers.repeated_headers import repeated_headers
from xlbridge.validation.noted_cells import FormatsOf, NotedCells, telling_formats
from xlbridge.validation.reading import Reading
from xlbridge.workbook.reading.cells import CellColumn, CellKind, SheetCells


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
    formats_of: FormatsOf = lambda _, __: {},
) -> TypedRows:
    """Type the cells below the header, column by column.

    A column of the resource that the sheet lacks is there, with no values.
    """
    formats = telling_formats(resource, header, cells, formats_of)
    rows = _data_rows(cells, header.row)
    numbers = np.array(rows, dtype=np.int64)
    headers = np.searchsorted(numbers, repeated_headers(header, cells))
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
            filled.kinds[headers] = CellKind.EMPTY
            arrays[column.name], found = _typed(column, filled, cells.columns[place], reading)
            noted = NotedCells(column, cells, place, rows, found)
            noted.note_raw()
            noted.note_scaled()
            noted.note_shown(formats)
            problems[column.name] = found
    _note_headers(header, headers, problems)
    frame = pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False)
    return _without_blank_rows(TypedRows(frame, rows, problems))


def _typed(
    column: Column, filled: Cells, own: CellColumn, reading: Reading
) -> tuple[Any, CellProblems]:
    """Return the values of a column, of whose cells the words for errors have none."""
    errors = list(filled.set_aside(error_words(own)))
    values, found = coerce(column, filled, reading)
    for position, word in errors:
        found.add(position, "cell-error", {"error": word})
    return values, found


def _note_headers(
    header: Header, positions: Positions, problems: Mapping[str, CellProblems]
) -> None:
    """Say once of each row that repeats the header that it does; no rule judges its cells."""
    for found in problems.values():
        found.failed[positions] = True
    if len(positions):
        first = min(header.columns, key=lambda name: header.columns[name])
        problems[first].add_all(positions, "row-header-again")


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
