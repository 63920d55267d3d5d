"""Data rows of a sheet as typed columns, with the problems of each cell."""

from array import array
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import untranslated
from xlbridge.resources import Column, Kind, Resource
from xlbridge.settings import NumberStyle, ParseOptions
from xlbridge.validation.cells.coercion import NO, type_column
from xlbridge.validation.cells.contents import ColumnCells, SheetOrder
from xlbridge.validation.cells.suspect_cells import (
    CodeTexts,
    DisplayedCells,
    FormatLookup,
    check_code_shapes,
    significant_formats,
)
from xlbridge.validation.cells.text_parsing import (
    Evidence,
    date_meanings,
    meanings_of,
    number_meanings,
    sheet_date_order,
    shown_text,
)
from xlbridge.validation.header_row import Header, repeated_headers
from xlbridge.validation.request import ColumnProgress, OnColumn
from xlbridge.validation.sheet_findings import CellProblems
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellKind, SheetCells

_FILLED = ("rows", "filled")
_TEXT_WARNINGS = ("number-as-text", "date-as-text")
"""Warnings that a .csv does not get, as it has no other way to write numbers and dates."""
_NUMBER_STYLE = ("numbers", "style")
_DATE_ORDER = "order of dates"
_BLANK = "blank"
_MIN_KEPT = 16
"""Factor by which a column has more cells than those that are typed again alone."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedResult:
    """Result in a memo; what depends on it is valid as long as the memo has the same object."""

    value: Any
    source: object
    dependencies: Hashable


class ColumnMemo:
    """Cache of results for a sheet that is validated again after each edit of its cells.

    Results of a column are valid until one of its cells is replaced, results of a rule until one of
    the columns that it reads changes; all are dropped when the rows, the header or the parse
    options change.
    """

    def __init__(self) -> None:
        self._layout: tuple[object, ...] = ()
        self._results: dict[Hashable, CachedResult] = {}
        self._formats: dict[tuple[frozenset[int], frozenset[int]], Mapping[CellPosition, str]] = {}
        self._children: dict[str, ColumnMemo] = {}

    def of_child(self, name: str) -> "ColumnMemo":
        """Return the memo of a child sheet, which is validated with this one."""
        return self._children.setdefault(name, ColumnMemo())

    def begin(self, *layout: object) -> None:
        """Begin a validation; drop all results if ``layout`` has changed since the last one."""
        if layout != self._layout:
            self._layout, self._results = layout, {}

    def result(
        self,
        key: Hashable,
        dependencies: Hashable,
        compute: Callable[[], object],
        source: object = None,
    ) -> CachedResult:
        """Return the result for a key, computed again if ``source`` is another object or
        ``dependencies`` are not equal to the last ones."""
        known = self._results.get(key)
        if known is None or known.source is not source or known.dependencies != dependencies:
            known = self._results[key] = CachedResult(compute(), source, dependencies)
        return known

    def known(self, key: Hashable, source: object) -> Any:
        """Return the last result for a key, None if there is none of this source."""
        known = self._results.get(key)
        return None if known is None or known.source is not source else known.value

    def cached_lookup(self, lookup: FormatLookup) -> FormatLookup:
        """Return a lookup that reads the file once: edits do not change number formats."""

        def find(styles: Mapping[int, str], columns: Collection[int]) -> Mapping[CellPosition, str]:
            key = frozenset(styles), frozenset(columns)
            if key not in self._formats:
                self._formats[key] = lookup(styles, columns)
            return self._formats[key]

        return find


@dataclass(frozen=True, slots=True, eq=False)
class _TypedColumn:
    """Typed values of a column after a number of edits, with the problems of its cells, those of
    each cell by itself and all, and its codes."""

    edits: int
    values: Any
    of_cells: CellProblems
    problems: CellProblems
    codes: CodeTexts

    def retyped(
        self,
        column: Column,
        cells: ColumnCells,
        numbers: npt.NDArray[np.int64],
        reading: ParseOptions,
    ) -> tuple[Any, CellProblems] | None:
        """Return values and problems after later edits of a column of texts, whose cells do not
        depend on each other, None if too many were edited. Empties the cells of error words."""
        source = cells.source
        rows = np.unique([at + 1 for step in source.replaced[self.edits :] for at in step])
        positions = np.flatnonzero(np.isin(numbers, rows))
        if _MIN_KEPT * len(positions) > len(numbers):
            return None
        edited = source.select((numbers[positions] - 1).tolist())
        few = ColumnCells(edited, np.arange(1, len(positions) + 1))
        few.kinds[:] = cells.kinds[positions]
        new_values, problems = type_column(column, few, reading)
        values = self.values.copy()
        values[positions] = new_values
        of_cells = self.of_cells.with_cells(positions, problems)
        cells.kinds[of_cells.positions_of("cell-error")] = CellKind.EMPTY
        return values, of_cells


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Rows of a sheet below the header that are not empty.

    ``cells``: the sheet; ``frame``: one typed column for each of the resource's, with a RangeIndex;
    ``rows``: Excel's row numbers; ``problems``: one entry for each column; ``versions``: versions
    of the columns' values, equal if a memo has kept the values since the last validation;
    ``absent``: columns that the sheet lacks and no mapping fills.
    """

    resource: Resource
    header: Header
    cells: SheetCells
    frame: pd.DataFrame
    rows: Sequence[int]
    problems: Mapping[str, CellProblems]
    versions: dict[str, Hashable]
    absent: set[str]

    def without_blank_rows(self, memo: ColumnMemo | None) -> "TypedRows":
        """Return the rows without those that have nothing but spaces, or only cells outside the
        resource's columns."""
        filled = np.zeros(len(self.rows), dtype=bool)
        for name in self.problems.keys() - self.absent:
            filled |= self.frame[name].notna().to_numpy() | self.problems[name].failed
            if filled.all():
                return self
        selection = None if memo is None else memo.result(_FILLED, filled.tobytes(), lambda: None)
        return replace(
            self,
            frame=self.frame[filled].reset_index(drop=True),
            rows=_row_array(np.array(self.rows)[filled]),
            problems={name: column.of_rows(filled) for name, column in self.problems.items()},
            versions={name: (version, selection) for name, version in self.versions.items()},
        )


def type_rows(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    reading: ParseOptions,
    on_column: OnColumn = lambda *_: None,
    formats_of: FormatLookup = lambda _, __: {},
    memo: ColumnMemo | None = None,
) -> TypedRows:
    """Type the cells below the header, column by column; absent columns have no values."""
    formats = significant_formats(resource, header, cells, formats_of)
    numbers = _data_rows(cells, header.row)
    if header.left_out:
        numbers = numbers[~np.isin(numbers, list(header.left_out))]
    rows = _row_array(numbers)
    repeated = repeated_headers(cells, header.row, header.columns.values())
    headers = np.searchsorted(numbers, repeated)
    if memo is not None:
        layout = header.row, header.columns, rows, headers.tolist(), formats
        memo.begin(resource.name, reading, *layout)
    style = _number_style(resource, header, cells, numbers, memo)
    order = _date_order(resource, header, cells, numbers, memo)

    def type_cells(column: Column, index: int, before: _TypedColumn | None) -> _TypedColumn:
        """Return the typed values of a column; ``before`` are those before the last edits."""
        by_others = partial(order, column.name)
        filled = ColumnCells(cells.columns[index], numbers, style, by_others)
        filled.kinds[headers] = CellKind.EMPTY
        # What is stored in place of a result is no value.
        in_column = cells.first_column + index
        uncalculated = [row for row, at in cells.raw.without_result if at == in_column]
        filled.kinds[np.isin(numbers, uncalculated)] = CellKind.EMPTY
        found_by_row = header.unusable.get(column.name, {})
        unusable = {row: it for row, it in found_by_row.items() if row not in header.left_out}
        positions = np.searchsorted(numbers, list(unusable))
        filled.kinds[positions] = CellKind.EMPTY
        own_style = header.styles.get(column.name, reading.numbers)
        own = replace(reading, numbers=own_style)
        typed = None
        if before is not None and column.kind.is_text:
            typed = before.retyped(column, filled, numbers, own)
        values, of_cells = typed or type_column(column, filled, own)
        found = of_cells.copy()
        for position, cell in zip(positions.tolist(), unusable.values(), strict=True):
            found.add(position, *cell)
        if cells.raw.is_text_only:
            found.drop(*_TEXT_WARNINGS)
        DisplayedCells(column, cells, index, rows, found).check(formats)
        codes = CodeTexts() if before is None else before.codes
        check_code_shapes(column, filled, found, codes)
        return _TypedColumn(filled.source.edits, values, of_cells, found, codes)

    arrays, problems = {}, {}
    absent = resource.by_name.keys() - header.columns.keys()
    versions: dict[str, Hashable] = dict.fromkeys(resource.by_name, 0)
    for number, column in enumerate(resource.columns, start=1):
        on_column(ColumnProgress(column.name, number, len(resource.columns), len(rows)))
        index = header.columns.get(column.name)
        if index is None:
            accepted = reading.accepted_in(column.name)
            problems[column.name] = CellProblems.none(len(rows), accepted)
        elif memo is None:
            whole = type_cells(column, index, None)
            arrays[column.name], problems[column.name] = whole.values, whole.problems
        else:
            source = cells.columns[index]
            compute = partial(type_cells, column, index, memo.known(column.name, source))
            decided = order(column.name) if column.kind is Kind.DATE else style()
            cached = memo.result(column.name, (source.edits, decided), compute, source)
            arrays[column.name] = cached.value.values
            # A copy, as rules of several cells add problems.
            problems[column.name] = cached.value.problems.copy()
            versions[column.name] = cached
    # A row that repeats the header is reported once; no rule checks its cells.
    for column_problems in problems.values():
        column_problems.failed[headers] = True
    if len(headers):
        first = min(header.columns, key=lambda name: header.columns[name])
        problems[first].add_all(headers, "row-header-again")
    frame = _whole_frame(resource, arrays, len(rows), ColumnMemo() if memo is None else memo)
    typed = TypedRows(resource, header, cells, frame, rows, problems, versions, absent)
    return typed.without_blank_rows(memo)


def _number_style(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    numbers: npt.NDArray[np.int64],
    memo: ColumnMemo | None,
) -> Callable[[], NumberStyle | None]:
    """Return a function that detects the style of the sheet's text numbers, once."""
    columns = [
        cells.columns[header.columns[column.name]]
        for column in resource.columns
        if column.kind in {Kind.NUMBER, Kind.MONEY} and column.name in header.columns
    ]

    def detect() -> NumberStyle | None:
        found = [ColumnCells(source, numbers) for source in columns]
        texts = [column.texts()[1] for column in found]
        count = sum(len(column.of_kind(CellKind.NUMBER)) for column in found)
        # Few texts among numbers were typed or pasted: they tell nothing about each other.
        if sum(map(len, texts)) < count:
            return None
        evidence = Evidence.of(meanings_of(set().union(*texts), number_meanings).values())
        return ("pt" if evidence.agreed else "en") if evidence.is_proof else None

    results = memo or ColumnMemo()
    edits = tuple(source.edits for source in columns)
    return lambda: results.result(_NUMBER_STYLE, edits, detect).value


def _date_order(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    numbers: npt.NDArray[np.int64],
    memo: ColumnMemo | None,
) -> Callable[[str], SheetOrder | None]:
    """Return a function that detects the order of day and month that the text dates of a sheet
    prove, apart from those of one column."""

    columns = {
        column.name: header.columns[column.name]
        for column in resource.columns
        if column.kind is Kind.DATE and column.name in header.columns
    }
    columns |= {f"{index}": index for index in header.dates - {*columns.values()}}
    sources = {
        name: source
        for name, index in columns.items()
        for source in [cells.columns[index]]
        if CellKind.TEXT in source.kinds
    }

    @cache
    def evidence_of(name: str) -> Evidence:
        texts = ColumnCells(sources[name], numbers).texts()[1]
        return Evidence.of(meanings_of(texts, date_meanings).values())

    def find(name: str) -> SheetOrder | None:
        return sheet_date_order({other: evidence_of(other) for other in sources if other != name})

    results = memo or ColumnMemo()
    edits = tuple((other, source.edits) for other, source in sources.items())
    return lambda name: results.result((_DATE_ORDER, name), edits, partial(find, name)).value


def _whole_frame(
    resource: Resource, arrays: Mapping[str, Any], count: int, memo: ColumnMemo
) -> pd.DataFrame:
    """Return a frame of all columns of a resource.

    Absent columns share their memory: pandas copies one just before it changes it.
    """
    index = pd.RangeIndex(count)
    dtypes = dict.fromkeys(c.dtype for c in resource.columns if c.name not in arrays)
    blank = [
        memo.result((_BLANK, dtype), count, partial(pd.Series, index=index, dtype=dtype)).value
        for dtype in dtypes
    ]
    filled_at = {name: at for at, name in enumerate(arrays)}
    blank_at = {dtype: at for at, dtype in enumerate(dtypes, start=len(arrays))}
    whole = [*arrays.values(), *(series.array for series in blank)]
    distinct = pd.DataFrame(dict(enumerate(whole)), index=index, copy=False)
    frame = distinct.iloc[
        :, [filled_at[c.name] if c.name in arrays else blank_at[c.dtype] for c in resource.columns]
    ]
    frame.columns = pd.Index(resource.by_name)
    return frame


def type_numbers(typed: TypedRows) -> tuple[pd.DataFrame, Mapping[str, CellProblems]]:
    """Return the columns of the system's own number, which no schema declares, typed, and the
    problems of each; the fields that say that a record is closed as texts."""
    cells, rows = typed.cells, typed.rows
    arrays: dict[str, Any] = {}
    problems: dict[str, CellProblems] = {}
    declared = typed.resource.read_back
    for name, index in typed.header.numbers.items():
        if declared and name in declared.closed_by:
            values = cells.columns[index].values(row - 1 for row in rows)
            texts = (shown_text(value) for value in values)
            arrays[name] = [None if text.casefold() in {"", "0", *NO} else text for text in texts]
            continue
        title = untranslated(name)
        column = Column(name, Kind.INTEGER, required=False, title=title, description=title)
        found = ColumnCells(cells.columns[index], np.array(rows))
        arrays[name], problems[name] = type_column(column, found, ParseOptions())
        if cells.raw.is_text_only:
            problems[name].drop(*_TEXT_WARNINGS)
    return pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False), problems


def _data_rows(cells: SheetCells, header_row: int) -> npt.NDArray[np.int64]:
    """Return Excel's numbers of the rows below the header that are not empty.

    A row with nothing but errors or formulas without a result looks empty to the reader.
    """
    filled = np.zeros(cells.height, dtype=bool)
    for column in cells.columns:
        filled |= np.frombuffer(column.kinds, dtype=bool)
    rows = np.flatnonzero(filled[header_row:]) + header_row + 1
    valueless = {
        row for row, _ in (*cells.raw.errors, *cells.raw.without_result) if row > header_row
    }
    numbers: npt.NDArray[np.int64] = np.union1d(rows, list(valueless)) if valueless else rows
    return numbers


def _row_array(rows: npt.NDArray[np.int64]) -> Sequence[int]:
    # An array takes a tenth of the memory of a list.
    return array("i", rows.astype(np.intc).tobytes())


def fill_constants(typed: TypedRows, non_records: Collection[int]) -> None:
    """Fill absent columns with the constants of a mapping, except in ``non_records``, the Excel
    numbers of rows that are not records."""
    for name, value in typed.header.constants.items():
        dtype: Any = typed.resource.by_name[name].dtype
        values = [None if row in non_records else value for row in typed.rows]
        typed.frame[name] = pd.Series(values, index=typed.frame.index, dtype=dtype)
        typed.versions[name] = typed.versions[name], frozenset(non_records)
        typed.absent.discard(name)
