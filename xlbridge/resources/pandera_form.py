"""Normalization of pandera's output (``to_yaml()``) to the format of our schema files.

pandera has several names for dtypes and statistics, lists checks that it cannot write as keys, and
does not know ``metadata``. Everything else stays unchanged, for the validation to report.
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
"""Dtypes of schema files, with patterns of pandera's names."""

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
            column: _column(body, by_pandera=by_pandera) for column, body in columns.items()
        }
    checks = [*_row_checks(root.get("checks", ())), *_unique_rows(root.pop("unique", None))]
    if checks:
        root["checks"] = checks
    return root


def _column(body: Any, *, by_pandera: bool) -> Any:
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
    if by_pandera:
        # In our format a column is optional if and only if its cells may be empty.
        column["nullable"] = bool(column.get("nullable")) or column.pop("required", True) is False
        column.pop("required", None)
    for name in column.keys() & RULES.keys():
        column[name] = _statistics(name, column[name], column["dtype"])
    return column


def _lift_listed_checks(column: dict[str, Any]) -> None:
    """Move listed checks under their names, except unknown and repeated ones."""
    remaining = []
    for name, statistics in _listed_checks(column.pop("checks", [])):
        if name in RULES and name not in column:
            column[name] = statistics
        else:
            remaining.append(name)
    if remaining:
        column["checks"] = remaining


def _listed_checks(checks: Any) -> Iterator[tuple[str, Any]]:
    """Yield the checks of a column from a list, or by name in older files."""
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
