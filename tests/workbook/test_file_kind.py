"""Kinds of files are detected by content; unsupported ones are named."""

import struct
import zipfile
from pathlib import Path

import pytest
from hostile_kinds import FILES
from sheets import write_records

from xlbridge.errors import WorkbookRefused, os_error_reason
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook
from xlbridge.workbook.read import read_workbook

_MAIN = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
_WITH_MACROS = b"application/vnd.ms-excel.sheet.macroEnabled.main+xml"


@pytest.mark.parametrize("kind", ["csv", "xls", "xlsb", "ods"])
def test_other_kinds_are_read(kind: str, tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / f"clientes.{kind}"
    path.write_bytes(FILES[f"good {kind}"][2](tmp_path))
    sheet = validate_workbook(path, catalogue)
    assert sheet.resource is not None
    assert (sheet.resource.name, list(sheet.rows), list(sheet.findings)) == ("cliente", [2], [])


def test_a_workbook_with_macros_is_read(tmp_path: Path, catalogue: Catalogue) -> None:
    source, path = write_records(tmp_path / "a.xlsx", "cliente", [{}]), tmp_path / "a.xlsm"
    with zipfile.ZipFile(source) as good, zipfile.ZipFile(path, "w") as archive:
        for entry in good.infolist():
            archive.writestr(entry, good.read(entry).replace(_MAIN, _WITH_MACROS))
        archive.writestr("xl/vbaProject.bin", b"\xd0\xcf")
    assert validate_workbook(path, catalogue).ok


@pytest.mark.parametrize(
    ("name", "content", "code", "part"),
    [
        ("a.xls", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "legacy-xls", "Excel 97"),
        ("a.xlsx", b"nome;cnpj\n", "not-xlsx", "texto"),
        ("~$a.xlsx", b"\x03ana" + b" " * 51 + b"\x03\0a\0n\0a\0", "not-xlsx", "aberta"),
        (".~lock.a.xlsx#", b",ana,pc,23.11.2026;", "not-xlsx", "aberta"),
        ("a.xls", struct.pack("<HHHH", 0x409, 4, 0x400, 16), "not-xlsx", ".xlsb"),
    ],
)
def test_unsupported_files_are_refused_by_kind(
    name: str, content: bytes, code: str, part: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits())
    assert refused.value.code == code
    assert part in refused.value.message.pt
    assert refused.value.hint is not None


def test_a_large_document_of_another_kind_is_refused_by_kind(tmp_path: Path) -> None:
    path = tmp_path / "contract.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", bytes(10**6))
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits())
    assert refused.value.code == "not-xlsx"


def test_an_os_error_is_translated(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failed:
        (tmp_path / "none").read_bytes()
    assert os_error_reason(failed.value).pt == "o arquivo ou a pasta não existe"
