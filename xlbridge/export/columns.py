"""A sheet's columns, derived from the fields of a wire model and their annotations."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from xlbridge.api.records import record_model
from xlbridge.resources.column import Kind
from xlbridge.wire.model import WireModel, fields_in_order

Cell = str | bool | list[str] | None
"""What one cell holds on its way from an answer to a file.

The column's kind tells what a text is: of a whole number, a number or an amount it is the exact
digits, with a decimal point and without an exponent; of a date it is ISO 8601, naive local time. A
format that has no lists writes several texts as one, a line each.
"""

_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (Decimal, Kind.NUMBER),
    (datetime, Kind.DATE),
)
"""In this order: a bool is an int too. What is none of these is text."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """One column, and what its cells hold.

    ``source`` is the field that they come from, where it is called otherwise. ``is_list`` says
    that the field is a list of texts, which share one cell; ``is_secret`` that it is an address
    whose query lets its holder in, so that only what stands before it is written.
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


def columns_of(model: type[WireModel]) -> tuple[ExportColumn, ...]:
    """Return a column for every field that is not itself a list of objects, in spec order."""
    fields = ((name, model.model_fields[name]) for name in fields_in_order(model))
    return tuple(
        _column(name, field.annotation, is_secret=not field.repr)
        for name, field in fields
        if record_model(field.annotation) is None
    )


def children_of(model: type[WireModel]) -> dict[str, type[WireModel]]:
    """Return the fields that are lists of objects, with the objects' models."""
    return {
        name: inner
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }


def key_column(name: str, *, text: bool = False) -> ExportColumn:
    """Return a column for a part of a key that the records themselves do not carry, or a text."""
    return ExportColumn(name, Kind.TEXT if text else Kind.INTEGER)


def _column(name: str, annotation: Any, *, is_secret: bool) -> ExportColumn:
    leaves = _leaves(annotation)
    kind = next((kind for python, kind in _KINDS if python in leaves), Kind.TEXT)
    if kind is Kind.NUMBER and _is_money(name):
        kind = Kind.MONEY
    return ExportColumn(name, kind, is_list=list in leaves, is_secret=is_secret)


def _leaves(annotation: Any) -> set[Any]:
    """Return every type that an annotation mentions, the containers included."""
    found = {annotation, getattr(annotation, "__origin__", None)}
    return found.union(*(_leaves(part) for part in get_args(annotation) if _is_hashable(part)))


def _is_hashable(part: Any) -> bool:
    return type(part).__hash__ is not None


def _is_money(name: str) -> bool:
    """Tell an amount of money from a quantity, a weight or a rate by the words of its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    amount = "valor" in words or "base" in words or words[0] == "total"
    return amount and "percentual" not in words
