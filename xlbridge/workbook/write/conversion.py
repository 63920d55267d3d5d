"""Conversion of files of other kinds into .xlsx workbooks, from which copies are made."""

import datetime as dt
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from xlbridge.files import path_beside
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import style
from xlbridge.workbook.address import CellPosition
from xlbridge.workbook.encryption import is_encrypted_package
from xlbridge.workbook.read import SheetCells, WorkbookCells, read_workbook
from xlbridge.workbook.read.archive import FileKind, kind_of_file, plain_content
from xlbridge.workbook.signature import WorkbookOrigin
from xlbridge.workbook.write.new_workbook import (
    CellWriter,
    new_workbook,
    print_across_pages,
)

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

    Annotated, corrected and status copies are made from it, as only .xlsx files can be changed in
    place. It has the same cells at the same addresses, number formats, struck texts, hidden rows
    and columns, and carries the same origin; formulas become their results.

    ``sheets`` are the names of hidden sheets to include, ``known`` the visible sheets if they were
    read before. A conversion is removed on exit. Raises what ``read_workbook`` raises.
    """
    stored = path.read_bytes() if path.is_file() else b""
    if is_encrypted_package(stored):
        with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
            plain = Path(folder, path.name)
            plain.write_bytes(plain_content(stored))
            with as_xlsx(plain, sheets, limits, known) as converted:
                yield converted
        return
    if not stored or kind_of_file(path) is FileKind.XLSX:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="xlbridge-") as folder:
        converted = path_beside(Path(folder, path.name), ".xlsx")
        visible = known or read_workbook(path, limits)
        content = {cells.name: cells for cells in visible.sheets}
        for name in sheets:
            if name not in content:
                content |= {it.name: it for it in read_workbook(path, limits, name).sheets}
        # Without the mark of an export, which the next export may replace.
        origin = replace(WorkbookOrigin.of(path) or WorkbookOrigin(), export="")
        with new_workbook(converted, carried=origin.properties()) as book:
            writer = CellWriter(book)
            for cells in content.values():
                _write_all_cells(book.add_worksheet(cells.name), cells, writer)
        yield converted


def _write_all_cells(sheet: Any, cells: SheetCells, writer: CellWriter) -> None:
    raw, left = cells.raw, cells.first_column
    sheet.nan_inf_to_errors = True
    columns = left + len(cells.columns)
    sheet.set_column(0, columns, _WIDTH)
    print_across_pages(sheet, cells.name, [_WIDTH] * columns)
    for first, last in raw.layout.hidden_columns:
        sheet.set_column(first, last, None, None, {"hidden": True})
    styles: Mapping[CellPosition, int] = {
        (row, column): number
        for column, runs in raw.styles.items()
        for first, last, number in runs
        for row in range(first, last + 1)
    }
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
                number = styles.get(cell, -1)
                properties: dict[str, Any] = {}
                if code := style.TIME_FORMATS.get(type(value)) or raw.formats.get(number, ""):
                    properties["num_format"] = code
                if number in raw.struck or cell in raw.struck_texts:
                    properties["font_strikeout"] = True
                if struck := raw.partly_struck_texts.get(cell):
                    writer.write_struck(sheet, position, index, str(value), struck)
                else:
                    writer.write(sheet, position, index, value, properties)
    for code, area in raw.conditional_formats:
        writer.write_conditional(sheet, code, area)
