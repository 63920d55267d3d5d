"""``validate --fix``: output of the command, and protection of the input."""

import json
from pathlib import Path

import openpyxl
import pytest
from environment import Xlbridge
from sheets import write_records

CR = "contasreceber"


def test_command_reports_changes_and_remaining_findings(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"valorDoLancamento": "1.234,56"}, {}])
    before = path.read_bytes()
    done = xlbridge("validate", path, "--fix", "b.xlsx", "--format", "json")
    (report,) = json.loads(done.stdout)["files"]
    assert (done.returncode, report["file"], report["findings"]) == (0, str(path), [])
    assert report["fixed"]["file"] == "b.xlsx"
    assert [change["cell"] for change in report["fixed"]["changes"]] == ["I2"]
    assert path.read_bytes() == before
    write_records(path, CR, [{"valorDoLancamento": "1.234", "historico": " x"}])
    done = xlbridge("validate", path, "--fix", "c.xlsx", XLBRIDGE_LANG="pt-BR")
    assert done.returncode == 1
    assert "F2 historico: ' x' → 'x'" in done.stdout
    assert "number-ambiguous" in done.stdout


def test_annotate_marks_the_fixed_copy(tmp_path: Path, xlbridge: Xlbridge) -> None:
    changes = {"valorDoLancamento": "1.234", "historico": "  com espaço "}
    path = write_records(tmp_path / "a.xlsx", CR, [changes])
    done = xlbridge("validate", path, "--fix", "b.xlsx", "--annotate", "c.xlsx")
    assert done.returncode == 1
    book = openpyxl.load_workbook(tmp_path / "c.xlsx")
    sheet = book["Plan1"]
    assert (sheet["F2"].value, sheet["F2"].comment) == ("com espaço", None)
    assert sheet["I2"].value == "1.234"
    assert "number-ambiguous" in [row[6] for row in book["xlbridge"].iter_rows(values_only=True)]
    assert "b.xlsx" in book["xlbridge"]["A2"].value


@pytest.mark.parametrize(
    "arguments", [["--fix", "a.xlsx"], ["a.xlsx", "--fix", "b.xlsx"], ["--fix", "."]]
)
def test_input_is_never_overwritten(
    tmp_path: Path, xlbridge: Xlbridge, arguments: list[str]
) -> None:
    path = write_records(tmp_path / "a.xlsx", CR, [{"historico": " x"}])
    before = path.read_bytes()
    assert xlbridge("validate", path, *arguments).returncode == 2
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["a.xlsx"]
