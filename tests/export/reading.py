"""Reading exports back, with readers that did not write them."""

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import python_calamine

from xlbridge.export.books.book import OpenBook
from xlbridge.export.columns import ExportColumn
from xlbridge.export.flatten import flattener
from xlbridge.export.listing import Sheet
from xlbridge.export.summary import Summary
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind

Rows = list[list[Any]]

MOMENT = datetime(2026, 11, 21, 10, 30)


def write_all(
    path: Path, records: Sequence[dict[str, Any]], sheets: Sequence[Sheet], open_book: OpenBook
) -> dict[str, Rows]:
    """Write records as an export does; return the cells that were written, sheet by sheet."""
    flatten = flattener(sheets)
    flat = [flatten(record) for record in records]
    written = {
        sheet.name: [row for of_record in flat for row in of_record[place]]
        for place, sheet in enumerate(sheets)
    }
    with open_book(path, sheets) as book:
        counts = {sheet.name: book.write(sheet, iter(written[sheet.name])) for sheet in sheets}
        book.finish(Summary(Text(pt="x", en="x"), [], MOMENT, len(flat), counts, complete=True))
    assert counts == {name: len(rows) for name, rows in written.items()}
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


def same(column: ExportColumn, written: object, read: object) -> bool:
    """Compare a cell that was written with what a reader gives, types included."""
    if written is None or written == "":
        return read is None or read == ""
    if column.is_list:
        return bool("\n".join(written) == (read or ""))  # type: ignore[arg-type]
    match column.kind:
        case Kind.BOOLEAN:
            return read is written
        case Kind.DATE:
            return _moment(read) == datetime.fromisoformat(str(written))
        case Kind.INTEGER | Kind.NUMBER | Kind.MONEY:
            numeric = isinstance(read, int | float) and not isinstance(read, bool)
            return numeric and Decimal(str(read)) == Decimal(str(written))
        case _:
            return isinstance(read, str) and read == written


def _moment(read: object) -> object:
    if isinstance(read, date) and not isinstance(read, datetime):
        return datetime.combine(read, time())
    return read
