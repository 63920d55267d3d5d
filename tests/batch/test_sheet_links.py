"""Links to a column of another workbook of the batch: checked before anything is sent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from batch_parts import RunBatch, WritePlan, report, states
from sheets import write_records, write_rows, write_workbook
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.resources.references import REFERENCES

PLAN = """\
name: {name}
steps:
  clients:
    upload: clients*.xlsx
    resource: cliente
    mode: records
  titles:
    upload: titles.xlsx
    resource: contasreceber
    links: {{codigoDoCliente: "clients*.xlsx#seuCodigo"}}
"""


def write_clients(path: Path, codes: Sequence[str]) -> None:
    rows = [[code, new_cnpj(), code] for code in codes]
    write_rows(path, ["nomeComercial", "cnpj", "seuCodigo"], rows)


def write_titles(path: Path, named: Sequence[object], amount: int = 10) -> None:
    titles = [
        {"codigoDoCliente": one, "valorDoLancamento": amount + n} for n, one in enumerate(named)
    ]
    write_records(path, "contasreceber", titles)


def own_codes(client: Client, label: str) -> set[str]:
    records = Registries(client).load_all(REFERENCES["cliente"]).records
    return {code for one in records if (code := str(one.get("seuCodigo"))).startswith(label)}


def unit_of(found: dict[str, Any], step: str) -> dict[str, Any]:
    [unit] = next(one["units"] for one in found["steps"] if one["step"] == step)
    return dict(unit)


@pytest.mark.parametrize("option", [(), ("--all-or-nothing",)])
def test_unknown_values_are_all_reported_before_the_other_workbook_is_sent(
    run_batch: RunBatch,
    write_plan: WritePlan,
    tmp_path: Path,
    client: Client,
    option: tuple[str, ...],
) -> None:
    label = f"SL{len(option)}"
    write_clients(tmp_path / "clients.xlsx", [f"{label}-{n}" for n in range(5)])
    wrong = [f"{label}-{n}" for n in (7, 8, 9)]
    write_titles(tmp_path / "titles.xlsx", [f"{label}-1", *wrong, f"{label}-4", "nobody"])
    plan = write_plan(PLAN.format(name=f"bad-links-{label.lower()}"))
    planned = unit_of(report(run_batch("plan", plan, "--format", "json"), 1), "titles")
    assert (planned["state"], planned["errors"]) == ("invalid", 4)
    [first, *_] = planned["findings"]
    assert first == "B3 codigoDoCliente: No row of clients*.xlsx has this value in seuCodigo."
    found = report(run_batch("run", plan, "--yes", *option, "--format", "json"), 1)
    assert (unit_of(found, "titles")["errors"], unit_of(found, "titles")["jobs"]) == (4, [])
    page = Path(found["findings_page"]).read_text(encoding="utf-8")
    assert all(value in page for value in (*wrong, "nobody"))
    # Without the option the other workbook is sent, as it has no errors of its own.
    sent = set() if option else {f"{label}-{n}" for n in range(5)}
    assert own_codes(client, label) == sent


def test_known_values_are_sent_after_the_rows_that_they_name(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.format(name="good-links"))
    write_clients(tmp_path / "clients.xlsx", ["GL-1", "GL-2"])
    write_titles(tmp_path / "titles.xlsx", ["GL-2", "GL-1"])
    planned = report(run_batch("plan", plan, "--format", "json"), 0)
    assert states(planned) == {"clients": "new", "titles": "new"}
    assert report(run_batch("run", plan, "--yes", "--format", "json"), 0)["rows"]["accepted"] == 4
    # A workbook that was sent before counts too, beside one that is new.
    write_clients(tmp_path / "clients-2.xlsx", ["GL-3"])
    write_titles(tmp_path / "more.xlsx", ["GL-3", "GL-1"], 50)
    more = (
        "  more:\n    upload: more.xlsx\n    resource: contasreceber\n    links: {{{}}}\n".format(
            'codigoDoCliente: "clients*.xlsx#seuCodigo"'
        )
    )
    write_plan(PLAN.format(name="good-links") + more)
    assert states(report(run_batch("plan", plan, "--format", "json"), 0))["more"] == "new"
    assert report(run_batch("run", plan, "--yes", "--format", "json"), 0)["rows"]["accepted"] == 7


@pytest.mark.parametrize(
    ("amount", "header"),
    [(71, "Código do cliente (do sistema)"), (81, "Client code (the system's)")],
)
def test_rows_are_named_by_the_numbers_of_an_export_from_another_system(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, amount: int, header: str
) -> None:
    rows = [["Ana", new_cnpj(), 9901], ["Rita", new_cnpj(), 9902]]
    write_rows(tmp_path / "clients.xlsx", ["Nome comercial", "CNPJ", header], rows)
    write_titles(tmp_path / "titles.xlsx", [9902, 9901], amount)
    plan = write_plan(
        PLAN.format(name=f"numbers-{amount}")
        .replace("clients*.xlsx#seuCodigo", "clients.xlsx#codigoDoCliente")
        .replace("mode: records", "foreign_numbers: true")
    )
    assert report(run_batch("run", plan, "--yes", "--format", "json"), 0)["rows"]["accepted"] == 4


def test_a_value_of_two_rows_and_one_of_a_row_with_an_error_are_reported(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, client: Client
) -> None:
    rows = [["A", new_cnpj(), "TW-1"], ["B", new_cnpj(), "TW-1"], ["C", "123", "TW-2"]]
    write_rows(tmp_path / "clients.xlsx", ["nomeComercial", "cnpj", "seuCodigo"], rows)
    write_titles(tmp_path / "titles.xlsx", ["TW-1", "TW-2"])
    plan = write_plan(PLAN.format(name="two-rows"))
    planned = unit_of(report(run_batch("plan", plan, "--format", "json"), 1), "titles")
    assert "More than one record has this seuCodigo: " in planned["findings"][0], planned
    assert planned["findings"][0].endswith("C2; clients.xlsx · Plan1!C3.")
    # The row with an error is its workbook's; the title waits for it.
    assert (planned["errors"], planned["warnings"]) == (1, 1)
    assert own_codes(client, "TW-") == set()


def test_links_of_lists_are_checked_too(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    products = [{"chave": f"P{n}", "descricaoDoProduto": f"Porca SL {n}"} for n in range(2)]
    write_workbook(tmp_path / "products.xlsx", produto=products)
    order = {"chave": "1", "codigoDaFilial": 1, "codigoDoCliente": 1001}
    items = [
        {"chave": "1", "idProduto": key, "quantidade": 1, "valorUnitario": 2}
        for key in ("P0", "P8", "P1", "P9")
    ]
    write_workbook(tmp_path / "orders.xlsx", pedido=[order], produtos=items)
    plan = write_plan(
        "name: list-links\nsteps:\n  products: {upload: products.xlsx, resource: produto}\n"
        '  orders: {upload: orders.xlsx, resource: pedido, links: {idProduto: "products.xlsx#chave"'
        "}}\n"
    )
    planned = unit_of(report(run_batch("plan", plan, "--format", "json"), 1), "orders")
    texts = [text for text in planned["findings"] if "idProduto" in text]
    assert [text.split()[0] for text in texts] == ["produtos!B3", "produtos!B5"], planned
