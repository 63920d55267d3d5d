"""Number formats of cells are found in any notation."""

import zipfile
from pathlib import Path

import pytest

from xlbridge.workbook.read import RawSheet, cell_number_formats

PART = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    "cells",
    [
        '<c r="A2" s="1"><v>1</v></c><c r="B2" s="1"><v>1</v></c><c r="C2" s="2"/>',
        '<c r="A2" t="n" s="1"><v>1</v></c><c r="B2" s="1"/><c r="C2" s="2" t="n"/>',
        '<c s="1" r="A2"><v>1</v></c><c s="1" r="B2"/><c r="C2" s="2"/>',
        "<c r='A2' s='1'><v>1</v></c><c r='B2' s='1'/><c r='C2' s='2'/>",
        '<x:c r="A2" s="1"><x:v>1</x:v></x:c><x:c r="B2" s="1"/><x:c r="C2" s="2"/>',
        '<c r="AA2" s="1"/><c r="A2" s="1"><is><t>a:c b</t></is></c><c r="C2" s="2"/>',
    ],
)
def test_formats_of_the_given_columns_are_found(tmp_path: Path, cells: str) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(PART, f'<sheetData><row r="2">{cells}</row></sheetData>')
    formats = {1: "0.00"}
    assert cell_number_formats(path, RawSheet(part=PART), formats, {0, 2}) == {(2, 0): "0.00"}
    assert cell_number_formats(path, RawSheet(part=PART), formats, set()) == {}
    assert cell_number_formats(path, RawSheet(part=PART), {}, {0, 2}) == {}
