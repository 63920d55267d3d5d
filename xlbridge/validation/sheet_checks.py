"""Checks of a sheet's typed rows: its layout, and the resource's rules with pandera's checks.

A cell has one finding, for the first rule that it breaks: rules run in the order of the schema
file, those of several columns after those of one, repetition last. A rule skips cells with an
error, so one mistake has one finding.

Checks run one by one: a whole schema would turn every failing cell into rows of a frame, which
takes longer than all the rest. After an edit, a rule tests the edited rows alone, and those with
which they may be equal.

Layout: merged and hidden cells, formulas, unnamed columns, rows that are longer or shorter than the
header, 1904 dates, a CPF in the column of CNPJs; findings that say more about a column than about
its cells.
"""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Kind, RowCheck, pandera_checks
from xlbridge.resources.checks import CATALOGUE, DOCUMENTS, ROW_RULES, RULES, bare_document
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.contents import BoolArray, Positions, display, quoted
from xlbridge.validation.cells.typed_rows import ColumnMemo, TypedRows
from xlbridge.validation.cross_sheet import first_occurrences
from xlbridge.validation.header_row import header_key
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import SheetCells

if TYPE_CHECKING:
    import pandera.pandas as pa


def row_check(declared: RowCheck) -> "pa.Check":
    """Return a check across columns or rows, including blank rows."""
    # Late: the migration of a workbook checks its layout, and runs no rules.
    import pandera.pandas as pa

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

    def failing_rows(check: "pa.Check", name: str, rows: Positions | None) -> Positions:
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


def _failing(check: "pa.Check", values: pd.Series | pd.DataFrame) -> Positions:
    """Return the rows that fail a check."""
    output = check(values).check_output
    failing: Positions = output.index.to_numpy()[~output.to_numpy(dtype=bool, na_value=True)]
    return failing


_MAX_RANGES = 10


def check_layout(typed: TypedRows) -> list[Finding]:
    """Report problems of cells in their columns, and return the findings of the sheet."""
    header, cells = typed.header, typed.cells
    columns = {name: cells.first_column + index for name, index in header.source_columns().items()}
    _report_merged(columns, typed)
    _report_formulas(columns, typed)
    layout, findings = cells.raw.layout, list[Finding]()
    if layout.hidden_rows and (rows := sorted(layout.hidden_rows.intersection(typed.rows))):
        findings.append(
            Finding(CATALOGUE["rows-hidden"], row=header.row, details=_row_details(rows))
        )
    for name, index in columns.items():
        if any(first <= index <= last for first, last in layout.hidden_columns):
            cell = cell_address(header.row, index)
            findings.append(Finding(CATALOGUE["column-hidden"], header.row, name, cell))
    findings += _unnamed_columns(typed)
    dates = [column.name for column in typed.resource.columns if column.kind is Kind.DATE]
    if cells.raw.uses_1904_dates and typed.frame[dates].notna().to_numpy().any():
        findings.append(Finding(CATALOGUE["date-system-old"], row=header.row))
    return findings


def _report_merged(columns: Mapping[str, int], typed: TypedRows) -> None:
    """Report merged cells: only the first holds a value, so the others are ambiguous."""
    rows = np.array(typed.rows)
    for top, left, bottom, right in typed.cells.raw.layout.merged:
        positions = np.flatnonzero((rows >= top) & (rows <= bottom))
        names = [name for name, index in columns.items() if left <= index <= right]
        if len(positions) * len(names) < 2:
            continue
        first = min(names, key=lambda name: columns[name])
        shown = f"{cell_address(top, left)}:{cell_address(bottom, right)}"
        if not typed.problems[first].failed[positions[0]]:
            typed.problems[first].add(int(positions[0]), "cells-merged", {"range": shown})
        for name in names:
            typed.problems[name].failed[positions] = True


def _report_formulas(columns: Mapping[str, int], typed: TypedRows) -> None:
    """Report once for each column that stored results of formulas are read."""
    cells = typed.cells
    all_runs = {name: cells.raw.layout.formulas.get(index, ()) for name, index in columns.items()}
    position_of = {row: at for at, row in enumerate(typed.rows)} if any(all_runs.values()) else {}
    for name, runs in all_runs.items():
        source, problems = cells.columns[columns[name] - cells.first_column], typed.problems[name]
        for row in chain.from_iterable(range(first, last + 1) for first, last in runs):
            result, position = source.value(row - 1), position_of.get(row)
            # LibreOffice writes TRUE and FALSE as formulas.
            is_read = result != "" and not isinstance(result, bool)
            if position is not None and is_read and not problems.failed[position]:
                problems.add(position, "formula-result")
                break


def _unnamed_columns(typed: TypedRows) -> Iterator[Finding]:
    """Report columns with data but without a text header, which no other check covers."""
    header, cells = typed.header, typed.cells
    reported = {finding.cell for finding in header.findings}
    longer = long_rows(cells, header.row)
    if longer is not None:
        yield longer
    for index, column in enumerate(cells.columns):
        name = column.value(header.row - 1)
        cell = cell_address(header.row, cells.first_column + index)
        if header_key(name) or cell in reported or not any(column.kinds[header.row :]):
            continue
        if isinstance(name, str):
            if longer is None:
                yield Finding(CATALOGUE["column-unnamed"], row=header.row, cell=cell)
        else:
            details = {"header": quoted(display(name)), "resource": typed.resource.title}
            yield Finding(
                CATALOGUE["column-unknown"], header.row, display(name), cell, None, details
            )


def long_rows(cells: SheetCells, header_row: int) -> Finding | None:
    """Return the finding of the rows of a .csv file that are longer than its header, even by empty
    cells; None if there is none."""
    if not cells.raw.widths:
        return None
    widths = _widths(cells)
    end = int(widths[header_row - 1])
    is_longer = np.any([np.frombuffer(c.kinds, dtype=bool) for c in cells.columns], axis=0)
    is_longer &= widths > end
    rows = (np.flatnonzero(is_longer[header_row:]) + header_row + 1).tolist()
    if not rows:
        return None
    cell = cell_address(rows[0], cells.first_column + end)
    return Finding(CATALOGUE["row-longer"], header_row, cell=cell, details=_row_details(rows))


def short_rows(typed: TypedRows, non_records: Collection[int]) -> Iterator[Finding]:
    """Report the rows of a .csv file that are shorter than its header.

    Programs that omit empty cells at the end do so in many rows. If only the last row is short,
    and it does not end in a line break, the file was cut off.
    """
    header, cells = typed.header, typed.cells
    named = [
        index
        for index, column in enumerate(cells.columns)
        if index not in header.sources and column.value(header.row - 1) != ""
    ]
    if not cells.raw.widths or not named:
        return
    rows = [row for row in typed.rows if row not in non_records]
    if (cut_off := cut_off_row(cells, header.row, named[-1], rows)) is not None:
        yield cut_off
    elif len(short := _short_rows(cells, named[-1], rows)):
        cell = cell_address(short[0], cells.first_column + int(_widths(cells)[short[0] - 1]))
        yield Finding(CATALOGUE["row-shorter"], header.row, cell=cell, details=_row_details(short))


def cut_off_row(
    cells: SheetCells, header_row: int, last: int, rows: Sequence[int]
) -> Finding | None:
    """Return the finding of a .csv file that ends within its last row; None if it does not.

    ``last`` is the index of the last column with a header, ``rows`` are those of records.
    """
    if not cells.raw.is_unterminated or _short_rows(cells, last, rows) != [cells.height]:
        return None
    cell = cell_address(cells.height, cells.first_column + int(_widths(cells)[-1]))
    return Finding(CATALOGUE["row-cut-off"], header_row, cell=cell, details={"row": cells.height})


def _short_rows(cells: SheetCells, last: int, rows: Sequence[int]) -> list[int]:
    numbers = np.array(rows, dtype=np.intp)
    short: list[int] = numbers[_widths(cells)[numbers - 1] <= last].tolist()
    return short


def _widths(cells: SheetCells) -> "npt.NDArray[np.intp]":
    """Return the number of cells in each row of a .csv file."""
    firsts, widths = np.array(cells.raw.widths, dtype=np.intp).T
    return np.repeat(widths, np.diff(firsts, append=cells.height))


def _row_details(rows: Sequence[int]) -> Mapping[str, object]:
    """Return the first few rows as text, in ranges, and their count."""
    gaps = np.flatnonzero(np.diff(rows) > 1) + 1
    runs = np.split(np.array(rows), gaps[:_MAX_RANGES])[:_MAX_RANGES]
    shown = [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    text = ", ".join(shown) + (" …" if len(gaps) >= _MAX_RANGES else "")
    return {"rows": text, "count": len(rows)}


_FEW_CELLS = 2
"""Number of cells that have a finding each, even if it says more about their column."""


def findings_of_columns(typed: TypedRows) -> Iterator[Finding]:
    """Replace the findings that say more about a column than about its cells, if there are more
    than a few, by one finding for the column."""
    for name, problems in typed.problems.items():
        for code in set(problems.finding_codes()) & _OF_COLUMNS:
            positions = problems.positions_of(code)
            if len(positions) <= _FEW_CELLS:
                continue
            first = int(positions.min())
            details = problems.details_at(first, code)
            problems.drop(code)
            row, header = typed.rows[first], typed.header
            index = header.source_columns()[name]
            yield Finding(
                CATALOGUE[code],
                header.row,
                name,
                cell_address(row, typed.cells.first_column + index),
                display(typed.cells.columns[index].value(row - 1)),
                details,
                header=header.names.get(name),
                cells=len(positions),
            )


_OF_COLUMNS = {kind.code for kind in CATALOGUE.values() if kind.of_column}
_OTHERS = {Kind.CNPJ: Kind.CPF, Kind.CPF: Kind.CNPJ}
_PLACE = Text(pt="a coluna {column}", en="the column {column}")
_ELSEWHERE = Text(pt="outra coluna", en="another column")


def report_misplaced_documents(typed: TypedRows) -> None:
    """Report documents in the column of the other kind, by their length and check digits.

    If the sheet has the other column elsewhere and its cell is empty, the finding has the
    correction to move the document there.
    """
    columns, places = typed.resource.columns, typed.header.source_columns()
    for column in [column for column in columns if column.kind in _OTHERS]:
        kind = _OTHERS[column.kind]
        others = [c.name for c in columns if c.kind is kind]
        other = others[0] if len(others) == 1 else None
        place = _ELSEWHERE if other is None else _PLACE.format(column=other)
        values, problems = typed.frame[column.name], typed.problems[column.name]
        usual = values.str.fullmatch(f"[0-9A-Z]{{{column.width}}}", na=True)
        unusual = ~usual.to_numpy(dtype=bool) & ~problems.failed
        for position in np.flatnonzero(unusual).tolist():
            document = bare_document(str(values.iat[position]))
            if not DOCUMENTS[kind].is_valid(document):
                continue
            details: dict[str, object] = {"kind": kind.value.upper(), "place": place}
            corrected = None
            if (
                other is not None
                and places.get(other) not in {None, places.get(column.name)}
                and bool(typed.frame[other].isna().iat[position])
                and not typed.problems[other].failed[position]
            ):
                details |= {"moved_to": other, "document": DOCUMENTS[kind].masked(document)}
                corrected = ""
            problems.add(position, "document-misplaced", details, corrected=corrected)
            problems.failed[position] = True


def report_records_of_export(typed: TypedRows, numbered: BoolArray) -> None:
    """Report what an exported listing lacks for the rows of new records.

    A required column without any value, or absent, is not required of the ``numbered`` rows, which
    have the system's own number: their records keep what the sheet does not show.
    """
    if KEY in typed.header.made_of:
        problems, main = typed.problems[KEY], typed.resource.name.partition(".")[0]
        for code, of_record in _OF_RECORDS.items():
            found = problems.positions_of(code)
            problems.drop(code)
            problems.add_all(found, of_record, {"resource": main})
    for column in typed.resource.columns if numbered.any() else ():
        if column.required and typed.frame[column.name].isna().all():
            problems = typed.problems[column.name]
            missing = problems.positions_of(_MISSING)
            problems.drop(_MISSING)
            new = missing[~numbered[missing]]
            details = [{"row": typed.rows[at], "resource": typed.resource.name} for at in new]
            problems.add_all(new, "new-record-lacks", details)


_MISSING = "required-missing"
_OF_RECORDS = {_MISSING: "record-number-missing", "duplicate-in-sheet": "record-again"}
"""Findings of the key that is made of a record's number, by those of a key that a person fills."""
