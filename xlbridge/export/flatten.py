"""Nested records into rows of typed cells: plain loops, one record at a time."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from operator import itemgetter
from types import NoneType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from xlbridge.api.records import Record
from xlbridge.errors import TransportError
from xlbridge.export.columns import Cell, ExportColumn, Row, children_of, columns_of
from xlbridge.export.listing import UNKNOWN_FIELDS, Sheet
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind
from xlbridge.wire.model import WireModel

Flatten = Callable[[Record], list[list[Row]]]
"""Turns a record into its rows, sheet by sheet."""

_LONGEST_NUMBER = 40
"""Most digits before or after the decimal point; more is no amount of anything."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""JSON can spell half of a surrogate pair; no file format can hold it."""

_Convert = Callable[[Any], Cell]
_Read = Callable[[Mapping[str, Any]], Row]


_MOST_PLANS = 1_000


class _Misfit(ValueError):
    """A value is not of the kind that its column documents."""


def flattener(sheets: Sequence[Sheet]) -> Flatten:
    """Return what turns a record into the rows of each sheet, the record's own first.

    A child row lacks a column of the key: it is filled from what it stands in. It raises
    ``TransportError`` for a value that is not what the interface documents.
    """
    readers = [_sheet_reader(sheet) for sheet in sheets]

    def flatten(record: Record) -> list[list[Row]]:
        try:
            return [read(record) for read in readers]
        except ValueError:
            raise _not_documented(record, sheets) from None

    return flatten


def _sheet_reader(sheet: Sheet) -> Callable[[Record], list[Row]]:
    if sheet.is_joined:
        own, child = (
            _row_reader(sheet.columns[: sheet.own]),
            _row_reader(sheet.columns[sheet.own :]),
        )
        nothing: Row = [None] * (len(sheet.columns) - sheet.own)

        def joined(record: Record) -> list[Row]:
            front = own(record)
            return [front + child(inner) for inner in _inside(record, sheet)] or [front + nothing]

        return joined
    read = _row_reader(sheet.columns)
    if not sheet.within:
        return lambda record: [read(record)]
    return lambda record: [read(inner) for inner in _inside(record, sheet)]


def _inside(record: Record, sheet: Sheet) -> list[Record]:
    """Return the objects of a sheet within a record, with what they lack of the key."""
    found = [record]
    for name in sheet.within:
        found = [
            _filled(inner, outer, sheet.key) for outer in found for inner in outer.get(name) or ()
        ]
    return found


def _filled(inner: Record, outer: Record, key: Sequence[str]) -> Record:
    for name in key:
        if inner.get(name) is None and name in outer:
            inner = inner | {name: outer[name]}
    return inner


def _row_reader(columns: Sequence[ExportColumn]) -> _Read:
    """Return what reads a row: all its fields at once, then only what is no cell as it came.

    Which ones these are follows from the types of the values, and few combinations occur.
    """
    names = [column.field for column in columns]
    converts = [_convert(column) for column in columns]
    fields_at_once = itemgetter(*names) if len(names) > 1 else None
    plans: dict[tuple[type, ...], list[tuple[int, _Convert]]] = {}

    def read(record: Mapping[str, Any]) -> Row:
        try:
            values = fields_at_once(record) if fields_at_once else (record.get(names[0]),)
        except KeyError:
            values = tuple(map(record.get, names))
        types = tuple(map(type, values))
        plan = plans.get(types)
        if plan is None:
            plan = plans[types] = [
                (index, convert)
                for index, (kind, convert) in enumerate(zip(types, converts, strict=True))
                if kind is not NoneType and _AS_IT_COMES.get(convert) is not kind
            ]
            if len(plans) > _MOST_PLANS:
                plans.clear()
        row: Row = list(values)
        for index, convert in plan:
            row[index] = convert(values[index])
        return row

    return read


def gather_unknown(model: type[WireModel]) -> Callable[[Record], Record]:
    """Return what moves the fields of a record that the interface does not show into one, as JSON.

    The same in the objects within it.
    """
    known = {column.name for column in columns_of(model)}
    children = {name: gather_unknown(inner) for name, inner in children_of(model).items()}

    def gather(record: Record) -> Record:
        kept = {name: record[name] for name in known if name in record}
        for name, gather_inner in children.items():
            kept[name] = [gather_inner(inner) for inner in record.get(name) or ()]
        others = {k: v for k, v in record.items() if k not in known and k not in children}
        if others:
            kept[UNKNOWN_FIELDS] = json.dumps(others, ensure_ascii=False, default=str)
        return kept

    return gather


def _convert(column: ExportColumn) -> _Convert:
    if column.is_secret:
        return _without_query
    return _texts if column.is_list else _CONVERT.get(column.kind, _text)


def _text(value: Any) -> Cell:
    if type(value) is str:
        return value if value.isascii() else _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    raise _Misfit


def _texts(value: Any) -> Cell:
    if not isinstance(value, list):
        raise _Misfit
    return [str(_text(item)) for item in value]


def _without_query(value: Any) -> Cell:
    """Return an address without what may hold a token: its user, query and fragment."""
    parts = urlsplit(str(_text(value)))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _number(value: Any) -> Cell:
    if type(value) is Decimal or type(value) is int:
        digits = str(value)
        if len(digits) <= _LONGEST_NUMBER and "E" not in digits:
            return digits
        return _long_number(Decimal(value))
    raise _Misfit


def _long_number(number: Decimal) -> str:
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(number.adjusted(), -exponent) > _LONGEST_NUMBER:
        raise _Misfit
    return f"{number:f}"


def _integer(value: Any) -> Cell:
    if type(value) is int:
        return value
    if not isinstance(value, Decimal):
        raise _Misfit
    digits = _long_number(value)
    if value != int(Decimal(digits)):
        raise _Misfit
    return int(value)


def _moment(value: Any) -> Cell:
    if type(value) is not str:
        raise _Misfit
    if len(value) == 19 and value[10] == "T":
        datetime.fromisoformat(value)
        return value
    return datetime.fromisoformat(value).replace(tzinfo=None).isoformat()


def _boolean(value: Any) -> Cell:
    if value is True or value is False:
        return bool(value)
    raise _Misfit


_CONVERT: Mapping[Kind, _Convert] = {
    Kind.TEXT: _text,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.MONEY: _number,
    Kind.DATE: _moment,
    Kind.BOOLEAN: _boolean,
}


_AS_IT_COMES: Mapping[_Convert, type] = {_integer: int, _boolean: bool}
"""The type of a value that each of these leaves as it is."""


def _misfits(
    record: Record, sheets: Sequence[Sheet]
) -> Iterator[tuple[Sheet, Record, ExportColumn, Any]]:
    for sheet in sheets:
        for inner in (
            [record, *_inside(record, sheet)] if sheet.is_joined else _inside(record, sheet)
        ):
            for column in sheet.columns:
                value = inner.get(column.field)
                try:
                    if value is not None:
                        _convert(column)(value)
                except ValueError:
                    yield sheet, inner, column, value


def _not_documented(record: Record, sheets: Sequence[Sheet]) -> TransportError:
    sheet, inner, column, value = next(_misfits(record, sheets))
    key = ", ".join(f"{name} {inner.get(name)}" for name in sheet.key)
    return TransportError(
        Text(
            pt="{sheet}, {key}: o campo {field} veio como {kind}, e a interface diz {expected}.",
            en="{sheet}, {key}: the field {field} came as {kind}, and the interface says "
            "{expected}.",
        ).format(
            sheet=sheet.name,
            key=key,
            field=column.name,
            kind=f"{type(value).__name__} {str(value)[:40]!r}",
            expected=column.kind,
        )
    )
