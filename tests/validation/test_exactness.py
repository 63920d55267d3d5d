"""Ten thousand rows with one bad cell in a hundred: all are found, and no others."""

from pathlib import Path

from bad_sheet import write_sheet

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook


def test_every_bad_cell_is_found_and_none_is_invented(tmp_path: Path, catalogue: Catalogue) -> None:
    written = write_sheet(tmp_path / "bad.xlsx", rows=10_000, bad_share=0.01)
    validated = validate_workbook(written.path, catalogue)
    found = [finding.cell for finding in validated.findings]
    assert len(written.bad_cells) > 1_000
    assert set(found) == written.bad_cells
    assert len(found) == len(set(found))
    assert [f.row for f in validated.findings] == sorted(f.row or 0 for f in validated.findings)


def test_every_cell_is_found_in_a_sheet_of_bad_cells(tmp_path: Path, catalogue: Catalogue) -> None:
    written = write_sheet(tmp_path / "bad.xlsx", rows=300, bad_share=1.0)
    validated = validate_workbook(written.path, catalogue)
    assert {finding.cell for finding in validated.findings} == written.bad_cells
