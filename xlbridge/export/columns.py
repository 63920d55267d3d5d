"""A sheet's columns, derived from the fields of a wire model and their annotations."""

import re
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from xlbridge.api.records import record_model
from xlbridge.resources.column import Kind
from xlbridge.wire.model import WireModel

Cell = str | int | Decimal | datetime | bool | tuple[str, ...] | None
"""What one cell holds. Every kind of number is exact; a moment is naive local time.

A format that has no lists writes several texts as one, a line each.
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
    """One column: the field's name, and what its cells hold.

    ``is_list`` says that the field is a list of texts, which share one cell.
    """

    name: str
    kind: Kind
    is_list: bool = False


def columns_of(model: type[WireModel]) -> tuple[ExportColumn, ...]:
    """Return a column for every field that is not itself a list of objects, in field order."""
    return tuple(
        _column(name, field.annotation)
        for name, field in model.model_fields.items()
        if record_model(field.annotation) is None
    )


def children_of(model: type[WireModel]) -> dict[str, type[WireModel]]:
    """Return the fields that are lists of objects, with the objects' models."""
    return {
        name: inner
        for name, field in model.model_fields.items()
        if (inner := record_model(field.annotation))
    }


def _column(name: str, annotation: Any) -> ExportColumn:
    leaves = _leaves(annotation)
    kind = next((kind for python, kind in _KINDS if python in leaves), Kind.TEXT)
    if kind is Kind.NUMBER and _is_money(name):
        kind = Kind.MONEY
    return ExportColumn(name, kind, is_list=list in leaves)


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
