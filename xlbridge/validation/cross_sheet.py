"""Comparison of validated sheets: usable values, keys, spellings and the codes they register."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.findings import Finding
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
            known = firsts[_registry_of(sheet, column)]
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


def _registry_of(sheet: "ValidatedSheet", column: Column) -> object:
    resource = sheet.resource.name if sheet.resource else None
    return column.references or column.registers or (resource, column.name)


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
