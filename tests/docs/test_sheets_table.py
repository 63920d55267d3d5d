"""The table of sheets is complete or gives reasons, and names existing tests and samples."""

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import sheets_table
from environment import ROOT
from exercised import note_answer, was_carried_out
from sheets_table import Row, explanations, rows

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation.name)
def test_each_operation_has_a_sheet_or_a_reason(row: Row) -> None:
    assert bool(row.sheets) + bool(row.process) + row.explained == 1
    for sheet in row.sheets:
        assert sheet.template.is_file()
        assert all(path.is_file() for path in sheet.samples)
        assert any("com-erros" in path.name for path in sheet.samples)


def test_only_operations_are_explained() -> None:
    assert explanations() == {row.operation.name for row in ROWS if row.explained}


def test_every_list_of_a_record_has_a_sample() -> None:
    named = {path.name for row in ROWS for sheet in row.sheets for path in sheet.samples}
    assert {"contasreceber-com-rateio.xlsx", "pedido.xlsx", "pedido-com-erros.xlsx"} <= named


@cache
def module_of(file: str) -> ModuleType:
    """Import a test module under a unique name."""
    folder = str((ROOT / file).parent)
    if folder not in sys.path:
        sys.path.append(folder)
    spec = spec_from_file_location(f"named_{Path(file).stem}", ROOT / file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def marked_operations(test: str) -> set[str]:
    """Return the operations that a test (by node id) is marked to exercise."""
    file, _, rest = test.partition("::")
    function, _, case = rest.removesuffix("]").partition("[")
    marks = list(getattr(module_of(file), function).pytestmark)
    cases = [one for mark in marks if mark.name == "parametrize" for one in mark.args[1]]
    chosen = [one for one in cases if getattr(one, "id", None) == case]
    assert len(chosen) == (1 if case else 0), f"there is no {test}"
    marks += [mark for one in chosen for mark in one.marks]
    return {name for mark in marks if mark.name == "exercises" for name in mark.args}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.operation.name)
def test_named_tests_are_marked_with_the_operation(row: Row) -> None:
    assert bool(row.exercises) != row.explained
    for test in row.exercises:
        assert row.operation.name in marked_operations(test)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v2/faturamento/pedido", 200),
        ("GET", "/v2/faturamento/pedido/processar/7", 200),
        ("POST", "/v2/faturamento/pedido/processar/7", 400),
    ],
)
def test_only_accepted_requests_exercise_their_operation(
    method: str, path: str, status: int
) -> None:
    note_answer(method, path, status)
    assert not was_carried_out("sales.orders.process")
    note_answer("POST", "/v2/faturamento/pedido/processar/7?x=1", 200)
    assert was_carried_out("sales.orders.process")


@pytest.mark.parametrize("test", [sheets_table.GOOD_TEST, sheets_table.BAD_TEST])
def test_samples_in_the_table_are_validated(test: str) -> None:
    file, _, function = test.partition("::")
    (mark,) = getattr(module_of(file), function).pytestmark
    validated = {mark.kwargs["ids"](one) for one in mark.args[1]}
    named = {one for row in ROWS for sheet in row.sheets for one in sheet.tests if test in one}
    assert {one.rpartition("[")[2].removesuffix("]") for one in named} <= validated


def test_no_cell_of_the_table_is_empty() -> None:
    table = [line for line in sheets_table.sheets() if line.startswith("| [")]
    assert len(table) == len(ROWS)
    assert all(cell.strip() for line in table for cell in line.strip("|").split(" | "))
