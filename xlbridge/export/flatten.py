"""Nested records into rows of typed cells: plain loops, one record at a time."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from xlbridge.api.records import Record
from xlbridge.errors import TransportError
from xlbridge.export.columns import Cell, ExportColumn
from xlbridge.export.listings import Sheet
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind

Row = list[Cell]

_LONGEST_NUMBER = 40
"""Most digits before or after the decimal point; more is no amount of anything."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""JSON can spell half of a surrogate pair; no file format can hold it."""


class _Misfit(ValueError):
    """A value is not of the kind that its column documents."""


def flatten(record: Record, sheets: Sequence[Sheet]) -> Iterator[tuple[Sheet, Row]]:
    """Yield a record's rows, sheet by sheet, the record's own first.

    A child row lacks a column of the key: it is filled from the record. Raises
    ``TransportError`` for a value that is not what the interface documents.
    """
    for sheet in sheets:
        if sheet.within is None:
            yield sheet, _row(record, sheet)
            continue
        key = {name: record.get(name) for name in sheet.key}
        for child in record.get(sheet.within) or ():
            filled = {name: value for name, value in key.items() if child.get(name) is None}
            yield sheet, _row(child | filled, sheet)


def _row(record: Record, sheet: Sheet) -> Row:
    row: Row = []
    for column in sheet.columns:
        value = record.get(column.name)
        if value is None:
            row.append(None)
            continue
        try:
            row.append(_convert(column)(value))
        except ValueError:
            raise _not_documented(record, sheet, column, value) from None
    return row


def _convert(column: ExportColumn) -> Callable[[Any], Cell]:
    return _texts if column.is_list else _CONVERT[column.kind]


def _text(value: Any) -> Cell:
    if isinstance(value, str):
        return value if value.isascii() else _HALF_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return str(value)
    raise _Misfit


def _texts(value: Any) -> Cell:
    if not isinstance(value, list):
        raise _Misfit
    return tuple(str(_text(item)) for item in value)


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise _Misfit
    number = Decimal(value)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(number.adjusted(), -exponent) > _LONGEST_NUMBER:
        raise _Misfit
    return number


def _integer(value: Any) -> Cell:
    number = _number(value)
    if number != int(number):
        raise _Misfit
    return int(number)


def _moment(value: Any) -> Cell:
    if not isinstance(value, str):
        raise _Misfit
    return datetime.fromisoformat(value).replace(tzinfo=None)


def _boolean(value: Any) -> Cell:
    if not isinstance(value, bool):
        raise _Misfit
    return value


_CONVERT: Mapping[Kind, Callable[[Any], Cell]] = {
    Kind.TEXT: _text,
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.MONEY: _number,
    Kind.DATE: _moment,
    Kind.BOOLEAN: _boolean,
}


def _not_documented(
    record: Record, sheet: Sheet, column: ExportColumn, value: Any
) -> TransportError:
    key = ", ".join(f"{name} {record.get(name)}" for name in sheet.key)
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
