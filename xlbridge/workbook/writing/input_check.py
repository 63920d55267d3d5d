"""What Excel itself checks while a cell is being filled in: a column's data validation."""

from collections.abc import Mapping
from datetime import date
from textwrap import shorten
from typing import Any

from xlbridge.resources.column import Column, Kind
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.writing.column_guide import (
    FALSE,
    TRUE,
    example_in_words,
    kind_name,
    rules_in_words,
)

_TITLE_LIMIT, _PROMPT_LIMIT, _ERROR_LIMIT, _FORMULA_LIMIT = 32, 255, 225, 255  # Excel's own

_BOUNDS: Mapping[str, str] = {
    "greater_than": ">",
    "greater_than_or_equal_to": ">=",
    "less_than": "<",
    "less_than_or_equal_to": "<=",
}
_MASKS: Mapping[Kind, str] = {Kind.CNPJ: "./-", Kind.CPF: ".-"}
_ANY_NUMBER = {"criteria": "between", "minimum": -(10**15), "maximum": 10**15}
_FIRST_DAY = date(1900, 1, 1)


def input_check(column: Column, index: int, choices: str | None) -> dict[str, Any]:
    """Return the validation of a column's cells, as xlsxwriter takes it.

    ``index`` is the column's zero-based place in the sheet; ``choices`` is the range that holds
    its allowed values, where it has any. A check that can be mistaken only warns: the validator
    has the last word.
    """
    check = (
        {"validate": "list", "source": f"={choices}"} if choices else _check_of_kind(column, index)
    )
    asked = "; ".join(filter(None, (kind_name(column), rules_in_words(column))))
    example = example_in_words(column)
    return {
        "error_type": "stop",
        **check,
        "ignore_blank": True,
        "input_title": _cut(column.title.pt, _TITLE_LIMIT),
        "input_message": _cut(
            f"{column.description} Aqui cabe: {asked}."
            + (f" Exemplo: {example}" if example else ""),
            _PROMPT_LIMIT,
        ),
        "error_title": _cut(column.title.pt, _TITLE_LIMIT),
        "error_message": _cut(f"O valor não serve. Aqui cabe: {asked}.", _ERROR_LIMIT),
    }


def _cut(text: str, limit: int) -> str:
    return shorten(text, limit, placeholder="…")


def _check_of_kind(column: Column, index: int) -> dict[str, Any]:
    match column.kind:
        case Kind.BOOLEAN:
            return {"validate": "list", "source": [TRUE, FALSE], "error_type": "warning"}
        case Kind.DATE:
            return {"validate": "date", "criteria": ">=", "value": _FIRST_DAY}
        case Kind.INTEGER:
            return {"validate": "integer", **_bounds(column)}
        case Kind.NUMBER | Kind.MONEY:
            return {"validate": "decimal", **_bounds(column)}
        case _:
            return _check_of_text(column, index)


def _bounds(column: Column) -> dict[str, Any]:
    if "in_range" in column.checks:
        span = column.checks["in_range"]
        return {"criteria": "between", "minimum": span["min_value"], "maximum": span["max_value"]}
    for name, criterion in _BOUNDS.items():
        if name in column.checks:
            return {"criteria": criterion, "value": column.checks[name]["value"]}
    return _ANY_NUMBER


def _check_of_text(column: Column, index: int) -> dict[str, Any]:
    if column.kind in _MASKS:
        check = _exact_length(column, index, _MASKS[column.kind])
        return {**check, "error_type": "warning"}
    if "digits" in column.checks:
        return _exact_length(column, index, column.checks["digits"].get("separators", ""))
    if "str_length" in column.checks:
        span = column.checks["str_length"]
        return {
            "validate": "length",
            "criteria": "between",
            "minimum": span["min_value"],
            "maximum": span["max_value"],
        }
    return {"validate": "any"}


def _exact_length(column: Column, index: int, separators: str) -> dict[str, Any]:
    bare = cell_address(2, index)
    for separator in separators:
        quoted = separator.replace('"', '""')
        bare = f'SUBSTITUTE({bare},"{quoted}","")'
    formula = f"LEN({bare})={column.width}"
    if len(formula) > _FORMULA_LIMIT:
        return {"validate": "any"}
    return {"validate": "custom", "value": f"={formula}"}
