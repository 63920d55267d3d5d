"""Closing proof by the real command: verified rows, and keys that the system has twice."""

import subprocess
from datetime import date
from pathlib import Path
from typing import Any

from batch_parts import RunBatch, WritePlan, report
from openpyxl import load_workbook
from sheets import write_records, write_workbook
from upload_parts import new_cnpj

from xlbridge.client import Client

PLAN = """\
name: {name}
steps:
  receber:
    upload: {name}-*.xlsx
    resource: contasreceber
"""


def title(document: str | None, **changes: Any) -> dict[str, Any]:
    row = {"codigoDoCliente": 1001, "numeroDoDocumento": document, "valorDoLancamento": 1000.5}
    return row | {"dataDeVencimento": date(2026, 10, 31)} | changes


def proof_line(done: "subprocess.CompletedProcess[str]") -> str:
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Closing proof: ")]
    return line.removeprefix("Closing proof: ")


def post_title(client: Client, document: str, **changes: Any) -> None:
    """Register a title outside the batch, like a person or another program."""
    fields = title(document, historico="Typed by hand") | changes
    client.financial.receivables.create(
        codigoDaFilial=1,
        codigoDoItemDeLancamento="1.01.001",
        codigoDoCentroDeCusto="01.001",
        codigoDaContaCorrente=1,
        dataDeEmissao=date(2026, 10, 1),
        **fields,
    )


def test_a_title_that_another_program_duplicated_is_open(
    run_batch: RunBatch, write_plan: WritePlan, client: Client, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="late"))
    rows = [title(f"PROVED-{number}") for number in range(3)]
    write_records(tmp_path / "late-a.xlsx", "contasreceber", rows)
    good = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    (proof,) = good["proofs"]
    assert (proof["settled"], proof["state"]) == (True, "verified")
    assert proof["rows"] == {"read": 3, "read_back": 3}
    assert [each["amount_read_back"] for each in proof["resources"]] == ["3001.50"]
    for number in range(3):
        post_title(client, f"PROVED-{number}")
    twice = report(run_batch("proof", "late", "--format", "json"), 1)["proofs"][0]
    assert not twice["settled"]
    assert twice["open"][0] == "accepted rows that are in the system more than once: 3"
    post_title(client, "PROVED-0", valorDoLancamento=7)
    text = run_batch("proof", "late")
    assert text.returncode == 1
    assert "is in the system once" not in text.stdout


def test_a_second_title_is_found_although_the_first_has_its_own_identifier(
    run_batch: RunBatch, write_plan: WritePlan, client: Client, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="own"))
    rows = [title("OWN-1", idws="OWN-ID-1"), title("OWN-2", idws="OWN-ID-2")]
    write_records(tmp_path / "own-a.xlsx", "contasreceber", rows)
    report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    post_title(client, "OWN-2")
    found = report(run_batch("proof", "own", "--format", "json"), 1)["proofs"][0]
    assert found["open"][0] == "accepted rows that are in the system more than once: 1"


def test_titles_of_one_document_with_different_due_dates_are_not_repeats(
    run_batch: RunBatch, write_plan: WritePlan, client: Client, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="parts"))
    dates = [date(2026, month, 28) for month in (10, 11)]
    rows = [title("PARTS", dataDeVencimento=due) for due in dates]
    write_records(tmp_path / "parts-a.xlsx", "contasreceber", rows)
    post_title(client, "PARTS", dataDeVencimento=date(2026, 12, 28))
    assert report(run_batch("run", plan, "--yes", "--format", "json"), 0)["proofs"][0]["settled"]


def test_the_headline_counts_the_rows_read_back(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="half"))
    rows = [title("HALF-1"), title(None), title(None, historico="Another without a number")]
    write_records(tmp_path / "half-a.xlsx", "contasreceber", rows)
    done = run_batch("run", plan, "--yes")
    assert done.returncode == 0, done.stderr
    assert proof_line(done).startswith(
        "1 of 3 rows read back, each in the system once. For the rest (2),"
    )
    assert (
        "  Receivable entries: 3 rows accepted, read back: 1 · R$ 3,001.50 sent and accepted, "
        "R$ 1,000.50 read back\n"
    ) in done.stdout
    (proof,) = report(run_batch("proof", "half", "--format", "json"), 0)["proofs"]
    assert (proof["state"], proof["rows"]) == ("partly_verified", {"read": 3, "read_back": 1})


def test_an_amount_that_cannot_be_read_back_is_not_reported_as_zero(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="none"))
    write_records(tmp_path / "none-a.xlsx", "contasreceber", [title(None)])
    done = run_batch("run", plan, "--yes")
    assert (
        "read back: 0 · R$ 1,000.50 sent and accepted, not returned by the system\n" in done.stdout
    )


def test_empty_cells_count_as_what_they_stand_for(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        "name: blank\nsteps:\n"
        "  fornecedores: {upload: blank-a.xlsx, resource: fornecedor}\n"
        "  clientes: {upload: blank-b.xlsx, resource: cliente}\n"
    )
    parties = [
        {"nomeComercial": name, "natureza": nature, "cnpj": new_cnpj()}
        for name, nature in (("Vale Verde", None), ("Rio Claro", "J"))
    ]
    write_workbook(tmp_path / "blank-a.xlsx", Plan1=parties)
    clients = [party | {"cnpj": new_cnpj(), "codigoDoTipoDeCliente": None} for party in parties]
    write_workbook(tmp_path / "blank-b.xlsx", Plan1=clients)
    (proof,) = report(run_batch("run", plan, "--yes", "--format", "json"), 0)["proofs"]
    assert (proof["open"], proof["state"]) == ([], "verified")
    lines = [*load_workbook(proof["workbook"])["Control totals"].values]
    assert [line for line in lines if line[0] == "J"] == [("J", 2, 0, 2, 0)]
