"""Checks across validated sheets: repeated keys, spellings, registered codes, and child sheets,
which the column ``chave`` joins to their main sheet.

Whole columns are compared; a ``Finding`` is only created for an error.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import localized_number
from xlbridge.resources import KEY, ChildSum, Column, Kind, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.contents import (
    BoolArray,
    ColumnValues,
    Positions,
    folded_text,
    quoted,
)
from xlbridge.validation.results import ValidatedSheet, numbered_rows
from xlbridge.workbook import cell_address


def values_of(sheet: ValidatedSheet, column: str) -> ColumnValues:
    """Return the values of a column without empty cells and cells with an error."""
    usable = ~sheet.rows_in_error((column,)) & sheet.frame[column].notna().to_numpy()
    positions = np.flatnonzero(usable)
    indexes, distinct = pd.factorize(sheet.frame[column].array[positions])
    return ColumnValues(tuple(map(str, distinct)), positions, indexes)


def compare_sheets(sheets: Sequence[ValidatedSheet]) -> Sequence[Sequence[Finding]]:
    """Return the findings of each sheet from comparing it with the earlier ones.

    A value that must be unique in a sheet must be unique in all sheets of the resource: the later
    sheet has the finding, which names the earlier cell. Cells with an error are not compared. A
    code with another spelling in an earlier sheet is reported once for each sheet.
    """
    by_resource: defaultdict[str, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        if sheet.resource is not None and sheet.rows:
            by_resource[sheet.resource.name].append(number)
    findings: list[list[Finding]] = [[] for _ in sheets]
    for numbers in by_resource.values():
        for index, found in _repeated_keys([sheets[number] for number in numbers]):
            findings[numbers[index]].append(found)
    for number, found in _other_spellings(sheets):
        findings[number].append(found)
    return findings


def _other_spellings(sheets: Sequence[ValidatedSheet]) -> Iterator[tuple[int, Finding]]:
    """Yield the number of the sheet and the finding for each code that an earlier sheet has with
    other case or accents. Codes of one registry are compared across resources."""
    firsts: defaultdict[object, dict[str, tuple[str, int, str, int]]] = defaultdict(dict)
    for number, sheet in enumerate(sheets if len(sheets) > 1 else ()):
        for column in _present_columns(sheet):
            if column.kind is not Kind.CODE or column.allowed or column.name not in sheet.frame:
                continue
            known = firsts[
                column.references or column.registers or (sheet.resource_name, column.name)
            ]
            values = values_of(sheet, column.name)
            first_cells = values.positions[np.unique(values.indexes, return_index=True)[1]]
            for text, position in zip(values.values, first_cells.tolist(), strict=True):
                spelling = text, number, column.name, position
                other, owner, name, at = known.setdefault(folded_text(text), spelling)
                if owner != number and other != text:
                    reference = cell_reference(sheets[owner], name, at, sheet)
                    details = {"other": quoted(other), "first": reference}
                    code = "code-spelling-across-sheets"
                    yield number, sheet.finding(code, column.name, position, details)


def _repeated_keys(sheets: Sequence[ValidatedSheet]) -> Iterator[tuple[int, Finding]]:
    """Yield the index of the sheet and the finding for each key that an earlier sheet has; the
    sheets are of one resource."""
    resource = sheets[0].resource
    if resource is None or len(sheets) < 2:
        return
    owners = np.repeat(np.arange(len(sheets)), [len(sheet.rows) for sheet in sheets])
    positions = np.concatenate([np.arange(len(sheet.rows)) for sheet in sheets])
    for column, columns in unique_keys(resource):
        keys = pd.concat([sheet.frame[list(columns)] for sheet in sheets], ignore_index=True)
        wrong = np.concatenate([sheet.rows_in_error((column, *columns)) for sheet in sheets])
        compared = np.flatnonzero(~wrong & keys.notna().all(axis="columns").to_numpy())
        firsts = compared[first_occurrences(keys.iloc[compared])]
        repeated = owners[firsts] < owners[compared]
        for row, first in zip(compared[repeated], firsts[repeated], strict=True):
            earlier, later = sheets[owners[first]], sheets[owners[row]]
            details = {"first": cell_reference(earlier, column, int(positions[first]), later)}
            code, position = "duplicate-across-sheets", int(positions[row])
            yield int(owners[row]), later.finding(code, column, position, details)


def unique_keys(resource: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the columns whose values must be unique together, after the column that a finding is
    reported for."""
    for column in resource.sent_columns:
        if "no_repeats" in column.checks:
            yield column.name, (column.name,)
    for check in resource.row_checks:
        if check.name == "no_repeated_rows":
            yield check.statistics["column"], tuple(check.statistics["columns"])


def cell_reference(sheet: ValidatedSheet, column: str, position: int, other: ValidatedSheet) -> str:
    """Return the reference to a cell for a message about another sheet: its sheet and address, and
    its file if that is different."""
    cell = cell_address(sheet.rows[position], sheet.columns[column])
    file = "" if sheet.file == other.file else f"{sheet.file} · "
    return f"{file}{sheet.sheet}!{cell}"


def registered_codes(sheets: Iterable[ValidatedSheet]) -> Mapping[str, frozenset[str]]:
    """Return the codes that sheets register, by the name of the registry."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for sheet in sheets:
        for column in _present_columns(sheet):
            if column.registers is not None:
                values = sheet.frame[column.name].dropna().unique()
                found[column.registers].update(map(str, values))
    return {registry: frozenset(codes) for registry, codes in found.items()}


def _present_columns(sheet: ValidatedSheet) -> list[Column]:
    """Return the columns of the resource that the sheet has."""
    columns = sheet.resource.columns if sheet.resource else ()
    return [column for column in columns if column.name in sheet.columns]


def first_occurrences(keys: pd.DataFrame) -> Positions:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup().to_numpy()
    _, firsts = np.unique(groups, return_index=True)
    return np.asarray(firsts[groups], dtype=np.intp)


_Amounts = npt.NDArray[np.float64]
_HALF_A_CENT = 0.005
_NOISE = 1e-6
_MAX_STRAYS = 60
"""Consecutive rows without a record that may all belong to one record."""


def check_children(main: ValidatedSheet) -> None:
    """Add the findings that depend on several sheets to the main sheet and its child sheets."""
    if main.resource is None or (KEY not in main.columns and KEY in main.resource.required):
        return
    children = main.children.values()
    keyed = [child for child in children if KEY in child.frame and child.frame[KEY].notna().any()]
    if keyed and KEY not in main.columns and KEY not in main.constants:
        details = {"column": KEY, "sheets": ", ".join(quoted(child.sheet) for child in keyed)}
        kind = CATALOGUE["key-column-missing"]
        main.add([Finding(kind, main.header_row, KEY, None, None, details)])
        return
    parents = {name: main.parent_positions(child) for name, child in main.children.items()}
    for name, child in main.children.items():
        if KEY in child.frame:
            child.add(
                child.finding(
                    "child-without-parent",
                    KEY,
                    position,
                    {"sheet": quoted(main.sheet), "key": _key(child, position)},
                )
                for position in _with_usable_keys(child, parents[name] < 0)
            )
    for declared in main.resource.sums:
        child_with_sum = main.children.get(declared.sheet)
        if child_with_sum is not None and declared.column in child_with_sum.columns:
            child_with_sum.add(_wrong_sums(main, parents, declared))
            main.add(_missing_totals(main, parents[declared.sheet], declared))
    needs = main.resource.needs_children
    needed = [name for name in needs if name in main.children]
    if needs and KEY in main.columns and all(main.children[name].readable for name in needed):
        # Without a sheet of a list those of existing records stay as they are.
        is_without = not needed and set(main.emptied_lists).isdisjoint(needs)
        filled = numbered_rows(main.resource, main.numbers, len(main.rows)) & is_without
        for positions in map(parents.__getitem__, needed):
            filled[positions[positions >= 0]] = True
        sheets = ", ".join(map(quoted, needs))
        main.add(
            main.finding(
                "parent-without-children",
                KEY,
                position,
                {"sheets": sheets, "key": _key(main, position)},
            )
            for position in _with_usable_keys(main, ~filled)
        )


def _with_usable_keys(sheet: ValidatedSheet, wanted: BoolArray) -> list[int]:
    """Return the positions of the wanted rows that are records with a key without an error."""
    keyed = wanted & sheet.frame[KEY].notna().to_numpy() & ~sheet.non_record_mask
    usable = keyed & ~sheet.rows_in_error((KEY,)) if keyed.any() else keyed
    return list(map(int, np.flatnonzero(usable)))


def _wrong_sums(
    main: ValidatedSheet, parents: Mapping[str, Positions], declared: ChildSum
) -> Iterator[Finding]:
    """Yield the sums that differ from the expected ones, at their first addends."""
    child, owners = main.children[declared.sheet], parents[declared.sheet]
    addends = _values(child, declared.column)
    added = (owners >= 0) & ~np.isnan(addends)
    wrong = (owners >= 0) & child.rows_in_error((declared.column, KEY))
    records = np.unique(owners[added])
    sums = np.bincount(owners[added], weights=addends[added], minlength=len(main.rows))
    expected, tolerance = _expected(main, parents, declared)
    expected[owners[wrong]] = np.nan
    missing, tolerance = (expected - sums)[records], tolerance[records]
    off = np.abs(missing) > tolerance
    if off.any():
        # Rows without a record have findings of their own.
        off &= ~_may_be_strays(missing, tolerance, addends[_strays(child, owners)])
        items = main.children.get(declared.product.sheet)
        if items is not None:
            strays = _strays(items, parents[declared.product.sheet])
            off &= ~_may_be_strays(-missing, tolerance, _products(items, declared)[strays])
    positions = np.flatnonzero(added)[::-1].tolist() if off.any() else ()
    firsts = {int(owners[position]): position for position in positions}
    for record in records[off].tolist():
        details = {
            "column": declared.column,
            "key": _key(main, record),
            "found": localized_number(f"{sums[record]:.2f}"),
            "expected": localized_number(f"{expected[record]:.2f}"),
        }
        yield child.finding("child-sum", declared.column, firsts[record], details)


def _missing_totals(
    main: ValidatedSheet, owners: Positions, declared: ChildSum
) -> Iterator[Finding]:
    """Yield the records without the total to which the rows of their list must add up."""
    if declared.total is None:
        return
    child = main.children[declared.sheet]
    addends = _values(child, declared.column)
    added = (owners >= 0) & ~np.isnan(addends)
    sums = np.bincount(owners[added], weights=addends[added], minlength=len(main.rows))
    missing = np.isnan(_values(main, declared.total)) & ~main.rows_in_error((declared.total,))
    for record in np.intersect1d(owners[added], np.flatnonzero(missing)).tolist():
        details = {
            "key": _key(main, record),
            "sheet": quoted(child.sheet),
            "found": localized_number(f"{sums[record]:.2f}"),
        }
        yield main.finding("child-sum-without-total", declared.total, record, details)


def _expected(
    main: ValidatedSheet, parents: Mapping[str, Positions], declared: ChildSum
) -> tuple[_Amounts, _Amounts]:
    """Return the expected sum of each record, NaN if it is unknown, and the tolerance."""
    count = len(main.rows)
    tolerance = np.full(count, _HALF_A_CENT)
    if declared.number is not None:
        return np.full(count, float(declared.number)), np.full(count, _NOISE)
    if declared.total is not None:
        wrong = main.rows_in_error((declared.total,))
        return np.where(wrong, np.nan, _values(main, declared.total)), tolerance
    items = main.children.get(declared.product.sheet)
    if items is None:
        return np.full(count, np.nan), tolerance
    owners = parents[declared.product.sheet]
    known, wrong = owners >= 0, items.rows_in_error((KEY,))
    prices = np.where(wrong, np.nan, _products(items, declared))
    # Cents may be rounded in either direction.
    rows = np.bincount(owners[known], minlength=count)
    totals = np.bincount(owners[known], weights=prices[known], minlength=count)
    return np.where(rows > 0, totals, np.nan), np.maximum(rows, 1) * _HALF_A_CENT + _NOISE


def _products(items: ValidatedSheet, declared: ChildSum) -> _Amounts:
    """Return the price of each item, NaN if it is unknown."""
    prices = np.ones(len(items.rows))
    for name in declared.product.columns:
        prices = prices * _values(items, name)
    unknown = items.rows_in_error((*declared.product.columns, *declared.product.unless))
    for name in declared.product.unless:
        # An empty cell and a zero do not change the price.
        unknown |= np.nan_to_num(_values(items, name)) != 0
    return np.where(unknown, np.nan, np.round(prices, 2))


def _strays(child: ValidatedSheet, owners: Positions) -> BoolArray:
    """Return a mask of the rows of a list that belong to no record."""
    return (owners < 0) & ~child.non_record_mask


def _may_be_strays(missing: _Amounts, tolerance: _Amounts, strays: _Amounts) -> BoolArray:
    """Return a mask of the records whose missing amount equals one row without a record, or several
    consecutive ones. Unknown amounts may belong to any record."""
    if np.isnan(strays).any():
        return missing > 0
    sums = np.concatenate([[0.0], np.cumsum(strays)])
    found = np.zeros(len(missing), dtype=bool)
    for count in range(1, min(len(strays), _MAX_STRAYS) + 1):
        amounts = np.sort(sums[count:] - sums[:-count])
        first = np.searchsorted(amounts, missing - tolerance - _NOISE)
        found |= np.searchsorted(amounts, missing + tolerance + _NOISE) > first
    return found & (missing > 0)


def _key(sheet: ValidatedSheet, position: int) -> str:
    return quoted(str(sheet.frame[KEY].iat[position]))


def _values(sheet: ValidatedSheet, column: str) -> _Amounts:
    values: Any = sheet.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values  # type: ignore[no-any-return]
