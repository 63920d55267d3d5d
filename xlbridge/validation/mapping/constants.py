"""Values that a mapping file states itself: constants and targets of lists, as cells hold them."""

import datetime as dt
from collections.abc import Iterator

import numpy as np
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource, column_checks
from xlbridge.resources.checks import RULES
from xlbridge.resources.findings import CATALOGUE
from xlbridge.resources.yaml_files import Mistake, format_yaml_path, unknown_value
from xlbridge.validation.mapping.model import TO_FILL_IN, MappedColumn, Scalar, SheetMapping
from xlbridge.validation.request import ParseOptions
from xlbridge.validation.typed_rows import type_cells
from xlbridge.workbook.read import CellColumn, CellEncoder

_NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})
_A_NUMBER = Text(
    pt="aqui se espera um número, sem aspas.", en="a number is expected here, without quotes."
)
_A_TEXT = Text(
    pt="aqui se espera um texto; ponha-o entre aspas.",
    en="a text is expected here; write it in quotes.",
)
_A_DATE = Text(pt="aqui se espera uma data: 2026-01-31.", en="a date is expected: 2026-01-31.")
_STILL_ASKED = Text(
    pt="falta o valor; escreva-o no lugar de ?.", en="the value is missing; write it in place of ?."
)
_A_FLAG = Text(pt="aqui se espera true ou false.", en="true or false is expected here.")


def stated_cell(column: Column, value: Scalar) -> object:
    """Return a value of the file as a cell of the column holds it. Raises ``ValueError``."""
    if value is None:
        return ""
    if column.kind in _NUMBERS:
        return float(value)
    return dt.date.fromisoformat(str(value)) if column.kind is Kind.DATE else value


def typed_constant(column: Column, value: Scalar) -> object:
    """Return a constant of the file, which has no mistakes, as the column's typed value."""
    values, _ = type_cells(column, _cell(column, value), [1], ParseOptions())
    return pd.Series(values).iat[0]


def value_mistakes(mapping: SheetMapping, resource: Resource) -> Iterator[Mistake]:
    """Yield the constants and targets that the columns of the resource do not take."""
    for mapped in mapping.columns:
        column = resource.by_name.get(mapped.name)
        if column is None:
            continue
        for value, line, place in _stated(mapped):
            what = _wrong_type(column, value) or _broken_rule(column, value)
            if what is not None:
                yield Mistake(line, format_yaml_path(place), what)


def _stated(mapped: MappedColumn) -> Iterator[tuple[Scalar, int, tuple[str, ...]]]:
    """Yield the values that a column of the file states, with their lines and places."""
    if not mapped.sources:
        yield mapped.constant, mapped.line, ("columns", mapped.name, "constant")
    for text, value in (mapped.values or {}).items():
        if value is not None:
            line = mapped.value_lines.get(text, mapped.line)
            yield value, line, ("columns", mapped.name, "values", text)


def _wrong_type(column: Column, value: Scalar) -> Text | None:
    if value == TO_FILL_IN:
        return _STILL_ASKED
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if column.kind in _NUMBERS:
        return None if is_number else _A_NUMBER
    if column.kind is Kind.BOOLEAN:
        return None if isinstance(value, bool) else _A_FLAG
    if not isinstance(value, str):
        return _A_DATE if column.kind is Kind.DATE else _A_TEXT
    if column.kind is Kind.DATE:
        try:
            dt.date.fromisoformat(value)
        except ValueError:
            return _A_DATE
    return None


def _broken_rule(column: Column, value: Scalar) -> Text | None:
    """Return what a rule of the column has against a value, None where it may be there."""
    values, problems = type_cells(column, _cell(column, value), [1], ParseOptions())
    if len(problems):
        code = problems.finding_codes()[0]
        return CATALOGUE[code].message.format(**problems.remarks[problems.said[0]].details)
    if column.allowed and value not in column.allowed:
        return unknown_value(value, column.allowed)
    series = pd.Series(values)
    for name, check in column_checks(column).items():
        rule = RULES[name]
        if not rule.whole_column and not np.all(check(series).check_output):
            details = {"found": len(str(value)), **rule.details(column.checks[name])}
            return rule.finding.message.format(**details)
    return None


def _cell(column: Column, value: Scalar) -> CellColumn:
    return CellEncoder().encode([stated_cell(column, value)])
