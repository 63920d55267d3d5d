"""What the columns of sheets are: derived from the fields of wire models and their annotations."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from xlbridge.api.splitting import UPDATED
from xlbridge.export.columns import ExportColumn
from xlbridge.export.unknown_fields import GatherUnknown
from xlbridge.resources.column import Kind
from xlbridge.wire.model import WireModel, fields_in_order, record_model

_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (Decimal, Kind.NUMBER),
    (datetime, Kind.DATE),
)
"""In this order: a bool is an int too. What is none of these is text."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


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


def gathering_unknown(model: type[WireModel]) -> GatherUnknown:
    """Return what gathers the fields of a record that its model does not know."""
    known = frozenset(column.name for column in columns_of(model))
    children = {name: gathering_unknown(inner) for name, inner in children_of(model).items()}
    return GatherUnknown(known, children)


def _column(name: str, annotation: Any, *, is_secret: bool) -> ExportColumn:
    leaves = _leaves(annotation)
    kind = next((kind for python, kind in _KINDS if python in leaves), Kind.TEXT)
    if name == UPDATED:
        kind = Kind.DATE  # Called a string in places, and the same moment everywhere.
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
