"""Model of an importable resource: columns, rules, operations, control totals, lists, layouts."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from xlbridge.i18n import Text, joined, untranslated
from xlbridge.resources.kind import Kind
from xlbridge.resources.models import Name, Names
from xlbridge.resources.names import normalize_header
from xlbridge.resources.remote import (
    ImportPaths,
    Mode,
    ReadBack,
    RecordChange,
    RecordCreation,
)
from xlbridge.titles import title_at

if TYPE_CHECKING:
    from xlbridge.resources.references.reference_lists import Link, SheetLink
    from xlbridge.wire import WireModel

USUAL_YEARS = (1950, 2099)
"""Default of the first and the last usual year of a column's dates."""

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a sheet, as declared in its schema file.

    ``required``: the column must be present and all its cells filled; ``checks``: statistics by
    the name of a registered check (a single one is called ``value``); ``references``: the registry
    whose records the values refer to; ``registers``: the registry that has a record for each value
    after the sheet is sent (both are names in ``REFERENCES``); ``link``: set if the values identify
    records by other values than their codes; ``sheet_link``: set if they identify records of
    another sheet; ``width``: length of each value, None if it is not fixed; ``usual_years``: dates
    outside this range have a warning; ``month``: dates stand for their month; ``measure``: texts
    may be numbers with decimals; ``units``: words that may be shown after numbers.
    """

    name: str
    kind: Kind
    required: bool
    title: Text
    description: Text
    example: Any = None
    references: str | None = None
    registers: str | None = None
    link: "Link | None" = None
    sheet_link: "SheetLink | None" = None
    checks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    width: int | None = None
    usual_years: tuple[int, int] = USUAL_YEARS
    month: bool = False
    measure: bool = False
    units: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """The pandas dtype of the column's values."""
        return self.kind.dtype

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allowed texts of a text column with a list of them, else empty."""
        has_list = self.kind.is_text and "isin" in self.checks
        return tuple(self.checks["isin"]["value"]) if has_list else ()


_UNITS: Mapping[Kind, tuple[str, ...]] = {
    Kind.MONEY: ("(r$)", "[r$]", "r$", "- r$", "(em r$)", "(reais)", "(em reais)", "(brl)"),
    Kind.DATE: ("(dd/mm/aaaa)", "(dd/mm/yyyy)"),
    Kind.NUMBER: ("(%)", "[%]", "%", "(em %)"),
}
"""Normalized units that may follow the header of a column without changing it; those of numbers
are for rates."""

_WHOLE_RATE = 100


class SumOfProducts(Struct, frozen=True):
    """Sum of the products of columns over the rows of a list.

    It is not checked if a row lacks a factor, or has a value in a column of ``unless``.

    sheet: The list whose rows have the factors.
    columns: The factors.
    unless: Columns whose values change the price of a row.
    """

    sheet: Name
    columns: Names
    unless: Names = ()

    def prices(self, items: Iterable[Mapping[str, Any]] | None) -> Iterator[Decimal | None]:
        """Yield the product of each item of a list, rounded to cents; None if it lacks a factor."""
        for item in items or ():
            factors = [item.get(name) for name in self.columns]
            price = prod((Decimal(str(factor or 0)) for factor in factors), start=Decimal(1))
            yield None if None in factors else price.quantize(_CENT, ROUND_HALF_UP)


class ChildSum(Struct, frozen=True):
    """Expected sum of a column over a record's rows in a child sheet.

    sheet: The list.
    column: The column that is added up.
    number: The expected sum.
    total: The column of the record with the expected sum.
    product: The expected sum, as a sum of products.
    """

    sheet: Name
    column: Name
    number: float | None = None
    total: Name | None = None
    product: SumOfProducts = SumOfProducts("", ())


class LayoutChange(Struct, frozen=True):
    """Changes made to a layout by the next one: columns renamed (old to new) and removed."""

    renamed: Mapping[str, Name] = {}
    removed: Names = ()


def column_changes_since(changes: Mapping[str, LayoutChange], layout: int) -> dict[str, str | None]:
    """Return the current name of each changed column of a layout, None for a removed one.

    ``changes`` are those made to each layout, by its number.
    """
    names: dict[str, str | None] = {}
    for number in sorted(number for number in map(int, changes) if number >= layout):
        change = changes[str(number)]
        for old, name in names.items():
            if name is not None:
                names[old] = None if name in change.removed else change.renamed.get(name, name)
        for old, new in change.renamed.items():
            names.setdefault(old, new)
        for removed in change.removed:
            names.setdefault(removed, None)
    return names


class ControlTotals(Struct, frozen=True, kw_only=True):
    """Control totals: sums of amounts, or counts of rows without them, grouped by each of the
    columns ``by``; dates are grouped by month and by day.

    amount: The column of the amount.
    products: The amount, as a sum of products, if a record has it in a list.
    by: The columns to group by.
    """

    amount: Name | None = None
    products: SumOfProducts | None = None
    by: Names

    def amount_of(self, row: Mapping[str, Any]) -> Decimal:
        """Return the amount of a row with its lists, as far as it states one."""
        if self.products is not None:
            return sum(filter(None, self.products.prices(row.get(self.products.sheet))), Decimal(0))
        return Decimal(str(row.get(self.amount or "") or 0))


_NAME = re.compile(r"\b\w*[a-z][A-Z]\w*|\b\w+(?=:)")
"""Name of a column in a text: a word with a hump, or one before a colon."""

KEY = "chave"
"""Column that joins a child sheet to its main sheet; it is never sent."""

_MAX_KEY_LENGTH = 60

CHILD_KEY = Column(
    KEY,
    Kind.TEXT,
    required=True,
    title=Text(pt="Chave", en="Key"),
    description=Text(
        pt="Chave da linha da planilha principal a que esta pertence; não é enviada.",
        en="Key of the row of the main sheet that this one belongs to; not sent.",
    ),
    example="A-1",
    checks={"str_length": {"min_value": 1, "max_value": _MAX_KEY_LENGTH}},
)
"""Key column of a child sheet."""

MAIN_KEY = replace(
    CHILD_KEY,
    description=Text(
        pt="Chave da linha, escolhida por quem preenche; não se repete e não é enviada.",
        en="Key of the row, chosen by who fills it in; unique, and not sent.",
    ),
    checks={**CHILD_KEY.checks, "no_repeats": {}},
)
"""Key column of a main sheet, which need not be required."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Fingerprint of a template, formatted as ``name:layout:digest[:listed]``.

    The digest covers the names and kinds of columns and whether they are required, to detect
    changes without a new layout number. ``listed`` are the columns for which the template offers
    records of registries.
    """

    resource: str
    layout: int
    digest: str
    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, resource: str, layout: int, columns: Iterable[tuple[str, str, bool]]) -> Self:
        """Return the fingerprint of columns, each with name, kind and whether it is required."""
        shape = json.dumps([list(column) for column in columns])
        return cls(resource, layout, hashlib.sha256(shape.encode()).hexdigest()[:12])

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Parse a fingerprint, None if the text is not one."""
        resource, _, rest = (text or "").partition(":")
        layout, _, digest = rest.partition(":")
        digest, _, listed = digest.partition(":")
        columns = tuple(filter(None, listed.split(",")))
        is_valid = layout.isdecimal() and bool(digest)
        return cls(resource, int(layout), digest, columns) if is_valid else None

    def __str__(self) -> str:
        base = f"{self.resource}:{self.layout}:{self.digest}"
        return f"{base}:{','.join(self.listed)}" if self.listed else base


def default_totals(columns: Sequence[Column]) -> ControlTotals:
    """Return the default control totals of a resource: the first money column, by every date and
    every column that refers to a registry."""
    money = (column.name for column in columns if column.kind is Kind.MONEY)
    return ControlTotals(
        amount=next(money, None),
        by=tuple(c.name for c in columns if c.kind is Kind.DATE or c.references is not None),
    )


def with_titles(text: Text | str, titles: Mapping[str, Text | str]) -> str:
    """Return a text with titles for the names of columns."""
    return _NAME.sub(lambda name: str(titles.get(name[0], name[0])), str(text))


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check across columns or rows: a name in ``ROW_RULES`` and its statistics."""

    name: str
    statistics: Mapping[str, Any]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Self:
        """Create a check from an item of the list ``checks`` of a schema file."""
        statistics = {key: value for key, value in item.items() if key != "options"}
        return cls(item["options"]["check_name"], statistics)

    def within_record(self) -> "RowCheck":
        """Return the check of a child sheet, with unique values required only in each record."""
        if self.name not in {"no_repeated_rows", "no_equal_rows"}:
            return self
        columns = [KEY, *self.statistics["columns"]]
        return RowCheck(self.name, {**self.statistics, "columns": columns})


@dataclass(frozen=True)
class Resource:
    """Kind of record in an import sheet: its columns, rules and operations.

    ``paths``: imports of whole sheets; ``create``: operation that creates one record (a resource
    has at least one of the two); ``model``: wire model of a row (``module.Class`` in
    ``xlbridge.wire``); ``natural_keys``: columns that identify records without the remote system's
    codes; ``read_back``: how records are found, None if they cannot be; ``change``: how a record is
    changed, None if it cannot be; ``totals``: control totals; ``changes``: changes made to earlier
    layouts, by their numbers; ``base``: the original resource of one with linked columns (see
    ``Link``).

    ``children`` are the lists of a record, each in its own sheet and named ``resource.list``; a
    record needs rows in one of ``needs_children``, and its ``sums`` must be right.
    """

    name: str
    title: Text
    description: Text
    layout: int
    section: str
    model: str | None
    paths: ImportPaths
    natural_keys: tuple[str, ...]
    columns: tuple[Column, ...]
    row_checks: tuple[RowCheck, ...]
    totals: ControlTotals
    source: Path
    read_back: ReadBack | None = None
    create: RecordCreation | None = None
    change: RecordChange | None = None
    changes: Mapping[str, LayoutChange] = field(default_factory=dict)
    base: "Resource | None" = None
    children: "tuple[Resource, ...]" = ()
    needs_children: tuple[str, ...] = ()
    sums: tuple[ChildSum, ...] = ()

    @property
    def sheet(self) -> str:
        """The name of the sheet in templates, which is the list's for a child sheet."""
        return self.name.rpartition(".")[2]

    @property
    def sent_columns(self) -> tuple[Column, ...]:
        """The columns that are sent: all except the key that joins sheets."""
        return tuple(column for column in self.columns if column.name != KEY)

    @cached_property
    def sheet_columns(self) -> tuple[Column, ...]:
        """The columns in the order of templates: the required ones first."""
        return tuple(sorted(self.columns, key=lambda column: not column.required))

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def amount_title(self) -> Text | None:
        """The title of the amount of the control totals, None if these count rows."""
        totals = self.totals
        if (products := totals.products) is not None:
            factors = (self.by_path[f"{products.sheet}.{name}"] for name in products.columns)
            return joined((factor.title for factor in factors), " × ")
        return None if totals.amount is None else self.by_name[totals.amount].title

    @cached_property
    def by_path(self) -> Mapping[str, Column]:
        """The columns by their names, those of lists by ``list.name``."""
        lists = {
            f"{one.sheet}.{column.name}": column for one in self.children for column in one.columns
        }
        return {**self.by_name, **lists}

    def column_at(self, path: str) -> Column | None:
        """Return a column by its name, that of a list by ``list.name`` or ``list.number.name``;
        None if there is none."""
        name, *rest = path.split(".")
        if name == self.name and rest:
            return self.by_name.get(rest[-1])
        return self.by_path.get(".".join([name, *rest[-1:]]))

    def title_at(self, path: str) -> Text:
        """Return the title of a column by its path, that of a list with the name of its sheet; the
        path itself if there is none."""
        own = path.rpartition(".")[2] if path.startswith(f"{self.name}.") else path
        return title_at(own, {name: column.title for name, column in self.by_path.items()})

    def with_titles(self, text: Text | str, titles: Mapping[str, Text | str] | None = None) -> str:
        """Return a text with titles for the names of columns, by default the resource's own."""
        return with_titles(text, self._titles if titles is None else titles)

    def titles_beside(self, headers: Mapping[str, str]) -> Mapping[str, Text | str]:
        """Return what the author of a sheet calls the columns: by its ``headers``, other columns
        by their titles, unless most headers are names."""
        names = sum(name == header for name, header in headers.items())
        return headers if 2 * names >= len(headers) else {**self._titles, **headers}

    def columns_beside(self, headers: Mapping[str, str]) -> Mapping[str, Column]:
        """Return the columns by their paths, titled as by ``titles_beside``."""
        titles, titled = self.titles_beside(headers), dict[str, Column]()
        for path, column in self.by_path.items():
            title = titles.get(path) or titles.get(column.name, column.name)
            own = title if isinstance(title, Text) else untranslated(title)
            titled[path] = replace(column, title=own)
        return titled

    @cached_property
    def _titles(self) -> Mapping[str, Text]:
        return {column.name: column.title for column in self.by_path.values()}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Names of the required columns."""
        return tuple(column.name for column in self.columns if column.required)

    @cached_property
    def names_with_lists(self) -> frozenset[str]:
        """Names of the columns of the resource and its lists."""
        return frozenset(c.name for one in (self, *self.children) for c in one.columns)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which a sheet of the resource can be sent."""
        return self.paths.modes if self.create is None else (*self.paths.modes, Mode.RECORDS)

    @property
    def is_imported(self) -> bool:
        """True if the remote system imports whole sheets of the resource."""
        return self.paths.direct_name is not None

    @cached_property
    def set_by_change(self) -> tuple[str, ...]:
        """Names of the columns that are not imported, but set by a change of the record."""
        if self.change is None or self.row_model is None:
            return ()
        fields = self.row_model.model_fields
        return tuple(name for name in self.change.columns if name not in fields)

    @cached_property
    def row_model(self) -> "type[WireModel] | None":
        """The wire model of a row, if there is one."""
        from xlbridge.wire import wire_model

        return None if self.model is None else wire_model(self.model)

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Column names by normalized header.

        Wire names take precedence over the titles in both languages; each may be followed by the
        unit of the column's values.
        """
        with_units, titles = dict[str, str](), dict[str, str]()
        for column in self.columns:
            headers = [*map(normalize_header, (column.name, column.title.pt, column.title.en))]
            is_rate = column.checks.get("in_range", {}).get("max_value") == _WHOLE_RATE
            if column.kind is not Kind.NUMBER or is_rate:
                for unit in _UNITS.get(column.kind, ()):
                    with_units |= {f"{header} {unit}": column.name for header in headers}
            titles |= dict.fromkeys(headers[1:], column.name)
        names = {normalize_header(column.name): column.name for column in self.columns}
        return with_units | titles | names

    def column_changes_since(self, layout: int) -> dict[str, str | None]:
        """Return the current name of each changed column of a layout, None for a removed one."""
        return column_changes_since(self.changes, layout)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the template."""
        if self.base is not None:
            return self.base.fingerprint
        columns = ((c.name, c.kind.value, c.required) for c in self.sent_columns)
        return str(Fingerprint.of(self.name, self.layout, columns))
