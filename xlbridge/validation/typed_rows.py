"""The data rows of a sheet as typed columns, with the problems of each cell.

Problems also come from what the sheet shows instead of a value: errors, error words kept as
text, formulas without a result, percentages, and number formats that show other digits or
currencies.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.i18n import localized_number, untranslated
from xlbridge.resources import Column, Kind, Resource, strip_accents
from xlbridge.validation.cells.code_shapes import note_shapes
from xlbridge.validation.cells.coercion import coerce
from xlbridge.validation.cells.column_cells import CellProblems, ColumnCells, Positions
from xlbridge.validation.headers.header_row import Header, repeated_headers
from xlbridge.validation.request import ColumnProgress, OnColumn, ParseOptions
from xlbridge.validation.text import display
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import CellColumn, CellKind, SheetCells, foreign_currency, shown_number

_EXCEL = (
    ("#BLOCKED!", "#BUSY!", "#CALC!", "#CONNECT!", "#DIV/0!", "#ERROR!", "#EXTERNAL!", "#FIELD!"),
    ("#GETTING_DATA", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#PYTHON!", "#REF!", "#SPILL!"),
    ("#UNKNOWN!", "#VALUE!"),
)
_EXCEL_IN_PORTUGUESE = (
    ("#BLOQUEADO!", "#CAMPO!", "#CONECTAR!", "#DESCONHECIDO!", "#DESPEJAR!", "#ERRO!", "#N/D"),
    ("#NOME?", "#NULO!", "#OBTENDO_DADOS", "#OCUPADO!", "#VALOR!"),
)
_ERROR_WORDS = frozenset(word for line in (*_EXCEL, *_EXCEL_IN_PORTUGUESE) for word in line)
_LIBRE_OFFICE = re.compile(r"(?:Err|Erro):5\d\d", re.ASCII)


def error_words(column: CellColumn) -> dict[int, str]:
    """Return the texts of a column that are words for an error, by their indexes."""
    joined = "\n".join(column.texts)
    if "#" not in joined and "Err" not in joined:
        return {}
    return {place: text.strip() for place, text in enumerate(column.texts) if _is_error_word(text)}


def _is_error_word(text: str) -> bool:
    bare = text.strip()
    if bare[:1] not in {"#", "E"}:
        return False
    return strip_accents(bare).upper() in _ERROR_WORDS or _LIBRE_OFFICE.fullmatch(bare) is not None


_SEPARATORS = re.compile(r"[^0-9A-Za-z]")


FormatLookup = Callable[[Mapping[int, str], Collection[int]], Mapping[CellPosition, str]]
"""Tells which cells of some columns, zero-based, have which of some number formats, given by the
style that has them."""


def significant_formats(
    resource: Resource, header: Header, cells: SheetCells, formats_of: FormatLookup
) -> Mapping[CellPosition, str]:
    """Return the formats by which cells tell more than their numbers: of codes all that may show
    something else than the digits, of amounts those that show another currency."""
    formats = cells.raw.formats
    foreign = {style: code for style, code in formats.items() if foreign_currency(code)}
    codes = [column for column in resource.columns if column.kind.is_code]
    amounts = [column for column in resource.columns if column.kind is Kind.MONEY]
    return {
        **formats_of(formats, _with_numbers(codes, header, cells)),
        **formats_of(foreign, _with_numbers(amounts, header, cells) if foreign else ()),
    }


def _with_numbers(columns: Iterable[Column], header: Header, cells: SheetCells) -> frozenset[int]:
    """Return the zero-based places of the columns that have numbers."""
    places = (header.columns[c.name] for c in columns if c.name in header.columns)
    return frozenset(
        cells.first_column + place
        for place in places
        if CellKind.NUMBER in cells.columns[place].kinds
    )


@dataclass(frozen=True, slots=True)
class DisplayedCells:
    """One column of a sheet, of which ``problems`` takes what was noted; ``rows`` are Excel's
    numbers of its data rows, ``place`` is its place among the columns of ``cells``."""

    column: Column
    cells: SheetCells
    place: int
    rows: list[int]
    problems: CellProblems

    def note_raw(self) -> None:
        """Note the cells that show an error or have a formula without result."""
        for position, error in self._noted(self.cells.raw.errors):
            self.problems.add(position, "cell-error", {"error": error})
        for position, _ in self._noted(dict.fromkeys(self.cells.raw.unvalued)):
            if not self.problems.failed[position]:
                self.problems.add(position, "formula-no-value")

    def note_scaled(self) -> None:
        """Note the numbers that are shown as percentages or in thousands."""
        if self.column.kind.is_text:
            return
        for position, times in self._noted(self.cells.raw.scaled):
            value = self._usable_number(position)
            if value is None:
                continue
            code, sign = ("number-percent", "%") if times > 1 else ("number-scaled", "")
            shown, stored = (
                localized_number(f"{value * times:.10g}{sign}"),
                localized_number(display(value)),
            )
            self.problems.add(position, code, {"shown": shown, "stored": stored})

    def note_shown(self, formats: Mapping[CellPosition, str]) -> None:
        """Note the codes that show not just their digits, the amounts that show other money."""
        for position, form in self._noted(formats):
            value = self._usable_number(position)
            if value is None:
                continue
            if self.column.kind.is_code:
                self._note_shown(position, display(value), form)
            else:
                currency = {"currency": foreign_currency(form)}
                self.problems.add(position, "number-currency", currency)

    def _note_shown(self, position: int, stored: str, form: str) -> None:
        width = self.column.width
        shown = shown_number(form, int(stored))
        # What is shorter than its code has its finding already.
        if shown is None or (width is not None and len(stored) < width):
            return
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

    def _usable_number(self, position: int) -> float | None:
        value = self.cells.columns[self.place].value(self.rows[position] - 1)
        return value if isinstance(value, float) and not self.problems.failed[position] else None

    def _noted(self, noted: Mapping[CellPosition, Any]) -> Iterator[tuple[int, Any]]:
        """Yield what was noted of cells of the column: their position among the rows, and what."""
        place = self.cells.first_column + self.place
        of_row = {row: what for (row, column), what in noted.items() if column == place}
        for row in sorted(of_row):
            position = bisect_left(self.rows, row)
            if position < len(self.rows) and self.rows[position] == row:
                yield position, of_row[row]


@dataclass(frozen=True, slots=True)
class TypedRows:
    """The rows below the header that hold anything.

    ``frame`` has one typed column for each of the resource's and a RangeIndex; ``rows`` gives
    Excel's number of each of its rows; ``problems`` has an entry for each column.
    """

    frame: pd.DataFrame
    rows: list[int]
    problems: Mapping[str, CellProblems]


def type_rows(
    resource: Resource,
    header: Header,
    cells: SheetCells,
    reading: ParseOptions,
    on_column: OnColumn = lambda *_: None,
    formats_of: FormatLookup = lambda _, __: {},
) -> TypedRows:
    """Type the cells below the header, column by column.

    A column of the resource that the sheet lacks is there, with no values.
    """
    formats = significant_formats(resource, header, cells, formats_of)
    rows = _data_rows(cells, header.row)
    numbers = np.array(rows, dtype=np.int64)
    headers = np.searchsorted(numbers, repeated_headers(header, cells))
    arrays, problems = {}, {}
    for number, column in enumerate(resource.columns, start=1):
        on_column(ColumnProgress(column.name, number, len(resource.columns), len(rows)))
        place = header.columns.get(column.name)
        if place is None:
            arrays[column.name] = pd.Series(
                index=pd.RangeIndex(len(rows)), dtype=column.dtype
            ).array
            problems[column.name] = CellProblems.none(len(rows))
        else:
            filled = ColumnCells(cells.columns[place], numbers)
            filled.kinds[headers] = CellKind.EMPTY
            arrays[column.name], found = _typed_column(
                column, filled, cells.columns[place], reading
            )
            noted = DisplayedCells(column, cells, place, rows, found)
            noted.note_raw()
            noted.note_scaled()
            noted.note_shown(formats)
            note_shapes(column, filled, found)
            problems[column.name] = found
    _note_repeated_headers(header, headers, problems)
    frame = pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False)
    return _without_blank_rows(TypedRows(frame, rows, problems))


def type_numbers(
    header: Header, cells: SheetCells, rows: Sequence[int]
) -> tuple[pd.DataFrame, Mapping[str, CellProblems]]:
    """Type the columns of the system's own number, which no schema declares.

    ``rows`` are Excel's numbers of the data rows. Return the columns, and the problems of each.
    """
    numbers = np.array(rows, dtype=np.int64)
    arrays, problems = {}, {}
    for name, place in header.numbers.items():
        column = Column(
            name, Kind.INTEGER, required=False, title=untranslated(name), description=""
        )
        own = cells.columns[place]
        arrays[name], problems[name] = _typed_column(
            column, ColumnCells(own, numbers), own, ParseOptions()
        )
    return pd.DataFrame(arrays, index=pd.RangeIndex(len(rows)), copy=False), problems


def _typed_column(
    column: Column, filled: ColumnCells, own: CellColumn, reading: ParseOptions
) -> tuple[Any, CellProblems]:
    """Return the values of a column, of whose cells the words for errors have none."""
    errors = list(filled.set_aside(error_words(own)))
    values, found = coerce(column, filled, reading)
    for position, word in errors:
        found.add(position, "cell-error", {"error": word})
    return values, found


def _note_repeated_headers(
    header: Header, positions: Positions, problems: Mapping[str, CellProblems]
) -> None:
    """Say once of each row that repeats the header that it does; no rule checks its cells."""
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
