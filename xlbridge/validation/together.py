"""Judged sheets held against one another, be they of one workbook or of several."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from xlbridge.findings import Finding
from xlbridge.resources.column import Column
from xlbridge.resources.resource import Resource
from xlbridge.validation.column_values import rows_in_error
from xlbridge.validation.judge import first_of_equals
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import cell_address


def judge_together(sheets: Sequence[ValidatedSheet]) -> Sequence[Sequence[Finding]]:
    """Return the findings of each sheet, in the order of the sheets; they are not changed.

    What must not stand twice in a sheet must not stand in two sheets of the same resource either:
    the later one has the finding, which names the earlier one and its cell. A cell with an error is
    not compared. What a column refers to and registers, the resource's schema file says.
    """
    of_resource: defaultdict[str, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        if sheet.resource is not None and sheet.rows:
            of_resource[sheet.resource.name].append(number)
    findings: list[list[Finding]] = [[] for _ in sheets]
    for numbers in of_resource.values():
        alike = [sheets[number] for number in numbers]
        for place, found in _repeated(alike):
            findings[numbers[place]].append(found)
    return findings


def _repeated(sheets: Sequence[ValidatedSheet]) -> Iterator[tuple[int, Finding]]:
    """Yield what stands in an earlier sheet already, with the number of the sheet; the sheets are
    of one resource."""
    resource = sheets[0].resource
    if resource is None or len(sheets) < 2:
        return
    owners = np.repeat(np.arange(len(sheets)), [len(sheet.rows) for sheet in sheets])
    positions = np.concatenate([np.arange(len(sheet.rows)) for sheet in sheets])
    for column, columns in keys_of(resource):
        keys = pd.concat([sheet.frame[list(columns)] for sheet in sheets], ignore_index=True)
        wrong = np.concatenate([rows_in_error(sheet, (column, *columns)) for sheet in sheets])
        places = np.flatnonzero(~wrong & keys.notna().all(axis="columns").to_numpy())
        firsts = places[first_of_equals(keys.iloc[places])]
        again = owners[firsts] < owners[places]
        for place, first in zip(places[again], firsts[again], strict=True):
            earlier, later = sheets[owners[first]], sheets[owners[place]]
            details = {"first": place_of(earlier, column, int(positions[first]), later)}
            repeated = later.finding(
                "duplicate-across-sheets", column, int(positions[place]), details
            )
            yield int(owners[place]), repeated


def keys_of(resource: Resource) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what must not stand twice: the column of the finding, and those that are compared."""
    for column in resource.columns:
        if "no_repeats" in column.checks:
            yield column.name, (column.name,)
    for check in resource.row_checks:
        if check.name == "no_repeated_rows":
            yield check.statistics["column"], tuple(check.statistics["columns"])


def place_of(sheet: ValidatedSheet, column: str, position: int, seen_from: ValidatedSheet) -> str:
    """Return where a cell is, as one says it in another sheet: its file, sheet and address."""
    cell = cell_address(sheet.rows[position], sheet.columns[column])
    file = "" if sheet.file == seen_from.file else f"{sheet.file} · "
    return f"{file}{sheet.sheet}!{cell}"


def supplied_by(sheets: Iterable[ValidatedSheet]) -> Mapping[str, frozenset[str]]:
    """Return the codes that sheets register, by the name of the registry."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for sheet in sheets:
        for column in _columns(sheet):
            if column.registers is not None:
                values = sheet.frame[column.name].dropna().unique()
                found[column.registers].update(map(str, values))
    return {registry: frozenset(codes) for registry, codes in found.items()}


def _columns(sheet: ValidatedSheet) -> Iterator[Column]:
    """Yield the columns of the resource that the sheet has."""
    for column in sheet.resource.columns if sheet.resource else ():
        if column.name in sheet.columns:
            yield column
