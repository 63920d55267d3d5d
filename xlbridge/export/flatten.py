"""Flatten nested records into the lines of sheets, many at a time.

Rows are written column by column; the cells of repeated values are cached.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, repeat
from operator import itemgetter
from types import NoneType
from typing import Any

import msgspec

from xlbridge.client import Record
from xlbridge.errors import UsageError
from xlbridge.export.formats.base import LineFormat, TextTooLong, WriteValue
from xlbridge.export.sheets import (
    NO_NAMES,
    ExportColumn,
    MarkedDigits,
    RecordNames,
    Sheet,
    as_json,
    moment_suffix,
)
from xlbridge.i18n import Text
from xlbridge.resources import Kind

_CACHE_SIZE, _CACHED_LENGTH = 1_000, 200
"""Maximum number of cells cached per column, and maximum length of a cached value."""

_BARE_MOMENT_LENGTH = len("2026-11-21T10:30:00")
_MIDNIGHT = "T00:00:00"

_COMMON_NUMBERS = {
    Kind.INTEGER: re.compile(r"(?:(?:0|[1-9][0-9]{0,7}+|-[1-9][0-9]{0,6}+)\|)*+").fullmatch,
    Kind.NUMBER: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,7}+)(?:\.[0-9]{1,6}+)?+\|)*+").fullmatch,
    Kind.MONEY: re.compile(r"(?:-?(?:0|[1-9][0-9]{0,11}+)(?:\.[0-9]{1,2}+)?+\|)*+").fullmatch,
}
"""Many numbers at once, joined by bars: most of them differ, so that a cache would not help."""

_DIGIT_TYPES = {int, MarkedDigits}
_NUMBER_TYPES = {str, NoneType, *_DIGIT_TYPES}
_NULLS = {NoneType}
_UNHASHABLE = {dict, list}
_MAX_SHOWN_LENGTH = 40
_MAX_COMMON_INTEGER = 10**8
"""Integers below are common numbers of any column; negative ones have a digit less."""


class CellNotes(msgspec.Struct):
    """Notes on the cells of records, for the output and its report.

    ``widths`` are the lengths of each column's longest text, without common numbers, sheet by
    sheet; ``zones`` the time zones of moments by column name. By sheet and column, ``odd_values``
    are the first values that are not of their column's type, ``risky_texts`` the first texts that a
    program may evaluate.
    """

    widths: list[list[int]] = []
    zones: dict[str, list[str]] = {}
    odd_values: dict[str, str] = {}
    risky_texts: dict[str, str] = {}

    @classmethod
    def merged(cls, parts: Iterable["CellNotes"]) -> "CellNotes":
        """Return the notes on several parts of an export, oldest first."""
        whole = cls()
        for part in parts:
            both = zip(whole.widths or part.widths, part.widths, strict=True)
            whole.widths = [list(map(max, *widths)) for widths in both]
            for name, zones in part.zones.items():
                whole.zones[name] = sorted({*whole.zones.get(name, ()), *zones})
            whole.odd_values = part.odd_values | whole.odd_values
            whole.risky_texts = part.risky_texts | whole.risky_texts
        whole.zones = dict(sorted(whole.zones.items()))
        return whole


Lines = tuple[list[bytes], list[int], list[Decimal]]
"""Lines of a sheet, the number of lines of each record, and the sums of the columns summed."""

SURROGATE_ERRORS = "xlbridge-half-characters"
"""Error handler for lone surrogates, which JSON can spell and UTF-8 cannot hold."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def _replace_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(SURROGATE_ERRORS, _replace_surrogates)


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
        width = self.width
        cell = super().__missing__(value)
        if isinstance(value, str) and value.endswith(_MIDNIGHT):
            self.width = max(width, len(value) - len(_MIDNIGHT))  # only its day is shown
        if isinstance(value, str) and len(value) != _BARE_MOMENT_LENGTH:
            _, zone = moment_suffix(value)
            if zone:
                self.zones.add(zone)
        return cell


class _ColumnWriter:
    """Writes the values of one column.

    A value that is not of the documented type is written as text; ``odd`` is the first of them,
    ``risky`` the first text that a program may evaluate. ``unchanged`` are the last values that
    were written as they are.
    """

    def __init__(self, column: ExportColumn, index: int, line_format: LineFormat) -> None:
        self.column = column
        self._write = line_format.cell_writer(column, index)
        as_text = replace(column, kind=Kind.TEXT, is_list=False)
        self._write_as_text = line_format.cell_writer(as_text, index)
        self.odd: str | None = None
        self.unchanged: Sequence[Any] | None = None
        self._is_risky = line_format.is_risky
        self.risky: str | None = None
        self._empty_cell = line_format.empty_cell(column)
        # 1 and true are the same key of a dict, and so are a text and the digits of a number.
        unexpected: Mapping[Kind, set[type]] = {
            Kind.BOOLEAN: {int},
            Kind.TEXT: {bool, MarkedDigits},
        }
        self._unexpected = unexpected.get(column.kind, {bool})
        is_text = column.kind is Kind.TEXT
        self.cells = (
            _MomentCells(self.write, self._empty_cell)
            if column.kind is Kind.DATE
            else _CellCache(self.write, self._empty_cell, is_text=is_text)
        )
        is_number = column.kind in _COMMON_NUMBERS
        is_text = is_text and line_format.are_plain is not None
        unchanged = (is_number or is_text) and not column.is_list and not column.is_secret
        self._affixes = line_format.affixes(column, index) if unchanged else None
        self._are_plain = line_format.are_plain if is_text else None

    def format_values(self, values: Sequence[Any]) -> tuple[str, Iterable[str] | None, str]:
        """Return a common text, the text of each value, and another common text.

        The second is None if all values are null.
        """
        self.unchanged = None
        types = set(map(type, values))
        if types == _NULLS:
            return self._empty_cell, None, ""
        if (self._unexpected | _UNHASHABLE) & types:
            return "", map(self._write_uncached, values), ""
        if self._affixes is None or not types <= _NUMBER_TYPES:
            return "", map(self.cells.__getitem__, values), ""
        filled = values if NoneType not in types else [v for v in values if v is not None]
        if not self._are_common(filled, types):
            return "", map(self.cells.__getitem__, values), ""
        before, after = self._affixes
        self.unchanged = filled
        if filled is values:
            if types == {int}:  # ``repr`` is faster.
                return before, map(repr, values), after
            return before, map(str, values) if int in types else values, after
        empty_cell = self._empty_cell
        return "", [empty_cell if v is None else f"{before}{v}{after}" for v in values], ""

    def write(self, value: Any) -> str:
        """Return the cell of a value that is not null. Raises ``TextTooLong``."""
        column = self.column
        try:
            cell = self._write(value)
        except TextTooLong:
            raise
        except (ValueError, TypeError):
            return self._write_odd(value)
        if column.kind is Kind.TEXT:
            if type(value) in _DIGIT_TYPES:
                self._note_odd(str(value))
            self._note_risky("\n".join(value) if column.is_list else str(value))
        return cell

    def _write_odd(self, value: Any) -> str:
        """Return the cell of a value that is not of the column's type, as text."""
        text = value if isinstance(value, str) else as_json(value)
        self._note_odd(text)
        self._note_risky(text)
        try:
            return self._write_as_text(text)
        except TextTooLong:
            raise
        except ValueError:
            return self._empty_cell  # An address that is none may hold a token.

    def _note_risky(self, text: str) -> None:
        if self.risky is None and self._is_risky is not None and self._is_risky(text):
            self.risky = "…" if self.column.is_secret else text[:_MAX_SHOWN_LENGTH]

    def _note_odd(self, text: str) -> None:
        if self.odd is None:
            self.odd = "…" if self.column.is_secret else text[:_MAX_SHOWN_LENGTH]

    def _write_uncached(self, value: Any) -> str:
        """Return a cell of a column with lists, or with values that equal those of another type."""
        if value is None or (value == "" and self.column.kind is not Kind.TEXT):
            return self._empty_cell
        texts = value if isinstance(value, list) else [value]
        self.cells.width = max(self.cells.width, *(len(str(text)) for text in texts), 0)
        return self.write(value)

    def _are_common(self, values: Sequence[Any], types: set[type]) -> bool:
        """Return whether values are written unchanged."""
        if self._are_plain is not None:
            if int in types or not self._are_plain(values):
                return False
            longest = max(map(len, values))
            self.cells.width = max(self.cells.width, longest)
            return longest <= _CACHED_LENGTH
        if types <= {int, NoneType}:
            limit = _MAX_COMMON_INTEGER
            return bool(min(values) > -limit // 10 and max(values) < limit)
        joined = "|".join(map(str, values) if int in types else values) + "|"
        are_numbers = _COMMON_NUMBERS[self.column.kind](joined) is not None
        # A text may contain the separator.
        return are_numbers and joined.count("|") == len(values)


class _AmountWriter(_ColumnWriter):
    """Writes the values of a column with a sum below it; ``sum`` is that of the cells' numbers."""

    def __init__(self, column: ExportColumn, index: int, line_format: LineFormat) -> None:
        super().__init__(column, index, line_format)
        self.sum = Decimal()
        self._numbers = line_format.numbers

    def format_values(self, values: Sequence[Any]) -> tuple[str, Iterable[str] | None, str]:
        """Return a common text, the text of each value, and another common text."""
        before, texts, after = super().format_values(values)
        if self.unchanged is not None:
            self.sum += sum(map(Decimal, self.unchanged))
        elif texts is not None:
            texts = list(texts)
            self.sum += sum(Decimal(digits) for _, digits in self._numbers("".join(texts)))
        return before, texts, after


class _NameWriter(_ColumnWriter):
    """Writes the names of the records whose codes a column has."""

    def __init__(
        self, column: ExportColumn, index: int, line_format: LineFormat, names: Mapping[str, str]
    ) -> None:
        super().__init__(column, index, line_format)
        self._names = {code: name[:_CACHED_LENGTH] or None for code, name in names.items()}

    def format_values(self, values: Sequence[Any]) -> tuple[str, Iterable[str] | None, str]:
        """Return a common text, the text of each value, and another common text."""
        # Only texts and numbers are codes.
        codes = (str(value) if type(value) in _NUMBER_TYPES else "" for value in values)
        return super().format_values(list(map(self._names.get, codes)))


_GetValues = Callable[[Mapping[str, Any]], tuple[Any, ...]]


class SheetLines:
    """Writes the rows of one sheet as lines, straight from the values of records."""

    def __init__(
        self,
        sheet: Sheet,
        line_format: LineFormat,
        names: RecordNames = NO_NAMES,
    ) -> None:
        self.sheet = sheet
        self._format = line_format
        self.writers = list[_ColumnWriter]()
        self._amounts = list[_AmountWriter]()
        for index, column in enumerate(sheet.columns):
            if column.registry:
                known = names.get(column.registry, {})
                self.writers.append(_NameWriter(column, index, line_format, known))
            elif index in line_format.summed:
                self._amounts.append(_AmountWriter(column, index, line_format))
                self.writers.append(self._amounts[-1])
            else:
                self.writers.append(_ColumnWriter(column, index, line_format))
        own, columns = sheet.columns[: sheet.record_columns], sheet.columns[sheet.record_columns :]
        self._own_values = _value_getter(own)
        self._values = _value_getter(columns)
        self._fields = [column.field for column in columns]
        self._no_values = (None,) * len(columns)
        self._key = [name for name in sheet.key if name in self._fields]
        self._key_indexes = [n for n, name in enumerate(self._fields) if name in self._key]

    def of_records(self, records: Sequence[Record]) -> Lines:
        """Return the lines of records. Raises ``TextTooLong``."""
        for writer in self._amounts:
            writer.sum = Decimal()
        columns, counts = self._columns_of(records)
        lines = _encode(self.of_columns(columns))
        return lines, counts, [writer.sum for writer in self._amounts]

    def _columns_of(self, records: Sequence[Record]) -> tuple[Sequence[Sequence[Any]], list[int]]:
        """Return the values of each column, and the number of rows of each record."""
        if not self.sheet.within:
            return self._columns(records), [1] * len(records)
        if len(self.sheet.within) == 1 and not self.sheet.is_joined:
            # Nearly always items have their whole key: then they need no further work.
            (name,) = self.sheet.within
            items = [record.get(name) or () for record in records]
            columns = self._columns(list(chain.from_iterable(items)))
            if not columns or all(None not in columns[index] for index in self._key_indexes):
                return columns, list(map(len, items))
        by_record = list(map(self._rows, _as_dicts(records)))
        return _transposed(chain.from_iterable(by_record)), list(map(len, by_record))

    def of_columns(self, columns: Sequence[Sequence[Any]]) -> list[str]:
        """Return the rows of columns of values as lines; no columns are no rows."""
        if not columns:
            return []
        parts: list[Iterable[str]] = []
        separator = self._format.separator
        common = self._format.prefix
        for writer, values in zip(self.writers, columns, strict=True):
            before, texts, after = writer.format_values(values)
            common += before
            if texts is not None:
                parts += [repeat(common), texts]
                common = ""
            common += after + separator
        common = common.removesuffix(separator) + self._format.suffix
        parts.append(repeat(common, len(columns[0])))
        return list(map("".join, zip(*parts, strict=False)))

    def first_error(self, record: Record) -> UsageError | None:
        """Return the error of a record's first text that is too long, None if all fit."""
        for row in self._rows(record):
            for index, (writer, value) in enumerate(zip(self.writers, row, strict=True)):
                try:
                    if value is not None and not writer.column.registry:
                        writer.write(value)
                except TextTooLong as error:
                    return _too_long(self.sheet, row, index, error)
        return None

    def _columns(self, objects: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """Return the values of each column of some objects."""
        if not are_typed(objects):
            return _transposed(map(self._values, objects))
        by_field = _transposed(map(msgspec.structs.astuple, objects))
        positions = {field: n for n, field in enumerate(objects[0].__struct_fields__)}
        return [by_field[positions[name]] for name in self._fields]

    def _rows(self, record: Record) -> list[tuple[Any, ...]]:
        """Return the values of a record's rows, with the whole key of the objects within it."""
        if not self.sheet.within:
            return [self._values(record)]
        found = [record]
        for name in self.sheet.within:
            pairs = [(outer, inner) for outer in found for inner in outer.get(name) or ()]
            found = []
            for outer, inner in pairs:
                lacking = {n: outer[n] for n in self._key if inner.get(n) is None and n in outer}
                found.append(inner | lacking if lacking else inner)
        rows = list(map(self._values, found))
        if not self.sheet.is_joined:
            return rows
        own_values = self._own_values(record)
        return [own_values + row for row in rows or [self._no_values]]


LinesOfRecords = Callable[[Sequence[Record]], tuple[list[str], list[int]]]
"""Returns further lines of records, which belong to no sheet, and the number of each record's."""

Rearrange = Callable[[Record], Record]
"""Moves the fields of a record."""


class Flattener:
    """Converts records, whose numbers are exact, into the lines of each sheet.

    Columns of the key that a child row lacks are filled from the record around it. ``rearrange``
    moves a record's fields to where the sheets expect them. After the sheets' lines follow those
    of ``others``, which receive the original records; None has no lines. ``names`` are those of
    the records that codes stand for.
    """

    def __init__(
        self,
        sheets: Sequence[Sheet],
        line_formats: Sequence[LineFormat],
        rearrange: Rearrange | None = None,
        others: Sequence[LinesOfRecords | None] = (),
        names: RecordNames = NO_NAMES,
    ) -> None:
        self._sheets = list(map(SheetLines, sheets, line_formats, repeat(names)))
        self._rearrange = rearrange
        self._others = others

    @property
    def notes(self) -> CellNotes:
        """Notes on the cells so far."""
        notes, zones = CellNotes(), dict[str, set[str]]()
        for lines in self._sheets:
            notes.widths.append([writer.cells.width for writer in lines.writers])
            for writer in lines.writers:
                name = f"{lines.sheet.name}.{writer.column.name}"
                if writer.odd is not None:
                    notes.odd_values[name] = writer.odd
                if writer.risky is not None:
                    notes.risky_texts[name] = writer.risky
                if isinstance(writer.cells, _MomentCells) and writer.cells.zones:
                    zones.setdefault(writer.column.name, set()).update(writer.cells.zones)
        notes.zones = {name: sorted(found) for name, found in zones.items()}
        return notes

    def lines(self, records: Sequence[Record]) -> list[Lines]:
        """Return the lines of records, sheet by sheet.

        Raises ``UsageError`` for a text that the format cannot hold.
        """
        arranged = records if self._rearrange is None else list(map(self._rearrange, records))
        try:
            lines = [sheet.of_records(arranged) for sheet in self._sheets]
        except TextTooLong:
            errors = (
                sheet.first_error(record)
                for record in _as_dicts(arranged)
                for sheet in self._sheets
            )
            raise next(filter(None, errors)) from None
        for lines_of in self._others:
            others, counts = lines_of(records) if lines_of else ([], [0] * len(records))
            lines.append((_encode(others), counts, []))
        return lines


def _encode(lines: Iterable[str]) -> list[bytes]:
    lines = list(lines)
    try:
        return list(map(str.encode, lines))
    except UnicodeEncodeError:
        return [line.encode("utf-8", SURROGATE_ERRORS) for line in lines]


def _value_getter(columns: Sequence[ExportColumn]) -> _GetValues:
    """Return a function that gets the columns' values from an object, fast if it has them all."""
    names = [column.field for column in columns]
    if len(names) < 2:
        return lambda values: tuple(map(values.get, names))
    get_all: _GetValues = itemgetter(*names)

    def get_values(values: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            return get_all(values)
        except KeyError:
            return tuple(map(values.get, names))

    return get_values


def _transposed(rows: Iterable[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    return list(zip(*rows, strict=True))


def are_typed(objects: Sequence[Any]) -> bool:
    """Return whether objects are of a ``RecordShape``'s type: all of them, or none."""
    return bool(objects) and not isinstance(objects[0], dict)


def _as_dicts(objects: Sequence[Any]) -> Sequence[Record]:
    if not are_typed(objects):
        return objects
    records: Sequence[Record] = msgspec.to_builtins(objects)
    return records


def _too_long(sheet: Sheet, row: Sequence[Any], index: int, reason: TextTooLong) -> UsageError:
    """Return the error of a text that a cell cannot hold, with the key of its row."""
    names = [column.field for column in sheet.columns]
    key = (f"{name} {row[names.index(name)]}" for name in sheet.key if name in names)
    return UsageError(
        Text(
            pt="{row}, campo {field}: o texto tem {length} caracteres, e o máximo de uma célula é "
            "{limit}.",
            en="{row}, field {field}: the text has {length} characters, and the maximum of a cell "
            "is {limit}.",
        ).format(
            row=", ".join([sheet.name, *key]),
            field=sheet.columns[index].name,
            length=reason.length,
            limit=reason.limit,
        ),
        Text(
            pt="Exporte para .csv ou .jsonl, que não têm esse limite.",
            en="Export to .csv or .jsonl, which have no such limit.",
        ),
    )
