"""A month with a person's mistakes in the plan, in its folder, and between runs."""

import shutil
from pathlib import Path

import pytest
from batch_parts import RunBatch, WritePlan, report, row_counts, states, write_clients
from upload_parts import new_cnpj

CLIENTS = "name: c\nsteps:\n  c: {upload: '%s', resource: cliente}\n"


@pytest.mark.parametrize(
    ("steps", "expected", "unexpected"),
    [
        ("c: {uplod: c.xlsx, resource: cliente}", "did you mean upload?", "steps.c.resource"),
        ("c: {upload: c.xlsx, resource: clientes}", "did you mean cliente?", "–"),
        (
            "c: {upload: c.xlsx, resource: cliente, after: d}",
            "no value is allowed here",
            "allowed here: .",
        ),
    ],
)
def test_a_suggestion_is_offered(
    run_batch: RunBatch, write_plan: WritePlan, steps: str, expected: str, unexpected: str
) -> None:
    done = run_batch("plan", write_plan(f"name: a\nsteps:\n  {steps}\n"))
    assert (done.returncode, expected in done.stderr, unexpected in done.stderr) == (2, True, False)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("cliente/*.xlsx", "there is no folder"),
        ("clientes/2026-11-*.xlsx", "there are: 2026-10-01.xlsx"),
        ("clientes/*/c.xlsx", "there are: 2026-10-01.xlsx"),
        ("clientes\\2026-10-01.xlsx", "write it with /: clientes/2026-10-01.xlsx"),
    ],
)
def test_the_folder_contents_are_reported_if_no_workbook_matches(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, pattern: str, expected: str
) -> None:
    (tmp_path / "clientes").mkdir()
    write_clients(tmp_path / "clientes", "2026-10-01.xlsx", [new_cnpj()])
    found = report(run_batch("plan", write_plan(CLIENTS % pattern), "--format", "json"), 1)
    problem = found["steps"][0]["problem"]
    assert (f"no workbook matches {pattern} (" in problem, expected in problem) == (True, True)


def test_a_batch_whose_plan_now_belongs_to_another_is_not_resumed(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(CLIENTS % "c.xlsx")
    write_clients(tmp_path, "c.xlsx", [new_cnpj()])
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    write_plan((CLIENTS % "c.xlsx").replace("name: c", "name: d"))
    for command in ("status", "resume", "proof"):
        done = run_batch(command, "c")
        assert (done.returncode, done.stdout) == (2, "")
        assert "now belongs to the batch d" in done.stderr
        assert "batch run plan.yaml" in done.stderr


def test_records_go_before_those_whose_lists_name_them(
    run_batch: RunBatch, write_plan: WritePlan
) -> None:
    plan = write_plan(
        "name: a\nsteps:\n  orders: {upload: o.xlsx, resource: pedido}\n"
        "  products: {upload: p.xlsx, resource: produto}\n"
    )
    found = report(run_batch("plan", plan, "--format", "json"), 1)
    assert list(states(found)) == ["products", "orders"]
    assert found["steps"][1]["after"] == ["products"]


def test_an_environment_without_a_name_leaves_no_folder_beside_the_proof(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(CLIENTS % "c.xlsx")
    write_clients(tmp_path, "c.xlsx", [new_cnpj()])
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith("c-")} == {
        "c-proof.html",
        "c-proof.xlsx",
    }


def test_each_month_is_a_batch_if_the_plan_has_a_month(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan("parameters: {month: 2026-10}\n" + CLIENTS % "c.xlsx")
    for month in ("2026-10", "2026-11"):
        write_clients(tmp_path, "c.xlsx", [new_cnpj()])
        found = report(run_batch("run", plan, "--month", month, "--yes", "--format", "json"), 0)
        assert (found["batch"], found["rows"]["accepted"]) == (f"c-{month}", 1)
    write_clients(tmp_path, "c.xlsx", [new_cnpj()])
    done = run_batch("resume", "c-2026-11", "--yes")
    assert (done.returncode, "✗ c  changed" in done.stdout) == (1, True)
    assert "Is it another month's?" in done.stdout
    assert "Next: fix the problems shown, then: xlbridge batch resume" in done.stdout


def test_sent_workbooks_of_a_removed_step_stay_in_the_batch(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    both = "name: a\nsteps:\n  c: {upload: c.xlsx, resource: cliente}\n"
    plan = write_plan(both + "  d: {upload: d.xlsx, resource: cliente}\n")
    for name in ("c.xlsx", "d.xlsx"):
        write_clients(tmp_path, name, [new_cnpj()])
    before = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    write_plan(both)
    found = report(run_batch("proof", "a", "--format", "json"), 0)
    assert found["rows"] == before["rows"] == row_counts(read=2, accepted=2)
    (proof,) = found["proofs"]
    assert (proof["rows"]["read"], proof["settled"]) == (2, True)
    assert "the step is no longer in the plan" in run_batch("status", "a").stdout
    # A step of another name that has the same workbook takes its place.
    write_plan(both + "  e: {upload: d.xlsx, resource: cliente}\n")
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert found["rows"] == row_counts(read=2, accepted=1, unchanged=1)
    assert list(states(found)) == ["c", "e"]


def test_a_plan_reports_errors_of_workbooks_to_correct(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(CLIENTS % "c.xlsx")
    write_clients(tmp_path, "c.xlsx", [])
    planned = run_batch("plan", plan)
    output = planned.stdout
    assert (planned.returncode, "✗ c  has errors" in output) == (1, True)
    assert "        The sheet has no data rows." in output
    assert "Next: fix the problems shown, then: xlbridge batch run plan.yaml" in output
    assert "        The sheet has no data rows." in run_batch("run", plan, "--yes").stdout


def test_a_workbook_of_two_steps_is_planned_and_sent_once(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(CLIENTS % "c.xlsx" + "  d: {upload: '*.xlsx', resource: cliente}\n")
    write_clients(tmp_path, "c.xlsx", [new_cnpj()])
    found = report(run_batch("plan", plan, "--format", "json"), 1)
    (first,), (second,) = (step["units"] for step in found["steps"])
    assert (first["state"], first["plan"]["create"]) == ("new", 1)
    assert (second["state"], second["plan"], second["rows"]["read"]) == ("held", None, 0)
    assert second["problem"].startswith("is already in the step c")
    refused = report(run_batch("run", plan, "--yes", "--all-or-nothing", "--format", "json"), 1)
    assert refused["rows"] == row_counts(read=1, unsent=1)
    done = run_batch("run", plan, "--yes", "--format", "json")
    assert report(done, 1)["rows"] == row_counts(read=1, accepted=1)
    assert "1 to create\n  confirmation: 1:" in done.stderr


def test_a_plan_checks_workbooks_against_one_another_like_a_run(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    plan = write_plan(
        "name: c\nsteps:\n  c: {upload: [c.xlsx, sub/../c.xlsx, copy.xlsx], resource: cliente}\n"
    )
    original = write_clients(tmp_path, "c.xlsx", [new_cnpj()])
    shutil.copy(original, tmp_path / "copy.xlsx")
    planned = report(run_batch("plan", plan, "--format", "json"), 1)
    first, second = planned["steps"][0]["units"]
    assert (first["name"], first["plan"]["create"]) == ("c.xlsx", 1)
    assert (second["name"], second["plan"], second["errors"]) == ("copy.xlsx", None, 1)
    assert "repeated" in second["findings"][0]
    done = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert done["steps"][0]["units"][1]["findings"] == second["findings"]


def test_consent_is_not_asked_for_steps_waiting_for_one_without_a_workbook(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        CLIENTS % "none.xlsx" + "  d: {upload: d.xlsx, resource: cliente, after: c}\n"
    )
    write_clients(tmp_path, "d.xlsx", [new_cnpj()])
    done = run_batch("run", plan)
    assert (done.returncode, "confirmation" in done.stderr) == (1, False)
    assert "✗ c  not sent" in done.stdout
    assert "d  waits for c" in done.stdout
