"""Sheets and their columns, and the conversion of JSON values into cells.

A column accepts only values of the documented type. Integers are ``int``, other numbers their
digits; a number in a JSON string is the same number.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from xlbridge.resources import Kind

Cell = str | bool | list[str] | None
"""Content of a cell between an answer and a file.

A text is, by the column's kind, the exact digits of a number, with a decimal point and without
exponent, or a date in ISO 8601 with its fraction and time zone. Formats without lists write
several texts as one, one per line.
"""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """Column of a sheet.

    ``source`` is the record's field, if its name differs. ``is_list``: the field is a list of
    texts, which share one cell; ``is_secret``: it is an address whose query grants access, so that
    it is written without the query.
    """

    name: str
    kind: Kind
    is_list: bool = False
    is_secret: bool = False
    source: str = ""

    @property
    def field(self) -> str:
        """The field of a record that the cells come from."""
        return self.source or self.name


@dataclass(frozen=True, slots=True)
class Sheet:
    """Sheet of a listing.

    ``within`` are the fields that lead from a record to this sheet's rows, none for the records
    themselves. ``key`` names the columns that join the sheets of a listing. In a joined sheet each
    row is a record's followed by that of a child: the first ``record_columns`` are the record's.
    """

    name: str
    columns: tuple[ExportColumn, ...]
    within: tuple[str, ...]
    key: tuple[str, ...]
    record_columns: int = 0

    @property
    def is_joined(self) -> bool:
        """True if rows hold a record and one of its children."""
        return self.record_columns > 0


def join_child_sheet(sheets: tuple[Sheet, ...], child: str) -> tuple[Sheet, ...]:
    """Return a single sheet with a row for each child, the record's columns in front.

    A child's column that the record has too is renamed to ``child.column``, or left out if it is
    part of the key.
    """
    record = sheets[0]
    joined = next(sheet for sheet in sheets[1:] if sheet.name == child)
    names = {column.name for column in record.columns}
    columns = (
        replace(c, name=f"{child}.{c.name}", source=c.name) if c.name in names else c
        for c in joined.columns
        if c.name not in joined.key
    )
    return (
        replace(
            record,
            columns=(*record.columns, *columns),
            within=joined.within,
            record_columns=len(record.columns),
        ),
    )


ReadValue = Callable[[Any], Cell]
"""Converts a value that is not null into a cell."""


class MarkedDigits(str):
    """Digits of a number, distinguishable from text."""

    __slots__ = ()


_MAX_DIGITS = 40
"""Maximum digits before or after the decimal point of a plausible number."""

_PATH_PARAMETERS = re.compile(r"(?i)(?:;|%3b)[^/]*")
"""Parameters of a path segment."""

_DIGITS = re.compile(r"0|-?[1-9][0-9]{0,19}").fullmatch
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})(?:\.[0-9]{1,19})?").fullmatch
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch


class UnexpectedValue(ValueError):
    """Value that is not of its column's kind."""


def value_reader(column: ExportColumn) -> ReadValue:
    """Return the conversion of a column's values; it raises ``ValueError`` for unexpected ones."""
    if column.is_secret:
        return _without_query
    return _read_texts if column.is_list else _READERS.get(column.kind, _read_text)


encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Writes a value as compact JSON, for internal files."""


def as_json(value: Any) -> str:
    """Return a value as JSON. A number that ``float`` cannot hold exactly becomes a text."""
    return json.dumps(_unmarked(value), ensure_ascii=False)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_unmarked(inner) for inner in value]
    if not isinstance(value, MarkedDigits):
        return value
    if _DIGITS(value):
        return int(value)
    if len(value) > _MAX_DIGITS:
        return str(value)
    number = float(value)
    is_exact = isfinite(number) and Decimal(repr(number)) == Decimal(value)
    return number if is_exact else str(value)


def _read_text(value: Any) -> Cell:
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise UnexpectedValue
    return value


def _read_texts(value: Any) -> Cell:
    if not isinstance(value, list):
        raise UnexpectedValue
    return [str(_read_text(item)) for item in value]


def _without_query(value: Any) -> Cell:
    """Return an address without parts that may hold a token: user, parameters, query, fragment."""
    parts = urlsplit(str(_read_text(value)))
    path = _PATH_PARAMETERS.sub("", parts.path)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))


def _read_number(value: Any) -> Cell:
    if type(value) is int:
        value = str(value)
    if isinstance(value, str) and _DECIMAL(value):
        return value
    return f"{_parse_number(value):f}"


def _read_integer(value: Any) -> Cell:
    if type(value) is int:
        value = str(value)
    if isinstance(value, str) and _DIGITS(value):
        return value
    number = _parse_number(value)
    if number != int(number):
        raise UnexpectedValue
    return str(int(number))


def _parse_number(value: Any) -> Decimal:
    if not isinstance(value, str) or not _JSON_NUMBER(value):
        raise UnexpectedValue
    try:
        number = Decimal(value)
    except ArithmeticError:
        raise UnexpectedValue from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(number.adjusted(), -exponent) > _MAX_DIGITS:
        raise UnexpectedValue
    return number


_TIME = re.compile(r"[^0-9-][0-9:]+(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}(?::?[0-9]{2}){0,2})?$").search


def _read_moment(value: Any) -> Cell:
    # Only the notations of ISO 8601 with hyphens: 20260131 may be any number.
    if not isinstance(value, str) or value[4:5] != "-":
        raise UnexpectedValue
    moment = datetime.fromisoformat(value)
    if len(value) == 19 and value[10] == "T" and moment.tzinfo is None:
        return value
    fraction, zone = moment_suffix(value)
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + fraction + zone


def moment_suffix(text: str) -> tuple[str, str]:
    """Return the fraction of a second of a moment, with its point, and its time zone.

    A fraction of zero is left out.
    """
    time = _TIME(text)
    fraction, zone = time.groups("") if time else ("", "")
    return f".{fraction}" if fraction.strip("0") else "", zone


def naive_moment(text: str) -> datetime:
    """Return a moment without its time zone, never rounded up."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _read_boolean(value: Any) -> Cell:
    if not isinstance(value, bool):
        raise UnexpectedValue
    return value


_READERS: Mapping[Kind, ReadValue] = {
    Kind.INTEGER: _read_integer,
    Kind.NUMBER: _read_number,
    Kind.MONEY: _read_number,
    Kind.DATE: _read_moment,
    Kind.BOOLEAN: _read_boolean,
}
