"""Single cells of a workbook are changed, in any notation, and nothing else."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from packing import MAIN, SHEET, good_parts, packed, text_cell, unpacked

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import CellPosition
from xlbridge.workbook.edit import EditableCells, edit_package
from xlbridge.workbook.read import read_workbook

_TOP = f'<row r="1">{text_cell("A1", "name")}{text_cell("C1", "é")}</row>'
_LAST = f'<row r="5" ht="20">{text_cell("B5", "last")}</row>'


def _sheet(rows: str, after: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'


_FROM = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'


@pytest.mark.parametrize(
    "sheet",
    [
        _sheet(_TOP + _LAST),
        _sheet(f"{_TOP}<row r='3'/>{_LAST}"),
        _sheet(f'<!-- <row r="3"><c r="B3"/></row> -->{_TOP}<?x <row r="4"/> ?>{_LAST}'),
        _sheet(_TOP + _LAST, after=f"<extLst><ext><d:row {_FROM}>3</d:row></ext></extLst>"),
        _sheet(_TOP + _LAST)
        .replace("<", "<x:")
        .replace("<x:/", "</x:")
        .replace("xmlns", "xmlns:x"),
    ],
)
def test_cells_are_changed_and_added(tmp_path: Path, sheet: str) -> None:
    source, copy = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    source.write_bytes(packed(good_parts(tmp_path) | {SHEET: sheet.encode()}))
    values: dict[CellPosition, str | Decimal | date] = {
        (1, 0): "",
        (1, 1): "=1 & ção",
        (3, 1): Decimal("1.50"),
        (5, 2): "next",
        (7, 0): date(2026, 10, 31),
    }
    with edit_package(source) as package:
        cells = EditableCells(package, "Plan1")
        assert cells.locked_cells(values) == cells.rich_text_cells(values) == frozenset()
        cells.write_values(values)
        package.save(copy)
    (read,) = read_workbook(copy, WorkbookLimits()).sheets
    assert [read.row(row) for row in range(7)] == [
        ["", "=1 & ção", "é"],
        ["", "", ""],
        ["", 1.5, ""],
        ["", "", ""],
        ["", "last", "next"],
        ["", "", ""],
        [date(2026, 10, 31), "", ""],
    ]
    assert 'ht="20"' in unpacked(copy)[SHEET].decode()


def test_computed_cells_and_formatted_texts_are_found(tmp_path: Path) -> None:
    rich = '<c r="A2" t="inlineStr"><is><r><t>a</t></r></is></c>'
    array = '<c r="B2"><f t="array" ref="B2:B4">A2:A4</f><v>1</v></c>'
    rows = f'<row r="2">{rich}{array}<c r="C2"><f>1+1</f><v>2</v></c></row><row r="3"/>'
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(good_parts(tmp_path) | {SHEET: _sheet(rows).encode()}))
    asked = {(row, column) for row in (2, 3) for column in range(3)}
    with edit_package(path) as package:
        cells = EditableCells(package, "Plan1")
        assert cells.locked_cells(asked) == {(2, 1), (2, 2), (3, 1)}
        assert cells.rich_text_cells(asked) == {(2, 0)}
