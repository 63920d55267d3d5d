"""A cell far from the others is named, in every format; an empty one is not in the way."""

import struct
from pathlib import Path

import pytest
import xlsxwriter
from open_document import text_cell, write_ods
from package_shapes import FILLING, usual_parts
from packing import MAIN, SHEET, packed, unpacked
from xlsb_writer import record, write_xlsb

from xlbridge.errors import WorkbookRefused
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

_FIRST = '<row r="1"><c r="A1"><v>1</v></c></row>'
_LAST = '<row r="1048576"><c r="XFD1048576"{}</row>'
FAR = {
    "a number": (_FIRST + _LAST.format("><v>1</v></c>"), ["XFD1048576"]),
    "a text": (_FIRST + _LAST.format(' t="str"><v> </v></c>'), ["XFD1048576"]),
    "an inline text": (
        _FIRST + _LAST.format(' t="inlineStr"><is><t>x</t></is></c>'),
        ["XFD1048576"],
    ),
    "below and aside": (
        _FIRST.replace("</row>", '<c r="XFD1"><v>1</v></c></row>')
        + '<row r="1048576"><c r="A1048576"><v>1</v></c></row>',
        ["XFD1", "A1048576"],
    ),
    "near the end": (
        _FIRST + '<row r="900000"><c r="AAA900000"><v>1</v></c></row>',
        ["AAA900000"],
    ),
}


def write(path: Path, rows: str) -> Path:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    path.write_bytes(packed({**usual_parts(), SHEET: sheet.encode()}))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits(), trusted=path.read_bytes())
    assert refused.value.hint is not None
    return refused.value.message.en


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("name", FAR)
def test_xlsx(name: str, large: bool, tmp_path: Path) -> None:
    rows, cells = FAR[name]
    first, last = rows.split("</row>", 1)
    path = write(tmp_path / "a.xlsx", f"{first}</row>{FILLING if large else ''}{last}")
    message = refusal(path)
    assert "'Plan1'" in message
    assert [cell for cell in cells if cell not in message] == []


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize(
    "cell", [' s="1"/>', ' s="1"></c>', "><v/></c>", "><v></v></c>", "><f>A1</f></c>"]
)
def test_an_empty_cell_is_not_in_the_way(cell: str, large: bool, tmp_path: Path) -> None:
    rows = _FIRST + (FILLING if large else "") + _LAST.format(cell)
    path = write(tmp_path / "a.xlsx", rows)
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    assert sheet.height == (1_199 if large else 1)


def test_xlsb(tmp_path: Path) -> None:
    source, path = tmp_path / "a.xlsx", tmp_path / "a.xlsb"
    with xlsxwriter.Workbook(source) as book:
        book.add_worksheet("Plan1").write(0, 0, 1)
    parts = unpacked(write_xlsb(source, path))
    row = record(0, struct.pack("<II", 1_048_575, 0) + bytes(17))
    cell = record(5, struct.pack("<IId", 16_383, 0, 1.0))
    blank = record(1, struct.pack("<II", 16_383, 0))
    name = "xl/worksheets/sheet1.bin"
    for last, is_refused in ((cell, True), (blank, False)):
        sheet = parts[name].replace(record(146), row + last + record(146))
        path.write_bytes(packed({**parts, name: sheet}))
        if is_refused:
            assert "XFD1048576" in refusal(path)
        else:
            (read,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
            assert read.height == 1


def test_ods(tmp_path: Path) -> None:
    gap = '<table:table-cell table:number-columns-repeated="16383"/>'
    rows = '</table:table-row><table:table-row table:number-rows-repeated="1048574">{}'
    far = [text_cell("x"), rows.format(gap), "</table:table-row><table:table-row>", gap]
    path = write_ods(tmp_path / "a.ods", [[*far, text_cell("y")]])
    assert "XFD1048576" in refusal(path)
    path = write_ods(tmp_path / "b.ods", [[*far, "<table:table-cell/>"]])
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    assert sheet.height == 1
