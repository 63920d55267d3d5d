"""Flatten nested records into the lines of sheets, many at a time; import sheets have the field
of each of their columns.
"""

import codecs
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import time
from itertools import chain
from operator import itemgetter
from typing import Any

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
"""Name of the time of day of a date, of which an import sheet has no more than the day."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """Conversion of a record into a row of an import sheet.

    ``numbers`` are the columns of the system's own number of the record, which nobody sends;
    ``days`` those of dates. ``lists`` are the columns of each list within a record: its items
    stand in a sheet of their own, joined by the number that ``codes`` make up.
    """

    convert: RecordToRow
    numbers: tuple[str, ...]
    days: tuple[str, ...]
    codes: tuple[str, ...] = ()
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __call__(self, record: Record) -> Record:
        """Return the row, with its lists."""
        row = {name: record.get(name) for name in self.numbers} | self.convert(record)
        if not self.lists:
            return row
        number = [record.get(name) for name in self.codes]
        row[KEY] = None if None in number else "/".join(map(str, number))
        return row | {name: record.get(name) for name in self.lists}

    def left_out(self, record: Record) -> list[str]:
        """Return what of a record no column holds, as a line that ``add_up_left_out`` adds up.

        A list counts its items, any other filled field counts once.
        """
        renamed = self.convert.renamed_fields(record)
        carried = {*self.numbers, *self.convert.own, *renamed, *self.lists}
        counts = Counter(
            {
                name: count
                for name, value in record.items()
                if name not in carried and (count := _filled(value))
            }
        )
        for name, columns in self.lists.items():
            for item in record.get(name) or ():
                left = (f"{name}.{f}" for f, v in item.items() if f not in columns and _filled(v))
                counts.update(left)
        counts |= {_TIME_OF.format(field=n): 1 for n in self.days if _has_time(record.get(n))}
        return [encode_json(counts) + "\n"] if counts else []


def import_row(resource: Resource) -> ImportRow | None:
    """Return the conversion for the sheet of a resource, None where records are not found again."""
    if resource.read_back is None:
        return None
    days = tuple(column.name for column in resource.columns if column.kind is Kind.DATE)
    lists = {one.sheet: frozenset(c.name for c in one.sent_columns) for one in resource.children}
    declared = resource.read_back
    return ImportRow(declared.as_row, declared.number_columns, days, declared.codes, lists)


def add_up_left_out(blocks: Iterable[bytes]) -> dict[str, int]:
    """Return how often each field was filled that has no column, the most frequent first."""
    counts: Counter[str] = Counter()
    for line in chain.from_iterable(block.splitlines() for block in blocks):
        counts.update(json.loads(line))
    return dict(counts.most_common())


def _filled(value: Any) -> int:
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
"""Lines of a sheet, and how many of them each record has."""

SURROGATE_ERRORS = "xlbridge-half-characters"
"""JSON can spell half of a surrogate pair, and no file can hold it."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def _replace_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(SURROGATE_ERRORS, _replace_surrogates)

_Pick = Callable[[Mapping[str, Any]], tuple[Any, ...]]


class Flattener:
    """Turns records, whose numbers are exact, into the lines of each sheet.

    The columns of the key that a child row lacks are filled from the record around it.
    ``rearrange`` puts a record's fields where the sheets expect them; the last lists have the
    lines of ``totals`` and of what an import sheet leaves out, of the record as it came.
    """

    def __init__(
        self,
        sheets: Sequence[Sheet],
        forms: Sequence[LineFormat],
        rearrange: Rearrange | None = None,
        totals: TotalsSpec | None = None,
    ) -> None:
        self._sheets = [_SheetLines(s, form) for s, form in zip(sheets, forms, strict=True)]
        self._rearrange = rearrange
        self._totals = totals

    @property
    def widths(self) -> list[list[int]]:
        """Length of the longest text of each column so far, sheet by sheet."""
        return [sheet.writer.widths for sheet in self._sheets]

    @property
    def zones(self) -> dict[str, list[str]]:
        """The zones that moments came with so far, by the column's name."""
        found: dict[str, set[str]] = {}
        for sheet in self._sheets:
            for name, zones in sheet.writer.zones.items():
                found[name] = found.get(name, set()) | zones
        return {name: sorted(zones) for name, zones in found.items()}

    def lines(self, records: Sequence[Record]) -> list[Lines]:
        """Return the lines of records, sheet by sheet, the records' own first.

        Raises ``TransportError`` for a value that is not what the interface documents,
        ``UsageError`` for a text that the format cannot hold.
        """
        arranged = records if self._rearrange is None else list(map(self._rearrange, records))
        try:
            lines = [sheet.lines(arranged) for sheet in self._sheets]
        except (ValueError, TypeError):
            complaints = (s.complaint(record) for record in arranged for s in self._sheets)
            raise next(filter(None, complaints)) from None
        lines.append(_lines_beside(self._totals.lines if self._totals else _no_lines, records))
        if isinstance(self._rearrange, ImportRow):
            lines.append(_lines_beside(self._rearrange.left_out, records))
        return lines


def _no_lines(_record: Record) -> list[str]:
    return []


def _lines_beside(lines_of: Callable[[Record], list[str]], records: Sequence[Record]) -> Lines:
    lines = list(map(lines_of, records))
    return _encoded(chain.from_iterable(lines)), list(map(len, lines))


def _encoded(lines: Iterable[str]) -> list[bytes]:
    lines = list(lines)
    try:
        return list(map(str.encode, lines))
    except UnicodeEncodeError:
        return [line.encode("utf-8", SURROGATE_ERRORS) for line in lines]


class _SheetLines:
    def __init__(self, sheet: Sheet, form: LineFormat) -> None:
        self._sheet = sheet
        self.writer = LineWriter(sheet.columns, form)
        own = sheet.own if sheet.is_joined else 0
        self._own = _picker(sheet.columns[:own])
        self._row = _picker(sheet.columns[own:])
        self._nothing = (None,) * (len(sheet.columns) - own)
        fields = {column.field for column in sheet.columns[own:]}
        self._key = [name for name in sheet.key if name in fields]
        self._key_places = [n for n, c in enumerate(sheet.columns[own:]) if c.field in self._key]

    def lines(self, records: Sequence[Record]) -> Lines:
        rows, counts = self._rows_of_all(records)
        return _encoded(self.writer.lines(rows)), counts

    def _rows_of_all(self, records: Sequence[Record]) -> tuple[list[tuple[Any, ...]], list[int]]:
        """Return the rows of records, and how many each has."""
        if len(self._sheet.within) == 1 and not self._sheet.is_joined:
            # Items have their whole key nearly always: then none is looked at by itself.
            (name,) = self._sheet.within
            items = [record.get(name) or () for record in records]
            rows = list(map(self._row, chain.from_iterable(items)))
            if not any(None in map(itemgetter(place), rows) for place in self._key_places):
                return rows, list(map(len, items))
        of_records = list(map(self._rows, records))
        return list(chain.from_iterable(of_records)), list(map(len, of_records))

    def complaint(self, record: Record) -> XlbridgeError | None:
        """Say what of a record cannot be written, None where all can."""
        for row in self._rows(record):
            misfit = self.writer.misfit(row)
            if misfit is not None:
                place, reason = misfit
                return _value_error(
                    self._sheet, row, self._sheet.columns[place], row[place], reason
                )
        return None

    def _rows(self, record: Record) -> list[tuple[Any, ...]]:
        if not self._sheet.within:
            return [self._row(record)]
        rows = list(map(self._row, self._nested(record)))
        if not self._sheet.is_joined:
            return rows
        front = self._own(record)
        return [front + row for row in rows or [self._nothing]]

    def _nested(self, record: Record) -> list[Record]:
        """Return the objects of the sheet within a record, with what they lack of the key."""
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


def _picker(columns: Sequence[ExportColumn]) -> _Pick:
    """Return what takes the columns' values out of an object, all at once where all are there."""
    names = [column.field for column in columns]
    if len(names) < 2:
        return lambda values: tuple(map(values.get, names))
    at_once: _Pick = itemgetter(*names)

    def pick(values: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            return at_once(values)
        except KeyError:
            return tuple(map(values.get, names))

    return pick


def _value_error(
    sheet: Sheet, row: Sequence[Any], column: ExportColumn, value: Any, reason: Exception
) -> XlbridgeError:
    if isinstance(reason, TextTooLong):
        return UsageError(
            Text(
                pt="{place}, campo {field}: o texto tem {length} caracteres, e uma célula guarda "
                "{limit}.",
                en="{place}, field {field}: the text has {length} characters, and a cell holds "
                "{limit}.",
            ).format(
                place=_row_label(sheet, row),
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
            pt="{place}: o campo {field} veio como {kind}, e a interface documenta {expected}.",
            en="{place}: the field {field} came as {kind}, and the interface documents {expected}.",
        ).format(
            place=_row_label(sheet, row),
            field=column.name,
            kind=f"{type(value).__name__} {str(value)[:40]!r}",
            expected=column.kind,
        )
    )


def _row_label(sheet: Sheet, row: Sequence[Any]) -> str:
    """Name a row by its sheet and its key."""
    names = [column.field for column in sheet.columns]
    key = (f"{name} {row[names.index(name)]}" for name in sheet.key if name in names)
    return ", ".join([sheet.name, *key])


UNKNOWN_FIELDS = "outrosCampos"
"""The column of the fields that the interface does not show, as JSON."""


def with_unknown_fields(sheets: tuple[Sheet, ...]) -> tuple[Sheet, ...]:
    """Return the sheets with a last column for the fields that the interface does not show."""
    return tuple(
        replace(sheet, columns=(*sheet.columns, ExportColumn(UNKNOWN_FIELDS, Kind.TEXT)))
        for sheet in sheets
    )


@dataclass(frozen=True, slots=True)
class UnknownFieldCollector:
    """Moves the fields of a record that are not ``known`` into one, as JSON.

    The same in the objects within it, which ``children`` names.
    """

    known: frozenset[str]
    children: Mapping[str, "UnknownFieldCollector"]

    def __call__(self, record: Record) -> Record:
        """Return the record so arranged."""
        kept = {name: record[name] for name in self.known if name in record}
        for name, gather_inner in self.children.items():
            kept[name] = [gather_inner(inner) for inner in record.get(name) or ()]
        others = {
            name: value
            for name, value in record.items()
            if name not in self.known and name not in self.children
        }
        if others:
            kept[UNKNOWN_FIELDS] = as_json(others)
        return kept
