"""The data rows of a sheet as typed columns, with the problems of each cell.

Problems also come from what the sheet shows instead of a value (``cells/displayed_cells.py``).
"""

from array import array
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import untranslated
from xlbridge.resources import Column, Kind, Resource
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.code_shapes import note_shapes
from xlbridge.validation.cells.coercion import type_cells, typed_column
from xlbridge.validation.cells.column_cells import CellProblems, ColumnCells, Positions
from xlbridge.validation.cells.displayed_cells import (
    DisplayedCells,
    FormatLookup,
    significant_formats,
)
from xlbridge.validation.headers.header_row import Header, repeated_headers
from xlbridge.validation.request import ColumnProgress, OnColumn
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellKind, SheetCells

_Result = TypeVar("_Result")
_FILLED = ("rows", "filled")


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Something found by a basis, in ``source``; ``version`` tells it from all found before it."""

    source: object
    basis: Hashable
    version: int
    found: Any


class ColumnMemo:
    """Memo of a sheet that is validated again after each edit of its cells.

    What was found in a column holds until one of its cells is replaced, what a rule found until one
    of the columns that it reads is; all of it is forgotten when the rows, the header, or how cells
    are read change.
    """

    def __init__(self) -> None:
        self._basis: tuple[object, ...] = ()
        self._remembered: dict[Hashable, _Remembered] = {}
        self._versions = count(1)
        self._formats: dict[tuple[frozenset[int], frozenset[int]], Any] = {}
        self._parts: dict[str, ColumnMemo] = {}

    def of_part(self, name: str) -> "ColumnMemo":
        """Return the memo of the sheet of a record's list, which is validated with this one."""
        return self._parts.setdefault(name, ColumnMemo())

    def begin(self, *basis: object) -> None:
        """Begin to validate by ``basis``; forget what was found by another."""
        if basis != self._basis:
            self._basis, self._remembered = basis, {}

    def result(
        self,
        topic: Hashable,
        basis: Hashable,
        find: Callable[[], _Result],
        source: object = None,
    ) -> _Result:
        """Return what ``find`` finds of a topic; found anew in another ``source``, or where
        ``basis`` is not equal to the last one."""
        known = self._remembered.get(topic)
        if known is None or known.source is not source or known.basis != basis:
            known = _Remembered(source, basis, next(self._versions), find())
            self._remembered[topic] = known
        found: _Result = known.found
        return found

    def version(self, topic: Hashable) -> int:
        """Return the version of what was found of a topic: another one where it was found anew."""
        return self._remembered[topic].version

    def formats_of(self, lookup: FormatLookup) -> FormatLookup:
        """Return a lookup that asks the file once: edits do not change it."""

        def find(styles: Mapping[int, str], places: Collection[int]) -> Mapping[CellPosition, str]:
            key = frozenset(styles), frozenset(places)
            if key not in self._formats:
                self._formats[key] = lookup(styles, places)
            found: Mapping[CellPosition, str] = self._formats[key]
            return found

        return find


@dataclass(frozen=True, slots=True)
class TypedRows:
    """The rows below the header that hold anything.

    ``frame`` has one typed column for each of the resource's and a RangeIndex; ``rows`` gives
    Excel's number of each of its rows; ``problems`` has an entry for each column;
    ``versions`` tells a column's values from those that it had when the sheet was validated before;
    ``absent`` are the columns that the sheet lacks and no mapping fills.
    """

    frame: pd.DataFrame
    rows: Sequence[int]
    problems: Mapping[str, CellProblems]
    versions: dict[str, Hashable]
    absent: set[str]


def type_rows(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    reading: ParseOptions,
    on_column: OnColumn = lambda *_: None,
    formats_of: FormatLookup = lambda _, __: {},
    memo: ColumnMemo | None = None,
) -> TypedRows:
    """Type the cells below the header, column by column.

    A column of the resource that the sheet lacks is there, with no values.
    """
    formats = significant_formats(resource, header, cells, formats_of)
    numbers = _data_rows(cells, header.row)
    rows = _numbers_of(numbers)
    headers = np.searchsorted(numbers, repeated_headers(header, cells))
    if memo is not None:
        basis = resource.name, header.row, header.columns, reading, rows, headers.tolist(), formats
        memo.begin(*basis)
    sheet = _RowsToType(header, cells, rows, numbers, headers, reading, formats)
    arrays, problems = {}, {}
    absent = resource.by_name.keys() - header.columns.keys()
    versions: dict[str, Hashable] = dict.fromkeys(resource.by_name, 0)
    for number, column in enumerate(resource.columns, start=1):
        on_column(ColumnProgress(column.name, number, len(resource.columns), len(rows)))
        place = header.columns.get(column.name)
        if place is None:
            problems[column.name] = CellProblems.none(len(rows))
        else:
            arrays[column.name], problems[column.name] = sheet.typed_again(column, place, memo)
            if memo is not None:
                versions[column.name] = memo.version(column.name)
    _note_repeated_headers(header, headers, problems)
    frame = _whole_frame(resource, arrays, len(rows))
    return _without_blank_rows(TypedRows(frame, rows, problems, versions, absent), memo)


def _whole_frame(resource: Resource, arrays: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a frame of all columns of a resource.

    Those that the sheet lacks share their memory: pandas copies one just before it changes it.
    """
    index = pd.RangeIndex(count)
    lacking = dict.fromkeys(one.dtype for one in resource.columns if one.name not in arrays)
    blank = [pd.Series(index=index, dtype=dtype).array for dtype in lacking]
    places = {name: at for at, name in enumerate(arrays)}
    blank_places = {dtype: at for at, dtype in enumerate(lacking, start=len(arrays))}
    distinct = pd.DataFrame(dict(enumerate([*arrays.values(), *blank])), index=index, copy=False)
    frame = distinct.iloc[
        :, [places[c.name] if c.name in places else blank_places[c.dtype] for c in resource.columns]
    ]
    frame.columns = pd.Index(resource.by_name)
    return frame


@dataclass(frozen=True, slots=True)
class _RowsToType:
    """Rows below a header: Excel's numbers, the positions of those that repeat the header, and how
    their cells are read."""

    header: Header
    cells: SheetCells
    rows: Sequence[int]
    numbers: npt.NDArray[np.int64]
    headers: Positions
    reading: ParseOptions
    formats: Mapping[CellPosition, str]

    def typed_again(
        self, column: Column, place: int, memo: ColumnMemo | None
    ) -> tuple[Any, CellProblems]:
        """Return what ``typed`` does, from the memo where there is one."""
        find = partial(self.typed, column, place)
        if memo is None:
            return find()
        own = self.cells.columns[place]
        values, found = memo.result(column.name, own.edits, find, own)
        # Rules of several cells add to them.
        return values, found.copy()

    def typed(self, column: Column, place: int) -> tuple[Any, CellProblems]:
        """Return the typed values of a column, and what is wrong with its cells."""
        own = self.cells.columns[place]
        filled = ColumnCells(own, self.numbers)
        filled.kinds[self.headers] = CellKind.EMPTY
        unusable = self.header.unusable.get(column.name, {})
        positions = np.searchsorted(self.numbers, list(unusable))
        filled.kinds[positions] = CellKind.EMPTY
        style = self.header.styles.get(column.name, self.reading.numbers)
        values, found = typed_column(column, filled, own, replace(self.reading, numbers=style))
        for position, cell in zip(positions.tolist(), unusable.values(), strict=True):
            found.add(position, cell.code, cell.details)
        if self.cells.raw.only_texts:
            # In such a file there is no other way to write them.
            found.drop("number-as-text", "date-as-text")
        DisplayedCells(column, self.cells, place, self.rows, found).note_all(self.formats)
        note_shapes(column, filled, found)
        return values, found


def type_numbers(
    header: Header, cells: SheetCells, rows: Sequence[int]
) -> tuple[pd.DataFrame, Mapping[str, CellProblems]]:
    """Type the columns of the system's own number, which no schema declares.

    ``rows`` are Excel's numbers of the data rows. Return the columns, and the problems of each.
    """
    arrays, problems = {}, {}
    for name, place in header.numbers.items():
        column = Column(
            name, Kind.INTEGER, required=False, title=untranslated(name), description=""
        )
        own = cells.columns[place]
        arrays[name], problems[name] = type_cells(column, own, rows, ParseOptions())
    return pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False), problems


def _note_repeated_headers(
    header: Header, positions: Positions, problems: Mapping[str, CellProblems]
) -> None:
    """Say once of each row that repeats the header that it does; no rule checks its cells."""
    for found in problems.values():
        found.failed[positions] = True
    if len(positions):
        first = min(header.columns, key=lambda name: header.columns[name])
        problems[first].add_all(positions, "row-header-again")


def _data_rows(cells: SheetCells, header_row: int) -> npt.NDArray[np.int64]:
    """Return Excel's numbers of the rows below the header that are not empty.

    A row whose only content is an error or a formula without result looks empty to the reader.
    """
    filled = np.zeros(cells.height, dtype=bool)
    for column in cells.columns:
        filled |= np.frombuffer(column.kinds, dtype=bool)
    rows = np.flatnonzero(filled[header_row:]) + header_row + 1
    noted = {row for row, _ in (*cells.raw.errors, *cells.raw.unvalued) if row > header_row}
    found: npt.NDArray[np.int64] = np.union1d(rows, list(noted)) if noted else rows
    return found


def _numbers_of(rows: npt.NDArray[np.int64]) -> Sequence[int]:
    """Return the numbers of rows in a tenth of the memory of a list."""
    return array("i", rows.astype(np.intc).tobytes())


def fill_constants(
    resource: Resource, header: Header, typed: TypedRows, not_records: Collection[int]
) -> None:
    """Give each record the values that a mapping states for columns which the sheet lacks.

    ``not_records`` are Excel's numbers of the rows that are none.
    """
    for name, value in header.constants.items():
        dtype: Any = resource.by_name[name].dtype
        values = [None if row in not_records else value for row in typed.rows]
        typed.frame[name] = pd.Series(values, index=typed.frame.index, dtype=dtype)
        typed.versions[name] = typed.versions[name], frozenset(not_records)
        typed.absent.discard(name)


def _without_blank_rows(typed: TypedRows, memo: ColumnMemo | None) -> TypedRows:
    """Leave out the rows that hold only spaces, or only cells outside the resource's columns."""
    filled = np.zeros(len(typed.rows), dtype=bool)
    for name, problems in typed.problems.items():
        filled |= typed.frame[name].notna().to_numpy() | problems.failed
        if filled.all():
            return typed
    left = 0
    if memo is not None:
        memo.result(_FILLED, filled.tobytes(), lambda: None)
        left = memo.version(_FILLED)
    return TypedRows(
        frame=typed.frame[filled].reset_index(drop=True),
        rows=_numbers_of(np.array(typed.rows)[filled]),
        problems={name: column.keep(filled) for name, column in typed.problems.items()},
        versions={name: (version, left) for name, version in typed.versions.items()},
        absent=typed.absent,
    )
