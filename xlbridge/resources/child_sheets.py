"""Child sheets: the column that joins them to the main sheet, and sums that must fit a record."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources.column import Column, Kind

KEY = "chave"
"""Column that joins a child sheet to its main sheet; it is not sent and identifies nothing."""

_TITLE = Text(pt="Chave", en="Key")
_IN_MAIN = "Chave da linha, escolhida por quem preenche; não se repete e não é enviada."
_IN_CHILD = "Chave da linha da planilha principal a que esta pertence; não é enviada."
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class ChildSum:
    """Sum of a column of a record's rows in a child sheet, which must fit the record.

    It equals ``number``, the record's column ``total``, or the sum over the rows in the sheet
    ``factors_in`` of the product of ``factors``; the last is not judged where a row lacks one of
    them or has any of the columns ``unless``, which change its price.
    """

    sheet: str
    column: str
    number: float | None = None
    total: str | None = None
    factors_in: str = ""
    factors: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "ChildSum":
        """Return the sum that an item of the block ``sums`` of a schema file states."""
        product = stated.get("product", {})
        return cls(
            stated["sheet"],
            stated["column"],
            stated.get("number"),
            stated.get("total"),
            product.get("sheet", ""),
            tuple(product.get("columns", ())),
            tuple(product.get("unless", ())),
        )


@dataclass(frozen=True, slots=True)
class SeparateList:
    """List of a record that an operation of its own lists, its items in another form.

    The path of ``operation_name`` names the record by fields of the same names. An item has a row
    for each of ``fields`` that is filled: the column ``value`` takes what it holds, ``number`` its
    place, from 1.
    """

    operation_name: str
    number: str
    value: str
    fields: tuple[str, ...]

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> "SeparateList":
        """Return the list that an item of the block ``lists`` of a schema file states."""
        operation, fields = stated["operation"], tuple(stated["fields"])
        return cls(operation, stated["number"], stated["value"], fields)

    def rows(self, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of items, with what else these tell."""
        return [
            {name: told for name, told in item.items() if name not in self.fields}
            | {self.number: number, self.value: item[field]}
            for item in items
            for number, field in enumerate(self.fields, start=1)
            if item.get(field) is not None
        ]


def key_of_main(*, required: bool) -> Column:
    """Return the key's column of a main sheet."""
    checks = {**_length(), "no_repeats": {}}
    return Column(KEY, Kind.TEXT, required, _TITLE, _IN_MAIN, example="A-1", checks=checks)


def key_of_child() -> Column:
    """Return the key's column of a child sheet."""
    return Column(KEY, Kind.TEXT, True, _TITLE, _IN_CHILD, example="A-1", checks=_length())


def _length() -> dict[str, Mapping[str, Any]]:
    return {"str_length": {"min_value": 1, "max_value": _LONGEST}}


def sums_of(stated: Sequence[Mapping[str, Any]]) -> tuple[ChildSum, ...]:
    """Return the sums that the block ``sums`` of a schema file states."""
    return tuple(map(ChildSum.of, stated))
