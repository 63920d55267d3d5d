"""Files of a batch after a run: renamed workbooks and edited exports."""

from pathlib import Path

import pytest
from batch_parts import RunBatch, WritePlan, report, states, write_payables
from openpyxl import load_workbook
from sheets import data_sheet, header_of

PAYABLES = (
    "name: a\nsteps:\n  p:\n    upload: p*.xlsx\n    resource: contaspagar\n    mode: queue\n"
)


def test_a_workbook_that_was_renamed_after_it_was_sent_counts_once(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PAYABLES)
    sent = write_payables(tmp_path, "p-1.xlsx", 501, 501, account=99999)
    before = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    sent = sent.rename(tmp_path / "p-2.xlsx")
    found = report(run_batch("status", "a", "--format", "json"), 1)
    [unit] = found["steps"][0]["units"]
    assert (unit["name"], unit["state"]) == ("p-2.xlsx", "partial")
    assert found["rows"] == before["rows"]
    opened = load_workbook(sent)
    page = data_sheet(opened)
    column = header_of(page).index("codigoDaContaCorrente") + 1
    page.cell(3, column).value = 1
    opened.save(sent)
    found = report(run_batch("resume", "--yes", "--format", "json"), 0)
    assert (found["rows"]["read"], found["rows"]["accepted"]) == (2, 2)
    assert found["proofs"][0]["settled"]


def test_a_copy_of_a_workbook_that_was_sent_is_another_workbook(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PAYABLES)
    sent = write_payables(tmp_path, "p-1.xlsx", 501)
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    (tmp_path / "p-2.xlsx").write_bytes(sent.read_bytes())
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert [unit["state"] for unit in found["steps"][0]["units"]] == ["done", "done"]
    assert (found["rows"]["accepted"], found["rows"]["unchanged"]) == (1, 1)


EXPORT = """\
name: a
steps:
  out:
    export: tipos-compra
    output: out.{form}
    manifest: out.json
"""


@pytest.mark.parametrize("form", ["xlsx", "csv"])
def test_an_edited_export_is_reported_and_not_overwritten(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, form: str
) -> None:
    plan = write_plan(EXPORT.format(form=form))
    assert states(report(run_batch("run", plan, "--format", "json"), 0)) == {"out": "done"}
    [written] = tmp_path.glob(f"out*.{form}")
    edited = written.read_bytes() + b" "
    written.write_bytes(edited)
    status = run_batch("status", "a")
    assert status.returncode == 1
    assert f"{written.name} was changed after it was exported" in status.stdout
    assert states(report(run_batch("run", plan, "--format", "json"), 1)) == {"out": "edited"}
    assert written.read_bytes() == edited
    proof = report(run_batch("proof", "--format", "json"), 1)["proofs"][0]
    assert "was changed after it was exported" in proof["open"][0]
    written.rename(tmp_path / "mine")
    assert states(report(run_batch("run", plan, "--format", "json"), 0)) == {"out": "done"}
    assert written.exists()


def test_a_manifest_that_the_plan_asks_for_later_is_written(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    with_manifest = EXPORT.format(form="xlsx")
    plan = write_plan(with_manifest.replace("    manifest: out.json\n", ""))
    assert states(report(run_batch("run", plan, "--format", "json"), 0)) == {"out": "done"}
    write_plan(with_manifest)
    assert states(report(run_batch("run", plan, "--format", "json"), 0)) == {"out": "done"}
    assert (tmp_path / "out.json").exists()
