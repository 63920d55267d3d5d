"""Flatten nested records into the lines of sheets, many at a time."""

import codecs
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import time
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec

from xlbridge.client import Record
from xlbridge.errors import TransportError, UsageError, XlbridgeError
from xlbridge.export.lines import LineFormat, LineWriter, TextTooLong
from xlbridge.export.sheets import ExportColumn, Sheet, as_json, encode_json, naive_moment
from xlbridge.export.totals import TotalsSpec
from xlbridge.i18n import Text
from xlbridge.resources import (
    KEY,
    Kind,
    Resource,
)
from xlbridge.resources.remote import RecordToRow

_TIME_OF = "{field}.time"
"""Name of the time of a date, which an import sheet leaves out."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """Conversion of a record into a row of an import sheet.

    ``number_columns`` hold the system's number of the record, which is not uploaded;
    ``date_columns`` hold dates. ``lists`` are the columns of each list within a record, whose
    items have a sheet of their own, joined by the number made up of ``codes``.
    """

    convert: RecordToRow
    number_columns: tuple[str, ...]
    date_columns: tuple[str, ...]
    codes: tuple[str, ...] = ()
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __call__(self, record: Record) -> Record:
        """Return the row, with its lists."""
        row = {name: record.get(name) for name in self.number_columns} | self.convert(record)
        if not self.lists:
            return row
        number = [record.get(name) for name in self.codes]
        row[KEY] = None if None in number else "/".join(map(str, number))
        return row | {name: record.get(name) for name in self.lists}

    def left_out(self, record: Record) -> list[str]:
        """Return the fields of a record without a column, as a line for ``sum_left_out``.

        A list counts its items, any other filled field counts once.
        """
        renamed = self.convert.renamed_fields(record)
        carried = {*self.number_columns, *self.convert.same_name, *renamed, *self.lists}
        counts = Counter(
            {
                name: count
                for name, value in record.items()
                if name not in carried and (count := _value_count(value))
            }
        )
        for name, columns in self.lists.items():
            for item in record.get(name) or ():
                counts.update(
                    f"{name}.{inner}"
                    for inner, value in item.items()
                    if inner not in columns and _value_count(value)
                )
        times = (name for name in self.date_columns if _has_time(record.get(name)))
        counts |= {_TIME_OF.format(field=name): 1 for name in times}
        return [encode_json(counts) + "\n"] if counts else []


def import_row(resource: Resource) -> ImportRow | None:
    """Return the conversion for a resource's sheet, None if its records cannot be read back."""
    declared = resource.read_back
    if declared is None:
        return None
    dates = tuple(column.name for column in resource.columns if column.kind is Kind.DATE)
    lists = {
        child.sheet: frozenset(column.name for column in child.sent_columns)
        for child in resource.children
    }
    return ImportRow(declared.as_row, declared.number_columns, dates, declared.codes, lists)


def sum_left_out(blocks: Iterable[bytes]) -> dict[str, int]:
    """Return the count of each field without a column, the most frequent first."""
    counts: Counter[str] = Counter()
    for line in chain.from_iterable(block.splitlines() for block in blocks):
        counts.update(json.loads(line))
    return dict(counts.most_common())


def _value_count(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    return 0 if value is None or value == "" or (isinstance(value, Mapping) and not value) else 1


def _has_time(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return naive_moment(value).time() != time()
    except ValueError:
        return False


Rearrange = Callable[[Record], Record]
"""Moves the fields of a record."""

Lines = tuple[list[bytes], list[int]]
"""Lines of a sheet, and the number of lines of each record."""

SURROGATE_ERRORS = "xlbridge-half-characters"
"""Error handler for lone surrogates, which JSON can spell and UTF-8 cannot hold."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def _replace_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(SURROGATE_ERRORS, _replace_surrogates)

_GetValues = Callable[[Mapping[str, Any]], tuple[Any, ...]]


class Flattener:
    """Converts records, whose numbers are exact, into the lines of each sheet.

    Columns of the key that a child row lacks are filled from the record around it. ``rearrange``
    moves a record's fields to where the sheets expect them. After the sheets' lines follow those
    of ``totals`` and, for import sheets, of the fields left out, both of the original record.
    """

    def __init__(
        self,
        sheets: Sequence[Sheet],
        line_formats: Sequence[LineFormat],
        rearrange: Rearrange | None = None,
        totals: TotalsSpec | None = None,
    ) -> None:
        self._sheets = list(map(_SheetLines, sheets, line_formats))
        self._rearrange = rearrange
        self._totals = totals

    @property
    def widths(self) -> list[list[int]]:
        """Length of the longest text of each column so far, sheet by sheet."""
        return [sheet.writer.widths for sheet in self._sheets]

    @property
    def zones(self) -> dict[str, list[str]]:
        """Time zones of moments so far, by column name."""
        found: dict[str, set[str]] = {}
        for sheet in self._sheets:
            for name, zones in sheet.writer.zones.items():
                found[name] = found.get(name, set()) | zones
        return {name: sorted(zones) for name, zones in found.items()}

    def lines(self, records: Sequence[Record]) -> list[Lines]:
        """Return the lines of records, sheet by sheet.

        Raises ``TransportError`` for a value that contradicts the interface's description,
        ``UsageError`` for a text that the format cannot hold.
        """
        arranged = records if self._rearrange is None else list(map(self._rearrange, records))
        try:
            lines = [sheet.lines(arranged) for sheet in self._sheets]
        except (ValueError, TypeError):
            errors = (
                sheet.first_error(record)
                for record in _as_dicts(arranged)
                for sheet in self._sheets
            )
            raise next(filter(None, errors)) from None
        totals_lines = self._totals.lines if self._totals else lambda _record: []
        lines.append(_encode_records(totals_lines, records))
        if isinstance(self._rearrange, ImportRow):
            lines.append(_encode_records(self._rearrange.left_out, records))
        return lines


def _encode_records(lines_of: Callable[[Record], list[str]], records: Sequence[Record]) -> Lines:
    lines = list(map(lines_of, records))
    return _encode(chain.from_iterable(lines)), list(map(len, lines))


def _encode(lines: Iterable[str]) -> list[bytes]:
    lines = list(lines)
    try:
        return list(map(str.encode, lines))
    except UnicodeEncodeError:
        return [line.encode("utf-8", SURROGATE_ERRORS) for line in lines]


class _SheetLines:
    def __init__(self, sheet: Sheet, line_format: LineFormat) -> None:
        self._sheet = sheet
        self.writer = LineWriter(sheet.columns, line_format)
        own, columns = sheet.columns[: sheet.record_columns], sheet.columns[sheet.record_columns :]
        self._own_values = _value_getter(own)
        self._values = _value_getter(columns)
        self._fields = [column.field for column in columns]
        self._no_values = (None,) * len(columns)
        fields = {column.field for column in columns}
        self._key = [name for name in sheet.key if name in fields]
        self._key_indexes = [n for n, c in enumerate(columns) if c.field in self._key]

    def lines(self, records: Sequence[Record]) -> Lines:
        columns, counts = self._columns(records)
        return _encode(self.writer.lines(columns)), counts

    def _columns(self, records: Sequence[Record]) -> tuple[Sequence[Sequence[Any]], list[int]]:
        """Return the values of each column, and the number of rows of each record."""
        if not self._sheet.within:
            return self._values_by_column(records), [1] * len(records)
        if len(self._sheet.within) == 1 and not self._sheet.is_joined:
            # Nearly always items have their whole key: then they need no further work.
            (name,) = self._sheet.within
            items = [record.get(name) or () for record in records]
            columns = self._values_by_column(list(chain.from_iterable(items)))
            if not columns or all(None not in columns[index] for index in self._key_indexes):
                return columns, list(map(len, items))
        by_record = list(map(self._rows, _as_dicts(records)))
        return _transposed(chain.from_iterable(by_record)), list(map(len, by_record))

    def _values_by_column(self, objects: Sequence[Any]) -> Sequence[Sequence[Any]]:
        if not are_typed(objects):
            return _transposed(map(self._values, objects))
        by_field = _transposed(map(msgspec.structs.astuple, objects))
        positions = {field: n for n, field in enumerate(objects[0].__struct_fields__)}
        return [by_field[positions[name]] for name in self._fields]

    def first_error(self, record: Record) -> XlbridgeError | None:
        """Return the error of a record's first value that cannot be written, None if all can."""
        for row in self._rows(record):
            misfit = self.writer.first_misfit(row)
            if misfit is not None:
                return _value_error(self._sheet, row, *misfit)
        return None

    def _rows(self, record: Record) -> list[tuple[Any, ...]]:
        if not self._sheet.within:
            return [self._values(record)]
        rows = list(map(self._values, self._children(record)))
        if not self._sheet.is_joined:
            return rows
        own_values = self._own_values(record)
        return [own_values + row for row in rows or [self._no_values]]

    def _children(self, record: Record) -> list[Record]:
        """Return the objects of the sheet within a record, with their whole key."""
        found = [record]
        for name in self._sheet.within:
            found = [
                _with_outer_key(inner, outer, self._key)
                for outer in found
                for inner in outer.get(name) or ()
            ]
        return found


def _with_outer_key(inner: Record, outer: Record, key: Sequence[str]) -> Record:
    for name in key:
        if inner.get(name) is None and name in outer:
            inner = inner | {name: outer[name]}
    return inner


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
    records: Sequence[Record] = msgspec.to_builtins(objects) if are_typed(objects) else objects
    return records


def _value_error(sheet: Sheet, row: Sequence[Any], index: int, reason: Exception) -> XlbridgeError:
    column, value = sheet.columns[index], row[index]
    if isinstance(reason, TextTooLong):
        return UsageError(
            Text(
                pt="{row}, campo {field}: o texto tem {length} caracteres, e o máximo de uma "
                "célula é {limit}.",
                en="{row}, field {field}: the text has {length} characters, and the maximum of a "
                "cell is {limit}.",
            ).format(
                row=_row_label(sheet, row),
                field=column.name,
                length=reason.length,
                limit=reason.limit,
            ),
            Text(
                pt="Exporte para .csv ou .jsonl, que não têm esse limite.",
                en="Export to .csv or .jsonl, which have no such limit.",
            ),
        )
    return TransportError(
        Text(
            pt="{row}: o campo {field} veio como {kind}, e a interface documenta {expected}.",
            en="{row}: the field {field} came as {kind}, and the interface documents {expected}.",
        ).format(
            row=_row_label(sheet, row),
            field=column.name,
            kind=f"{type(value).__name__} {str(value)[:40]!r}",
            expected=column.kind,
        )
    )


def _row_label(sheet: Sheet, row: Sequence[Any]) -> str:
    """Return a label of a row: its sheet and its key."""
    names = [column.field for column in sheet.columns]
    key = (f"{name} {row[names.index(name)]}" for name in sheet.key if name in names)
    return ", ".join([sheet.name, *key])


UNKNOWN_FIELDS = "outrosCampos"
"""Column of undocumented fields, as JSON."""


def with_unknown_fields(sheets: tuple[Sheet, ...]) -> tuple[Sheet, ...]:
    """Return the sheets with a last column for undocumented fields."""
    return tuple(
        replace(sheet, columns=(*sheet.columns, ExportColumn(UNKNOWN_FIELDS, Kind.TEXT)))
        for sheet in sheets
    )


@dataclass(frozen=True, slots=True)
class UnknownFieldCollector:
    """Moves the fields of a record that are not ``known`` into one field, as JSON.

    ``children`` do the same for the objects in its lists.
    """

    known: frozenset[str]
    children: Mapping[str, "UnknownFieldCollector"]

    def __call__(self, record: Record) -> Record:
        """Return the rearranged record."""
        result = {name: record[name] for name in self.known if name in record}
        for name, collect in self.children.items():
            result[name] = [collect(inner) for inner in record.get(name) or ()]
        unknown = {
            name: value
            for name, value in record.items()
            if name not in self.known and name not in self.children
        }
        if unknown:
            result[UNKNOWN_FIELDS] = as_json(unknown)
        return result
