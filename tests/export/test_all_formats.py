"""Random nested records of every listing are read back equal from every format.

Inside: export.
"""

import csv
import json
import re
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from random_records import expected_rows, records_of
from reading import ExportColumn, Rows, Sheet, read_calamine, read_openpyxl, same, write_all
from sampling import every

from xlbridge.export import FORMATS, LISTINGS, Listing
from xlbridge.export.formats.base import sheet_paths
from xlbridge.resources import Kind
from xlbridge.workbook import COVER_SHEET

pytestmark = pytest.mark.one_database

NUMBERS = (Kind.INTEGER, Kind.NUMBER, Kind.MONEY)
Same = Callable[[ExportColumn, Any, Any], bool]


def equals_csv_text(column: ExportColumn, value: Any, text: str) -> bool:
    """Compare with the text of a CSV cell, whose formulas are disarmed."""
    if value is None:
        return text == ""
    if column.is_list:
        value = "\n".join(value)
    elif column.kind in NUMBERS:
        return Decimal(text) == value
    elif column.kind is Kind.BOOLEAN:
        return text == ("true" if value else "false")
    elif column.kind is Kind.DATE:
        return datetime.fromisoformat(text) == datetime.fromisoformat(value)
    return text in (value, "'" + value)


def equals_typed_value(column: ExportColumn, value: Any, read: Any) -> bool:
    """Compare with a format that has types; dates are ISO 8601 in JSON."""
    if isinstance(read, datetime):
        read = read.isoformat()
    numeric = isinstance(read, int | Decimal) and not isinstance(read, bool)
    is_number = column.kind in NUMBERS and value is not None
    return bool(read == value) and numeric == is_number


def same_in_ods(column: ExportColumn, value: Any, read: object) -> bool:
    """Compare with a cell of an .ods, which cannot hold the characters that XML lacks."""
    lines = "\n".join(value) if column.is_list and value is not None else value
    if isinstance(lines, str) and re.search("[\ufffe\uffff]", lines):
        return bool(re.sub("[\ufffe\uffff]", "\ufffd", lines) == read)
    return same(column, value, read)


def read_csv(path: Path) -> tuple[list[str], Rows]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    return header, rows


def read_jsonl(path: Path) -> tuple[list[str], Rows]:
    lines = path.read_bytes().split(b"\n")[:-1]
    rows = [json.loads(line, parse_float=Decimal) for line in lines]
    return list(rows[0]) if rows else [], [list(row.values()) for row in rows]


def read_parquet(path: Path) -> tuple[list[str], Rows]:
    table = pq.read_table(path)
    return table.column_names, [list(row.values()) for row in table.to_pylist()]


def read_files(
    path: Path, sheets: tuple[Sheet, ...], read: Callable[[Path], tuple[list[str], Rows]]
) -> dict[str, tuple[list[str], Rows]]:
    return {s.name: read(p) for s, p in zip(sheets, sheet_paths(path, sheets), strict=True)}


def differences(sheet: Sheet, wanted: Rows, read: Rows, are_same: Same) -> list[object]:
    # A workbook's table has one row at least, an empty one.
    assert len(read) == max(len(wanted), len(read[:1])), sheet.name
    return [
        (sheet.name, column.name, value, cell)
        for row, cells in zip(wanted, read, strict=False)
        for column, value, cell in zip(sheet.columns, row, cells, strict=True)
        if not are_same(column, value, cell)
    ]


@pytest.mark.parametrize("listing", every(2, LISTINGS.values()), ids=lambda listing: listing.name)
@settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_records_come_back_equal(
    tmp_path: Path, listing: Listing, data: st.DataObject
) -> None:
    records = data.draw(st.lists(records_of(listing), max_size=3))
    sheets = listing.sheets
    wanted = {s.name: [row for r in records for row in expected_rows(s, r)] for s in sheets}
    for form, open_book in FORMATS.items():
        write_all(tmp_path / f"out.{form}", records, sheets, open_book)
    for form, read, are_same in (
        ("csv", read_csv, equals_csv_text),
        ("jsonl", read_jsonl, equals_typed_value),
        ("parquet", read_parquet, equals_typed_value),
    ):
        files = read_files(tmp_path / f"out.{form}", sheets, read)
        for sheet in sheets:
            header, rows = files[sheet.name]
            assert header == [c.name for c in sheet.columns] or (form == "jsonl" and not rows)
            assert differences(sheet, wanted[sheet.name], rows, are_same) == [], form
    for read_book, name in (
        (read_openpyxl, "out.xlsx"),
        (read_calamine, "out.xlsx"),
        (read_calamine, "out.ods"),
    ):
        found = read_book(tmp_path / name)
        assert list(found) == [str(COVER_SHEET), *(sheet.name for sheet in sheets)]
        for sheet in sheets:
            header, *rows = found[sheet.name]
            names = [column.name for column in sheet.columns]
            # Headers are titles; the names are in their notes, which calamine does not read.
            assert header == names if read_book is read_openpyxl else len(header) == len(names)
            if name == "out.ods":
                rows += [[""] * len(names)] * (not rows)
                assert differences(sheet, wanted[sheet.name], rows, same_in_ods) == []
            else:
                assert differences(sheet, wanted[sheet.name], rows, same) == []
