"""Reading exports back, with readers that did not write them."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import python_calamine

from xlbridge.export.books.book import OpenBook
from xlbridge.export.flatten import flatten
from xlbridge.export.listings import Sheet

Rows = list[list[Any]]


def write_all(
    path: Path, records: Sequence[dict[str, Any]], sheets: Sequence[Sheet], open_book: OpenBook
) -> dict[str, Rows]:
    """Write records as an export does; return the cells that were written, sheet by sheet."""
    written: dict[str, Rows] = {sheet.name: [] for sheet in sheets}
    with open_book(path, sheets) as book:
        for record in records:
            for sheet, row in flatten(record, sheets):
                book.write(sheet, row)
                written[sheet.name].append(row)
    return written


def read_openpyxl(path: Path) -> dict[str, Rows]:
    workbook = openpyxl.load_workbook(path)
    return {
        sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()]
        for sheet in workbook
    }


def read_calamine(path: Path) -> dict[str, Rows]:
    with path.open("rb") as stream:
        workbook = python_calamine.load_workbook(stream)
        return {
            name: workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            for name in workbook.sheet_names
        }


def same(written: object, read: object) -> bool:
    """Compare a cell that was written with what a reader gives, types included."""
    match written:
        case None | "":
            return read is None or read == ""
        case tuple():
            return same("\n".join(written), read)
        case bool():
            return read is written
        case datetime():
            return _moment(read) == written
        case int() | Decimal():
            numeric = isinstance(read, int | float) and not isinstance(read, bool)
            return numeric and Decimal(str(read)) == written
        case _:
            return isinstance(read, str) and read == written


def _moment(read: object) -> object:
    if isinstance(read, date) and not isinstance(read, datetime):
        return datetime.combine(read, time())
    return read
