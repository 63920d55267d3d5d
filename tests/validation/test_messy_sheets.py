"""Clean sheets that look messy have no errors, and at most two findings."""

import json
from pathlib import Path

import pytest
from environment import Xlbridge
from messy_sheets import ROWS, SHEETS, write_messy_sheet
from sampling import every


@pytest.mark.parametrize("resource", every(3, SHEETS))
def test_clean_sheet_of_another_program_has_few_findings(
    xlbridge: Xlbridge, tmp_path: Path, resource: str
) -> None:
    path = write_messy_sheet(tmp_path / "a.xlsx", resource)
    result = xlbridge("validate", path, "--resource", resource, "--format", "json")
    files = json.loads(result.stdout)["files"]
    found = [
        (one["code"], one["cell"], one["value"], one["message"])
        for file in files
        for one in file["findings"]
    ]
    assert [file["rows"] for file in files] == [ROWS] * len(files)
    assert sum(file["errors"] for file in files) == 0, found[:5]
    assert len(found) <= 2, found[:12]
