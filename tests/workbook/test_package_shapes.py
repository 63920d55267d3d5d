"""Parts of a workbook are found by relation, and read in any encoding, as in Excel."""

import zipfile
from pathlib import Path

import pytest
import xlsxwriter
from package_shapes import ROW, SHAPES, usual_parts
from packing import packed, unpacked
from xlsb_writer import write_xlsb

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.edit import AnnotatedSheet, AnnotationSummary, annotate
from xlbridge.workbook.read import SheetCells, cell_number_formats, read_workbook


def read(path: Path) -> SheetCells:
    """Read a workbook in this process, like the parser process."""
    (sheet,) = read_workbook(path, WorkbookLimits(), trusted=path.read_bytes()).sheets
    return sheet


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_package_is_read_as_in_excel(name: str, large: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(SHAPES[name](usual_parts(large=large))))
    sheet = read(path)
    assert sheet.row(0) == ROW
    assert sheet.height == (1_199 if large else 1)
    assert sheet.row(sheet.height - 1)[:2] == ROW[:2]
    assert sheet.raw.scaled[1, 3] == 100.0
    formats = {style: code for style, code in sheet.raw.formats.items() if code == "0%"}
    assert cell_number_formats(path, sheet.raw, formats, {3})[1, 3] == "0%"


@pytest.mark.parametrize("name", SHAPES)
def test_a_marked_copy_of_a_package_is_read_alike(name: str, tmp_path: Path) -> None:
    path, copy = tmp_path / "a.xlsx", tmp_path / "marked.xlsx"
    path.write_bytes(packed(SHAPES[name](usual_parts())))
    summary = AnnotationSummary("a.xlsx", {"Plan1": "cliente"}, 1, 0, 0)
    annotate(path, copy, [AnnotatedSheet("Plan1", [], 0, ["A1"])], summary)
    assert read(copy).row(0) == ROW
    with zipfile.ZipFile(copy) as archive:
        assert not any("\\" in entry for entry in archive.namelist())


def _renamed(parts: dict[str, bytes], old: str, new: str) -> dict[str, bytes]:
    """Return parts with another name of one of them, in relations too."""
    short = old.removeprefix("xl/").encode()
    return {
        name.replace(old, new): content.replace(b'"%s"' % short, b'"/%s"' % new.encode())
        if name.endswith(".rels")
        else content
        for name, content in parts.items()
    }


def _recoded(parts: dict[str, bytes], end: str, encoding: str) -> dict[str, bytes]:
    """Return parts, those whose names have an end in another encoding."""
    label = encoding.removesuffix("-le")
    return {
        name: f'<?xml version="1.0" encoding="{label}"?>{content.decode()}'.encode(encoding)
        if name.endswith(end)
        else content
        for name, content in parts.items()
    }


XLSB = {
    "as Excel writes it": lambda p: p,
    "another name of the styles": lambda p: _renamed(p, "xl/styles.bin", "xl/styles2.bin"),
    "the sheet elsewhere": lambda p: _renamed(p, "xl/worksheets/sheet1.bin", "data/one.bin"),
    "backslashes in names": lambda p: {name.replace("/", "\\"): c for name, c in p.items()},
    "another name of the workbook": lambda p: {
        name.replace("workbook.bin", "book7.bin"): content.replace(b"workbook.bin", b"book7.bin")
        for name, content in p.items()
    },
    "the texts elsewhere": lambda p: _renamed(p, "xl/sharedStrings.bin", "data/texts.bin"),
    "relations in UTF-16": lambda p: _recoded(p, ".rels", "utf-16"),
    "relations in UTF-16 without a mark": lambda p: _recoded(p, ".rels", "utf-16-le"),
    "relations in UTF-16 in big-endian order": lambda p: {
        name: b"\xfe\xff" + content.decode().encode("utf-16-be")
        if name.endswith(".rels")
        else content
        for name, content in p.items()
    },
    "relations of the workbook in UTF-16": lambda p: _recoded(p, "workbook.bin.rels", "utf-16"),
    "types in UTF-16": lambda p: _recoded(p, "[Content_Types].xml", "utf-16"),
}


@pytest.mark.parametrize("name", XLSB)
def test_a_binary_package_is_read_as_in_excel(name: str, tmp_path: Path) -> None:
    source, path = tmp_path / "a.xlsx", tmp_path / "a.xlsb"
    with xlsxwriter.Workbook(source) as book:
        page, (text, day, number, share) = book.add_worksheet("Plan1"), ROW
        page.write(0, 0, text)
        page.write_datetime(0, 1, day, book.add_format({"num_format": "dd/mm/yyyy"}))
        page.write(0, 2, number)
        page.write(0, 3, share, book.add_format({"num_format": "0%"}))
    path.write_bytes(packed(XLSB[name](unpacked(write_xlsb(source, path)))))
    sheet = read(path)
    assert sheet.row(0) == ROW
    assert sheet.raw.scaled == {(1, 3): 100.0}
