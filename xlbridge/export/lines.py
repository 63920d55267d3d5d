"""Write rows as the lines of a format, column by column. Cells of repeated values are cached."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any

from xlbridge.export.sheets import (
    Cell,
    ExportColumn,
    UnexpectedValue,
    encode_json,
    moment_suffix,
    value_reader,
)
from xlbridge.resources import Kind

WriteValue = Callable[[Any], str]
"""Writes a value that is not null, as a record has it. It raises ``ValueError`` where it cannot."""

_CACHE_SIZE, _CACHED_LENGTH = 1_000, 200
"""Number of cells cached per column, and the longest value that is."""

_BARE_MOMENT_LENGTH = len("2026-11-21T10:30:00")

_COMMON_NUMBERS = {
    Kind.INTEGER: re.compile(r"(?:(?:0|[1-9][0-9]{0,7}+|-[1-9][0-9]{0,6}+)\|)*+").fullmatch,
    Kind.NUMBER: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,7}+)(?:\.[0-9]{1,6}+)?+\|)*+").fullmatch,
    Kind.MONEY: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,11}+)(?:\.[0-9]{1,2}+)?+\|)*+").fullmatch,
}
"""Many numbers of a column at once: most of them differ, so each would be worked out anew."""

_OF_NUMBERS = {int, str, NoneType}
_SMALL_WHOLE = 10**8
"""Whole numbers below are usual ones of any column, negative ones with a digit less."""


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

    ``cell`` is given a column and its position, and returns what writes the column's values;
    ``nothing`` returns its empty cell. ``around`` returns what stands before and after the bare
    digits of a usual number, None where digits do not go out as they are: a whole number of at
    most eight characters, a number with at most eight digits and six decimal places, an amount
    with twelve and two. Of texts it returns the same, where ``are_plain`` says that they do.
    """

    cell: Callable[[ExportColumn, int], WriteValue]
    around: Callable[[ExportColumn, int], tuple[str, str] | None]
    are_plain: Callable[[Sequence[str]], bool] | None = None
    nothing: Callable[[ExportColumn], str] = _empty
    before: str = ""
    between: str = ""
    after: str = "\n"


def _cell_as_json(column: ExportColumn, _place: int) -> WriteValue:
    read = value_reader(column)
    return lambda value: encode_json(read(value))


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


_BLOCK_SIZE = 2**19
"""Number of bytes of a file that are read at once, and then to the end of the line."""


def line_blocks(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, many whole ones at a time."""
    with file.open("rb", buffering=_BLOCK_SIZE) as stream:
        while block := stream.read(_BLOCK_SIZE):
            yield block + stream.readline()


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
        length = 0 if value is True or value is False else len(str(value))
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
        if len(value) != _BARE_MOMENT_LENGTH:
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


class _ColumnWriter:
    """Writes the values of one column."""

    def __init__(self, column: ExportColumn, place: int, form: LineFormat) -> None:
        self.column = column
        self.cells = _column_cells(column, place, form)
        self.write = form.cell(column, place)
        self._nothing = form.nothing(column)
        is_number = column.kind in _COMMON_NUMBERS
        is_text = column.kind is Kind.TEXT and form.are_plain is not None
        bare = (is_number or is_text) and not column.is_list and not column.is_secret
        self._around = form.around(column, place) if bare else None
        self._are_plain = form.are_plain if is_text else None

    def written(self, values: Sequence[Any]) -> tuple[str, Iterable[str] | None, str]:
        """Return what each line has, in its order: a text, what differs, and another text.

        What differs is None where all lines have the same.
        """
        kinds = set(map(type, values))
        if kinds == {NoneType}:
            return self._nothing, None, ""
        # 1 and true are the same key of a dict.
        if (int if self.column.kind is Kind.BOOLEAN else bool) in kinds:
            raise UnexpectedValue
        if self._around is None or not kinds <= _OF_NUMBERS:
            return "", map(self.cells.__getitem__, values), ""
        filled = values if NoneType not in kinds else [v for v in values if v is not None]
        if not self._are_usual(filled, kinds):
            return "", map(self.cells.__getitem__, values), ""
        before, after = self._around
        if filled is values:
            return before, map(str, values) if int in kinds else values, after
        nothing = self._nothing
        return "", [nothing if v is None else f"{before}{v}{after}" for v in values], ""

    def check(self, value: Any) -> None:
        """Raise ``ValueError`` or ``TypeError`` for a value that does not fit."""
        if value is not None and (value != "" or self.column.kind is Kind.TEXT):
            self.write(value)

    def _are_usual(self, values: Sequence[Any], kinds: set[type]) -> bool:
        """Say whether values go out as they are."""
        if self._are_plain is not None:
            if int in kinds or not self._are_plain(values):
                return False
            longest = max(map(len, values))
            self.cells.width = max(self.cells.width, longest)
            return longest <= _CACHED_LENGTH
        if str not in kinds:
            return bool(min(values) > -_SMALL_WHOLE // 10 and max(values) < _SMALL_WHOLE)
        joined = "|".join(map(str, values) if int in kinds else values) + "|"
        are_numbers = _COMMON_NUMBERS[self.column.kind](joined) is not None
        # A text may hold the mark itself.
        return are_numbers and joined.count("|") == len(values)


class LineWriter:
    """Writes rows of some columns as lines of a form, straight from the values of records."""

    def __init__(self, columns: Sequence[ExportColumn], form: LineFormat) -> None:
        self._form = form
        self._columns = [_ColumnWriter(column, place, form) for place, column in enumerate(columns)]

    @property
    def widths(self) -> list[int]:
        """Length of the longest text of each column so far; bare numbers are not counted."""
        return [writer.cells.width for writer in self._columns]

    @property
    def zones(self) -> dict[str, set[str]]:
        """The zones that the moments of a column came with so far, where they had any."""
        return {
            writer.column.name: writer.cells.zones
            for writer in self._columns
            if isinstance(writer.cells, _MomentCells) and writer.cells.zones
        }

    def lines(self, rows: Sequence[Sequence[Any]]) -> list[str]:
        """Write rows. Raises ``ValueError`` or ``TypeError`` for a value that does not fit."""
        if not rows:
            return []
        parts: list[Iterable[str]] = []
        alike = self._form.before
        for writer, values in zip(self._columns, zip(*rows, strict=True), strict=True):
            before, differing, after = writer.written(values)
            alike += before
            if differing is not None:
                parts += [repeat(alike), differing]
                alike = ""
            alike += after + (self._form.between if writer is not self._columns[-1] else "")
        parts.append(repeat(alike + self._form.after, len(rows)))
        return list(map("".join, zip(*parts, strict=False)))

    def misfit(self, values: Sequence[Any]) -> tuple[int, Exception] | None:
        """Return the position of the first value that does not fit, and the reason."""
        for place, (writer, value) in enumerate(zip(self._columns, values, strict=True)):
            try:
                writer.check(value)
            except (ValueError, TypeError) as error:
                return place, error
        return None
