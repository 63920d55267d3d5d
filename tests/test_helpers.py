"""A helper process that cannot start is reported as such, without blaming a file."""

import sys
from operator import methodcaller
from pathlib import Path

import pytest

from xlbridge.errors import LocalFailure
from xlbridge.parallel import executor_for
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

EXITS_IMMEDIATELY = "#!/bin/sh\nexit 1\n"


@pytest.fixture(params=["missing", "exits immediately"])
def broken_python(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Interpreter that cannot start helpers."""
    program = tmp_path / "python"
    if request.param != "missing":
        program.write_text(EXITS_IMMEDIATELY, encoding="ascii")
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def test_failed_parser_start_does_not_blame_the_file(broken_python: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "large.csv"
    sheet.write_text("a;b\n" + "1;2\n" * 100_000, encoding="ascii")
    with pytest.raises(LocalFailure, match=r"did not start|não iniciou") as error:
        read_workbook(sheet, WorkbookLimits())
    assert str(broken_python) in error.value.message.en
    assert "Neither the file nor the data is at fault." in error.value.hint.en  # type: ignore[union-attr]


@pytest.mark.usefixtures("broken_python")
def test_failed_worker_start_does_not_blame_the_items() -> None:
    def work() -> list[object]:
        with executor_for([Path(name) for name in "abc"], 2, None) as executor:
            assert executor is not None
            return list(executor.run(methodcaller("upper"), ["a", "b", "c"]))

    with pytest.raises(LocalFailure, match=r"did not start|não iniciou"):
        work()
