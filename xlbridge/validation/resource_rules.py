"""Apply a resource's rules to typed columns, with pandera.

A cell gets one finding: the first rule that it breaks, in the order in which the schema file
writes them; rules that read several columns come after those of one, repetition last. A rule
that reads a cell with an error says nothing, so one mistake has one finding.

Each check is asked for its verdicts by itself: a whole schema would also turn every failing
cell into rows of a frame, which takes longer than all the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pandera.pandas as pa

from xlbridge.resources import Resource, column_checks, row_check
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.validation.cells.column_cells import CellProblems, Positions

_Result = TypeVar("_Result")
_CHUNK = 1 << 17
_REPEATED = "duplicate-in-sheet"
_WRONG_LENGTH = "text-length"


@dataclass(frozen=True, slots=True)
class _CellRule:
    """A rule about the cells of one column.

    ``failing`` returns the rows that break it; ``others`` are the further columns that it reads.
    """

    column: str
    code: str
    failing: Callable[[], Positions]
    details: Mapping[str, object]
    others: tuple[str, ...] = ()
    corrected: Callable[[Positions], pd.Series] | None = None
    described: Callable[[Positions], list[Mapping[str, object]]] | None = None

    @property
    def turn(self) -> tuple[bool, bool]:
        """Order of the rule: those of several columns after the others, repetition last."""
        return self.code == _REPEATED, bool(self.others)


def apply_rules(
    frame: pd.DataFrame, resource: Resource, problems: Mapping[str, CellProblems]
) -> None:
    """Add to ``problems`` what the resource's rules find in ``frame``.

    ``frame`` has one typed column per column of the resource and a RangeIndex; it is not changed.
    """
    for rule in sorted(_rules(frame, resource), key=lambda rule: rule.turn):
        column = problems[rule.column]
        muted = np.logical_or.reduce([problems[n].failed for n in (rule.column, *rule.others)])
        positions = rule.failing()
        positions = positions[~muted[positions]]
        if not len(positions):
            continue
        if rule.code == _REPEATED:
            firsts = first_occurrences(frame[list(rule.others or (rule.column,))])
            column.add_all(positions, rule.code, firsts=firsts[positions].tolist())
        elif rule.corrected is not None:
            corrected = rule.corrected(positions).tolist()
            for position, value in zip(positions.tolist(), corrected, strict=True):
                column.add(position, rule.code, rule.details, value)
            column.failed[positions] = True
        elif rule.described is not None:
            column.add_all(positions, rule.code, rule.described(positions))
        elif rule.code == _WRONG_LENGTH:
            column.add_all(positions, rule.code, _with_lengths(rule, frame, positions))
        else:
            column.add_all(positions, rule.code, rule.details)


def _rules(frame: pd.DataFrame, resource: Resource) -> Iterator[_CellRule]:
    for column in resource.columns:
        values = frame[column.name]
        if column.required:
            yield _CellRule(column.name, "required-missing", partial(_missing, values), {})
        for name, check in column_checks(column).items():
            rule = RULES[name]
            failing = partial(_failing if rule.whole_column else _failing_cells, check, values)
            details = rule.details(column.checks[name])
            yield _CellRule(column.name, rule.finding.code, failing, details)
    for declared in resource.row_checks:
        row_rule, statistics = ROW_RULES[declared.name], declared.statistics
        of_rows = partial(_of_rows, frame, statistics)
        correct, describe = row_rule.correct, row_rule.row_details
        yield _CellRule(
            statistics["column"],
            row_rule.finding_of(statistics).code,
            partial(_failing, row_check(declared), frame),
            row_rule.details(statistics),
            others=row_rule.columns_read(statistics),
            corrected=None if correct is None else partial(of_rows, correct),
            described=None if describe is None else partial(of_rows, describe),
        )


def _of_rows(
    frame: pd.DataFrame,
    statistics: Mapping[str, Any],
    function: Callable[..., _Result],
    positions: Positions,
) -> _Result:
    return function(frame.iloc[positions], **statistics)


def _missing(values: pd.Series) -> Positions:
    return np.flatnonzero(values.isna().to_numpy())


def _failing_cells(check: pa.Check, values: pd.Series) -> Positions:
    """Return the rows that fail a check of single cells, of which pandera makes a copy: of a piece
    of the column at a time."""
    pieces = [values.iloc[begin : begin + _CHUNK] for begin in range(0, len(values), _CHUNK)]
    failing = [_failing(check, piece.reset_index(drop=True)) for piece in pieces]
    failing = [positions + place * _CHUNK for place, positions in enumerate(failing)]
    return np.concatenate([np.empty(0, dtype=np.intp), *failing])


def _failing(check: pa.Check, values: pd.Series | pd.DataFrame) -> Positions:
    """Return the rows that fail a check; those that pandera leaves out as missing are right."""
    verdicts = np.ones(len(values), dtype=bool)
    output = check(values).check_output
    verdicts[output.index.to_numpy()] = output.to_numpy(dtype=bool, na_value=True)
    return np.flatnonzero(~verdicts)


def _with_lengths(
    rule: _CellRule, frame: pd.DataFrame, positions: Positions
) -> list[Mapping[str, object]]:
    """Return the details of each text with a wrong length; texts of one length share theirs."""
    lengths = frame[rule.column].str.len().iloc[positions].astype(int).tolist()
    details = {length: {**rule.details, "found": length} for length in set(lengths)}
    return [details[length] for length in lengths]


def first_occurrences(keys: pd.DataFrame) -> Any:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    return first[group]
