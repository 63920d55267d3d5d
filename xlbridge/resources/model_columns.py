"""Columns that a schema file leaves to the interface: dtype, obligation and limits of a field.

A file that names a ``model`` says of a column without a dtype only what the model lacks. What the
same column is called in every sheet stands once, in ``schemas/shared/columns.yaml``.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from xlbridge.resources.checks import RULES
from xlbridge.resources.column import Kind
from xlbridge.resources.schema_folders import shipped_folder
from xlbridge.resources.yaml_files import YamlDocument

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_Content = Mapping[str, Any]

INTEGER_LIMIT = 2**31 - 1
NUMBER_LIMIT = 10**12
_PLACES, _CENTS = 6, 2

_DTYPES: Mapping[type, str] = {
    int: "Int64",
    str: "str",
    bool: "boolean",
    Decimal: "Float64",
    datetime: "datetime64[us]",
}
_LOWER = frozenset({"greater_than", "greater_than_or_equal_to", "in_range", "equal_to"})
_UPPER = frozenset({"less_than", "less_than_or_equal_to", "in_range", "equal_to"})
_BOUNDS: Mapping[str, str] = {
    "gt": "greater_than",
    "ge": "greater_than_or_equal_to",
    "lt": "less_than",
    "le": "less_than_or_equal_to",
}
_IN_COLUMN = ("title", "description")


def completed(root: Any) -> Any:
    """Return the content of a schema file with its columns as the model of its rows has them.

    A column with a dtype, and one that the model does not have, stays as it is.
    """
    if not isinstance(root, Mapping):
        return root
    metadata, columns = root.get("metadata"), root.get("columns")
    if not isinstance(metadata, Mapping) or not isinstance(columns, Mapping):
        return root
    fields = _fields(metadata.get("model"))
    told = metadata.get("columns")
    bodies, extra = dict(columns), dict(told) if isinstance(told, Mapping) else {}
    for name in (name for name in columns if name in fields):
        stated, more = columns[name] or {}, extra.get(name) or {}
        if not isinstance(stated, Mapping) or not isinstance(more, Mapping) or "dtype" in stated:
            continue
        shared = shared_columns().get(name, {})
        words = {key: shared[key] for key in _IN_COLUMN if key in shared}
        rules = {key: value for key, value in shared.items() if key in RULES}
        meant = {k: v for k, v in shared.items() if k not in words and k not in rules}
        if "registers" in more:
            meant.pop("references", None)  # Here the code is given, elsewhere it must exist.
        extra[name] = {**meant, **more}
        bodies[name] = words | _column(fields[name], extra[name].get("kind"), {**rules, **stated})
    return {**root, "metadata": {**metadata, "columns": extra}, "columns": bodies}


def _column(field: _Content, kind: str | None, stated: _Content) -> dict[str, Any]:
    """Return the body of a column: what its field says, less what the file states otherwise."""
    required = stated.get("required", field["required"])
    limits = {name: value for name, value in field.items() if name in RULES}
    if kind == Kind.MONEY:
        limits["decimals"] = {"places": _CENTS}
    if stated.keys() & _LOWER:
        limits = {name: value for name, value in limits.items() if name not in _LOWER}
    if stated.keys() & _UPPER:
        limits = {name: value for name, value in limits.items() if name not in _UPPER}
    fixed = any(name in RULES and RULES[name].width is not None for name in stated)
    if fixed or "isin" in stated or kind in {Kind.CNPJ, Kind.CPF}:
        limits.pop("str_length", None)
    return {
        "dtype": field["dtype"],
        "required": required,
        "nullable": not required,
        **limits,
        **{name: value for name, value in stated.items() if name not in {"required", "nullable"}},
    }


@cache
def shared_columns() -> Mapping[str, _Content]:
    """Return what the columns of several sheets are called, by their names."""
    path = shipped_folder("schemas") / "shared" / "columns.yaml"
    columns: Mapping[str, _Content] = YamlDocument(path.read_text(encoding="utf-8")).content
    return columns


def _fields(model: object) -> Mapping[str, _Content]:
    """Return what a model says of its fields, nothing where there is no such model."""
    if not isinstance(model, str):
        return {}
    try:
        from xlbridge.wire import wire_model

        found = (
            (name, _field(name, info)) for name, info in wire_model(model).model_fields.items()
        )
        return {name: field for name, field in found if field is not None}
    except (ImportError, AttributeError, ValueError):
        return {}


def _field(name: str, info: "FieldInfo") -> dict[str, Any] | None:
    kind, choices = _value_type(info.annotation)
    if kind is None or kind not in _DTYPES:
        return None
    if any(getattr(one, "multiple_of", None) == 1 for one in _constraints(info)):
        kind = int
    return {"dtype": _DTYPES[kind], "required": info.is_required(), **_limits(name, kind, info)} | (
        {"isin": list(choices)} if choices else {}
    )


def _value_type(annotation: Any) -> tuple[type | None, tuple[str, ...]]:
    """Return the type of a field's values, and the texts that it allows where they are few."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        (annotation, *others) = [a for a in get_args(annotation) if a is not type(None)]
        return (None, ()) if others else _value_type(annotation)
    if origin is Literal:
        return str, get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return _value_type(get_args(annotation)[0])
    return (annotation, ()) if isinstance(annotation, type) else (None, ())


def _limits(name: str, kind: type, info: "FieldInfo") -> dict[str, Any]:
    from xlbridge.wire import MAX_LENGTHS

    if kind is str:
        longest = MAX_LENGTHS.get(name)
        choices = _value_type(info.annotation)[1]
        has_length = longest is not None and not choices
        return {"str_length": {"min_value": 1, "max_value": longest}} if has_length else {}
    if kind not in (int, Decimal):
        return {}
    stated = {
        rule: _plain(getattr(one, bound))
        for one in _constraints(info)
        for bound, rule in _BOUNDS.items()
        if getattr(one, bound, None) is not None
    }
    if not stated.keys() & _LOWER:
        stated |= {"greater_than": 0} if kind is int else {"greater_than_or_equal_to": 0}
    if not stated.keys() & _UPPER:
        most = {"less_than_or_equal_to": INTEGER_LIMIT}
        stated |= most if kind is int else {"less_than": NUMBER_LIMIT}
    return stated if kind is int else stated | {"decimals": {"places": _PLACES}}


def _constraints(info: "FieldInfo") -> tuple[Any, ...]:
    return (*info.metadata, *_annotated(info.annotation))


def _annotated(annotation: Any) -> tuple[Any, ...]:
    """Return the constraints within an annotation such as ``DocumentNumber | None``."""
    found = tuple(getattr(annotation, "__metadata__", ()))
    inner = [each for one in found for each in getattr(one, "metadata", ())]
    return (*found, *inner, *(each for part in get_args(annotation) for each in _annotated(part)))


def _plain(bound: Any) -> int | float:
    return bound if isinstance(bound, int) else float(bound)
