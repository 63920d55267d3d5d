"""Sheets whose columns stand in one cell: text with separators that nobody has split."""

from collections.abc import Iterable
from dataclasses import dataclass

from xlbridge.resources.header_names import header_names
from xlbridge.resources.resource import Resource
from xlbridge.validation.headers.header import SEARCHED_ROWS, normalise
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.reading.cells import SheetCells

_SEPARATORS = ";\t,|"
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """A cell that holds the names of a resource's columns: Excel's row, its address, what stands
    between the names, and how many they are."""

    row: int
    cell: str
    separator: str
    known: int


def joined_columns(cells: SheetCells, resource: Resource) -> JoinedColumns | None:
    """Return the first cell that names all required columns, None where there is none."""
    names = header_names(resource.columns)
    for position in range(min(cells.height, SEARCHED_ROWS)):
        for place, text in enumerate(cells.row(position)):
            for separator in _SEPARATORS if isinstance(text, str) else ():
                parts = (normalise(part.strip(' "')) for part in str(text).split(separator))
                known = {names[part] for part in parts if part in names}
                if len(known) >= _FEWEST and known.issuperset(resource.required):
                    cell = cell_address(position + 1, cells.first_column + place)
                    return JoinedColumns(position + 1, cell, separator, len(known))
    return None


def resource_of_joined(
    sheets: Iterable[SheetCells], resources: Iterable[Resource]
) -> tuple[SheetCells, Resource] | None:
    """Return the sheet and the resource with the most columns in one cell, if there is any."""
    resources = list(resources)
    found = [
        (joined.known, cells, resource)
        for cells in sheets
        for resource in resources
        if (joined := joined_columns(cells, resource))
    ]
    return max(found, key=lambda each: each[0])[1:] if found else None
