"""A batch resumes with corrected rows, and not with other changes, after rows were sent."""

from pathlib import Path

from batch_parts import (
    PLAN,
    RunBatch,
    WritePlan,
    report,
    row_counts,
    states,
    write_clients,
    write_payables,
)
from openpyxl import load_workbook
from sheets import data_sheet, edit
from upload_parts import new_cnpj

PAYABLES = """\
name: p
steps:
  p:
    upload: p.xlsx
    resource: contaspagar
    mode: queue
"""


def test_rejected_rows_are_sent_again_once_they_are_corrected(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    """``test_same_plan.py`` corrects them in the rejects workbook."""
    plan = write_plan(PLAN.replace("after: clients", "mode: direct", 1))
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    book = write_payables(tmp_path, "payables.xlsx", 501, 501, 501, account=99999)
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert states(found)["payables"] == "partial"
    rows = found["steps"][1]["rows"]
    assert (rows["accepted"] + rows["rejected"], rows["rejected"] > 0) == (3, True)
    write_payables(tmp_path, book.name, 501, 501, 501)
    found = report(run_batch("resume", "--yes", "--format", "json"), 0)
    assert found["steps"][1]["rows"] == row_counts(read=3, accepted=3)


def test_a_corrected_workbook_may_be_formatted_differently(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PAYABLES)
    book = write_payables(tmp_path, "p.xlsx", 501, 501, account=99999)
    assert states(report(run_batch("run", plan, "--yes", "--format", "json"), 1)) == {
        "p": "partial"
    }
    write_payables(tmp_path, book.name, 501, 501)
    assert states(report(run_batch("run", plan, "--yes", "--format", "json"), 0)) == {"p": "done"}
    opened = load_workbook(book)
    data_sheet(opened).column_dimensions["A"].width = 40
    opened.save(book)
    assert states(report(run_batch("run", plan, "--yes", "--format", "json"), 0)) == {"p": "done"}


def test_a_workbook_that_was_changed_after_it_was_sent_is_not_sent_again(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan("name: a\nsteps:\n  p:\n    upload: p.xlsx\n    resource: contaspagar\n")
    book = write_payables(tmp_path, "p.xlsx", 501)
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    opened = load_workbook(book)
    data_sheet(opened).column_dimensions["A"].width = 40
    opened.save(book)
    assert states(report(run_batch("run", plan, "--yes", "--format", "json"), 0)) == {"p": "done"}
    write_payables(tmp_path, "p.xlsx", 501, 501)
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert states(found) == {"p": "changed"}
    assert "was changed after it was sent" in found["proofs"][0]["open"][0]
    assert found["rows"]["accepted"] == 1
    assert "was changed after it was sent" in found["steps"][0]["units"][0]["problem"]


def test_a_workbook_that_vanished_after_it_was_sent_still_counts(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        "name: a\nsteps:\n  p:\n    upload: p*.xlsx\n    resource: contaspagar\n    mode: queue\n"
    )
    done, partial = (
        write_payables(tmp_path, f"p-{new_cnpj()}.xlsx", 501, 501, account=account)
        for account in (1, 99999)
    )
    before = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    done.unlink()
    partial.unlink()
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert found["rows"] == before["rows"]
    assert [unit["state"] for unit in found["steps"][0]["units"]] == ["done", "partial"]
    assert "is gone" in found["steps"][0]["units"][1]["problem"]
    (rejects,) = tmp_path.glob("p-*rej*.xlsx")
    edit(rejects, "codigoDaContaCorrente", 2, 1)
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert found["rows"]["accepted"] == 4
    assert found["proofs"][0]["settled"]
