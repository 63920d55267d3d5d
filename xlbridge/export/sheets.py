"""Sheets, their columns and control totals, and the conversion of JSON values into cells.

A column accepts only values of the documented type; others are written as text. Integers are
``int``, other numbers their digits; a number in a JSON string is the same number. Totals are summed
from lines that are written together with those of each record.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import chain, repeat
from math import isfinite
from operator import attrgetter
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from xlbridge import titles
from xlbridge.client import Record
from xlbridge.i18n import Text
from xlbridge.report_forms.totals import Axis, Unit
from xlbridge.resources import Kind
from xlbridge.resources.names import coded_title, field_title, name_title, registry_of
from xlbridge.resources.references import BRANCH, REFERENCES

Cell = str | bool | list[str] | None
"""Content of a cell between an answer and a file.

A text is, by the column's kind, the exact digits of a number, with a decimal point and without
exponent, or a date in ISO 8601 with its fraction and time zone. Formats without lists write
several texts as one, one per line.
"""

RecordNames = Mapping[str, Mapping[str, str]]
"""Names of records by registry and code."""

NO_NAMES: RecordNames = MappingProxyType({})

_NAME_SUFFIX = ".nome"
"""End of the name of a column with names of records, which is no field."""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """Column of a sheet.

    ``source`` is the record's field, if its name differs. ``is_list``: the field is a list of
    texts, which share one cell; ``is_secret``: it is an address whose query grants access, so that
    it is written without the query. ``registry``: the cells are the names of that registry's
    records, by the codes in the field.
    """

    name: str
    kind: Kind
    is_list: bool = False
    is_secret: bool = False
    source: str = ""
    registry: str = ""

    @property
    def field(self) -> str:
        """The field of a record that the cells come from."""
        return self.source or self.name

    @property
    def title(self) -> str:
        """The title for people, in the active language."""
        if self.registry:
            return str(name_title(self.name.removesuffix(_NAME_SUFFIX)))
        return str(field_title(self.name))


@dataclass(frozen=True, slots=True)
class Sheet:
    """Sheet of a listing.

    ``within`` are the fields that lead from a record to this sheet's rows, none for the records
    themselves. ``key`` names the columns that join the sheets of a listing. In a joined sheet each
    row is a record's followed by that of a child: the first ``record_columns`` are the record's.
    The first ``leading`` columns are those to print if a page does not hold all. The rows of a
    ``directed`` sheet are inflows and outflows, whose amounts have no sum.
    """

    name: str
    columns: tuple[ExportColumn, ...]
    within: tuple[str, ...]
    key: tuple[str, ...]
    record_columns: int = 0
    leading: int = 0
    directed: bool = False

    @property
    def is_joined(self) -> bool:
        """True if rows hold a record and one of its children."""
        return self.record_columns > 0

    def led_by(self, names: Sequence[str]) -> "Sheet":
        """Return the sheet with the columns of these names first, as far as it has them.

        A joined sheet keeps its order, as the record's columns come before the child's.
        """
        if self.is_joined:
            return self
        by_name = {column.name: column for column in self.columns}
        leading = tuple(by_name.pop(name) for name in names if name in by_name)
        return replace(self, columns=(*leading, *by_name.values()), leading=len(leading))

    def with_text_columns(self, names: Container[str]) -> "Sheet":
        """Return the sheet with the columns called ``sheet.column`` in ``names`` as text."""
        columns = (
            replace(c, kind=Kind.TEXT, is_list=False) if f"{self.name}.{c.name}" in names else c
            for c in self.columns
        )
        return replace(self, columns=tuple(columns))


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


_OWN_NAMES = {
    "nomeDoCliente": "cliente",
    **{one.label: name for name, one in REFERENCES.items() if one.label != "nomeComercial"},
}
"""Registries whose records are named in a field of other records beside their codes."""
_NAME_FIELDS = {registry: name for name, registry in _OWN_NAMES.items()}


def with_names(sheet: Sheet) -> Sheet:
    """Return the sheet with a column of names after each code of a registry.

    There is none where the record has the name itself, nor for keys of the record around a row.
    """
    fields = [column.field for column in sheet.columns]
    named = {_OWN_NAMES[name] for name in fields if name in _OWN_NAMES}
    if "nomeComercial" in fields:
        return sheet  # a registry of its own
    columns: list[ExportColumn] = []
    own_columns = sheet.record_columns
    for index, column in enumerate(sheet.columns):
        columns.append(column)
        registry = registry_of(column.field)
        is_key = sheet.within and not sheet.is_joined and column.name in sheet.key
        if registry is None or is_key:
            continue
        if registry in named:
            named.remove(registry)
            continue
        columns.append(
            ExportColumn(
                f"{column.name}{_NAME_SUFFIX}",
                Kind.TEXT,
                source=column.field,
                registry=registry,
            )
        )
        own_columns += index < sheet.record_columns
    return replace(sheet, columns=tuple(columns), record_columns=own_columns)


_DAY, _MONTH = slice(0, 10), slice(0, 7)
_MONTH_START = re.compile(r"[0-9]{4}-[0-9]{2}").match

_NO_NUMBER = "?"
"""Amount of a line that is not a number, or goes in no known direction."""

_ZERO = Decimal(0)
_INFLOWS, _OUTFLOWS = frozenset({"entrada", "e"}), frozenset({"saída", "saida", "s"})
"""Kinds of rows that come in and go out, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsSpec:
    """Control totals of a listing: sums of ``amount`` in one of its sheets, or its numbers of rows.

    Totals are by month of ``due``, by ``branch``, by the first of ``situations`` that is true, and
    of each ``party``; the record may name these, and provides what the sheet's rows lack. With
    ``is_open`` amounts are to be paid when due: totals are also by week, and by the days for which
    they are overdue. ``kind`` is a field that says what a row is, or whether it is something; in
    a ``directed`` listing it is an inflow or an outflow, which are summed apart, and otherwise
    totals are also by kind.
    """

    amount: str = ""
    sheet: str | None = None
    due: str | None = None
    branch: str | None = "codigoDaFilial"
    party: str = ""
    situations: tuple[str, ...] = ()
    is_open: bool = False
    kind: str = ""
    directed: bool = False

    def lines(self, records: Sequence[Record]) -> tuple[list[str], list[int]]:
        """Return the lines of records for ``total_tables``, and the number of each record's.

        Each is a JSON list of branch, its name, month (of open ones day), situation and kind, one
        of the party and its name, and the amount, with tabs between them.
        """
        parts, counts = records, [1] * len(records)
        if self.sheet is not None:
            lists = [rows or () for rows in _values(records, self.sheet)]
            parts, counts = [*chain.from_iterable(lists)], [*map(len, lists)]

        def of_records(field: str | None) -> list[Any]:
            values = _values(records, field)
            return values if parts is records else [*chain(*map(repeat, values, counts))]

        def of_both(field: str | None) -> list[Any]:
            outer = of_records(field)
            if parts is records:
                return outer
            inner = _values(parts, field)
            return [of if own is None else own for own, of in zip(inner, outer, strict=True)]

        situations: list[str | None] = [None] * len(parts)
        for name in reversed(self.situations):
            flags = zip(of_records(name), situations, strict=True)
            situations = [name if flag is True else other for flag, other in flags]
        unit = _DAY if self.is_open else _MONTH
        days = [day[unit] if isinstance(day, str) else None for day in _values(parts, self.due)]
        kinds, amounts = _values(parts, self.kind), _values(parts, self.amount)
        if self.directed:
            directions = [str(kind).lower() in _INFLOWS | _OUTFLOWS for kind in kinds]
            amounts = [
                amount if is_known else _NO_NUMBER
                for amount, is_known in zip(amounts, directions, strict=True)
            ]
        digits = [
            one if isinstance(one, str) and _DECIMAL(one) else _digits(one) for one in amounts
        ]
        branch_name, party_name = (
            _NAME_FIELDS.get(registry_of(code or "") or "") for code in (self.branch, self.party)
        )
        labels = _encode_all(
            _LABELS, days, of_both(self.branch), of_records(branch_name), situations, kinds
        )
        named = _encode_all(_PARTIES, of_both(self.party), of_records(party_name))
        return [*map("{}\t{}\t{}\n".format, labels, named, digits)], counts


def _values(objects: Sequence[Any], field: str | None) -> list[Any]:
    """Return a field's values, of typed records or others; nulls if they have no such field."""
    if not field or not objects:
        return [None] * len(objects)
    if isinstance(objects[0], dict):
        return [one.get(field) for one in objects]
    is_known = field in objects[0].__struct_fields__
    return [*map(attrgetter(field), objects)] if is_known else [None] * len(objects)


def _digits(amount: Any) -> str:
    try:
        return str(_read_number(amount or 0))
    except UnexpectedValue:
        return _NO_NUMBER


def _encode_labels(day: Any, branch: Any, branch_name: Any, situation: Any, kind: Any) -> str:
    day = day if day and _MONTH_START(day) else None
    kind = encode_json(kind) if isinstance(kind, bool) else kind
    kind = kind if isinstance(kind, str) else None
    return f"{_encode_party(branch, branch_name)[:-1]},{encode_json([day, situation, kind])[1:]}"


def _encode_party(code: Any, name: Any) -> str:
    return encode_json([None if code is None else str(code), name if isinstance(name, str) else ""])


_LABELS, _PARTIES = (lru_cache(10_000, typed=True)(f) for f in (_encode_labels, _encode_party))


def _encode_all(encode: Any, *columns: Sequence[Any]) -> list[str]:
    """Return the JSON of rows of columns."""
    try:
        return [*map(encode, *columns)]
    except TypeError:  # A value that is no text or number cannot be cached.
        return [*map(encode.__wrapped__, *columns)]


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals by an axis: the number of rows of each label, and their amount if it is known.

    Of ``directed`` ones what came in and what went out precede the amount, which is their
    difference. ``others`` counts the labels that the largest amounts leave out, and
    ``of_others`` are their figures.
    """

    axis: Axis
    sums: Mapping[str | None, Sequence[Any]]
    directed: bool = False
    others: int = 0
    of_others: Sequence[Any] = ()

    @property
    def total(self) -> Sequence[Any]:
        """Figures of all labels together."""
        every = (*self.sums.values(), *([self.of_others] if self.others else []))
        return [*map(sum, zip(*every, strict=True))]


def total_tables(
    totals: TotalsSpec | None, lines: Iterable[bytes], today: date, names: RecordNames = NO_NAMES
) -> tuple[TotalTable, ...]:
    """Sum the lines of ``TotalsSpec.lines`` by month, branch, situation and kind, as far as
    known, open ones by due week as of ``today``, and the largest parties.

    There are no totals if an amount is not a number, or its direction is unknown.
    """
    if totals is None:
        return ()
    by_labels: dict[str, tuple[Any, ...]] = defaultdict(lambda: (0, _ZERO))
    by_party: dict[str, tuple[Any, ...]] = defaultdict(lambda: (0, _ZERO))
    for line in lines:
        labels, party, digits = line.decode().rstrip().split("\t")
        if digits == _NO_NUMBER:
            return ()
        amount = Decimal(digits)
        for sums_of, key in ((by_labels, labels), (by_party, party)):
            count, so_far = sums_of[key]
            sums_of[key] = (count + 1, so_far + amount)
    known = slice(None if totals.amount else 1)
    branches = dict(names.get(BRANCH, {}))
    rows: list[tuple[Sequence[str | None], Sequence[Any]]] = []
    for encoded, of_labels in by_labels.items():
        branch, branch_name, day, situation, kind = msgspec.json.decode(encoded)
        branches.setdefault(branch, branch_name)
        figures: Sequence[Any] = of_labels[known]
        if totals.directed:
            count, amount = figures
            is_outflow = kind.lower() in _OUTFLOWS
            inflow, outflow = (_ZERO, amount) if is_outflow else (amount, _ZERO)
            figures = (count, inflow, outflow, inflow - outflow)
        due, shown = day if totals.is_open else None, None if totals.directed else kind
        rows.append(((day, branch, situation, due, shown), figures))
    date_title = field_title(totals.due or "")
    axes = (
        Axis(date_title, Unit.MONTH),
        Axis(coded_title(totals.branch or ""), names=branches),
        Axis(titles.STATE, show=field_title),
        Axis(date_title, Unit.WEEK, today),
        Axis(field_title(totals.kind), show=lambda kind: _YES_OR_NO.get(kind, kind)),
    )
    sums = [axis.sum_up((of[at], figures) for of, figures in rows) for at, axis in enumerate(axes)]
    tables = [
        TotalTable(axis, of_axis, totals.directed)
        for axis, of_axis in zip(axes, sums, strict=True)
        if of_axis.keys() - {None}
    ]
    if totals.party and by_party:
        parties = {party: figures[known] for party, figures in by_party.items()}
        tables.append(_largest_parties(totals.party, parties, names))
    return tuple(tables)


_YES_OR_NO: Mapping[str, Text] = {"true": titles.YES, "false": titles.NO}
_MOST_PARTIES = 10
_LARGEST = Text(pt="{title}: os {n} maiores", en="{title}: the {n} largest")


def _largest_parties(
    field: str, sums: Mapping[str, Sequence[Any]], names: RecordNames
) -> TotalTable:
    """Return the totals of the parties with the largest amounts, or the most rows, and of all
    others together."""
    parties = [(*msgspec.json.decode(encoded), figures) for encoded, figures in sums.items()]
    named = {code: name for code, name, _ in parties} | {**names.get(registry_of(field) or "", {})}
    axis = Axis(coded_title(field), names=named)
    by_code = axis.sum_up((code, figures) for code, _, figures in parties)
    ordered = sorted(by_code.items(), key=lambda one: -one[1][-1])
    largest, rest = ordered[:_MOST_PARTIES], [figures for _, figures in ordered[_MOST_PARTIES:]]
    if rest:
        axis = replace(axis, title=_LARGEST.format(title=axis.title, n=len(largest)))
    of_others = [*map(sum, zip(*rest, strict=True))]
    return TotalTable(axis, dict(largest), others=len(rest), of_others=of_others)


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
