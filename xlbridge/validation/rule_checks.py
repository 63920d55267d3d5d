"""Application of a resource's rules to typed columns, with pandera's checks.

A cell has one finding, for the first rule that it breaks: rules run in the order of the schema
file, those of several columns after those of one, repetition last. A rule skips cells with an
error, so one mistake has one finding.

Checks run one by one: a whole schema would turn every failing cell into rows of a frame, which
takes longer than all the rest. After an edit, a rule tests the edited rows alone, and those with
which they may be equal.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
import pandera.pandas as pa

from xlbridge.resources import RowCheck, pandera_checks
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.validation.cells.contents import Positions
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
_MIN_KEPT = 16
"""Factor by which there are more rows than those that are tested again alone."""


@dataclass(frozen=True, slots=True)
class _CellRule:
    """A rule about the cells of one column; ``others`` are the further columns that it reads, with
    ``tests_unknown`` even if they have an error. ``by_row``: no row depends on another one.

    ``failing`` returns the positions of the rows that break it, among the given ones. From those
    rows ``correct`` returns the corrected values, ``describe`` the details of each; both read no
    other columns than the rule.
    """

    column: str
    code: str
    failing: Callable[[Positions | None], Positions]
    details: Mapping[str, object]
    others: tuple[str, ...] = ()
    tests_unknown: bool = False
    by_row: bool = True
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
        if memo is None:
            failing = _FailingRows.of(rule, typed)
        else:
            key, read = ("rule", number), (rule.column, *rule.others)
            versions = tuple(typed.versions[name] for name in read)
            find = partial(_FailingRows.of, rule, typed, memo.known(key, None), is_kept=True)
            failing = memo.result(key, versions, find).value
        skipped = (rule.column, *(() if rule.tests_unknown else rule.others))
        known = np.ones(len(failing.positions), dtype=bool)
        for name in skipped if len(known) else ():
            known &= ~problems[name].failed[failing.positions]
        positions = failing.positions[known]
        if not len(positions):
            continue
        if rule.code == _REPEATED:
            column.add_all(positions, rule.code, firsts=failing.firsts[known].tolist())
        elif rule.correct is not None:
            corrected = rule.correct(typed.frame.iloc[positions]).tolist()
            for position, value in zip(positions.tolist(), corrected, strict=True):
                column.add(position, rule.code, rule.details, value)
            column.failed[positions] = True
        elif rule.describe is not None:
            column.add_all(positions, rule.code, [*compress(failing.details, known)])
        else:
            column.add_all(positions, rule.code, rule.details)


@dataclass(frozen=True, slots=True)
class _FailingRows:
    """Positions of the rows that break a rule, and the columns that it reads: the version of each
    and its values.

    ``firsts`` are the first rows with the same values, of a rule about repetition; ``details`` what
    a rule says of each row, if it says anything.
    """

    read: Mapping[str, tuple[Hashable, Any]]
    positions: Positions
    firsts: Positions
    details: Sequence[Mapping[str, object]]

    @classmethod
    def of(
        cls,
        rule: _CellRule,
        typed: TypedRows,
        before: "_FailingRows | None" = None,
        *,
        is_kept: bool = False,
    ) -> "_FailingRows":
        """Find the rows that break a rule; after edits, only those that they concern are tested
        again: ``before`` is the last result, and this one ``is_kept`` for the next time."""
        frame, columns = typed.frame, rule.others or (rule.column,)
        names = {rule.column, *columns} if is_kept else ()
        read = {name: (typed.versions[name], frame[name].array) for name in names}
        # Rows with the same values have the same one in the rule's column, if that is compared.
        by_value = rule.code == _REPEATED and rule.column in columns
        tested = None
        if before is not None and (rule.by_row or by_value):
            tested = before._concerned(read, rule.column if by_value else None)
        positions = rule.failing(tested)
        if before is not None and tested is not None:
            kept = before.positions[~np.isin(before.positions, tested)]
            positions = np.union1d(kept, positions)
        firsts = positions
        if rule.code == _REPEATED and len(positions):
            rows = np.arange(len(frame))
            if by_value:
                own = frame[rule.column]
                rows = np.flatnonzero(own.isin(own.iloc[positions]))
            found = first_occurrences(frame[list(columns)].iloc[rows])
            firsts = rows[found[np.searchsorted(rows, positions)]]
        details: Sequence[Mapping[str, object]] = ()
        if rule.describe is not None and len(positions):
            details = rule.describe(frame.iloc[positions])
        return cls(read, positions, firsts, details)

    def _concerned(
        self, read: Mapping[str, tuple[Hashable, Any]], column: str | None
    ) -> Positions | None:
        """Return the rows whose values have changed, and those that have, in ``column``, a value
        that one of these has or had; None if they are too many, or rows came or went."""
        changed, count = np.empty(0, dtype=np.intp), 0
        for name, (version, values) in read.items():
            known_version, known = self.read[name]
            count = len(values)
            if len(known) != count:
                return None
            if version != known_version:
                # Missing values are equal.
                was_missing, is_missing = known.isna(), values.isna()
                is_same = np.asarray((known == values) & ~(was_missing | is_missing), dtype=bool)
                is_same |= was_missing & is_missing
                changed = np.union1d(changed, np.flatnonzero(~is_same))
        if _MIN_KEPT * len(changed) > count:
            return None
        if column is None:
            return changed
        both = [pd.Series(of[column][1][changed]) for of in (self.read, read)]
        shared = pd.concat(both).dropna()
        return np.union1d(changed, np.flatnonzero(read[column][1].isin(shared)))


def _rules(typed: TypedRows) -> Iterator[_CellRule]:
    resource, frame, problems = typed.resource, typed.frame, typed.problems

    # The rules of one column run in succession.
    @lru_cache(maxsize=1)
    def present(name: str) -> pd.Series:
        values = frame[name]
        missing = values.isna()
        return values[~missing] if missing.any() else values

    def missing_rows(name: str, rows: Positions | None) -> Positions:
        values = frame[name] if rows is None else frame[name].iloc[rows]
        missing = np.flatnonzero(values.isna().to_numpy())
        return missing if rows is None else rows[missing]

    def failing_rows(check: pa.Check, name: str, rows: Positions | None) -> Positions:
        values = present(name) if rows is None else frame[name].iloc[rows].dropna()
        return _failing(check, values) if len(values) else np.empty(0, dtype=np.intp)

    def failing_filled_rows(declared: RowCheck, rows: Positions | None) -> Positions:
        read, statistics = frame, declared.statistics
        if rows is not None:
            read = frame.iloc[rows]
        elif ROW_RULES[declared.name].tests_unknown and np.any(
            unknown := problems[statistics["other"]].failed
        ):
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
            code, details = rule.finding.code, rule.details(column.checks[name])
            yield _CellRule(
                column.name,
                code,
                failing,
                details,
                by_row=not rule.whole_column,
                describe=partial(_lengths, column.name, details) if code == _WRONG_LENGTH else None,
            )
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
            # What is unknown depends on the findings, not on values alone.
            by_row=not row_rule.tests_unknown and row_rule.finding_of(statistics).code != _REPEATED,
            correct=None if correct is None else partial(correct, **statistics),
            describe=None if describe is None else partial(describe, **statistics),
        )


def _lengths(
    column: str, common: Mapping[str, object], frame: pd.DataFrame
) -> list[Mapping[str, object]]:
    """Return the details of texts of a wrong length; those of one length share them."""
    lengths = frame[column].str.len().astype(int).tolist()
    details = {length: {**common, "found": length} for length in set(lengths)}
    return [details[length] for length in lengths]


def _failing(check: pa.Check, values: pd.Series | pd.DataFrame) -> Positions:
    """Return the rows that fail a check."""
    output = check(values).check_output
    failing: Positions = output.index.to_numpy()[~output.to_numpy(dtype=bool, na_value=True)]
    return failing
