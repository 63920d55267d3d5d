"""Files that are not valid .xlsx workbooks are refused with specific messages."""

import re
import zipfile
from pathlib import Path

import pytest
from sheets import GOOD, write_rows

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook

OLE = bytes.fromhex("d0cf11e0a1b11ae1")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_rows(
        tmp_path / "good.xlsx", list(GOOD["cliente"]), [list(GOOD["cliente"].values())]
    )


def refusal(path: Path, catalogue: Catalogue, limits: WorkbookLimits | None = None) -> str:
    with pytest.raises(WorkbookRefused) as caught:
        validate_workbook(path, catalogue, limits=limits or WorkbookLimits())
    assert str(caught.value)
    return caught.value.code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not-xlsx"),
        (b"nome;cnpj\n", "not-xlsx"),
        (b"PK\x05\x06" + bytes(18), "not-xlsx"),
        (b"%PDF-1.7", "not-xlsx"),
        (OLE + bytes(512), "legacy-xls"),
        (OLE + bytes(512) + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"<html><table><tr><td>1</td></tr></table></html>", "html"),
        (b"\xef\xbb\xbf\n <!DOCTYPE html><html></html>", "html"),
        (b"PK\x03\x04 and then nothing", "truncated"),
    ],
)
def test_files_of_other_types_are_refused(
    tmp_path: Path, catalogue: Catalogue, content: bytes, code: str
) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    assert refusal(path, catalogue) == code


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_truncated_workbook_is_refused(good: Path, catalogue: Catalogue, share: float) -> None:
    content = good.read_bytes()
    good.write_bytes(content[: int(len(content) * share)])
    assert refusal(good, catalogue) == "truncated"


def repacked(source: Path, **changes: bytes) -> Path:
    """Copy a workbook with some parts replaced, named without folder and extension."""
    target = source.with_name("repacked.xlsx")
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            name = entry.filename.rpartition("/")[2].partition(".")[0].strip("[]")
            new.writestr(entry.filename, changes.get(name, old.read(entry)))
    return target


def test_zip_file_of_another_type_is_refused(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("word/document.xml", "<w/>")
    assert refusal(path, catalogue) == "not-xlsx"


def test_document_type_definitions_are_refused(good: Path, catalogue: Catalogue) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><worksheet/>'
    assert refusal(repacked(good, sheet1=bomb), catalogue) == "hostile"


def test_cells_far_apart_are_refused(good: Path, catalogue: Catalogue) -> None:
    far = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        b'<row r="1"><c r="A1"><v>1</v></c></row>'
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
    )
    assert refusal(repacked(good, sheet1=far), catalogue) == "hostile"


@pytest.mark.parametrize(
    "limits",
    [
        WorkbookLimits(file_size=100),
        WorkbookLimits(part_size=100),
        WorkbookLimits(total_size=1_000),
    ],
)
def test_oversized_workbook_is_refused(
    good: Path, catalogue: Catalogue, limits: WorkbookLimits
) -> None:
    assert refusal(good, catalogue, limits) == "too-large"


def test_part_names_outside_the_package_are_refused(good: Path, catalogue: Catalogue) -> None:
    with zipfile.ZipFile(good, "a") as package:
        package.writestr("xl/../../evil.xml", "<a/>")
    assert refusal(good, catalogue) == "hostile"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_repeated_part_name_is_refused(good: Path, catalogue: Catalogue) -> None:
    with zipfile.ZipFile(good, "a") as package:
        package.writestr("xl/workbook.xml", "<a/>")
    assert refusal(good, catalogue) == "hostile"


def test_malformed_workbook_part_is_refused(good: Path, catalogue: Catalogue) -> None:
    assert refusal(repacked(good, workbook=b"<workbook"), catalogue) == "truncated"


@pytest.mark.parametrize("make", [lambda p: p / "missing.xlsx", lambda p: p])
def test_missing_file_and_folder_are_usage_errors(
    tmp_path: Path, catalogue: Catalogue, make: object
) -> None:
    with pytest.raises(UsageError):
        validate_workbook(make(tmp_path), catalogue)  # type: ignore[operator]


@pytest.mark.parametrize(
    "sheet",
    [
        (
            "<worksheet xmlns='{ns}'><sheetData><row r='1'><c r='A1' t='inlineStr'><is>"
            "<t>nomeComercial</t></is></c></row><row r='2'><c r='A2' t='e'><v>#N/A</v></c></row>"
            "</sheetData></worksheet>"
        ),
        (
            '<x:worksheet xmlns:x="{ns}"><x:sheetData><x:row r="1"><x:c r="A1" t="inlineStr"><x:is>'
            '<x:t>nomeComercial</x:t></x:is></x:c></x:row><x:row r="2"><x:c r="A2" t="e">'
            "<x:v>#N/A</x:v></x:c></x:row></x:sheetData></x:worksheet>"
        ),
    ],
)
def test_unusual_xml_does_not_hide_errors(good: Path, catalogue: Catalogue, sheet: str) -> None:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    path = repacked(good, sheet1=sheet.format(ns=space).encode())
    validated = validate_workbook(path, catalogue, resource="cliente")
    assert [(f.cell, f.kind.code) for f in validated.findings] == [("A2", "cell-error")]


@pytest.mark.parametrize(
    ("cell", "codes"),
    [
        (b'<c r="C2" t="str"><f>""</f><v></v></c>', []),
        (b'<c r="C2" t="str"><f aca="false">""</f><v/></c>', []),
        (b'<c r="C2" t="str"><f>""</f></c>', ["formula-no-value"]),
        (b'<c r="C2"><f>""</f><v></v></c>', ["formula-no-value"]),
    ],
)
def test_empty_text_counts_as_a_formula_result(
    good: Path, catalogue: Catalogue, cell: bytes, codes: list[str]
) -> None:
    with zipfile.ZipFile(good) as package:
        sheet = package.read("xl/worksheets/sheet1.xml")
    changed, count = re.subn(rb'<c r="C2".*?</c>', cell, sheet)
    assert count == 1
    validated = validate_workbook(repacked(good, sheet1=changed), catalogue, resource="cliente")
    found = [finding.kind.code for finding in validated.findings]
    assert [code for code in found if code == "formula-no-value"] == codes
