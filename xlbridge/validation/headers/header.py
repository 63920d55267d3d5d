"""Finding the header row, and matching its cells to a resource's columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xlbridge.findings import CATALOGUE, Finding
from xlbridge.resources.header_names import header_names, plain
from xlbridge.resources.resource import Resource
from xlbridge.validation.cells.characters import visible
from xlbridge.validation.display import quoted
from xlbridge.validation.headers.meant_column import Meant, MeantColumns
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.reading.cells import SheetCells
from xlbridge.workbook.signature import LIVING_COLUMNS, REMARK_COLUMNS

SEARCHED_ROWS = 50
"""The header is looked for in so many rows."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header row of a sheet.

    ``row`` is Excel's row number; ``columns`` maps a column's name to its position in
    ``SheetCells.columns``. Columns that stand there twice are not in it. ``findings`` are those of
    the layout.
    """

    row: int
    columns: Mapping[str, int]
    findings: list[Finding] = field(default_factory=list)


def normalise(header: object) -> str:
    """Return a header cell's text as it is compared: plain, and without what cannot be seen."""
    return plain(visible(header)[0]) if isinstance(header, str) else ""


def find_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the position of the row that names most of the columns, zero for Excel's row 1.

    The first of equals wins; None when no row among the first fifty names any.
    """
    names = header_names(resource.columns)
    best, best_score = None, 0
    for position in range(min(cells.height, SEARCHED_ROWS)):
        texts = map(normalise, cells.row(position))
        score = len({names[text] for text in texts if text in names})
        if score > best_score:
            best, best_score = position, score
    return best


def find_meant_header_row(cells: SheetCells, resource: Resource) -> int | None:
    """Return the position of the row whose cells mean most of the columns, though they name none;
    None where no row means two."""
    columns = MeantColumns(resource, resource.by_name)
    best, best_score = None, 1
    for position in range(min(cells.height, SEARCHED_ROWS)):
        texts = (text for text in cells.row(position) if isinstance(text, str))
        meant = {meant.column for text in texts if (meant := columns.of(text)) is not None}
        if len(meant) > best_score:
            best, best_score = position, len(meant)
    return best


def matched_columns(cells: SheetCells, resource: Resource) -> tuple[set[str], int]:
    """Return the columns that the sheet's best header row names, and how many cells name none."""
    position = find_header_row(cells, resource)
    if position is None:
        return set(), 0
    names = header_names(resource.columns)
    filled = [text for text in map(normalise, cells.row(position)) if text]
    known = {names[text] for text in filled if text in names}
    return known, sum(text not in names for text in filled)


def nearly_matched_columns(cells: SheetCells, resource: Resource) -> tuple[set[str], int]:
    """Return as ``matched_columns`` does; misspelt names and those there twice name too."""
    position = find_header_row(cells, resource)
    if position is None:
        return set(), 0
    header = match_header(cells, position, resource)
    present = [f for f in header.findings if f.cell is not None]
    strange = sum(f.kind.code == "column-unknown" for f in present)
    meant = {f.column for f in present if f.column in resource.by_name}
    return {*header.columns, *(name for name in meant if name is not None)}, strange


def match_header(cells: SheetCells, position: int, resource: Resource) -> Header:
    """Match the cells of the row at ``position`` to the resource's columns."""
    names = header_names(resource.columns)
    row = position + 1
    places: dict[str, list[int]] = {}
    unknown: list[tuple[str, int]] = []
    for place, cell in enumerate(cells.row(position)):
        text = normalise(cell)
        if text in names:
            places.setdefault(names[text], []).append(place)
        elif text and text not in _REMARKS:
            unknown.append((str(cell).strip(), place))

    def address(place: int) -> str:
        return cell_address(row, cells.first_column + place)

    findings = [
        _duplicate(row, name, [address(place) for place in found])
        for name, found in places.items()
        if len(found) > 1
    ]
    missing = [column.name for column in resource.columns if column.name not in places]
    columns = MeantColumns(resource, missing)
    strange = [(text, place, columns.of(text)) for text, place in unknown]
    asked_about = {meant.column for _, _, meant in strange if meant is not None}
    findings += [
        _finding("column-missing", row, name, None, {"column": name})
        for name in missing
        if resource.by_name[name].required and name not in asked_about
    ]
    findings += [
        _strange(row, text, address(place), meant, resource) for text, place, meant in strange
    ]
    return Header(
        row=row,
        columns={name: found[0] for name, found in places.items() if len(found) == 1},
        findings=findings,
    )


_REMARKS = frozenset(map(normalise, (*REMARK_COLUMNS, *LIVING_COLUMNS)))


def _finding(
    code: str, row: int, column: str, cell: str | None, details: Mapping[str, object]
) -> Finding:
    return Finding(CATALOGUE[code], row=row, column=column, cell=cell, details=details)


def _duplicate(row: int, name: str, cells: Sequence[str]) -> Finding:
    details = {"column": name, "cells": ", ".join(cells)}
    return _finding("column-duplicate", row, name, cells[-1], details)


def _strange(row: int, header: str, cell: str, meant: Meant | None, resource: Resource) -> Finding:
    """Tell of a header that names no column."""
    if meant is None:
        details = {"header": quoted(header), "resource": resource.name}
        return _finding("column-unknown", row, header, cell, details)
    alike = "column-missing-alike" if resource.by_name[meant.column].required else "column-alike"
    code = "column-misspelt" if meant.surely else alike
    details = {"header": quoted(header), "column": meant.column}
    return _finding(code, row, meant.column, cell, details)
