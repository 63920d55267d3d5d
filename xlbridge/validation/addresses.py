"""From problems in columns to findings with the analyst's own addresses."""

from collections.abc import Mapping

from xlbridge.findings import CATALOGUE, Finding
from xlbridge.resources.resource import Resource
from xlbridge.validation.cell_problems import CellProblem
from xlbridge.validation.columns import TypedRows
from xlbridge.validation.display import display
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.cells import SheetCells


def cell_findings(
    resource: Resource, typed: TypedRows, columns: Mapping[str, int], cells: SheetCells
) -> list[Finding]:
    """Return the findings of all cells, ordered by row, then by column.

    ``columns`` gives the zero-based position in the sheet of each column that is there; a finding
    of a column that is not there has a row and no cell.
    """
    absent = {name: len(columns) + place for place, name in enumerate(resource.by_name)}
    found = [
        (typed.rows[item.position], columns.get(name, absent[name]), name, item)
        for name, problems in typed.problems.items()
        for item in problems.items
    ]
    found.sort(key=lambda entry: entry[:2])
    return [_finding(row, name, item, typed, columns, cells) for row, _, name, item in found]


def _finding(
    row: int,
    name: str,
    item: CellProblem,
    typed: TypedRows,
    columns: Mapping[str, int],
    cells: SheetCells,
) -> Finding:
    details = item.details
    if item.first_position is not None:
        first = typed.rows[item.first_position]
        details = {"first": cell_address(first, columns[name])}
    place = columns.get(name)
    return Finding(
        CATALOGUE[item.code],
        row=row,
        column=name,
        cell=None if place is None else cell_address(row, place),
        value=None if place is None else _shown(cells, row, place, details),
        details=details,
        mended=item.mended,
    )


def _shown(cells: SheetCells, row: int, place: int, details: Mapping[str, object]) -> str | None:
    if "error" in details:
        return str(details["error"])
    value = cells.columns[place - cells.first_column].value(row - 1)
    return None if value == "" else display(value)
