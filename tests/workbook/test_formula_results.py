"""Formulas that no program has calculated are told from those with a result, in every format."""

import struct
from collections.abc import Callable
from pathlib import Path

import olefile
import pytest
import xlsxwriter
from open_document import write_ods
from package_shapes import FILLING, usual_parts
from packing import MAIN, SHEET, WORKBOOK, packed, unpacked
from xlsb_writer import record, write_xlsb

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import SheetCells, read_workbook

SHAPES = Path(__file__).parent / "shapes"


def read(path: Path) -> SheetCells:
    """Read a workbook in this process, like the parser process."""
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    return sheet


PROPERTIES = "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"
XLSXWRITER = '<calcPr calcId="124519" fullCalcOnLoad="1"/>'
EXCEL = '<calcPr calcId="191029" fullCalcOnLoad="1"/>'
LIBREOFFICE = '<calcPr iterateCount="100" refMode="A1" iterate="false" fullCalcOnLoad="1"/>'
XLSX = {
    "xlsxwriter": (XLSXWRITER, "><f>1+1</f><v>0</v></c>", True),
    "xlsxwriter with a value": (XLSXWRITER, "><f>1+1</f><v>2</v></c>", False),
    "xlsxwriter with a text": (XLSXWRITER, ' t="str"><f>A2</f><v>0</v></c>', False),
    "xlsxwriter with a boolean": (XLSXWRITER, ' t="b"><f>A2=1</f><v>0</v></c>', False),
    "xlsxwriter, a constant": (XLSXWRITER, "><v>0</v></c>", False),
    "an array": (XLSXWRITER, '><f t="array" ref="A1">1+1</f><v>0</v></c>', True),
    "EPPlus": ('<calcPr fullCalcOnLoad="1"/>', "><f>1+1</f><v>0</v></c>", True),
    "no number": ('<calcPr calcId="0" fullCalcOnLoad="1"/>', "><f>1+1</f><v>0.0</v></c>", True),
    "PhpSpreadsheet": (
        '<calcPr calcId="999999" calcMode="auto" calcCompleted="0" fullCalcOnLoad="1"/>',
        ' t="str"><f>A2&amp;"x"</f><v>=A2&amp;"x"</v></c>',
        True,
    ),
    "openpyxl": (XLSXWRITER, "><f>1+1</f><v></v></c>", True),
    "openpyxl, shorter": (XLSXWRITER, "><f>1+1</f><v/></c>", True),
    "SheetJS": ("", "><f>1+1</f></c>", True),
    "an empty text of Excel": ("", ' t="str"><f>""</f><v></v></c>', False),
    "zero of Excel": (EXCEL, "><f>1-1</f><v>0</v></c>", False),
    "zero of LibreOffice": (LIBREOFFICE, "><f>1-1</f><v>0</v></c>", False),
    "zero, calculated": ('<calcPr calcId="124519"/>', "><f>1-1</f><v>0</v></c>", False),
}
"""Settings of calculation, a cell after its address, and whether its formula lacks a result."""


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("name", XLSX)
def test_xlsx(name: str, large: bool, tmp_path: Path) -> None:
    settings, cell, is_missing = XLSX[name]
    parts = usual_parts()
    rows = f'<row r="1"><c r="A1"{cell}</row>{FILLING if large else ""}'
    parts[SHEET] = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()
    parts[WORKBOOK] = parts[WORKBOOK].replace(b"</sheets>", f"</sheets>{settings}".encode())
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(parts))
    assert read(path).raw.without_result == ({(1, 0)} if is_missing else set())


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_all_cells_of_an_array_without_a_result_have_none(large: bool, tmp_path: Path) -> None:
    """openpyxl writes only the first one, xlsxwriter zeros into the others."""
    settings, cells = XLSXWRITER, ["", '<c r="A2"><v>0</v></c>', ""]
    parts = usual_parts()
    cells[0] = '<c r="A1"><f t="array" ref="A1:B3">D1:E3*2</f><v>0</v></c>'
    rows = "".join(f'<row r="{n}">{cell}</row>' for n, cell in enumerate(cells, start=1))
    rows += FILLING[FILLING.index('<row r="4"') :] if large else ""
    parts[SHEET] = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()
    parts[WORKBOOK] = parts[WORKBOOK].replace(b"</sheets>", f"</sheets>{settings}".encode())
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(parts))
    cells_of_array = {(row, column) for row in (1, 2, 3) for column in (0, 1)}
    assert read(path).raw.without_result == cells_of_array


APPLICATIONS = {"Apache POI": True, "NPOI": True, "Microsoft Excel": False, "": False}
"""Programs whose workbooks have no settings of calculation, and whether their zeros are none."""


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("settings", ["", EXCEL])
def test_zeros_of_java_and_dotnet(application: str, settings: str, tmp_path: Path) -> None:
    """These programs store 0.0 under a new formula until they are asked to calculate it."""
    parts = usual_parts()
    cells = '<c r="A1" t="n"><f>1+1</f><v>0.0</v></c><c r="B1"><f>1+1</f><v>2.0</v></c>'
    rows = f'<row r="1">{cells}</row>'
    parts[SHEET] = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode()
    parts[WORKBOOK] = parts[WORKBOOK].replace(b"</sheets>", f"</sheets>{settings}".encode())
    if application:
        parts["docProps/app.xml"] = (
            f'<Properties xmlns="{PROPERTIES}"><Application>{application}</Application>'
            "</Properties>"
        ).encode()
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(parts))
    is_missing = APPLICATIONS[application] and not settings
    assert read(path).raw.without_result == ({(1, 0)} if is_missing else set())


def _xls(change: Callable[[bytearray, int], None], folder: Path) -> Path:
    """Write a copy of the workbook of xlwt with ``change`` applied to its records."""
    path = folder / "a.xls"
    path.write_bytes((SHAPES / "u_xlwt_formula.xls").read_bytes())
    with olefile.OleFileIO(path, write_mode=True) as container:
        stream = bytearray(container.openstream("Workbook").read())
        offset = 0
        while offset + 4 <= len(stream):
            (size,) = struct.unpack_from("<H", stream, offset + 2)
            change(stream, offset)
            offset += 4 + size
        container.write_stream("Workbook", bytes(stream))
    return path


def _with(
    result: bytes = b"\x03\0\0\0\0\0\xff\xff",
    flags: int = 0,
    year: int = 1996,
    marks: int = 0,
    calculated: bool = True,
) -> Callable[[bytearray, int], None]:
    def change(stream: bytearray, offset: int) -> None:
        (kind,) = struct.unpack_from("<H", stream, offset)
        if kind == 0x06:
            stream[offset + 10 : offset + 18] = result
            struct.pack_into("<H", stream, offset + 18, flags)
        elif kind == 0x809:
            struct.pack_into("<HI", stream, offset + 10, year, marks)
        elif kind == 0x5F and not calculated:
            struct.pack_into("<H", stream, offset, 0x5E)

    return change


_ZERO, _TWO = struct.pack("<d", 0.0), struct.pack("<d", 2.0)
XLS = {
    "xlwt": (_with(), True),
    "xlwt with a value": (_with(_TWO), False),
    "POI": (_with(_ZERO, flags=2, marks=0x41), True),
    "POI with a value": (_with(_TWO, flags=2, marks=0x41), False),
    "WriteExcel": (_with(_ZERO, flags=3, marks=0x41), True),
    "an empty text of Excel": (_with(year=1997, marks=0x80C9), False),
    "zero of Excel": (_with(_ZERO, year=1997, marks=0x80C9), False),
    "zero of a volatile formula of Excel": (_with(_ZERO, 3, 1997, 0x80C9), False),
    "zero of LibreOffice": (_with(_ZERO), False),
    "zero, not calculated": (_with(_ZERO, year=1997, marks=0x80C9, calculated=False), True),
    "an empty text, not calculated": (_with(year=1997, marks=0x80C9, calculated=False), True),
    "a value, not calculated": (_with(_TWO, year=1997, marks=0x80C9, calculated=False), False),
}


@pytest.mark.parametrize("name", XLS)
def test_xls(name: str, tmp_path: Path) -> None:
    change, is_missing = XLS[name]
    sheet = read(_xls(change, tmp_path))
    assert sheet.raw.without_result == ({(2, 9), (3, 9)} if is_missing else set())


XLSB: list[tuple[int | None, float | None, bool]] = [
    (1, 0, True), (1, 2, False), (0, 0, False), (None, 0, False), (1, None, True)
]  # fmt: skip
"""Settings of calculation, the stored result, and whether the formula lacks one."""


@pytest.mark.parametrize(("calculation", "value", "is_missing"), XLSB)
def test_xlsb(
    calculation: int | None, value: float | None, is_missing: bool, tmp_path: Path
) -> None:
    source, path = tmp_path / "a.xlsx", tmp_path / "a.xlsb"
    with xlsxwriter.Workbook(source) as book:
        book.add_worksheet("Plan1").write_formula(
            0, 0, "=1+1", None, "" if value is None else value
        )
    parts = unpacked(write_xlsb(source, path))
    if calculation is not None:
        settings = record(157, bytes(24) + struct.pack("<H", calculation))
        parts["xl/workbook.bin"] = parts["xl/workbook.bin"].replace(
            record(132), settings + record(132)
        )
    path.write_bytes(packed(parts))
    assert read(path).raw.without_result == ({(1, 0)} if is_missing else set())


ODS = {
    "odfpy without a value": ('table:formula="of:=1+1"', "", True),
    "a type without a value": ('table:formula="of:=1+1" office:value-type="float"', "", True),
    "a date without a value": ('table:formula="of:=A2" office:value-type="date"', "", True),
    "an empty text of LibreOffice": ('table:formula="of:=IF(1;&quot;&quot;)"', "<text:p/>", False),
    "an empty text with its type": (
        'table:formula="of:=A2" office:value-type="string" office:string-value=""',
        "<text:p/>",
        False,
    ),
    "zero": (
        'table:formula="of:=1-1" office:value-type="float" office:value="0"',
        "<text:p>0</text:p>",
        False,
    ),
    "a text": (
        'table:formula="of:=A2" office:value-type="string" office:string-value="x"',
        "<text:p>x</text:p>",
        False,
    ),
}


@pytest.mark.parametrize("name", ODS)
def test_ods(name: str, tmp_path: Path) -> None:
    attributes, content, is_missing = ODS[name]
    path = write_ods(
        tmp_path / "a.ods", [[f"<table:table-cell {attributes}>{content}</table:table-cell>"]]
    )
    assert read(path).raw.without_result == ({(1, 0)} if is_missing else set())
