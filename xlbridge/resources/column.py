"""Columns of an import sheet with the kinds of their values and their links; totals and sums of
them; changes between layouts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from math import prod
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from xlbridge.i18n import Text
from xlbridge.resources.models import ColumnName, ColumnNames, Name, Names


class Kind(StrEnum):
    """Kind of a column's values, which decides how cells are read and written.

    ``code`` is text in which leading zeros are significant; ``cnpj`` and ``cpf`` are codes whose
    mask is dropped on reading; ``money`` is a number of reais, exact to the cent.

    ``dtype`` is the pandas dtype of values. ``is_text``: they are text; ``is_code``: leading zeros
    in them are significant; ``is_number``: they are numbers.
    """

    dtype: str
    is_text: bool
    is_code: bool
    is_number: bool

    def __new__(cls, value: str, dtype: str = "str") -> Self:
        """Return the kind whose values have a dtype."""
        self = str.__new__(cls, value)
        self._value_, self.dtype, self.is_text = value, dtype, dtype == "str"
        self.is_code = self.is_text and value != "text"
        self.is_number = dtype in {"Int64", "Float64"}
        return self

    TEXT = "text"
    CODE = "code"
    CNPJ = "cnpj"
    CPF = "cpf"
    INTEGER = "integer", "Int64"
    NUMBER = "number", "Float64"
    MONEY = "money", "Float64"
    DATE = "date", "datetime64[us]"
    BOOLEAN = "boolean", "boolean"


INTEGER_LIMIT = 2**31 - 1
"""Largest integer of the interface."""

KIND_OF_DTYPE: dict[str, Kind] = {}
"""Default kinds of columns by their dtypes: the first declared one of each."""
for _kind in Kind:
    KIND_OF_DTYPE.setdefault(_kind.dtype, _kind)


USUAL_YEARS = (1950, 2099)
"""Default of the first and the last usual year of a column's dates."""

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class LinkName:
    """Column that identifies or names records, and its field in the listing."""

    column: str
    field: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Link:
    """Link of a column to records of a registry by other values than their codes.

    The cells hold the value of one of ``names``. ``is_loose``: of any of them, in any spelling;
    ``has_codes``: codes are accepted, too.
    """

    registry: str
    names: tuple[LinkName, ...]
    is_loose: bool = False
    has_codes: bool = False

    @property
    def text(self) -> str:
        """The link as it is asked for: the registry, or the column of its resource."""
        return self.registry if self.is_loose else self.names[0].column

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the names in the registry's listing."""
        return tuple(dict.fromkeys(name.field for name in self.names))


@dataclass(frozen=True, slots=True)
class SheetLink:
    """Link of a column to the records of another sheet: its cells hold values of ``column`` in
    ``file``, and are replaced by the codes that the system assigned to those records."""

    file: Path
    column: str

    @property
    def text(self) -> str:
        """The link as it is asked for."""
        return f"{self.file.resolve()}#{self.column}"


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
    link: Link | None = None
    sheet_link: SheetLink | None = None
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

    amount: ColumnName | None = None
    products: SumOfProducts | None = None
    by: ColumnNames

    def amount_of(self, row: Mapping[str, Any]) -> Decimal:
        """Return the amount of a row with its lists, as far as it states one."""
        if self.products is not None:
            return sum(filter(None, self.products.prices(row.get(self.products.sheet))), Decimal(0))
        return Decimal(str(row.get(self.amount or "") or 0))
