"""What other programs save under other formats is named, with the way to .xlsx."""

import zipfile
from pathlib import Path

import pytest

from xlbridge.errors import WorkbookRefused, os_error_reason
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

ODS = {"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<a/>"}
XLSB = {
    "[Content_Types].xml": "<Types><Override PartName='/xl/workbook.bin' "
    "ContentType='application/vnd.ms-excel.sheet.binary.macroEnabled.main'/></Types>",
    "xl/workbook.bin": "x",
}


@pytest.mark.parametrize(("parts", "named"), [(ODS, ".ods"), (XLSB, ".xlsb")])
def test_other_spreadsheets_are_named(tmp_path: Path, parts: dict[str, str], named: str) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(WorkbookRefused) as refused:
        read_workbook(path, WorkbookLimits())
    assert refused.value.code == "not-xlsx"
    assert named in refused.value.message.pt
    assert ".xlsx" in str(refused.value.hint)


def test_a_failure_of_the_system_is_told_in_both_languages(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as failed:
        (tmp_path / "none").read_bytes()
    assert os_error_reason(failed.value).pt == "o arquivo ou a pasta não existe"
