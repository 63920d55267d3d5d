"""Content of a schema file: completed from the wire model, and from pandera's notation.

In a file with a ``model``, a column without a dtype only states what the model lacks. Titles and
descriptions of columns in several sheets are in ``schemas/shared/columns.yaml``.

pandera's output (``to_yaml()``) has several names for dtypes and statistics, lists checks that it
cannot write as keys, and does not know ``metadata``. Everything else stays unchanged, for the
validation to report.
"""

import re
from collections.abc import Mapping
from datetime import datetime, time
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from xlbridge.resources.checks import RULES
from xlbridge.resources.column import INTEGER_LIMIT, Kind
from xlbridge.resources.names import schemas_folder, strip_accents
from xlbridge.resources.yaml_files import YamlDocument

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


_Content = Mapping[str, Any]

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
        if "description" in body:
            defaults.pop("description_en", None)
        if "registers" in more:
            defaults.pop("references", None)  # This sheet creates the code that others refer to.
        extra[name] = {**defaults, **more}
        bodies[name] = texts | _completed_column(
            fields[name], extra[name].get("kind"), {**rules, **body}
        )
    return {**root, "metadata": {**metadata, "columns": extra}, "columns": bodies}


def _completed_column(field: _Content, kind: str | None, body: _Content) -> dict[str, Any]:
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
    path = schemas_folder() / "shared" / "columns.yaml"
    columns: Mapping[str, _Content] = YamlDocument(path.read_text(encoding="utf-8")).content
    return columns


def _fields(model: object) -> Mapping[str, _Content]:
    """Return the dtypes and limits of a model's fields, nothing if there is no such model."""
    if not isinstance(model, str):
        return {}
    fields: dict[str, _Content] = {}
    try:
        from xlbridge.wire import wire_model

        for name, info in wire_model(model).model_fields.items():
            kind, choices = _value_type(info.annotation)
            if kind is None or kind not in _DTYPES:
                continue
            if any(getattr(one, "multiple_of", None) == 1 for one in _constraints(info)):
                kind = int
            body = {"dtype": _DTYPES[kind], "required": info.is_required()}
            fields[name] = body | _limits(name, kind, info)
            if choices:
                fields[name] = {**fields[name], "isin": list(choices)}
    except (ImportError, AttributeError, ValueError):
        return {}
    return fields


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


_DTYPE_FORMS: Mapping[str, str] = {
    "str": r"object|category|string(\[\w+\])?",
    "Int64": r"u?int(8|16|32|64)?|U?Int(8|16|32|64)",
    "Float64": r"float(16|32|64)?|Float(32|64)",
    "datetime64[us]": r"datetime64\[(s|ms|us|ns)\]|date(time)?",
    "boolean": r"bool",
}
"""Dtypes of schema files, with patterns of pandera's names."""

_ALIASES: Mapping[str, str] = {
    "eq": "equal_to",
    "ne": "not_equal_to",
    "between": "in_range",
    **_BOUNDS,
}
"""Names of checks by pandera's other names."""

_WITHOUT_EFFECT = frozenset({"error", "name", "ignore_na", "n_failure_cases", "options"})
"""Options of a check that do not change its result."""

_SINGLE_NAMES = frozenset(
    {"value", "min_value", "max_value", "allowed_values", "forbidden_values", "values"}
    | {"pattern", "string"}
)
"""Names of pandera for the only statistic of a check."""

_MAY_BE_NULL = frozenset(
    {"checks", "default", "description", "dtype", "index", "metadata", "name", "title", "unique"}
)
_MAX_NAME_LENGTH = 31


def normalized(content: Any, path: Path) -> Any:
    """Return the content of a schema file in our format, with default metadata.

    The default name of the resource is the schema's ``name`` or the file's; by default it is sent
    by a direct import.
    """
    if not isinstance(content, Mapping):
        return content
    root = {k: v for k, v in content.items() if v is not None or k not in _MAY_BE_NULL}
    name = str(root.get("name", path.stem))
    metadata = root.get("metadata", {})
    if isinstance(metadata, Mapping):
        plain = re.sub("[^a-z0-9]+", "-", strip_accents(name).lower())
        defaults: dict[str, Any] = {"resource": plain[:_MAX_NAME_LENGTH].strip("-")}
        if "create" not in metadata:
            defaults["import"] = {"direct": "imports.direct"}
        by_pandera = not metadata
        root["metadata"] = defaults | dict(metadata)
    else:
        by_pandera = False
    root.setdefault("title", name)
    columns = root.get("columns")
    if isinstance(columns, Mapping):
        root["columns"] = {
            column: _normalized_column(body, by_pandera=by_pandera)
            for column, body in columns.items()
        }
    unique = root.pop("unique", None)
    if isinstance(checks := root.get("checks", []), list):
        checks = [
            {**check, "options": _with_effect(options)}
            if "check_name" in (options := _options(check))
            else check
            for check in checks
        ]
        if (names := [unique] if isinstance(unique, str) else unique) and isinstance(names, list):
            options = {"check_name": "no_repeated_rows"}
            checks.append({"options": options, "column": names[0], "columns": names})
        root["checks"] = checks
    return root


def _normalized_column(body: Any, *, by_pandera: bool) -> Any:
    if not isinstance(body, Mapping):
        return body
    column: dict[str, Any] = {"dtype": "str"}
    for key, value in body.items():
        name = _ALIASES.get(key, key)
        if name == "dtype" and value is not None:
            matching = (
                dtype
                for dtype, form in _DTYPE_FORMS.items()
                if re.fullmatch(form, str(value)) is not None
            )
            column["dtype"] = next(matching, value)
        elif name == "unique" and value is True:
            column["no_repeats"] = {}
        elif name in RULES and value is None:
            column[name] = {}
        elif value is not None or name not in _MAY_BE_NULL:
            column[name] = value
    # Of a list of checks, unknown and repeated ones stay.
    if isinstance(listed := column.pop("checks", []), list):
        remaining = []
        for check in listed:
            alias = _options(check).get("check_name", "")
            name = _ALIASES.get(alias, alias)
            if name in RULES and name not in column:
                column[name] = _without_options(check)
            else:
                remaining.append(name)
        listed = remaining
    if listed != []:
        column["checks"] = listed
    if by_pandera:
        # In our format a column is optional if and only if its cells may be empty.
        column["nullable"] = bool(column.get("nullable")) or column.pop("required", True) is False
        column.pop("required", None)
    for name in column.keys() & RULES.keys():
        column[name] = _statistics(name, column[name], column["dtype"])
    return column


def _options(check: Any) -> Mapping[str, Any]:
    """Return the options of a listed check, none if it is malformed."""
    options = check.get("options") if isinstance(check, Mapping) else None
    return options if isinstance(options, Mapping) else {}


def _without_options(check: Any) -> Any:
    if not isinstance(check, Mapping):
        return check
    kept = {key: value for key, value in _options(check).items() if key != "check_name"}
    return _with_effect({**check, **kept})


def _with_effect(check: Mapping[str, Any]) -> dict[str, Any]:
    """Drop null values, and options that do not change the result of a check."""
    return {
        key: value
        for key, value in check.items()
        if key not in _WITHOUT_EFFECT
        and value is not None
        and not (key == "raise_warning" and value is False)
    }


def _statistics(name: str, written: Any, dtype: object) -> Any:
    """Return the statistics of a check by their names, or the only one if it is ``value``."""
    rule, names = RULES[name], list(RULES[name].statistics)
    statistics = _with_effect(written) if isinstance(written, Mapping) else written
    if name == "str_length":
        is_block = isinstance(statistics, dict)
        length = statistics.pop("exact_value", None) if is_block else statistics
        if length is not None:
            statistics = {"min_value": length, "max_value": length}
    if names == ["value"] and isinstance(statistics, dict) and statistics.keys() <= _SINGLE_NAMES:
        statistics = next(iter(statistics.values()), {})
    elif names != ["value"] and len(names) == 1 and not isinstance(statistics, dict):
        statistics = {names[0]: statistics}
    if dtype != "datetime64[us]":
        return statistics
    if isinstance(statistics, dict):
        return {
            key: _as_dates(value) if key in rule.column_values else value
            for key, value in statistics.items()
        }
    return _as_dates(statistics)


def _as_dates(value: Any) -> Any:
    """Convert timestamps, which pandera writes as texts, to dates; those with a time stay texts."""
    if isinstance(value, list):
        return [_as_dates(item) for item in value]
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
    if not isinstance(moment, datetime):
        return moment
    return moment.date() if moment.time() == time.min else str(moment)
