"""Steps that process sent records: after the uploads, once, with their own consent."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from batch_parts import RunBatch, WritePlan, report, states, write_profile
from environment import Xlbridge

from xlbridge.sandbox import RunningSandbox

PLAN = """\
name: processed
steps:
  processar:
    process: pedidos
    records_of: pedidos
  pedidos:
    upload: pedidos.xlsx
    resource: pedido
"""


def write_orders(folder: Path, name: str, *remarks: str) -> Path:
    """Write an order of one product per remark."""
    book = openpyxl.Workbook()
    orders, products = book.active, book.create_sheet("produtos")
    assert orders is not None
    orders.title = "pedido"
    orders.append(["chave", "codigoDaFilial", "codigoDoCliente", "observacao"])
    products.append(["chave", "idProduto", "quantidade", "valorUnitario"])
    for number, remark in enumerate(remarks, start=1):
        orders.append([f"A-{number}", 1, 1001, remark])
        products.append([f"A-{number}", 2001, 2, 10.5])
    path = folder / name
    book.save(path)
    return path


def step_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    step: dict[str, Any] = next(one for one in found["steps"] if one["step"] == name)
    return step


def test_orders_are_processed_once_after_they_were_sent(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    write_orders(tmp_path, "pedidos.xlsx", "processed 1", "processed 2")
    asked = ("run", write_plan(PLAN), "--yes", "--format", "json")
    done = run_batch(*asked)
    found = report(done, 0)
    assert states(found) == {"pedidos": "done", "processar": "done"}
    step = step_of(found, "processar")
    assert (step["kind"], step["after"]) == ("process", ["pedidos"])
    assert (step["rows"]["read"], step["rows"]["accepted"]) == (2, 2)
    assert found["rows"]["read"] == 2
    again = report(run_batch(*asked), 0)
    assert step_of(again, "processar")["units"] == step["units"]


def test_processing_in_production_requires_the_token_of_exactly_these_records(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
) -> None:
    write_profile(home, "real", batch_sandbox, production=True)
    write_orders(tmp_path, "pedidos.xlsx", "production 1")
    plan = write_plan(f"profile: real\n{PLAN}")
    refused = xlbridge("batch", "run", plan)
    assert refused.returncode == 2
    token = refused.stderr.split("--confirm ")[1].split()[0]
    loaded = xlbridge("batch", "run", plan, "--confirm", token, "--format", "json")
    found = report(loaded, 1)
    assert states(found)["pedidos"] == "done"
    assert states(found)["processar"] != "done"
    own = loaded.stderr.split("confirmation")[-1].split()[-1]
    found = report(xlbridge("batch", "run", plan, "--confirm", own, "--format", "json"), 0)
    assert states(found)["processar"] == "done"


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{process: pedidos}", "write either records_of or file"),
        ("{process: pedidos, records_of: nobody}", "nobody"),
        ("{process: saida-estornar, records_of: pedidos}", "write file"),
        ("{process: clientes, file: a.xlsx}", "clientes"),
    ],
)
def test_mistakes_of_a_processing_step_are_reported(
    run_batch: RunBatch, write_plan: WritePlan, step: str, message: str
) -> None:
    refused = run_batch("run", write_plan(f"name: wrong\nsteps:\n  one: {step}\n"), "--yes")
    assert refused.returncode == 2
    assert message in refused.stderr
