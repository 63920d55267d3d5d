"""Helpers that read exports with independent libraries.

Inside: export.
"""

import json
from collections.abc import Sequence
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import python_calamine
from openpyxl.utils.escape import unescape
from sheets import header_of

from xlbridge.export.flatten import Flattener
from xlbridge.export.formats.base import CELLS_AS_JSON, OpenOutput, Table
from xlbridge.export.part_store import PartStore
from xlbridge.export.sheets import ExportColumn, Sheet
from xlbridge.i18n import untranslated
from xlbridge.report_forms import Report
from xlbridge.resources import Kind

Rows = list[list[Any]]

MOMENT = datetime(2026, 11, 21, 10, 30)


def numbers_as_text(value: Any) -> Any:
    """Return a record as an export parses it, with numbers as text."""
    if isinstance(value, dict):
        return {name: numbers_as_text(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [numbers_as_text(inner) for inner in value]
    return str(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value


def cells_of_record(sheets: Sequence[Sheet], record: dict[str, Any]) -> list[Rows]:
    """Return the cells of a record's rows, sheet by sheet."""
    lines = Flattener(sheets, [CELLS_AS_JSON] * len(sheets)).lines([numbers_as_text(record)])
    return [list(map(json.loads, rows)) for rows, *_ in lines]


def write_all(
    path: Path, records: Sequence[dict[str, Any]], sheets: Sequence[Sheet], open_book: OpenOutput
) -> dict[str, Rows]:
    """Write records as an export does; return the cells that were written, sheet by sheet."""
    cells = [cells_of_record(sheets, record) for record in records]
    with (
        open_book(path, sheets) as book,
        TemporaryDirectory() as folder,
        closing(PartStore(Path(folder), len(sheets))) as store,
    ):
        flattener = Flattener(sheets, list(map(book.line_format, sheets)))
        with store.new_part() as part:
            part.add(
                [[n] for n in range(len(records))],
                flattener.lines(list(map(numbers_as_text, records))),
            )
        store.keep(part)
        tables = [
            Table(
                sheet,
                store.rows(index),
                widths,
                partial(store.lines, index),
                sums=store.sums(index),
            )
            for index, (sheet, widths) in enumerate(
                zip(sheets, flattener.notes.widths, strict=True)
            )
        ]
        counts = {table.sheet.name: table.rows for table in tables}
        book.write(tables, Report(title=untranslated("x"), verdict=untranslated("y")), "")
    written = {
        sheet.name: [row for record in cells for row in record[index]]
        for index, sheet in enumerate(sheets)
    }
    assert counts == {name: len(rows) for name, rows in written.items()}
    return written


def read_openpyxl(path: Path) -> dict[str, Rows]:
    workbook = openpyxl.load_workbook(path)
    return {
        sheet.title: [
            header_of(sheet),
            *([_unescaped(cell.value) for cell in row] for row in sheet.iter_rows(min_row=2)),
        ]
        for sheet in workbook
    }


def _unescaped(value: Any) -> Any:
    """Return a text without the escapes of inline texts, which openpyxl keeps."""
    return unescape(value) if isinstance(value, str) else value


def read_calamine(path: Path) -> dict[str, Rows]:
    with path.open("rb") as stream:
        workbook = python_calamine.load_workbook(stream)
        return {
            name: workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            for name in workbook.sheet_names
        }


def same(column: ExportColumn, written: object, read: object) -> bool:
    """Compare a written cell with a reader's value, types included."""
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
