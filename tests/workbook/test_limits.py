"""Limits of workbooks, which the environment can set."""

from dataclasses import fields
from pathlib import Path

import pytest
import xlsxwriter
from bad_sheet import write_sheet
from environment import ROOT

from xlbridge.errors import ConfigError, WorkbookRefused
from xlbridge.settings import WorkbookLimits, read_limits
from xlbridge.workbook.read import read_workbook

LIMITS = [field for field in fields(WorkbookLimits) if "variable" in field.metadata]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_each_limit_can_be_set_and_is_documented(limit: object) -> None:
    variable, unit = limit.metadata["variable"], limit.metadata["unit"]  # type: ignore[attr-defined]
    assert getattr(read_limits({variable: "7"}), limit.name) == 7 * unit  # type: ignore[attr-defined]
    page = (ROOT / "docs" / "how-to" / "integrator.md").read_text(encoding="utf-8")
    assert f"`{variable}`" in page


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "٣", "9" * 30])
def test_an_invalid_limit_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="XLBRIDGE_MAX_PARTS"):
        read_limits({"XLBRIDGE_MAX_PARTS": text})


def test_the_text_limit_grows_with_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "long.xlsx"
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        for row in range(3_000):
            sheet.write_string(row, 0, f"{row:0400}")
    (cells,) = read_workbook(path, WorkbookLimits(text_size=2**20, text_per_row=512)).sheets
    assert cells.row(2_999) == [f"{2_999:0400}"]
    with pytest.raises(WorkbookRefused, match="MB"):
        read_workbook(path, WorkbookLimits(text_size=2**20, text_per_row=8))


def test_progress_of_a_large_file_is_reported_and_can_stop_it(
    tmp_path: Path,
) -> None:
    path = write_sheet(tmp_path / "titulos.xlsx", 9_000, 0).path
    counts: list[int] = []
    read_workbook(path, WorkbookLimits(), on_rows=counts.append)
    assert counts == sorted(counts)
    assert len(counts) > 2
    assert counts[-1] == 9_001

    def stop(rows: int) -> None:
        raise KeyboardInterrupt(rows)

    with pytest.raises(KeyboardInterrupt, match=str(counts[0])):
        read_workbook(path, WorkbookLimits(), on_rows=stop)
