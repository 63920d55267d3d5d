"""Columns of an import sheet: kinds of values, and the headers that name a column."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.resources.references.registries import Link, SheetLink


class Kind(StrEnum):
    """Kind of a column's values, which decides how cells are read and written.

    ``code`` is text made of symbols, where a leading zero counts; ``cnpj`` and ``cpf`` are codes
    whose mask is dropped on reading; ``money`` is a number of reais, exact to the cent.
    """

    TEXT = "text"
    CODE = "code"
    CNPJ = "cnpj"
    CPF = "cpf"
    INTEGER = "integer"
    NUMBER = "number"
    MONEY = "money"
    DATE = "date"
    BOOLEAN = "boolean"

    @property
    def is_text(self) -> bool:
        """True where values of this kind are text."""
        return self in _TEXT_KINDS

    @property
    def is_code(self) -> bool:
        """True where leading zeros count in values of this kind."""
        return self in _TEXT_KINDS - {Kind.TEXT}

    @property
    def is_number(self) -> bool:
        """True where values of this kind are numbers."""
        return self in {Kind.INTEGER, Kind.NUMBER, Kind.MONEY}


_TEXT_KINDS = frozenset({Kind.TEXT, Kind.CODE, Kind.CNPJ, Kind.CPF})

KIND_OF_DTYPE: Mapping[str, Kind] = {
    "str": Kind.TEXT,
    "Int64": Kind.INTEGER,
    "Float64": Kind.NUMBER,
    "datetime64[us]": Kind.DATE,
    "boolean": Kind.BOOLEAN,
}
"""The kind that a column has when its metadata names none."""

DTYPES_OF_KIND: Mapping[Kind, str] = {
    kind: dtype
    for dtype, kinds in {
        "str": _TEXT_KINDS,
        "Int64": {Kind.INTEGER},
        "Float64": {Kind.NUMBER, Kind.MONEY},
        "datetime64[us]": {Kind.DATE},
        "boolean": {Kind.BOOLEAN},
    }.items()
    for kind in kinds
}
"""The pandas dtype that carries values of a kind."""


USUAL_YEARS = (1950, 2099)
"""The first and the last year of dates that are not asked about, where a column says none."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a sheet, as its schema file declares it.

    ``required`` means that the column must be there and each of its cells filled. ``checks`` maps
    the name of a registered check to its statistics (a lone one is called ``value``).
    ``references`` names the registry whose records the values point to, ``registers`` the one that
    has a record under each value once the sheet is sent; both are names in ``REFERENCES``.
    ``link`` is set where the values name records by something else than their codes,
    ``sheet_link`` where they name records of another sheet. ``width`` is the number of symbols of
    each value, None where it is not fixed. Dates before the first or after the last of
    ``usual_years`` are asked about.
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
        return DTYPES_OF_KIND[self.kind]

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allowed texts, empty where any is, and for a column of other values than texts."""
        has_list = self.kind.is_text and "isin" in self.checks
        return tuple(self.checks["isin"]["value"]) if has_list else ()


@lru_cache(maxsize=4096)
def normalize_header(header: str) -> str:
    """Return a header in the form in which headers are compared: no case, accents, asterisk or
    colon at its end."""
    return " ".join(strip_accents(header).split()).rstrip(" *:").casefold()


def strip_accents(text: str) -> str:
    """Return a text without accents, and compatibility characters as the plain ones."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(part for part in decomposed if not unicodedata.combining(part))


_MONEY_UNITS = ("(r$)", "[r$]", "r$", "- r$", "(em r$)", "(reais)", "(em reais)", "(brl)")
_DATE_UNITS = ("(dd/mm/aaaa)", "(dd/mm/yyyy)")
_RATE_UNITS = ("(%)", "[%]", "%", "(em %)")
_WHOLE_RATE = 100


def _units(column: Column) -> tuple[str, ...]:
    """Return the units, as headers are compared, that say of a column what it is anyway."""
    if column.kind is Kind.MONEY:
        return _MONEY_UNITS
    if column.kind is Kind.DATE:
        return _DATE_UNITS
    is_rate = column.checks.get("in_range", {}).get("max_value") == _WHOLE_RATE
    return _RATE_UNITS if column.kind is Kind.NUMBER and is_rate else ()


def columns_by_header(columns: Iterable[Column]) -> dict[str, str]:
    """Map every header that names a column, as it is compared, to the column's name.

    The wire names go before the titles in both languages; each may be followed by the unit of the
    column's values.
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
