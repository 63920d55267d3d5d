"""Getting ready to judge while a workbook is being read.

What judging runs on is imported, or set up, when it is used first: that takes as long as judging
thousands of rows, and somebody who waits for cells has the time.
"""

import datetime as dt
from pathlib import Path

from xlbridge.resources.catalogue import Catalogue
from xlbridge.resources.column import Column, Kind
from xlbridge.validation.headers.choice import Choice
from xlbridge.validation.reading import Reading
from xlbridge.validation.validate import judge_sheet
from xlbridge.workbook.reading.cells import CellColumn, CellEncoder, SheetCells
from xlbridge.workbook.reading.raw_sheet import RawSheet

_NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})
_TEXTS = ("a", "b", "é ã")


def get_ready(catalogue: Catalogue) -> None:
    """Judge some rows that nobody sees, by the first resource of the catalogue."""
    resource = next(iter(catalogue.values()))
    columns = [_made_up(column) for column in resource.columns]
    cells = SheetCells(resource.name, 0, columns, RawSheet())
    judge_sheet(Path(), None, Choice(cells, resource), Reading())


def _made_up(column: Column) -> CellColumn:
    """Return a header, values of the column's kind, and one that is probably wrong."""
    values: tuple[object, ...] = _TEXTS
    if column.kind in _NUMBERS:
        values = (1.0, 2.5, "a")
    elif column.kind is Kind.DATE:
        values = (dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12), "a")
    return CellEncoder().encode((column.name, *values))
