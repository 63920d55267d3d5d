"""Completion of a schema file's columns from the wire model: dtype, required, limits.

In a file with a ``model``, a column without a dtype only states what the model lacks. Titles and
descriptions of columns in several sheets are in ``schemas/shared/columns.yaml``.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from xlbridge.resources.checks import RULES
from xlbridge.resources.kind import Kind
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
_TEXT_KEYS = ("title", "description")


def completed(root: Any) -> Any:
    """Return the content of a schema file with its columns completed from the model of its rows.

    Columns with a dtype, and those that the model does not have, stay unchanged.
    """
    if not isinstance(root, Mapping):
        return root
    metadata, columns = root.get("metadata"), root.get("columns")
    if not isinstance(metadata, Mapping) or not isinstance(columns, Mapping):
        return root
    fields = _fields(metadata.get("model"))
    in_metadata = metadata.get("columns")
    bodies, extra = dict(columns), dict(in_metadata) if isinstance(in_metadata, Mapping) else {}
    for name in (name for name in columns if name in fields):
        body, more = columns[name] or {}, extra.get(name) or {}
        if not isinstance(body, Mapping) or not isinstance(more, Mapping) or "dtype" in body:
            continue
        shared = shared_columns().get(name, {})
        texts = {key: shared[key] for key in _TEXT_KEYS if key in shared}
        rules = {key: value for key, value in shared.items() if key in RULES}
        defaults = {k: v for k, v in shared.items() if k not in texts and k not in rules}
        if "registers" in more:
            defaults.pop("references", None)  # This sheet creates the code that others refer to.
        extra[name] = {**defaults, **more}
        bodies[name] = texts | _column(fields[name], extra[name].get("kind"), {**rules, **body})
    return {**root, "metadata": {**metadata, "columns": extra}, "columns": bodies}


def _column(field: _Content, kind: str | None, body: _Content) -> dict[str, Any]:
    """Return the body of a column in the file, completed from its field."""
    required = body.get("required", field["required"])
    limits = {name: value for name, value in field.items() if name in RULES}
    if kind == Kind.MONEY:
        limits["decimals"] = {"places": _CENTS}
    if body.keys() & _LOWER:
        limits = {name: value for name, value in limits.items() if name not in _LOWER}
    if body.keys() & _UPPER:
        limits = {name: value for name, value in limits.items() if name not in _UPPER}
    has_fixed_width = any(name in RULES and RULES[name].width is not None for name in body)
    if has_fixed_width or "isin" in body or kind in (Kind.CNPJ, Kind.CPF):
        limits.pop("str_length", None)
    return {
        "dtype": field["dtype"],
        "required": required,
        "nullable": not required,
        **limits,
        **{name: value for name, value in body.items() if name not in {"required", "nullable"}},
    }


@cache
def shared_columns() -> Mapping[str, _Content]:
    """Return the common parts of columns in several sheets, by column name."""
    path = shipped_folder("schemas") / "shared" / "columns.yaml"
    columns: Mapping[str, _Content] = YamlDocument(path.read_text(encoding="utf-8")).content
    return columns


def _fields(model: object) -> Mapping[str, _Content]:
    """Return the dtypes and limits of a model's fields, nothing if there is no such model."""
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
    """Return the type of a field's values, and the allowed texts of a ``Literal``."""
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
        max_length = MAX_LENGTHS.get(name)
        choices = _value_type(info.annotation)[1]
        has_length = max_length is not None and not choices
        return {"str_length": {"min_value": 1, "max_value": max_length}} if has_length else {}
    if kind not in (int, Decimal):
        return {}
    bounds: dict[str, Any] = {
        rule: bound if isinstance(bound, int) else float(bound)
        for constraint in _constraints(info)
        for key, rule in _BOUNDS.items()
        if (bound := getattr(constraint, key, None)) is not None
    }
    if not bounds.keys() & _LOWER:
        bounds |= {"greater_than": 0} if kind is int else {"greater_than_or_equal_to": 0}
    if not bounds.keys() & _UPPER:
        upper = {"less_than_or_equal_to": INTEGER_LIMIT}
        bounds |= upper if kind is int else {"less_than": NUMBER_LIMIT}
    return bounds if kind is int else bounds | {"decimals": {"places": _PLACES}}


def _constraints(info: "FieldInfo") -> tuple[Any, ...]:
    return (*info.metadata, *_annotated(info.annotation))


def _annotated(annotation: Any) -> tuple[Any, ...]:
    """Return the constraints within an annotation such as ``DocumentNumber | None``."""
    found = tuple(getattr(annotation, "__metadata__", ()))
    inner = [item for one in found for item in getattr(one, "metadata", ())]
    return (*found, *inner, *(item for part in get_args(annotation) for item in _annotated(part)))
