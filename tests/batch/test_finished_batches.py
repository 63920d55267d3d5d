"""A finished batch is left as it is, and proven if its proof is missing."""

import os
from pathlib import Path

from batch_parts import PLAN, RunBatch, WritePlan, report, write_clients, write_payables
from upload_parts import new_cnpj


def test_resuming_a_finished_batch_prints_nothing_to_mail(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    write_payables(tmp_path, "payables.xlsx", 501)
    done = run_batch("run", write_plan(PLAN), "--yes")
    assert (done.returncode, "The batch month is complete." in done.stdout) == (0, True)
    again = run_batch("resume", "--yes")
    assert (again.returncode, again.stdout) == (0, "")
    assert again.stderr.endswith(
        "The batch month is complete; nothing is left to do. "
        "Its status: xlbridge batch status month\n"
    )
    assert report(run_batch("resume", "--yes", "--format", "json"), 0)["done"]
    write_clients(tmp_path, "clients-2.xlsx", [new_cnpj()])
    late = run_batch("resume", "--yes")
    assert (late.returncode, "Rows: 3 = 3 accepted" in late.stdout) == (0, True), late.stderr


def test_a_proof_that_could_not_be_written_is_written_by_the_next_run(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    write_payables(tmp_path, "payables.xlsx", 501)
    assert run_batch("run", write_plan(PLAN), "--yes").returncode == 0
    page = tmp_path / "month-proof.html"
    page.unlink()
    again = run_batch("resume", "--yes")
    assert (again.returncode, "keep the closing proof" in again.stdout) == (0, True), again.stderr
    assert page.is_file()
    os.utime(page, (0, 0))  # left by an earlier run, before the last upload
    (proof,) = report(run_batch("resume", "--yes", "--format", "json"), 0)["proofs"]
    assert (proof["settled"], page.stat().st_mtime > 0) == (True, True)
    assert report(run_batch("resume", "--yes", "--format", "json"), 0)["proofs"] == []
