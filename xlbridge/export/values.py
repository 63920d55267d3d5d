"""JSON values into cells: a column takes what the interface documents of its field, nothing else.

Numbers come as ``Digits``; one that is written as a JSON text is the same number.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from xlbridge.export.columns import Cell, ExportColumn
from xlbridge.resources.column import Kind

Read = Callable[[Any], Cell]
"""Makes a cell of a value that is not null."""

Digits = str
"""What a JSON number is read as: the text that it came as."""


class MarkedDigits(str):
    """The same where numbers have to be told from texts."""

    __slots__ = ()


_LONGEST_NUMBER = 40
"""Most digits before or after the decimal point; more is no amount of anything."""

_PARAMETERS = re.compile(r"(?i)(?:;|%3b)[^/]*")
"""Of a step of a path."""

_DIGITS = re.compile(r"0|-?[1-9][0-9]{0,19}").fullmatch
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,19})?").fullmatch
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch


class Misfit(ValueError):
    """A value is not of the kind that its column documents."""


def reader_of(column: ExportColumn) -> Read:
    """Return what makes a column's cells of values; it raises ``ValueError`` for a misfit."""
    if column.is_secret:
        return _without_query
    return _texts if column.is_list else _READ.get(column.kind, _text)


def as_json(value: Any) -> str:
    """Return a value as JSON again. A number that binary ones cannot tell becomes a text."""
    return json.dumps(_unmarked(value), ensure_ascii=False)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_unmarked(inner) for inner in value]
    return _as_number(value) if isinstance(value, MarkedDigits) else value


def _as_number(digits: str) -> int | float | str:
    if _DIGITS(digits):
        return int(digits)
    if len(digits) > _LONGEST_NUMBER:
        return str(digits)
    number = float(digits)
    return number if isfinite(number) and Decimal(repr(number)) == Decimal(digits) else str(digits)


def _text(value: Any) -> Cell:
    if not isinstance(value, str):
        raise Misfit
    return value


def _texts(value: Any) -> Cell:
    if not isinstance(value, list):
        raise Misfit
    return [str(_text(item)) for item in value]


def _without_query(value: Any) -> Cell:
    """Return an address without what may hold a token: user, parameters, query and fragment."""
    parts = urlsplit(str(_text(value)))
    path = _PARAMETERS.sub("", parts.path)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))


def _number(value: Any) -> Cell:
    if isinstance(value, str) and _DECIMAL(value):
        return value
    return f"{_unusual_number(value):f}"


def _integer(value: Any) -> Cell:
    if isinstance(value, str) and _DIGITS(value):
        return value
    number = _unusual_number(value)
    if number != int(number):
        raise Misfit
    return str(int(number))


def _unusual_number(value: Any) -> Decimal:
    if not isinstance(value, str) or not _JSON_NUMBER(value):
        raise Misfit
    try:
        number = Decimal(value)
    except ArithmeticError:
        raise Misfit from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(number.adjusted(), -exponent) > _LONGEST_NUMBER:
        raise Misfit
    return number


def _moment(value: Any) -> Cell:
    # Of the forms of ISO 8601 only those with hyphens: 20260131 is a number like any other.
    if not isinstance(value, str) or value[4:5] != "-":
        raise Misfit
    moment = datetime.fromisoformat(value)
    if len(value) == 19 and value[10] == "T":
        return value
    return moment.replace(tzinfo=None).isoformat()


def _boolean(value: Any) -> Cell:
    if not isinstance(value, bool):
        raise Misfit
    return value


_READ: Mapping[Kind, Read] = {
    Kind.INTEGER: _integer,
    Kind.NUMBER: _number,
    Kind.MONEY: _number,
    Kind.DATE: _moment,
    Kind.BOOLEAN: _boolean,
}
