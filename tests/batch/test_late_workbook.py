"""A workbook added late to a batch: existing records are not added again."""

from pathlib import Path
from typing import Any

from batch_parts import RunBatch, WritePlan, report
from openpyxl import load_workbook
from sheets import GOOD, edit, write_rows

from xlbridge.client import Client

PLAN = "name: {name}\nsteps:\n  receber:\n    upload: {files}\n    resource: contasreceber\n"


def write_titles(folder: Path, name: str, label: str, documents: range, history: str) -> Path:
    """Write a title per document number, which determines its date and amount."""
    row = {
        **GOOD["contasreceber"],
        "numeroDoDocumento": "",
        "dataDeVencimento": "30/11/2026",
        "valorDoLancamento": 0.0,
        "historico": "",
    }
    row.pop("idws", None)
    rows = [
        [
            *{
                **row,
                "numeroDoDocumento": f"{label}-{number:03d}",
                "valorDoLancamento": 100.0 + number,
                "historico": f"{history} {number}",
            }.values()
        ]
        for number in documents
    ]
    return write_rows(folder / name, [*row], rows)


def titles(client: Client, label: str) -> list[str]:
    """Return the histories of the open titles whose documents start with a label."""
    found = client.financial.receivables.list_open()
    return [t.historico for t in found if str(t.numeroDoDocumento).startswith(f"{label}-")]


def test_a_late_workbook_with_the_same_keys_is_held(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(PLAN.format(name="late", files="2026-10-*.xlsx"))
    write_titles(tmp_path, "2026-10-a.xlsx", "LATE", range(3), "Mensalidade")
    first = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert (first["rows"]["accepted"], first["proofs"][0]["settled"]) == (3, True)
    write_titles(tmp_path, "2026-10-b.xlsx", "LATE", range(3), "Outro texto")
    planned = run_batch("plan", plan).stdout
    assert "row 2, historico: sheet 'Outro texto 0', system 'Mensalidade 0'" in planned
    assert "Rows: 6 = 3 accepted + 3 not sent" in planned
    for verb in ("run", "resume"):
        arguments = [plan] if verb == "run" else []
        again = report(run_batch(verb, *arguments, "--yes", "--format", "json"), 1)
        assert [unit["state"] for unit in again["steps"][0]["units"]] == ["done", "partial"]
        assert (again["rows"]["accepted"], again["rows"]["held"]) == (3, 3)
        assert not again["proofs"][0]["settled"]
    proof = load_workbook(again["proofs"][0]["workbook"])
    assert "read 6 · 3 accepted · 0 unchanged · 3 waiting for you · 0 rejected" in str(
        [*proof.active.values]
    )
    (*_, reason) = list(proof["Rejected, and waiting for you"].values)[-1]
    assert reason == (
        "in the system with other values, which the interface cannot change (Description: sheet "
        "'Outro texto 2', system 'Mensalidade 2')"
    )
    assert sorted(titles(client, "LATE")) == [f"Mensalidade {number}" for number in range(3)]


def test_unchanged_held_rows_create_no_further_job(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="again", files="again-*.xlsx"))
    write_titles(tmp_path, "again-a.xlsx", "AGAIN", range(2), "Mensalidade")
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    late = write_titles(tmp_path, "again-b.xlsx", "AGAIN", range(2), "Outro texto")

    def run(code: int = 1) -> tuple[int, int, int]:
        """Run the batch; return the late workbook's jobs, its held rows and its rejects."""
        units = report(run_batch("run", plan, "--yes", "--format", "json"), code)
        unit = units["steps"][0]["units"][1]
        rejects = list(tmp_path.glob("again-b-rejected-*.xlsx"))
        return len(unit["jobs"]), unit["rows"]["held"], len(rejects)

    assert [run(), run()] == [(1, 2, 1)] * 2
    # The text differs once more: the evidence is written anew, once.
    write_titles(tmp_path, late.name, "AGAIN", range(2), "Mais um texto")
    assert [run(), run()] == [(2, 2, 2)] * 2
    write_titles(tmp_path, late.name, "AGAIN", range(2, 4), "Mensalidade")
    assert run(0)[1] == 0


def test_a_late_workbook_with_the_same_rows_is_unchanged(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(PLAN.format(name="same", files="same-*.xlsx"))
    write_titles(tmp_path, "same-a.xlsx", "SAME", range(3), "Mensalidade")
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    write_titles(tmp_path, "same-b.xlsx", "SAME", range(5), "Mensalidade")
    done: dict[str, Any] = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert (done["rows"]["accepted"], done["rows"]["unchanged"]) == (5, 3)
    assert done["proofs"][0]["settled"]
    assert len(titles(client, "SAME")) == 5


def test_held_rows_stop_the_steps_that_depend_on_theirs(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(
        PLAN.format(name="deps", files="deps-*.xlsx")
        + "  depois:\n    upload: after.xlsx\n    resource: contasreceber\n    after: [receber]\n"
    )
    write_titles(tmp_path, "deps-a.xlsx", "DEPS", range(2), "Mensalidade")
    report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    write_titles(tmp_path, "deps-b.xlsx", "DEPS", range(2), "Outro texto")
    write_titles(tmp_path, "after.xlsx", "AFTER", range(1), "Depois")
    held = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert [step["state"] for step in held["steps"]][1] != "done"
    assert titles(client, "AFTER") == []


def test_held_rows_corrected_in_the_rejects_workbook_are_sent(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(PLAN.format(name="mend", files="mend-*.xlsx"))
    write_titles(tmp_path, "mend-a.xlsx", "MEND", range(1), "Mensalidade")
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    write_titles(tmp_path, "mend-b.xlsx", "MEND", range(1), "Outro texto")
    report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    (written,) = tmp_path.glob("mend-b-rejected-*.xlsx")
    # Whatever its name is, it is no further workbook of the plan.
    rejects = written.rename(tmp_path / "mend-c.xlsx")
    (step,) = report(run_batch("plan", plan, "--format", "json"), 1)["steps"]
    assert [unit["name"] for unit in step["units"]] == ["mend-a.xlsx", "mend-b.xlsx"]
    rejects.rename(written)
    edit(written, "numeroDoDocumento", 2, "MEND-901")
    done = report(run_batch("resume", "--yes", "--format", "json"), 0)
    assert (done["rows"]["accepted"], done["rows"]["held"]) == (2, 0)
    assert len(titles(client, "MEND")) == 2


def test_the_plan_of_a_batch_names_the_actions_without_sending(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(PLAN.format(name="ask", files="ask-*.xlsx"))
    write_titles(tmp_path, "ask-a.xlsx", "ASK", range(3), "Mensalidade")
    (unit,) = report(run_batch("plan", plan, "--format", "json"), 0)["steps"][0]["units"]
    assert unit["plan"] == {"create": 3, "update": 0, "unchanged": 0, "held": 0, "unread": 0}
    assert titles(client, "ASK") == []
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    write_titles(tmp_path, "ask-b.xlsx", "ASK", range(2, 5), "Mensalidade")
    units = report(run_batch("plan", plan, "--format", "json"), 0)["steps"][0]["units"]
    assert units[1]["plan"] == {"create": 2, "update": 0, "unchanged": 1, "held": 0, "unread": 0}
    shown = run_batch("plan", plan).stdout
    assert "2 to create" in shown
    assert "1 unchanged" in shown
    assert len(titles(client, "ASK")) == 3


def test_a_row_of_totals_is_left_out_and_stops_nothing(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    plan = write_plan(PLAN.format(name="sum", files="sum-*.xlsx"))
    path = write_titles(tmp_path, "sum-a.xlsx", "SUM", range(3), "Mensalidade")
    edit(edit(path, "historico", 5, "TOTAL"), "valorDoLancamento", 5, 303.0)
    done = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert (done["rows"]["read"], done["rows"]["accepted"]) == (3, 3)
    assert done["proofs"][0]["settled"]
    assert len(titles(client, "SUM")) == 3
