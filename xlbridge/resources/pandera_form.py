"""Normalisation of what pandera writes (``to_yaml()``) into the form that schema files have here.

pandera names dtypes and statistics in several ways, lists checks that it cannot write as keys,
and knows nothing of ``metadata``. Whatever is not pandera's stays as it is, for the reader to
name.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, time
from pathlib import Path
from typing import Any

from xlbridge.resources.checks import RULES
from xlbridge.resources.column import strip_accents

_Content = Mapping[str, Any]

_DTYPES: Mapping[str, str] = {
    "str": r"object|category|string(\[\w+\])?",
    "Int64": r"u?int(8|16|32|64)?|U?Int(8|16|32|64)",
    "Float64": r"float(16|32|64)?|Float(32|64)",
    "datetime64[us]": r"datetime64\[(s|ms|us|ns)\]|date(time)?",
    "boolean": r"bool",
}
"""The dtypes of schema files, and how pandera may write each."""

_ALIASES: Mapping[str, str] = {
    "eq": "equal_to",
    "ne": "not_equal_to",
    "gt": "greater_than",
    "ge": "greater_than_or_equal_to",
    "lt": "less_than",
    "le": "less_than_or_equal_to",
    "between": "in_range",
}
_WITHOUT_EFFECT = frozenset({"error", "name", "ignore_na", "n_failure_cases", "options"})
"""The options of a check that change nothing of what it finds."""

_LONE_NAMES = frozenset(
    {"value", "min_value", "max_value", "allowed_values", "forbidden_values", "values"}
    | {"pattern", "string"}
)
"""Names that pandera gives to the statistic of a check that has only one."""

_MAY_BE_NULL = frozenset(
    {"checks", "default", "description", "dtype", "index", "metadata", "name", "title", "unique"}
)
_MAX_NAME_LENGTH = 31


def normalized(content: Any, path: Path) -> Any:
    """Return the content of a schema file in the form of ours, with metadata completed.

    A resource without a name is called by the schema's ``name``, or by its file; one that does
    not say how it is sent is sent by a direct import.
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
        is_pandera_s = not metadata
        root["metadata"] = defaults | dict(metadata)
    else:
        is_pandera_s = False
    root.setdefault("title", name)
    columns = root.get("columns")
    if isinstance(columns, Mapping):
        root["columns"] = {
            column: _column(body, is_pandera_s=is_pandera_s) for column, body in columns.items()
        }
    checks = [*_row_checks(root.get("checks", ())), *_unique_rows(root.pop("unique", None))]
    if checks:
        root["checks"] = checks
    return root


def _column(body: Any, *, is_pandera_s: bool) -> Any:
    if not isinstance(body, Mapping):
        return body
    column: dict[str, Any] = {"dtype": "str"}
    for key, value in body.items():
        name = _ALIASES.get(key, key)
        if name == "dtype" and value is not None:
            matching = (
                dtype
                for dtype, form in _DTYPES.items()
                if re.fullmatch(form, str(value)) is not None
            )
            column["dtype"] = next(matching, value)
        elif name == "unique" and value is True:
            column["no_repeats"] = {}
        elif name in RULES and value is None:
            column[name] = {}
        elif value is not None or name not in _MAY_BE_NULL:
            column[name] = value
    _lift_listed_checks(column)
    if is_pandera_s:
        # Here a column that may be missing has cells that may be, and the reverse.
        column["nullable"] = bool(column.get("nullable")) or column.pop("required", True) is False
        column.pop("required", None)
    for name in column.keys() & RULES.keys():
        column[name] = _statistics(name, column[name], column["dtype"])
    return column


def _lift_listed_checks(column: dict[str, Any]) -> None:
    """Put the checks that stand in a list under their names; the unknown and repeated stay."""
    left_over = []
    for name, statistics in _listed_checks(column.pop("checks", [])):
        if name in RULES and name not in column:
            column[name] = statistics
        else:
            left_over.append(name)
    if left_over:
        column["checks"] = left_over


def _listed_checks(checks: Any) -> Iterator[tuple[str, Any]]:
    """Yield the checks of a column that stand in a list, or under their names in older files."""
    if isinstance(checks, Mapping):
        yield from ((_ALIASES.get(name, name), body) for name, body in checks.items())
        return
    for check in checks if isinstance(checks, list) else [checks]:
        options = check.get("options") if isinstance(check, Mapping) else None
        name = options.get("check_name", "") if isinstance(options, Mapping) else ""
        yield _ALIASES.get(name, name), _without_options(check)


def _without_options(check: Any) -> Any:
    if not isinstance(check, Mapping):
        return check
    options = check.get("options")
    kept = dict(options) if isinstance(options, Mapping) else {}
    kept.pop("check_name", None)
    return _with_effect({**check, **kept})


def _with_effect(check: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is null, and options that change nothing of what a check finds."""
    return {
        key: value
        for key, value in check.items()
        if key not in _WITHOUT_EFFECT
        and value is not None
        and not (key == "raise_warning" and value is False)
    }


def _statistics(name: str, written: Any, dtype: object) -> Any:
    """Return the statistics of a check under their own names; a lone ``value`` without one."""
    rule, names = RULES[name], list(RULES[name].statistics)
    stated = _with_effect(written) if isinstance(written, Mapping) else written
    if name == "str_length":
        length = stated.pop("exact_value", None) if isinstance(stated, dict) else stated
        if length is not None:
            stated = {"min_value": length, "max_value": length}
    if names == ["value"] and isinstance(stated, dict) and stated.keys() <= _LONE_NAMES:
        stated = next(iter(stated.values()), {})
    elif names != ["value"] and len(names) == 1 and not isinstance(stated, dict):
        stated = {names[0]: stated}
    if dtype != "datetime64[us]":
        return stated
    if isinstance(stated, dict):
        return {
            key: _as_dates(value) if key in rule.column_values else value
            for key, value in stated.items()
        }
    return _as_dates(stated)


def _as_dates(value: Any) -> Any:
    """Return moments, which pandera writes as texts, as dates; with a time of day as texts."""
    if isinstance(value, list):
        return [_as_dates(item) for item in value]
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value
    if not isinstance(moment, datetime):
        return moment
    return moment.date() if moment.time() == time.min else str(moment)


def _row_checks(checks: Any) -> Iterator[Any]:
    if isinstance(checks, Mapping):
        for name, body in checks.items():
            statistics = body if isinstance(body, Mapping) else {"value": body}
            yield {**_without_options(statistics), "options": {"check_name": name}}
        return
    for check in checks if isinstance(checks, list) else []:
        options = check.get("options") if isinstance(check, Mapping) else None
        if isinstance(options, Mapping) and "check_name" in options:
            kept = _with_effect(options)
            yield {**check, "options": kept}
        else:
            yield check


def _unique_rows(unique: Any) -> Iterator[Any]:
    columns = [unique] if isinstance(unique, str) else unique
    if isinstance(columns, list) and columns:
        yield {
            "options": {"check_name": "no_repeated_rows"},
            "column": columns[0],
            "columns": columns,
        }
