"""A cell far from the others is named, in every format; an empty one is not in the way."""

import struct
from pathlib import Path

import pytest
import xlsxwriter
from open_document import date_cell, number_cell, text_cell, write_ods
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


_PLACE = struct.pack("<II", 16_383, 0)
FAR_IN_XLSB = {
    "a number": record(5, _PLACE + struct.pack("<d", 1.0)),
    "a boolean": record(4, _PLACE + b"\1"),
    "an error": record(3, _PLACE + b"\x2a"),
    "a text": record(6, _PLACE + struct.pack("<I", 1) + b"x\0"),
    "a rich text": record(62, _PLACE + b"\0" + struct.pack("<I", 1) + b"x\0"),
    "a result": record(9, _PLACE + struct.pack("<dHI", 1.0, 0, 3) + b"\x1e\1\0"),
}


def _write_xlsb(folder: Path, last: bytes) -> Path:
    source, path = folder / "a.xlsx", folder / "a.xlsb"
    with xlsxwriter.Workbook(source) as book:
        book.add_worksheet("Plan1").write(0, 0, 1)
    parts = unpacked(write_xlsb(source, path))
    name = "xl/worksheets/sheet1.bin"
    row = record(0, struct.pack("<II", 1_048_575, 0) + bytes(17))
    sheet = parts[name].replace(record(146), row + last + record(146))
    path.write_bytes(packed({**parts, name: sheet}))
    return path


@pytest.mark.parametrize("name", FAR_IN_XLSB)
def test_xlsb(name: str, tmp_path: Path) -> None:
    assert "XFD1048576" in refusal(_write_xlsb(tmp_path, FAR_IN_XLSB[name]))


def test_an_empty_cell_of_an_xlsb_is_not_in_the_way(tmp_path: Path) -> None:
    path = _write_xlsb(tmp_path, record(1, _PLACE))
    (read,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    assert read.height == 1


FAR_IN_ODS = {
    "a text": text_cell("y"),
    "a number": number_cell(1),
    "a date": date_cell("2026-11-05"),
    "a formula": '<table:table-cell table:formula="of:=1+1"/>',
    "a text without a type": "<table:table-cell><text:p>y</text:p></table:table-cell>",
}


def _write_ods(folder: Path, last: str) -> Path:
    gap = '<table:table-cell table:number-columns-repeated="16383"/>'
    rows = '</table:table-row><table:table-row table:number-rows-repeated="1048574">{}'
    far = [text_cell("x"), rows.format(gap), "</table:table-row><table:table-row>", gap]
    return write_ods(folder / "a.ods", [[*far, last]])


@pytest.mark.parametrize("name", FAR_IN_ODS)
def test_ods(name: str, tmp_path: Path) -> None:
    assert "XFD1048576" in refusal(_write_ods(tmp_path, FAR_IN_ODS[name]))


def test_an_empty_cell_of_an_ods_is_not_in_the_way(tmp_path: Path) -> None:
    path = _write_ods(tmp_path, "<table:table-cell/>")
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    assert sheet.height == 1
