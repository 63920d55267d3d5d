"""Application of a resource's rules to typed columns, with pandera's checks.

A cell has one finding, for the first rule that it breaks: rules run in the order of the schema
file, those of several columns after those of one, repetition last. A rule skips cells with an
error, so one mistake has one finding.

Checks run one by one: a whole schema would turn every failing cell into rows of a frame, which
takes longer than all the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import pandera.pandas as pa

from xlbridge.resources import RowCheck, pandera_checks
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.validation.cells.column_cells import BoolArray, Positions
from xlbridge.validation.cells.typed_rows import ColumnMemo, TypedRows
from xlbridge.validation.cross_sheet import first_occurrences

# Import the backend now, while a file is being read, and not with the first check.
pa.Check.get_backend(pd.Series(dtype=object))


def row_check(declared: RowCheck) -> pa.Check:
    """Return a check across columns or rows, including blank rows."""
    test = ROW_RULES[declared.name].row_test
    return pa.Check(partial(test, **declared.statistics), name=declared.name, ignore_na=False)


_REPEATED = "duplicate-in-sheet"
_WRONG_LENGTH = "text-length"


@dataclass(frozen=True, slots=True)
class _CellRule:
    """A rule about the cells of one column; ``others`` are the further columns that it reads, with
    ``tests_unknown`` even if they have an error.

    ``failing`` returns the positions of the rows that break it. From those rows ``correct`` returns
    the corrected values, ``describe`` the details of each.
    """

    column: str
    code: str
    failing: Callable[[], Positions]
    details: Mapping[str, object]
    others: tuple[str, ...] = ()
    tests_unknown: bool = False
    correct: Callable[[pd.DataFrame], pd.Series] | None = None
    describe: Callable[[pd.DataFrame], list[Mapping[str, object]]] | None = None


def apply_rules(typed: TypedRows, memo: ColumnMemo | None) -> None:
    """Apply the resource's rules to the typed values, and add the problems to their columns.

    With a ``memo``, a rule only runs again if a column that it reads has changed.
    """
    problems = typed.problems
    rules = sorted(_rules(typed), key=lambda it: (it.code == _REPEATED, bool(it.others)))
    for number, rule in enumerate(rules):
        column = problems[rule.column]
        positions = _cached(("rule", number), rule, rule.failing, typed, memo)
        skipped = (rule.column, *(() if rule.tests_unknown else rule.others))
        for name in skipped if len(positions) else ():
            positions = positions[~problems[name].failed[positions]]
        if not len(positions):
            continue
        if rule.code == _REPEATED:
            find = partial(first_occurrences, typed.frame[list(rule.others or (rule.column,))])
            firsts = _cached(("firsts", number), rule, find, typed, memo)
            column.add_all(positions, rule.code, firsts=firsts[positions].tolist())
        elif rule.correct is not None:
            corrected = rule.correct(typed.frame.iloc[positions]).tolist()
            for position, value in zip(positions.tolist(), corrected, strict=True):
                column.add(position, rule.code, rule.details, value)
            column.failed[positions] = True
        elif rule.describe is not None:
            column.add_all(positions, rule.code, rule.describe(typed.frame.iloc[positions]))
        elif rule.code == _WRONG_LENGTH:
            # Texts of one length share their details.
            lengths = typed.frame[rule.column].iloc[positions].str.len().astype(int).tolist()
            details = {length: {**rule.details, "found": length} for length in set(lengths)}
            column.add_all(positions, rule.code, [details[length] for length in lengths])
        else:
            column.add_all(positions, rule.code, rule.details)


def _cached(
    key: tuple[str, int],
    rule: _CellRule,
    compute: Callable[[], Positions],
    typed: TypedRows,
    memo: ColumnMemo | None,
) -> Positions:
    """Return a result that depends on the columns that a rule reads, from the memo if possible."""
    if memo is None:
        return compute()
    versions = tuple(typed.versions[name] for name in (rule.column, *rule.others))
    positions: Positions = memo.result(key, versions, compute).value
    return positions


def _rules(typed: TypedRows) -> Iterator[_CellRule]:
    resource, frame, problems = typed.resource, typed.frame, typed.problems

    # The rules of one column run in succession.
    @lru_cache(maxsize=1)
    def is_missing(name: str) -> BoolArray:
        return frame[name].isna().to_numpy()

    @lru_cache(maxsize=1)
    def present(name: str) -> pd.Series:
        missing = is_missing(name)
        return frame[name][~missing] if missing.any() else frame[name]

    def missing_rows(name: str) -> Positions:
        return np.flatnonzero(is_missing(name))

    def failing_rows(check: pa.Check, name: str) -> Positions:
        values = present(name)
        return _failing(check, values) if len(values) else np.empty(0, dtype=np.intp)

    def failing_filled_rows(declared: RowCheck) -> Positions:
        read, statistics = frame, declared.statistics
        unknown = ROW_RULES[declared.name].tests_unknown and problems[statistics["other"]].failed
        if np.any(unknown):
            other = frame[statistics["other"]].mask(unknown, statistics["values"][0])
            read = frame.assign(**{statistics["other"]: other})
        failing = _failing(row_check(declared), read)
        if not failing.size:
            return failing
        return failing[frame.iloc[failing].notna().any(axis="columns").to_numpy(dtype=bool)]

    for column in resource.columns:
        if column.name in typed.absent and not column.required:
            continue
        if column.required:
            yield _CellRule(column.name, "required-missing", partial(missing_rows, column.name), {})
        for name, check in pandera_checks(column).items():
            # Only present values are checked; pandera would look for missing ones again.
            check.ignore_na = False
            rule, failing = RULES[name], partial(failing_rows, check, column.name)
            details = rule.details(column.checks[name])
            yield _CellRule(column.name, rule.finding.code, failing, details)
    for declared in resource.row_checks:
        row_rule, statistics = ROW_RULES[declared.name], declared.statistics
        if not typed.absent.isdisjoint(row_rule.columns_needed(statistics)):
            continue
        correct, describe = row_rule.correct, row_rule.row_details
        yield _CellRule(
            statistics["column"],
            row_rule.finding_of(statistics).code,
            partial(failing_filled_rows, declared),
            row_rule.details(statistics),
            others=row_rule.columns_read(statistics),
            tests_unknown=row_rule.tests_unknown,
            correct=None if correct is None else partial(correct, **statistics),
            describe=None if describe is None else partial(describe, **statistics),
        )


def _failing(check: pa.Check, values: pd.Series | pd.DataFrame) -> Positions:
    """Return the rows that fail a check."""
    output = check(values).check_output
    failing: Positions = output.index.to_numpy()[~output.to_numpy(dtype=bool, na_value=True)]
    return failing
