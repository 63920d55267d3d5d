"""What only several validated sheets show: values, keys, spellings and codes that they share, and
child sheets, which the column ``chave`` joins to their main sheet.

All comparisons are of whole columns; a ``Finding`` is made only for what is wrong.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.i18n import localized_number
from xlbridge.resources import KEY, ChildSum, Column, Kind, Resource
from xlbridge.resources.findings import Finding
from xlbridge.validation.cells.column_cells import Positions
from xlbridge.validation.cells.text import folded_code, quoted
from xlbridge.workbook import cell_address

if TYPE_CHECKING:
    from xlbridge.validation.results import ValidatedSheet


IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The distinct ``values`` of a column as texts, in the order of their first cells.

    ``positions`` are the cells that have one, as positions in the sheet's frame; ``which`` says of
    each of them which of the values it has.
    """

    values: tuple[str, ...]
    positions: IntArray
    which: IntArray

    def cells(self, numbers: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the position of each cell with one of the values of those numbers, and the
        number."""
        wanted = np.isin(self.which, list(numbers))
        yield from zip(self.positions[wanted].tolist(), self.which[wanted].tolist(), strict=True)


def values_of(sheet: "ValidatedSheet", column: str) -> ColumnValues:
    """Return the values of a column, but for cells that are empty or have an error."""
    usable = ~sheet.rows_in_error((column,)) & sheet.frame[column].notna().to_numpy()
    positions = np.flatnonzero(usable)
    which, distinct = pd.factorize(sheet.frame[column].array[positions])
    return ColumnValues(tuple(map(str, distinct)), positions, which)


def compare_sheets(sheets: "Sequence[ValidatedSheet]") -> Sequence[Sequence[Finding]]:
    """Return the findings of each sheet, in the order of the sheets; they are not changed.

    What must not stand twice in a sheet must not stand in two sheets of the same resource either:
    the later one has the finding, which names the earlier one and its cell. A cell with an error is
    not compared. A code that an earlier sheet spells otherwise is told once in each sheet. What a
    column refers to and registers, the resource's schema file says.
    """
    of_resource: defaultdict[str, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        if sheet.resource is not None and sheet.rows:
            of_resource[sheet.resource.name].append(number)
    findings: list[list[Finding]] = [[] for _ in sheets]
    for numbers in of_resource.values():
        alike = [sheets[number] for number in numbers]
        for place, found in _repeated_keys(alike):
            findings[numbers[place]].append(found)
    for number, found in _other_spellings(sheets):
        findings[number].append(found)
    return findings


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A code as the first sheet that has it spells it, in so many columns and values of it."""

    text: str
    sheet: int
    column: str
    values: ColumnValues
    number: int

    @property
    def position(self) -> int:
        """Position of the first cell that has it."""
        return next(position for position, _ in self.values.cells([self.number]))


def _other_spellings(sheets: "Sequence[ValidatedSheet]") -> Iterator[tuple[int, Finding]]:
    """Yield the first cell of each code that an earlier sheet has with other case or accents, with
    the number of the sheet. Codes of one registry are compared whatever their resources."""
    firsts: defaultdict[object, dict[str, _Spelling]] = defaultdict(dict)
    for number, sheet in enumerate(sheets):
        for column in _present_columns(sheet):
            if column.kind is not Kind.CODE or column.allowed or column.name not in sheet.frame:
                continue
            resource = sheet.resource.name if sheet.resource else None
            known = firsts[column.references or column.registers or (resource, column.name)]
            values = values_of(sheet, column.name)
            for place, text in enumerate(values.values):
                own = _Spelling(text, number, column.name, values, place)
                first = known.setdefault(folded_code(text), own)
                if first.sheet != number and first.text != text:
                    earlier = sheets[first.sheet]
                    where = cell_reference(earlier, first.column, first.position, sheet)
                    details = {"other": quoted(first.text), "first": where}
                    told = "code-spelling-across-sheets"
                    yield number, sheet.finding(told, column.name, own.position, details)


def _repeated_keys(sheets: "Sequence[ValidatedSheet]") -> Iterator[tuple[int, Finding]]:
    """Yield what stands in an earlier sheet already, with the number of the sheet; the sheets are
    of one resource."""
    resource = sheets[0].resource
    if resource is None or len(sheets) < 2:
        return
    owners = np.repeat(np.arange(len(sheets)), [len(sheet.rows) for sheet in sheets])
    positions = np.concatenate([np.arange(len(sheet.rows)) for sheet in sheets])
    for column, columns in unique_keys(resource):
        keys = pd.concat([sheet.frame[list(columns)] for sheet in sheets], ignore_index=True)
        wrong = np.concatenate([sheet.rows_in_error((column, *columns)) for sheet in sheets])
        places = np.flatnonzero(~wrong & keys.notna().all(axis="columns").to_numpy())
        firsts = places[first_occurrences(keys.iloc[places])]
        again = owners[firsts] < owners[places]
        for place, first in zip(places[again], firsts[again], strict=True):
            earlier, later = sheets[owners[first]], sheets[owners[place]]
            details = {"first": cell_reference(earlier, column, int(positions[first]), later)}
            repeated = later.finding(
                "duplicate-across-sheets", column, int(positions[place]), details
            )
            yield int(owners[place]), repeated


def unique_keys(resource: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what must not stand twice: the column of the finding, and those that are compared."""
    for column in resource.sent_columns:
        if "no_repeats" in column.checks:
            yield column.name, (column.name,)
    for check in resource.row_checks:
        if check.name == "no_repeated_rows":
            yield check.statistics["column"], tuple(check.statistics["columns"])


def cell_reference(
    sheet: "ValidatedSheet", column: str, position: int, seen_from: "ValidatedSheet"
) -> str:
    """Return where a cell is, as one says it in another sheet: its file, sheet and address."""
    cell = cell_address(sheet.rows[position], sheet.columns[column])
    file = "" if sheet.file == seen_from.file else f"{sheet.file} · "
    return f"{file}{sheet.sheet}!{cell}"


def registered_codes(sheets: "Iterable[ValidatedSheet]") -> Mapping[str, frozenset[str]]:
    """Return the codes that sheets register, by the name of the registry."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for sheet in sheets:
        for column in _present_columns(sheet):
            if column.registers is not None:
                values = sheet.frame[column.name].dropna().unique()
                found[column.registers].update(map(str, values))
    return {registry: frozenset(codes) for registry, codes in found.items()}


def _present_columns(sheet: "ValidatedSheet") -> Iterator[Column]:
    """Yield the columns of the resource that the sheet has."""
    for column in sheet.resource.columns if sheet.resource else ():
        if column.name in sheet.columns:
            yield column


def first_occurrences(keys: pd.DataFrame) -> IntArray:
    """Return, for each row, the position of the first row with the same values."""
    groups = keys.groupby(list(keys), sort=False, dropna=False).ngroup()
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    firsts: IntArray = first[group]
    return firsts


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
