"""The table of what sheets write has no hole that nobody explains, and names what is there."""

from pathlib import Path

import pytest
import sheets_table
from environment import ROOT
from sheets_table import Row, explanations, rows

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation.name)
def test_each_operation_has_a_sheet_or_a_reason(row: Row) -> None:
    assert bool(row.sheets) + bool(row.process) + row.explained == 1
    for sheet in row.sheets:
        assert sheet.template.is_file()
        assert all(path.is_file() for path in sheet.samples)
        assert any("com-erros" in path.name for path in sheet.samples)
        assert len(sheet.tests) >= 2


def test_only_operations_are_explained() -> None:
    assert explanations() == {row.operation.name for row in ROWS if row.explained}


def test_every_list_of_a_record_has_a_sample() -> None:
    named = {path.name for row in ROWS for sheet in row.sheets for path in sheet.samples}
    assert {"contasreceber-com-rateio.xlsx", "pedido.xlsx", "pedido-com-erros.xlsx"} <= named


def test_the_files_of_the_named_tests_are_there() -> None:
    tests = (sheets_table.CREATION_TEST, sheets_table.GOOD_TEST, sheets_table.BAD_TEST)
    for test in tests:
        file, _, function = test.partition("::")
        assert f"def {function}(" in Path(ROOT / file).read_text(encoding="utf-8")
