"""Rows below the header that say it once more, as printed reports and pages pasted together do."""

import numpy as np

from xlbridge.validation.headers.header import Header
from xlbridge.workbook.reading.cells import CellColumn, CellKind, SheetCells


def repeated_headers(header: Header, cells: SheetCells) -> list[int]:
    """Return Excel's numbers of the rows in which each of the resource's columns has its header's
    own text."""
    columns = [cells.columns[place] for place in header.columns.values()]
    if not columns:
        return []
    fewest = min(columns, key=lambda column: len(column.texts))
    names = [column.value(header.row - 1) for column in columns]
    return [
        row
        for row in _rows_with(fewest, fewest.value(header.row - 1), header.row)
        if [column.value(row - 1) for column in columns] == names
    ]


def _rows_with(column: CellColumn, wanted: object, above: int) -> list[int]:
    """Return the rows below ``above`` in which a column has a text."""
    places = [place for place, text in enumerate(column.texts) if text == wanted]
    is_text = np.frombuffer(column.kinds, dtype=np.uint8) == CellKind.TEXT
    is_wanted = is_text & np.isin(np.frombuffer(column.content, dtype=np.int64), places)
    rows: list[int] = (np.flatnonzero(is_wanted[above:]) + above + 1).tolist()
    return rows
