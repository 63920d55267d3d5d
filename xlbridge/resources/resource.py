"""Model of an importable resource: columns with the headers that name them, rules, operations,
control totals, lists, and changes between layouts."""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec import Struct

from xlbridge.i18n import Text
from xlbridge.resources.kind import Kind
from xlbridge.resources.models.declarations import Name, Names
from xlbridge.resources.remote.record_operations import (
    ImportPaths,
    Mode,
    ReadBack,
    RecordChange,
    RecordCreation,
)

if TYPE_CHECKING:
    from xlbridge.resources.references.reference_lists import Link, SheetLink
    from xlbridge.wire import WireModel


USUAL_YEARS = (1950, 2099)
"""Default of the first and the last usual year of a column's dates."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a sheet, as declared in its schema file.

    ``required``: the column must be present and all its cells filled; ``checks``: statistics by
    the name of a registered check (a single one is called ``value``); ``references``: the registry
    whose records the values refer to; ``registers``: the registry that has a record for each value
    after the sheet is sent (both are names in ``REFERENCES``); ``link``: set if the values identify
    records by other values than their codes; ``sheet_link``: set if they identify records of
    another sheet; ``width``: length of each value, None if it is not fixed; ``usual_years``: dates
    outside this range have a warning.
    """

    name: str
    kind: Kind
    required: bool
    title: Text
    description: str
    example: Any = None
    references: str | None = None
    registers: str | None = None
    link: "Link | None" = None
    sheet_link: "SheetLink | None" = None
    checks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    width: int | None = None
    usual_years: tuple[int, int] = USUAL_YEARS

    @property
    def dtype(self) -> str:
        """The pandas dtype of the column's values."""
        return self.kind.dtype

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allowed texts of a text column with a list of them, else empty."""
        has_list = self.kind.is_text and "isin" in self.checks
        return tuple(self.checks["isin"]["value"]) if has_list else ()


@lru_cache(maxsize=4096)
def normalize_header(header: str) -> str:
    """Return a header without case, accents, and an asterisk or colon at its end, for comparison
    with others."""
    return " ".join(strip_accents(header).split()).rstrip(" *:").casefold()


def strip_accents(text: str) -> str:
    """Return a text without accents, with compatibility characters decomposed."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(part for part in decomposed if not unicodedata.combining(part))


_MONEY_UNITS = ("(r$)", "[r$]", "r$", "- r$", "(em r$)", "(reais)", "(em reais)", "(brl)")
_DATE_UNITS = ("(dd/mm/aaaa)", "(dd/mm/yyyy)")
_RATE_UNITS = ("(%)", "[%]", "%", "(em %)")
_WHOLE_RATE = 100


def _units(column: Column) -> tuple[str, ...]:
    """Return the normalized units that may follow the header of a column without changing it."""
    if column.kind is Kind.MONEY:
        return _MONEY_UNITS
    if column.kind is Kind.DATE:
        return _DATE_UNITS
    is_rate = column.checks.get("in_range", {}).get("max_value") == _WHOLE_RATE
    return _RATE_UNITS if column.kind is Kind.NUMBER and is_rate else ()


def columns_by_header(columns: Iterable[Column]) -> dict[str, str]:
    """Map every normalized header of a column to the column's name.

    Wire names take precedence over the titles in both languages; each may be followed by the unit
    of the column's values.
    """
    columns = tuple(columns)
    with_units = {
        f"{normalize_header(title)} {unit}": column.name
        for column in columns
        for title in (column.name, column.title.pt, column.title.en)
        for unit in _units(column)
    }
    titles = {
        normalize_header(title): column.name
        for column in columns
        for title in (column.title.pt, column.title.en)
    }
    return with_units | titles | {normalize_header(column.name): column.name for column in columns}


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
    product: SumOfProducts | None = None

    @property
    def factors_in(self) -> str:
        """The list whose rows have the factors of a sum of products."""
        return self.product.sheet if self.product else ""

    @property
    def factors(self) -> tuple[str, ...]:
        """The columns with the factors of a sum of products."""
        return self.product.columns if self.product else ()

    @property
    def unless(self) -> tuple[str, ...]:
        """The columns whose values prevent a sum of products."""
        return self.product.unless if self.product else ()


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
    """Control totals: sums of the column ``amount``, or counts of rows without it, grouped by each
    of the columns ``by``; dates are grouped by month and by day."""

    amount: Name | None = None
    by: Names


KEY = "chave"
"""Column that joins a child sheet to its main sheet; it is never sent."""

_TITLE = Text(pt="Chave", en="Key")
_IN_MAIN = "Chave da linha, escolhida por quem preenche; não se repete e não é enviada."
_IN_CHILD = "Chave da linha da planilha principal a que esta pertence; não é enviada."
_MAX_KEY_LENGTH = 60


def key_of_main(*, required: bool) -> Column:
    """Return the key column of a main sheet."""
    checks = {**_KEY_LENGTH, "no_repeats": {}}
    return Column(KEY, Kind.TEXT, required, _TITLE, _IN_MAIN, example="A-1", checks=checks)


def key_of_child() -> Column:
    """Return the key column of a child sheet."""
    return Column(KEY, Kind.TEXT, True, _TITLE, _IN_CHILD, example="A-1", checks=_KEY_LENGTH)


_KEY_LENGTH: Mapping[str, Mapping[str, Any]] = {
    "str_length": {"min_value": 1, "max_value": _MAX_KEY_LENGTH}
}


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
    description: str
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
    def by_name(self) -> Mapping[str, Column]:
        """The columns by their names."""
        return {column.name: column for column in self.columns}

    @cached_property
    def by_path(self) -> Mapping[str, Column]:
        """The columns by their names, those of lists by ``list.name``."""
        lists = {
            f"{one.sheet}.{column.name}": column for one in self.children for column in one.columns
        }
        return {**self.by_name, **lists}

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
        """Column names by normalized header."""
        return columns_by_header(self.columns)

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
