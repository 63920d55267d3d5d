"""Write rows as lines of a format, column by column; cells of repeated values are cached."""

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
"""Writes a value of a record that is not null. Raises ``ValueError`` for an unexpected one."""

_CACHE_SIZE, _CACHED_LENGTH = 1_000, 200
"""Maximum number of cells cached per column, and maximum length of a cached value."""

_BARE_MOMENT_LENGTH = len("2026-11-21T10:30:00")

_COMMON_NUMBERS = {
    Kind.INTEGER: re.compile(r"(?:(?:0|[1-9][0-9]{0,7}+|-[1-9][0-9]{0,6}+)\|)*+").fullmatch,
    Kind.NUMBER: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,7}+)(?:\.[0-9]{1,6}+)?+\|)*+").fullmatch,
    Kind.MONEY: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,11}+)(?:\.[0-9]{1,2}+)?+\|)*+").fullmatch,
}
"""Many numbers at once, joined by bars: most of them differ, so that a cache would not help."""

_NUMBER_TYPES = {int, str, NoneType}
_NULLS = {NoneType}
_MAX_COMMON_INTEGER = 10**8
"""Integers below are common numbers of any column; negative ones have a digit less."""


class TextTooLong(ValueError):
    """Text longer than a cell of the format."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"{length} characters, at most {limit}")
        self.length = length
        self.limit = limit


@dataclass(frozen=True, slots=True)
class LineFormat:
    """Format of a row: ``prefix``, its cells with ``separator`` between them, ``suffix``.

    ``cell_writer`` returns a column's ``WriteValue``, by the column and its index; ``empty_cell``
    its empty cell. ``affixes`` returns the texts before and after a common number, whose digits
    are written unchanged (an integer of at most eight characters, a number with eight digits and
    six decimal places, an amount with twelve and two), None if digits are converted. The same
    goes for texts if ``are_plain``.
    """

    cell_writer: Callable[[ExportColumn, int], WriteValue]
    affixes: Callable[[ExportColumn, int], tuple[str, str] | None]
    are_plain: Callable[[Sequence[str]], bool] | None = None
    empty_cell: Callable[[ExportColumn], str] = lambda _column: ""
    prefix: str = ""
    separator: str = ""
    suffix: str = "\n"


def _json_cell_writer(column: ExportColumn, _index: int) -> WriteValue:
    read = value_reader(column)
    return lambda value: encode_json(read(value))


CELLS_AS_JSON = LineFormat(
    _json_cell_writer,
    affixes=lambda _column, _index: ('"', '"'),
    empty_cell=lambda _column: "null",
    prefix="[",
    separator=",",
    suffix="]\n",
)
"""Format for outputs that need the cells themselves: each line is a JSON list of them."""


_BLOCK_SIZE = 2**19
"""Bytes read at once, completed to whole lines."""


def line_blocks(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file, many at a time."""
    with file.open("rb", buffering=_BLOCK_SIZE) as stream:
        while block := stream.read(_BLOCK_SIZE):
            yield block + stream.readline()


def cells_of(blocks: Iterable[bytes]) -> Iterator[list[Cell]]:
    """Yield the cells of each line in the format ``CELLS_AS_JSON``."""
    for block in blocks:
        yield from map(json.loads, block.splitlines())


class _CellCache(dict[Any, str]):
    """Cells of a column by value, in bounded number; an empty text is a value only of text."""

    __slots__ = ("_empty", "_write", "width")

    def __init__(self, write: WriteValue, empty_cell: str, *, is_text: bool) -> None:
        self._write = write
        self._empty = dict.fromkeys([None] if is_text else [None, ""], empty_cell)
        self.update(self._empty)
        self.width = 0

    def __missing__(self, value: Any) -> str:
        cell = self._write(value)
        length = 0 if value is True or value is False else len(str(value))
        if length > self.width:
            self.width = length
        if length <= _CACHED_LENGTH:
            if len(self) >= _CACHE_SIZE:
                self.clear()
                self.update(self._empty)
            self[value] = cell
        return cell


class _MomentCells(_CellCache):
    """Cells of a column of moments; ``zones`` are their time zones."""

    __slots__ = ("zones",)

    def __init__(self, write: WriteValue, empty_cell: str) -> None:
        super().__init__(write, empty_cell, is_text=False)
        self.zones: set[str] = set()

    def __missing__(self, value: Any) -> str:
        cell = super().__missing__(value)
        if len(value) != _BARE_MOMENT_LENGTH:
            _, zone = moment_suffix(value)
            if zone:
                self.zones.add(zone)
        return cell


class _ListCells:
    """Cells of a column whose values are lists of texts."""

    __slots__ = ("_empty_cell", "_write", "width")

    def __init__(self, write: WriteValue, empty_cell: str) -> None:
        self._write = write
        self._empty_cell = empty_cell
        self.width = 0

    def __getitem__(self, value: Any) -> str:
        if value is None:
            return self._empty_cell
        cell = self._write(value)
        self.width = max(self.width, *map(len, value), 0)
        return cell


def _column_cells(
    column: ExportColumn, write: WriteValue, empty_cell: str
) -> _CellCache | _ListCells:
    if column.is_list:
        return _ListCells(write, empty_cell)
    if column.kind is Kind.DATE:
        return _MomentCells(write, empty_cell)
    return _CellCache(write, empty_cell, is_text=column.kind is Kind.TEXT)


class _ColumnWriter:
    """Writes the values of one column."""

    def __init__(self, column: ExportColumn, index: int, line_format: LineFormat) -> None:
        self.column = column
        self._write = line_format.cell_writer(column, index)
        self._empty_cell = line_format.empty_cell(column)
        # 1 and true are the same key of a dict.
        self._unexpected = int if column.kind is Kind.BOOLEAN else bool
        self.cells = _column_cells(column, self._write, self._empty_cell)
        is_number = column.kind in _COMMON_NUMBERS
        is_text = column.kind is Kind.TEXT and line_format.are_plain is not None
        unchanged = (is_number or is_text) and not column.is_list and not column.is_secret
        self._affixes = line_format.affixes(column, index) if unchanged else None
        self._are_plain = line_format.are_plain if is_text else None

    def format_values(self, values: Sequence[Any]) -> tuple[str, Iterable[str] | None, str]:
        """Return a common text, the text of each value, and another common text.

        The second is None if all values are null.
        """
        types = set(map(type, values))
        if types == _NULLS:
            return self._empty_cell, None, ""
        if self._unexpected in types:
            raise UnexpectedValue
        if self._affixes is None or not types <= _NUMBER_TYPES:
            return "", map(self.cells.__getitem__, values), ""
        filled = values if NoneType not in types else [v for v in values if v is not None]
        if not self._are_common(filled, types):
            return "", map(self.cells.__getitem__, values), ""
        before, after = self._affixes
        if filled is values:
            return before, map(str, values) if int in types else values, after
        empty_cell = self._empty_cell
        return "", [empty_cell if v is None else f"{before}{v}{after}" for v in values], ""

    def check(self, value: Any) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an unexpected value."""
        if value is not None and (value != "" or self.column.kind is Kind.TEXT):
            self._write(value)

    def _are_common(self, values: Sequence[Any], types: set[type]) -> bool:
        """Return whether values are written unchanged."""
        if self._are_plain is not None:
            if int in types or not self._are_plain(values):
                return False
            longest = max(map(len, values))
            self.cells.width = max(self.cells.width, longest)
            return longest <= _CACHED_LENGTH
        if str not in types:
            limit = _MAX_COMMON_INTEGER
            return bool(min(values) > -limit // 10 and max(values) < limit)
        joined = "|".join(map(str, values) if int in types else values) + "|"
        are_numbers = _COMMON_NUMBERS[self.column.kind](joined) is not None
        # A text may contain the separator.
        return are_numbers and joined.count("|") == len(values)


class LineWriter:
    """Writes rows as lines, straight from the values of records."""

    def __init__(self, columns: Sequence[ExportColumn], line_format: LineFormat) -> None:
        self._format = line_format
        self._columns = [_ColumnWriter(c, index, line_format) for index, c in enumerate(columns)]

    @property
    def widths(self) -> list[int]:
        """Length of the longest text of each column so far, without common numbers."""
        return [writer.cells.width for writer in self._columns]

    @property
    def zones(self) -> dict[str, set[str]]:
        """Time zones of moments so far, by column name."""
        return {
            writer.column.name: writer.cells.zones
            for writer in self._columns
            if isinstance(writer.cells, _MomentCells) and writer.cells.zones
        }

    def lines(self, columns: Sequence[Sequence[Any]]) -> list[str]:
        """Return the rows of columns of values as lines; no columns are no rows.

        Raises ``ValueError`` or ``TypeError`` for unexpected values.
        """
        if not columns:
            return []
        parts: list[Iterable[str]] = []
        separator = self._format.separator
        common = self._format.prefix
        for writer, values in zip(self._columns, columns, strict=True):
            before, texts, after = writer.format_values(values)
            common += before
            if texts is not None:
                parts += [repeat(common), texts]
                common = ""
            common += after + separator
        common = common.removesuffix(separator) + self._format.suffix
        parts.append(repeat(common, len(columns[0])))
        return list(map("".join, zip(*parts, strict=False)))

    def first_misfit(self, values: Sequence[Any]) -> tuple[int, Exception] | None:
        """Return the index of the first unexpected value, and the reason."""
        for index, (writer, value) in enumerate(zip(self._columns, values, strict=True)):
            try:
                writer.check(value)
            except (ValueError, TypeError) as error:
                return index, error
        return None
