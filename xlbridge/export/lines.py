"""Write rows as the lines of a format. Cells of repeated values are cached per column."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import getitem, itemgetter
from types import NoneType
from typing import Any

from xlbridge.export.sheets import Cell, ExportColumn, moment_suffix, value_reader
from xlbridge.resources import Kind

_Take = Callable[[Sequence[Any]], tuple[Any, ...]]

WriteValue = Callable[[Any], str]
"""Writes a value that is not null, as JSON has it. It raises ``ValueError`` where it cannot."""

_CACHE_SIZE, _CACHED_LENGTH = 1_000, 200
"""Number of cells cached per column, and the longest value that is."""

_COMMON_NUMBERS = {
    Kind.INTEGER: re.compile(r"(?:(?:0|[1-9][0-9]{0,7}+|-[1-9][0-9]{0,6}+)\|)*+").fullmatch,
    Kind.NUMBER: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,7}+)(?:\.[0-9]{1,6}+)?+\|)*+").fullmatch,
    Kind.MONEY: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,11}+)(?:\.[0-9]{1,2}+)?+\|)*+").fullmatch,
}
"""All numbers of a row at once: most of them differ, so each would be worked out anew."""

_MIN_NUMBERS, _MAX_SHAPES = 3, 500
"""Fewest numbers in a row for which a shape pays, and most shapes that are kept."""


class TextTooLong(ValueError):
    """A text is longer than a cell of the format can be."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"{length} characters, at most {limit}")
        self.length = length
        self.limit = limit


def _empty(_column: ExportColumn) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Form of a row in a format: its cells one after the other, between fixed texts.

    It can be sent to another process: its functions are those of modules.

    ``cell`` is given a column and its position, and returns what writes the column's values;
    ``nothing`` returns its empty cell. ``around`` returns what stands before and after the bare
    digits of a usual number, None where digits do not go out as they are: a whole number of at
    most eight characters, a number with at most eight digits and six decimal places, an amount
    with twelve and two.
    """

    cell: Callable[[ExportColumn, int], WriteValue]
    around: Callable[[ExportColumn, int], tuple[str, str] | None]
    nothing: Callable[[ExportColumn], str] = _empty
    before: str = ""
    between: str = ""
    after: str = "\n"


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _cell_as_json(column: ExportColumn, _place: int) -> WriteValue:
    read = value_reader(column)
    return lambda value: _encode(read(value))


def _quotes(_column: ExportColumn, _place: int) -> tuple[str, str]:
    return '"', '"'


def _null(_column: ExportColumn) -> str:
    return "null"


CELLS_AS_JSON = LineFormat(
    _cell_as_json,
    around=_quotes,
    nothing=_null,
    before="[",
    between=",",
    after="]\n",
)
"""Form for outputs that need the cells themselves: each line is a JSON list of them."""


def cells_of(blocks: Iterable[bytes]) -> Iterator[list[Cell]]:
    """Yield the cells of each row that was written as JSON."""
    for block in blocks:
        yield from map(json.loads, block.splitlines())


class _CellCache(dict[Any, str]):
    """Cells of a column by their value; only a bounded number is kept.

    In a column of anything but text, an empty text is an empty cell.
    """

    __slots__ = ("_nothing", "_write", "width")

    def __init__(self, write: WriteValue, nothing: str, *, is_text: bool) -> None:
        self._write = write
        self._nothing = dict.fromkeys([None] if is_text else [None, ""], nothing)
        self.update(self._nothing)
        self.width = 0

    def __missing__(self, value: Any) -> str:
        written = self._write(value)
        length = 0 if value is True or value is False else len(value)
        if length > self.width:
            self.width = length
        if length <= _CACHED_LENGTH:
            if len(self) >= _CACHE_SIZE:
                self.clear()
                self.update(self._nothing)
            self[value] = written
        return written


class _MomentCells(_CellCache):
    """The same of moments; ``zones`` are those that they came with."""

    __slots__ = ("zones",)

    def __init__(self, write: WriteValue, nothing: str) -> None:
        super().__init__(write, nothing, is_text=False)
        self.zones: set[str] = set()

    def __missing__(self, value: Any) -> str:
        written = super().__missing__(value)
        _, zone = moment_suffix(value)
        if zone:
            self.zones.add(zone)
        return written


class _ListCells:
    """Cells of a column whose values are lists of texts."""

    __slots__ = ("_nothing", "_write", "width")

    def __init__(self, write: WriteValue, nothing: str) -> None:
        self._write = write
        self._nothing = nothing
        self.width = 0

    def __getitem__(self, value: Any) -> str:
        if value is None:
            return self._nothing
        written = self._write(value)
        self.width = max(self.width, *map(len, value), 0)
        return written


def _column_cells(column: ExportColumn, place: int, form: LineFormat) -> _CellCache | _ListCells:
    write, nothing = form.cell(column, place), form.nothing(column)
    if column.is_list:
        return _ListCells(write, nothing)
    if column.kind is Kind.DATE:
        return _MomentCells(write, nothing)
    return _CellCache(write, nothing, is_text=column.kind is Kind.TEXT)


@dataclass(frozen=True, slots=True)
class _RowShape:
    """Form of rows that have the same cells filled.

    ``present`` takes these; ``checks`` take those of them that go out as bare digits, and say
    whether they may. ``others`` are the rest, by their positions among the filled ones.
    """

    template: str
    present: _Take
    checks: Sequence[tuple[_Take, Callable[[str], object]]]
    others: Sequence[tuple[int, _CellCache | _ListCells]]

    def write(self, values: Sequence[Any]) -> str | None:
        """Write a row, None where a number in it is not a usual one."""
        for take, are_usual in self.checks:
            if not are_usual("|".join(take(values)) + "|"):
                return None
        cells = list(self.present(values))
        for place, others in self.others:
            cells[place] = others[cells[place]]
        return self.template % tuple(cells)


def _taker(places: Sequence[int]) -> _Take:
    if len(places) == 1:
        (place,) = places
        return lambda values: (values[place],)
    return itemgetter(*places)


class LineWriter:
    """Writes rows of some columns as lines of a form, straight from the values of records."""

    def __init__(self, columns: Sequence[ExportColumn], form: LineFormat) -> None:
        self._columns = columns
        self._form = form
        self._cells = [_column_cells(column, place, form) for place, column in enumerate(columns)]
        self._around = {
            place: around
            for place, column in enumerate(columns)
            if column.kind in _COMMON_NUMBERS and (around := form.around(column, place))
        }
        self._shapes: dict[tuple[type, ...], _RowShape | None] = {}

    @property
    def widths(self) -> list[int]:
        """Length of the longest text of each column so far; bare numbers are not counted."""
        return [cells.width for cells in self._cells]

    @property
    def zones(self) -> dict[str, set[str]]:
        """The zones that the moments of a column came with so far, where they had any."""
        return {
            column.name: cells.zones
            for column, cells in zip(self._columns, self._cells, strict=True)
            if isinstance(cells, _MomentCells) and cells.zones
        }

    def line(self, values: Sequence[Any]) -> str:
        """Write one row. Raises ``ValueError`` or ``TypeError`` for a value that does not fit."""
        if len(self._around) >= _MIN_NUMBERS:
            kinds = tuple(map(type, values))
            shape = self._shapes[kinds] if kinds in self._shapes else self._shape(kinds)
            line = None if shape is None else shape.write(values)
            if line is not None:
                return line
        form = self._form
        return form.before + form.between.join(map(getitem, self._cells, values)) + form.after

    def misfit(self, values: Sequence[Any]) -> tuple[int, Exception] | None:
        """Return the position of the first value that does not fit, and the reason."""
        for place, (cells, value) in enumerate(zip(self._cells, values, strict=True)):
            try:
                cells[value]
            except (ValueError, TypeError) as error:
                return place, error
        return None

    def _shape(self, kinds: tuple[type, ...]) -> _RowShape | None:
        """Return the shape of rows with such values; None where it does not pay."""
        if len(self._shapes) >= _MAX_SHAPES:
            return None
        present = [place for place, kind in enumerate(kinds) if kind is not NoneType]
        numbers = [place for place in present if place in self._around and kinds[place] is str]
        shape = None
        if len(numbers) >= _MIN_NUMBERS:
            shape = _RowShape(
                self._template(present, numbers),
                _taker(present),
                self._checks(numbers),
                [(n, self._cells[p]) for n, p in enumerate(present) if p not in numbers],
            )
        self._shapes[kinds] = shape
        return shape

    def _checks(self, numbers: Sequence[int]) -> list[tuple[_Take, Callable[[str], object]]]:
        of_kinds = {
            kind: [place for place in numbers if self._columns[place].kind is kind]
            for kind in _COMMON_NUMBERS
        }
        return [
            (_taker(places), _COMMON_NUMBERS[kind]) for kind, places in of_kinds.items() if places
        ]

    def _template(self, present: Sequence[int], numbers: Sequence[int]) -> str:
        form = self._form
        cells = [form.nothing(column).replace("%", "%%") for column in self._columns]
        for place in present:
            cells[place] = "%s"
        for place in numbers:
            before, after = (text.replace("%", "%%") for text in self._around[place])
            cells[place] = f"{before}%s{after}"
        return form.before + form.between.join(cells) + form.after
