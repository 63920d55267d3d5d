"""If a report cannot be written, it is printed with the error and the exit code."""

import json
from pathlib import Path

import openpyxl
import pytest
from environment import Xlbridge
from sheets import write_records


@pytest.mark.parametrize(("form", "sent", "code"), [("text", "J", 2), ("json", "X", 2)])
def test_a_validation_whose_report_cannot_be_written_is_reported(
    tmp_path: Path, xlbridge: Xlbridge, form: str, sent: str, code: int
) -> None:
    book = write_records(tmp_path / "c.xlsx", "cliente", [{"natureza": sent}])
    nowhere = tmp_path / "nowhere" / "report"
    done = xlbridge("validate", book, "--format", form, "-o", nowhere)
    assert done.returncode == code
    assert f"Cannot write {nowhere}" in done.stderr
    assert done.stdout == xlbridge("validate", book, "--format", form).stdout != ""


def test_report_is_printed_as_text_if_the_page_cannot_be_written(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    book = write_records(tmp_path / "c.xlsx", "cliente", [{"natureza": "X"}])
    refused = tmp_path / "refused.xlsx"
    refused.write_bytes(b"no workbook")
    done = xlbridge(
        "validate", book, refused, "--format", "html", "-o", tmp_path / "nowhere" / "page.html"
    )
    assert (done.returncode, "Cannot write" in done.stderr) == (3, True)
    assert "B2" in done.stdout
    assert "<html" not in done.stdout


@pytest.mark.parametrize("option", ["--fix", "--annotate"])
@pytest.mark.parametrize(("sent", "code"), [("J", 2), ("X", 2)])
def test_report_is_printed_if_the_copy_cannot_be_written(
    tmp_path: Path, xlbridge: Xlbridge, option: str, sent: str, code: int
) -> None:
    book = write_records(tmp_path / "c.xlsx", "cliente", [{"natureza": sent}])
    nowhere = tmp_path / "nowhere" / "copy.xlsx"
    done = xlbridge("validate", book, "--format", "json", option, nowhere)
    assert done.returncode == code
    assert f"Cannot write {nowhere}" in done.stderr
    assert "Create the folder" in done.stderr
    assert done.stdout == xlbridge("validate", book, "--format", "json").stdout != ""


def test_original_is_annotated_if_it_was_not_fixed(tmp_path: Path, xlbridge: Xlbridge) -> None:
    book = write_records(tmp_path / "c.xlsx", "cliente", [{"cpf": " 52998224725 "}])
    marked = tmp_path / "marked.xlsx"
    done = xlbridge(
        "validate", book, "--fix", tmp_path / "nowhere" / "f.xlsx", "--annotate", marked
    )
    assert done.returncode == 2
    assert "Nothing was fixed" in done.stderr
    assert "text-spaces" in done.stdout
    assert "text-spaces" in str(list(openpyxl.load_workbook(marked)["xlbridge"].values))


def test_a_batch_whose_page_of_findings_cannot_be_written_is_reported(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    write_records(tmp_path / "c.xlsx", "cliente", [{"natureza": "X"}])
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: a\nsteps: {c: {validate: c.xlsx, resource: cliente}}\n", "utf-8")
    (tmp_path / "a-proof-findings.html").mkdir()
    done = xlbridge("batch", "run", plan, "--format", "json")
    assert (done.returncode, "Cannot write" in done.stderr) == (2, True)
    found = json.loads(done.stdout)
    assert (found["steps"][0]["state"], found["findings_page"]) == ("invalid", None)
