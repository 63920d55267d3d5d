"""The rules of a resource, applied by pandera to typed columns.

A cell gets one finding: the first rule that it breaks, in the order in which the schema file
writes them; rules that read several columns come after those of one, repetition last. A rule that
reads a cell with an error says nothing, so one mistake has one finding.

Each check is asked for its verdicts by itself: a whole schema would also turn every failing cell
into rows of a frame, which takes longer than all the rest.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from xlbridge.resources.pandera_checks import column_checks, row_check
from xlbridge.resources.resource import Resource
from xlbridge.resources.rules import ROW_RULES, RULES
from xlbridge.validation.cell_problems import CellProblems, Positions

_REPEATED = "duplicate-in-sheet"
_WRONG_LENGTH = "text-length"


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
        positions = item.positions[~muted[item.positions]]
        if not len(positions):
            continue
        if item.code == _REPEATED:
            firsts = first_of_equals(frame[list(item.others or (item.column,))])
            column.add_all(positions, item.code, firsts=firsts[positions].tolist())
        elif item.code == _WRONG_LENGTH:
            column.add_all(positions, item.code, _with_lengths(item, frame, positions))
        else:
            column.add_all(positions, item.code, item.details)


def _violations(frame: pd.DataFrame, resource: Resource) -> Iterator[_Broken]:
    for column in resource.columns:
        values = frame[column.name]
        if column.required:
            missing = values.isna().to_numpy()
            yield _Broken(column.name, "required-missing", np.flatnonzero(missing), {})
        for name, check in column_checks(column).items():
            details = RULES[name].details(column.checks[name])
            yield _Broken(column.name, RULES[name].finding, _failing(check, values), details)
    for declared in resource.row_checks:
        rule, statistics = ROW_RULES[declared.name], declared.statistics
        yield _Broken(
            statistics["column"],
            rule.finding(statistics),
            _failing(row_check(declared), frame),
            rule.details(statistics),
            others=rule.columns(statistics),
        )


def _failing(check: pa.Check, values: pd.Series | pd.DataFrame) -> Any:
    """Return the rows that fail a check; those that pandera leaves out as missing are right."""
    verdicts = np.ones(len(values), dtype=bool)
    output = check(values).check_output
    verdicts[output.index.to_numpy()] = output.to_numpy(dtype=bool, na_value=True)
    return np.flatnonzero(~verdicts)


def _with_lengths(
    broken: _Broken, frame: pd.DataFrame, positions: Positions
) -> list[Mapping[str, object]]:
    """Return the details of each text with a wrong length; texts of one length share theirs."""
    lengths = frame[broken.column].iloc[positions].str.len().tolist()
    details = {length: {**broken.details, "found": length} for length in set(lengths)}
    return [details[length] for length in lengths]


def first_of_equals(keys: pd.DataFrame) -> Any:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return first[group]
