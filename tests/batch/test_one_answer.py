"""What became of a row is the same in every report, and consent names what is written."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from batch_parts import RunBatch, WritePlan, report, row_counts, states, token_of_both
from environment import Xlbridge, credentials
from sampling import every
from sheets import GOOD, column_of, write_records, write_workbook

from xlbridge.sandbox import RunningSandbox
from xlbridge.workbook import STATUS_COLUMNS

PLAN = """\
name: {name}
steps:
  contas:
    upload: {name}.xlsx
    resource: {resource}
"""


@pytest.fixture
def command(xlbridge: Xlbridge, batch_sandbox: RunningSandbox) -> Xlbridge:
    """Run a command against the batch's sandbox."""

    def run(*arguments: object, **environment: str) -> Any:
        settings = credentials(batch_sandbox, XLBRIDGE_SETTLE="0") | environment
        return xlbridge(*arguments, **settings)

    return run


def payables(name: str, count: int, *, wrong: int = 0) -> list[dict[str, object]]:
    """Return payables with documents of their own; the last ones have an unknown account."""
    return [
        {
            "numeroDoDocumento": f"{name}-{number}",
            "dataDeVencimento": "2026-12-01",
            "codigoDaContaCorrente": 99999 if number >= count - wrong else 1,
        }
        for number in range(count)
    ]


def statuses(path: Path) -> list[object]:
    """Return the states in the status column of a copy."""
    return column_of(path, STATUS_COLUMNS[0].pt)


@pytest.mark.parametrize("mode", every(3, ["records", "queue", "direct"]))
def test_an_undone_upload_is_undone_everywhere_and_may_be_sent_again(
    run_batch: RunBatch,
    write_plan: WritePlan,
    command: Xlbridge,
    tmp_path: Path,
    mode: str,
) -> None:
    plan = write_plan(PLAN.format(name="desfeitas", resource="contaspagar") + f"    mode: {mode}\n")
    write_records(tmp_path / "desfeitas.xlsx", "contaspagar", payables(f"DESF-{mode}", 4))
    first = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    [job] = first["steps"][0]["units"][0]["jobs"]
    undo = json.loads(command("undo", job, "--yes", "--format", "json").stdout)
    assert undo["rows"] == {"read": 4, "undone": 4, "left": 0, "unknown": 0}

    status = report(run_batch("status", "desfeitas", "--format", "json"), 1)
    assert status["rows"] == row_counts(read=4, undone=4)
    assert states(status) == {"contas": "partial"}
    text = run_batch("status", "desfeitas").stdout
    assert "4 undone" in text
    assert "complete" not in text

    shown = json.loads(command("jobs", job, "--format", "json").stdout)
    assert (shown["rows"]["accepted"], shown["rows"]["undone"]) == (0, 4)
    assert shown["undone"] == {"rows": 4, "by": undo["job"]}
    listed = next(
        one
        for one in json.loads(command("jobs", "--format", "json").stdout)["jobs"]
        if one["job"] == job
    )
    assert listed["rows"] == shown["rows"]
    copy = tmp_path / "copia.xlsx"
    assert command("jobs", job, "--annotate", copy, XLBRIDGE_LANG="pt-BR").returncode == 0
    assert statuses(copy) == ["desfeita"] * 4

    proof = report(run_batch("proof", "desfeitas", "--format", "json"), 1)["proofs"][0]
    assert proof["open"] == ["rows accepted, and undone since: 4"]
    assert not proof["settled"]

    # Rows that somebody has undone are not sent again without a word about them.
    refused = run_batch("run", plan, "--yes")
    assert refused.returncode == 2
    assert "4 rows were undone" in refused.stderr
    token = token_of_both(run_batch, plan)
    assert token.startswith("4:")
    again = report(run_batch("run", plan, "--confirm", token, "--format", "json"), 0)
    assert again["rows"] == row_counts(read=4, accepted=4)
    assert again["proofs"][0]["settled"]
    shown = json.loads(command("jobs", job, "--format", "json").stdout)
    assert (shown["rows"]["accepted"], shown["undone"]) == (4, None)


def test_a_processed_record_is_processed_in_every_report(
    run_batch: RunBatch, write_plan: WritePlan, command: Xlbridge, tmp_path: Path
) -> None:
    """A processing is one of the reports' jobs; it cannot be undone."""
    row = {"codigoDaFilial": 1, "codigoDoCliente": 1001, "observacao": "um só"}
    item = {"idProduto": 2001, "quantidade": 2, "valorUnitario": 10.5}
    write_workbook(
        tmp_path / "pedidos.xlsx",
        pedido=[{"chave": "A", **row}],
        produtos=[{"chave": "A", **item}],
    )
    plan = write_plan(
        PLAN.format(name="pedidos", resource="pedido")
        + "  processar: {process: pedidos, records_of: contas}\n"
    )
    done = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    status = report(run_batch("status", "pedidos", "--format", "json"), 0)
    assert states(status) == states(done) == {"contas": "done", "processar": "done"}
    for found in (done, status):
        [unit] = found["steps"][1]["units"]
        shown = json.loads(command("jobs", *unit["jobs"], "--format", "json").stdout)
        assert (unit["rows"]["read"], unit["rows"]["accepted"]) == (1, 1)
        assert (shown["rows"]["read"], shown["rows"]["processed"]) == (1, 1)
    jobs = json.loads(command("jobs", "--format", "json").stdout)["jobs"]
    [listed] = [one["rows"] for one in jobs if one["job"] in unit["jobs"]]
    assert (listed["read"], listed["accepted"]) == (1, 1)
    assert done["proofs"][0]["settled"]


def test_a_row_that_is_held_in_the_end_is_not_rejected_as_well(
    run_batch: RunBatch, write_plan: WritePlan, command: Xlbridge, tmp_path: Path
) -> None:
    existing = tmp_path / "antes.xlsx"
    row = {**GOOD["contasreceber"], "numeroDoDocumento": "RET-1"}
    write_records(existing, "contasreceber", [row])
    assert command("upload", existing, "--yes").returncode == 0

    plan = write_plan(PLAN.format(name="retida", resource="contasreceber"))
    wrong = {**row, "numeroDoDocumento": "RET-2", "codigoDaContaCorrente": 99999}
    write_records(tmp_path / "retida.xlsx", "contasreceber", [wrong])
    before = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert before["rows"] == row_counts(read=1, rejected=1)
    write_records(tmp_path / "retida.xlsx", "contasreceber", [{**row, "valorDoLancamento": 99.0}])
    done = run_batch("run", plan, "--yes", "--format", "json")
    found = report(done, 1)
    assert found["rows"] == row_counts(read=1, held=1)
    assert found["proofs"][0]["open"] == ["rows not sent, waiting for you: 1"]
    text = run_batch("status", "retida").stdout
    (line,) = [line for line in text.splitlines() if "-rejected-" in line]
    # Short enough for a terminal: no folders above the current one.
    assert re.fullmatch(r" +correct retida-rejected-\S+\.xlsx: 1 waiting for you", line)


def test_consent_names_the_rows_that_are_written(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    book = tmp_path / "parte.xlsx"
    plan = write_plan(PLAN.format(name="parte", resource="contaspagar") + "    mode: queue\n")
    write_records(book, "contaspagar", payables("PARTE", 8, wrong=2))
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert found["rows"] == row_counts(read=8, accepted=6, rejected=2)
    write_records(book, "contaspagar", payables("PARTE", 58))
    planned = report(run_batch("plan", plan, "--format", "json"), 1)
    [unit] = planned["steps"][0]["units"]
    assert (unit["plan"]["create"], unit["plan"]["unchanged"]) == (52, 6)
    assert planned["confirm"].startswith("52:")
    stale = run_batch("resume", "parte", "--confirm", f"2:{planned['confirm'][3:]}")
    assert stale.returncode == 2
    assert "52 to create" in stale.stderr
    done = run_batch("resume", "parte", "--confirm", planned["confirm"], "--format", "json")
    assert report(done, 0)["rows"] == row_counts(read=58, accepted=58)


def test_a_workbook_that_changes_after_its_plan_is_asked_about_again(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="mudou", resource="contaspagar"))
    write_records(tmp_path / "mudou.xlsx", "contaspagar", payables("MUDOU", 2))
    token = report(run_batch("plan", plan, "--format", "json"), 0)["confirm"]
    write_records(tmp_path / "mudou.xlsx", "contaspagar", payables("MUDOU", 3))
    refused = run_batch("run", plan, "--confirm", token)
    assert refused.returncode == 2
    assert "3 to create" in refused.stderr


def test_a_step_without_a_workbook_is_an_error_of_the_plan(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="falta", resource="contaspagar"))
    planned = run_batch("plan", plan)
    assert planned.returncode == 1
    assert "no workbook matches falta.xlsx" in planned.stdout
