"""Conversion of a file of another kind into .xlsx, with the same cells at the same addresses.

Annotated, corrected and status copies are made from it, as only .xlsx files can be changed in
place. It has values, number formats, hidden rows and columns; formulas become their results.
"""

import datetime as dt
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import CellPosition
from xlbridge.workbook.read import SheetCells, WorkbookCells, read_workbook
from xlbridge.workbook.read.archive import FileKind, kind_of_file
from xlbridge.workbook.style import TIME_FORMATS
from xlbridge.workbook.write.new_workbook import new_workbook

_NO_RESULT = "#N/A"
"""Value of a formula without a result, which must not look like an empty cell."""

_WIDTH = 18
_FIRST_YEAR = 1900
"""First year of dates in a workbook."""


@contextmanager
def as_xlsx(
    path: Path, sheets: Collection[str], limits: WorkbookLimits, known: WorkbookCells | None = None
) -> Iterator[Path]:
    """Yield an .xlsx workbook with the content of a file, which is the file itself if it is one.

    ``sheets`` are the names of hidden sheets to include, ``known`` the visible sheets if they were
    read before. A conversion is removed on exit. Raises what ``read_workbook`` raises.
    """
    if not path.is_file() or kind_of_file(path) is FileKind.XLSX:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        converted = Path(folder, f"{path.stem}.xlsx")
        visible = known or read_workbook(path, limits)
        content = {cells.name: cells for cells in visible.sheets}
        for name in sheets:
            if name not in content:
                content |= {it.name: it for it in read_workbook(path, limits, name).sheets}
        with new_workbook(converted) as book:
            for cells in content.values():
                _write_sheet(book, cells)
        yield converted


def _write_sheet(book: Any, cells: SheetCells) -> None:
    sheet, raw, left = book.add_worksheet(cells.name), cells.raw, cells.first_column
    sheet.nan_inf_to_errors = True
    sheet.set_column(0, left + len(cells.columns), _WIDTH)
    for first, last in raw.layout.hidden_columns:
        sheet.set_column(first, last, None, None, {"hidden": True})
    styles: Mapping[CellPosition, int] = {
        (row, column): style
        for column, runs in raw.styles.items()
        for first, last, style in runs
        for row in range(first, last + 1)
    }
    formats: dict[tuple[str, bool], Any] = {("", False): None}
    for position in range(cells.height):
        if position + 1 in raw.layout.hidden_rows:
            sheet.set_row(position, None, None, {"hidden": True})
        for index, column in enumerate(cells.columns, left):
            cell, value = (position + 1, index), column.value(position)
            if cell in raw.errors or cell in raw.without_result:
                sheet.write_string(position, index, raw.errors.get(cell, _NO_RESULT))
            elif isinstance(value, dt.date) and value.year < _FIRST_YEAR:
                sheet.write_string(position, index, value.isoformat())
            elif value != "":
                style = styles.get(cell, -1)
                code = TIME_FORMATS.get(type(value)) or raw.formats.get(style, "")
                key = code, style in raw.struck
                if key not in formats:
                    properties = {"num_format": code or "General", "font_strikeout": key[1]}
                    formats[key] = book.add_format(properties)
                sheet.write(position, index, value, formats[key])
