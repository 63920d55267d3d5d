"""The rules of a resource, applied by pandera to typed columns.

A cell gets one finding: the first rule that it breaks, in the order in which the schema file
writes them, repetition last. Cells that could not be read are judged by no rule.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa
from pandera.errors import SchemaError, SchemaErrorReason, SchemaErrors

from xlbridge.resources.column import Column
from xlbridge.resources.frame_schema import frame_schema
from xlbridge.resources.resource import Resource
from xlbridge.resources.rules import ROW_RULES, RULES
from xlbridge.validation.cell_problems import BoolArray, CellProblems

_REPEATED = "duplicate-in-sheet"


@dataclass(frozen=True, slots=True)
class _Broken:
    """The rows of one column that break one rule; ``keys`` are the columns that may not repeat."""

    column: str
    code: str
    positions: Any
    details: Mapping[str, object]
    keys: tuple[str, ...] = ()


def judge(frame: pd.DataFrame, resource: Resource, problems: Mapping[str, CellProblems]) -> None:
    """Add to ``problems`` what the resource's rules find in ``frame``.

    ``frame`` has one typed column per column of the resource and a RangeIndex; it is not changed.
    """
    broken = list(_violations(frame, resource, problems))
    for item in sorted(broken, key=lambda item: item.code == _REPEATED):
        column = problems[item.column]
        positions = item.positions[~column.failed[item.positions]].tolist()
        if item.code == _REPEATED:
            firsts = _first_of_equals(frame[list(item.keys)])
            for position in positions:
                column.add(position, item.code, first_position=int(firsts[position]))
        else:
            for position in positions:
                details = {**item.details, **_particulars(frame, item, position)}
                column.add(position, item.code, details)


def _violations(
    frame: pd.DataFrame, resource: Resource, problems: Mapping[str, CellProblems]
) -> Iterator[_Broken]:
    try:
        frame_schema(resource).validate(frame, lazy=True)
    except SchemaErrors as errors:
        for error in errors.schema_errors:
            yield _broken(error, resource, problems, len(frame))


def _broken(
    error: SchemaError, resource: Resource, problems: Mapping[str, CellProblems], size: int
) -> _Broken:
    if error.reason_code is SchemaErrorReason.SERIES_CONTAINS_NULLS:
        return _Broken(error.schema.name, "required-missing", _missing(error), {})
    if error.reason_code is not SchemaErrorReason.DATAFRAME_CHECK or error.check_output is None:
        raise AssertionError(f"{resource.name}: pandera could not judge: {error}")
    positions = np.flatnonzero(~_aligned(error, size))
    if isinstance(error.schema, pa.DataFrameSchema):
        return _row_violation(error, resource, positions, problems)
    column: Column = resource.by_name[error.schema.name]
    rule = RULES[error.check.name]
    details = rule.details(column.checks[error.check.name])
    return _Broken(column.name, rule.finding, positions, details, keys=(column.name,))


def _row_violation(
    error: SchemaError, resource: Resource, positions: Any, problems: Mapping[str, CellProblems]
) -> _Broken:
    check = resource.row_checks[error.check_index]
    rule = ROW_RULES[check.name]
    muted: BoolArray = np.zeros(len(problems[check.statistics["column"]].failed), dtype=bool)
    for name in rule.columns(check.statistics):
        muted |= problems[name].failed
    return _Broken(
        check.statistics["column"],
        rule.finding(check.statistics),
        positions[~muted[positions]],
        rule.details(check.statistics),
        keys=rule.columns(check.statistics),
    )


def _aligned(error: SchemaError, size: int) -> BoolArray:
    """Return a check's verdict for every row; rows that pandera left out as missing are right."""
    verdicts = np.ones(size, dtype=bool)
    output = error.check_output
    verdicts[output.index.to_numpy()] = output.to_numpy(dtype=bool, na_value=True)
    return verdicts


def _missing(error: SchemaError) -> Any:
    return error.failure_cases["index"].to_numpy(dtype=np.intp)


def _particulars(frame: pd.DataFrame, broken: _Broken, position: int) -> dict[str, object]:
    """Return the details of a finding that depend on the very cell."""
    if broken.code == "text-length":
        return {"found": len(str(frame[broken.column].iat[position]))}
    return {}


def _first_of_equals(keys: pd.DataFrame) -> Any:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return first[group]
