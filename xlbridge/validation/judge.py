"""The rules of a resource, applied by pandera to typed columns.

A cell gets one finding: the first rule that it breaks, in the order in which the schema file
writes them; rules that read several columns come after those of one, repetition last. A rule that
reads a cell with an error says nothing, so one mistake has one finding.
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
    """The rows of one column that break one rule.

    ``others`` are the further columns that the rule reads.
    """

    column: str
    code: str
    positions: Any
    details: Mapping[str, object]
    others: tuple[str, ...] = ()

    @property
    def turn(self) -> tuple[bool, bool]:
        """When it is its turn: what reads several columns after the others, repetition last."""
        return self.code == _REPEATED, bool(self.others)


def judge(frame: pd.DataFrame, resource: Resource, problems: Mapping[str, CellProblems]) -> None:
    """Add to ``problems`` what the resource's rules find in ``frame``.

    ``frame`` has one typed column per column of the resource and a RangeIndex; it is not changed.
    """
    for item in sorted(_violations(frame, resource), key=lambda item: item.turn):
        column = problems[item.column]
        muted = np.logical_or.reduce([problems[n].failed for n in (item.column, *item.others)])
        positions = item.positions[~muted[item.positions]].tolist()
        if item.code == _REPEATED:
            firsts = first_of_equals(frame[list(item.others or (item.column,))])
            for position in positions:
                column.add(position, item.code, first_position=int(firsts[position]))
        else:
            for position in positions:
                details = {**item.details, **_particulars(frame, item, position)}
                column.add(position, item.code, details)


def _violations(frame: pd.DataFrame, resource: Resource) -> Iterator[_Broken]:
    try:
        frame_schema(resource).validate(frame, lazy=True)
    except SchemaErrors as errors:
        for error in errors.schema_errors:
            yield _broken(error, resource, len(frame))


def _broken(error: SchemaError, resource: Resource, size: int) -> _Broken:
    if error.reason_code is SchemaErrorReason.SERIES_CONTAINS_NULLS:
        return _Broken(error.schema.name, "required-missing", _missing(error), {})
    if error.reason_code is not SchemaErrorReason.DATAFRAME_CHECK or error.check_output is None:
        raise AssertionError(f"{resource.name}: pandera could not judge: {error}")
    positions = np.flatnonzero(~_aligned(error, size))
    if isinstance(error.schema, pa.DataFrameSchema):
        check = resource.row_checks[error.check_index]
        row_rule = ROW_RULES[check.name]
        return _Broken(
            check.statistics["column"],
            row_rule.finding(check.statistics),
            positions,
            row_rule.details(check.statistics),
            others=row_rule.columns(check.statistics),
        )
    column: Column = resource.by_name[error.schema.name]
    rule = RULES[error.check.name]
    details = rule.details(column.checks[error.check.name])
    return _Broken(column.name, rule.finding, positions, details)


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


def first_of_equals(keys: pd.DataFrame) -> Any:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return first[group]
