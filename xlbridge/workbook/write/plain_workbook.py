"""Plain .xlsx workbook of a file of another kind: the same cells at the same addresses.

Copies are made of it, marked, corrected or with the state of each row: only .xlsx files can be
changed in place. It has values, number formats, hidden rows and columns; formulas become their
results.
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

_UNVALUED = "#N/A"
"""Error that stands for a formula without a result: nobody takes it for an empty cell."""

_WIDTH = 18
_FIRST_YEAR = 1900
"""The first year that a workbook can show as a date."""


@contextmanager
def as_xlsx(
    path: Path,
    sheets: Collection[str],
    limits: WorkbookLimits,
    known: WorkbookCells | None = None,
) -> Iterator[Path]:
    """Give an .xlsx workbook with the content of a file: the file itself where it is one.

    ``sheets`` are names that are needed besides those of the visible sheets, ``known`` are the
    visible ones where they were read before. What is made is gone when the block ends. Raises what
    ``read_workbook`` raises.
    """
    if not path.is_file() or kind_of_file(path) is FileKind.XLSX:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        made = Path(folder, f"{path.stem}.xlsx")
        visible = known or read_workbook(path, limits)
        content = [*visible.sheets, *_hidden_cells(path, sheets, visible, limits)]
        with new_workbook(made) as book:
            for cells in content:
                _SheetWriter(book, cells).write()
            if not content:
                book.add_worksheet()
        yield made


def _hidden_cells(
    path: Path, sheets: Collection[str], visible: WorkbookCells, limits: WorkbookLimits
) -> Iterator[SheetCells]:
    seen = {cells.name for cells in visible.sheets}
    for name in sheets:
        if name not in seen:
            yield from read_workbook(path, limits, name).sheets


class _SheetWriter:
    """Writer of one sheet, row by row."""

    def __init__(self, book: Any, cells: SheetCells) -> None:
        self._book = book
        self._cells = cells
        self._sheet = book.add_worksheet(cells.name)
        self._sheet.nan_inf_to_errors = True
        self._formats: dict[str, Any] = {}
        self._styles: Mapping[CellPosition, int] = {
            (row, column): style
            for column, runs in cells.raw.styles.items()
            for first, last, style in runs
            for row in range(first, last + 1)
        }

    def write(self) -> None:
        cells, left = self._cells, self._cells.first_column
        self._sheet.set_column(0, left + len(cells.columns), _WIDTH)
        for first, last in cells.raw.layout.hidden_columns:
            self._sheet.set_column(first, last, None, None, {"hidden": True})
        for position in range(cells.height):
            if position + 1 in cells.raw.layout.hidden_rows:
                self._sheet.set_row(position, None, None, {"hidden": True})
            for place, column in enumerate(cells.columns):
                self._write_cell(position, left + place, column.value(position))

    def _write_cell(self, position: int, column: int, value: object) -> None:
        place = position + 1, column
        raw = self._cells.raw
        if place in raw.errors or place in raw.without_result:
            self._sheet.write_string(position, column, raw.errors.get(place, _UNVALUED))
            return
        form = self._format_of(place, value)
        match value:
            case "":
                pass
            case dt.date() if value.year < _FIRST_YEAR:
                self._sheet.write_string(position, column, value.isoformat())
            case _:
                self._sheet.write(position, column, value, form)

    def _format_of(self, place: CellPosition, value: object) -> Any:
        style = self._styles.get(place, -1)
        code = TIME_FORMATS.get(type(value)) or self._cells.raw.formats.get(style, "")
        struck = style in self._cells.raw.struck
        if not code and not struck:
            return None
        key = f"{code}{struck}"
        if key not in self._formats:
            properties = {"num_format": code or "General", "font_strikeout": struck}
            self._formats[key] = self._book.add_format(properties)
        return self._formats[key]
