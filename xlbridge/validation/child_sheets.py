"""Child sheets: joined to their main sheet by the column ``chave``.

All comparisons are of whole columns; a ``Finding`` is made only for what is wrong.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xlbridge.i18n import localized_number
from xlbridge.resources import KEY, ChildSum
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.column_cells import Positions
from xlbridge.validation.cells.text import quoted

if TYPE_CHECKING:
    from xlbridge.validation.results import ValidatedSheet

_HALF_A_CENT = 0.005
_NOISE = 1e-6
_MOST_STRAYS = 60
"""Rows without a record, one after another, that are taken for those of one record."""


def join_children(main: "ValidatedSheet") -> None:
    """Add what only the sheets together show: to the main sheet and to each of its children."""
    if main.resource is None or (KEY not in main.columns and KEY in main.resource.required):
        return
    parents = {name: main.parents_of(child) for name, child in main.children.items()}
    for name, child in main.children.items():
        child.add(_orphans(main, child, parents[name]))
    for declared in main.resource.sums:
        added = main.children.get(declared.sheet)
        if added is not None and declared.column in added.columns:
            added.add(_wrong_sums(main, parents, declared))
    main.add(_childless(main, parents))


def _orphans(
    main: "ValidatedSheet", child: "ValidatedSheet", parents: Positions
) -> Iterator[Finding]:
    if KEY not in child.frame:
        return
    keyed = child.frame[KEY].notna().to_numpy() & ~child.no_records
    alone = keyed & (parents < 0)
    if not alone.any():
        return
    for position in np.flatnonzero(alone & ~child.rows_in_error((KEY,))).tolist():
        details = {"sheet": quoted(main.sheet), "key": _key(child, position)}
        yield child.finding("child-without-parent", KEY, position, details)


def _childless(main: "ValidatedSheet", parents: Mapping[str, Positions]) -> Iterator[Finding]:
    resource = main.resource
    if resource is None or not resource.needs_children or KEY not in main.columns:
        return
    needed = [main.children[name] for name in resource.needs_children if name in main.children]
    if not all(child.readable for child in needed):
        return
    filled = np.zeros(len(main.rows), dtype=bool)
    for name in resource.needs_children:
        own = parents.get(name, np.empty(0, dtype=np.intp))
        filled[own[own >= 0]] = True
    keyed = main.frame[KEY].notna().to_numpy() & ~main.no_records
    lacking = keyed & ~filled
    if not lacking.any():
        return
    sheets = ", ".join(map(quoted, resource.needs_children))
    for position in np.flatnonzero(lacking & ~main.rows_in_error((KEY,))).tolist():
        details = {"sheets": sheets, "key": _key(main, position)}
        yield main.finding("parent-without-children", KEY, position, details)


def _wrong_sums(
    main: "ValidatedSheet", parents: Mapping[str, Positions], declared: ChildSum
) -> Iterator[Finding]:
    """Yield the sums that do not fit, each at the first cell that is added up."""
    child, own = main.children[declared.sheet], parents[declared.sheet]
    added = _values(child, declared.column)
    there = (own >= 0) & ~np.isnan(added)
    broken = (own >= 0) & child.rows_in_error((declared.column, KEY))
    records = np.unique(own[there])
    sums = np.bincount(own[there], weights=added[there], minlength=len(main.rows))
    expected, slack = _expected(main, parents, declared)
    expected[own[broken]] = np.nan
    lacking, slack = (expected - sums)[records], slack[records]
    off = np.abs(lacking) > slack
    if off.any():
        # Their rows without a record have findings of their own.
        off &= ~_may_be_filled(lacking, slack, added[_strays(child, own)])
        items = main.children.get(declared.factors_in)
        if items is not None:
            strays = _strays(items, parents[declared.factors_in])
            off &= ~_may_be_filled(-lacking, slack, _products(items, declared)[strays])
    firsts = {int(own[at]): at for at in np.flatnonzero(there)[::-1].tolist()} if off.any() else {}
    for record in records[off].tolist():
        details = {
            "column": declared.column,
            "key": _key(main, record),
            "found": _shown(sums[record]),
            "expected": _shown(expected[record]),
        }
        yield child.finding("child-sum", declared.column, firsts[record], details)


def _expected(
    main: "ValidatedSheet", parents: Mapping[str, Positions], declared: ChildSum
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what the sum of each record should be, NaN where nobody can tell, and how much it may
    be off."""
    count = len(main.rows)
    slack = np.full(count, _HALF_A_CENT)
    if declared.number is not None:
        return np.full(count, float(declared.number)), np.full(count, _NOISE)
    if declared.total is not None:
        wrong = main.rows_in_error((declared.total,))
        return np.where(wrong, np.nan, _values(main, declared.total)), slack
    items = main.children.get(declared.factors_in)
    if items is None:
        return np.full(count, np.nan), slack
    own = parents[declared.factors_in]
    known, broken = own >= 0, items.rows_in_error((KEY,))
    prices = np.where(broken, np.nan, _products(items, declared))
    # Cents may be rounded in either way.
    rows = np.bincount(own[known], minlength=count)
    totals = np.bincount(own[known], weights=prices[known], minlength=count)
    return np.where(rows > 0, totals, np.nan), np.maximum(rows, 1) * _HALF_A_CENT + _NOISE


def _products(items: "ValidatedSheet", declared: ChildSum) -> npt.NDArray[np.float64]:
    """Return what each item costs, NaN where nobody can tell."""
    prices = np.ones(len(items.rows))
    for name in declared.factors:
        prices = prices * _values(items, name)
    priced_otherwise = items.rows_in_error((*declared.factors, *declared.unless))
    for name in declared.unless:
        # An empty cell and a zero change nothing.
        priced_otherwise |= np.nan_to_num(_values(items, name)) != 0
    return np.where(priced_otherwise, np.nan, np.round(prices, 2))


def _strays(child: "ValidatedSheet", own: Positions) -> npt.NDArray[np.bool_]:
    """Tell which rows of a list belong to no record."""
    return (own < 0) & ~child.no_records


def _may_be_filled(
    lacking: npt.NDArray[np.float64],
    slack: npt.NDArray[np.float64],
    strays: npt.NDArray[np.float64],
) -> npt.NDArray[np.bool_]:
    """Tell which records lack as much as a row without a record has, or several in a row have.

    An amount that nobody can tell may fill any of them.
    """
    if np.isnan(strays).any():
        return lacking > 0
    sums = np.concatenate([[0.0], np.cumsum(strays)])
    filled = np.zeros(len(lacking), dtype=bool)
    for count in range(1, min(len(strays), _MOST_STRAYS) + 1):
        amounts = np.sort(sums[count:] - sums[:-count])
        first = np.searchsorted(amounts, lacking - slack - _NOISE)
        filled |= np.searchsorted(amounts, lacking + slack + _NOISE) > first
    return filled & (lacking > 0)


def _key(sheet: "ValidatedSheet", position: int) -> str:
    return quoted(str(sheet.frame[KEY].iat[position]))


def _values(sheet: "ValidatedSheet", column: str) -> npt.NDArray[np.float64]:
    values: Any = sheet.frame[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values  # type: ignore[no-any-return]


def _shown(amount: float) -> object:
    return localized_number(f"{amount:.2f}")
