"""A sheet with a row for each item on the page: mapped, corrected, sent, refused at its cells."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage, marked_cells, open_workbook, wait_for_end

from xlbridge.sandbox import RunningSandbox

_ROWS = (
    "Pedido;Cliente;Código do produto;Quantidade;Valor unitário;Vencto 1;Valor 1;Vencto 2;Valor 2",
    "1;1311;2001;2;10,50;23/12/2026;15,00;23/01/2027;16,00",
    "1;1311;2002;uma;10,00;23/12/2026;15,00;23/01/2027;16,00",
    "2;1197;99999999;1;10,50;24/12/2026;10,50;;",
)


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    return demo_sandbox


def test_orders_with_a_row_for_each_item_are_sent_from_the_page(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "pedidos.csv"
    path.write_text("\n".join(_ROWS) + "\n", "utf-8")
    form: dict[str, Any] = open_workbook(client, path)["mapping"]
    assert (form["kind"], form["resource"], form["once"]) == ("proposed", "pedido", ["parcelas"])
    assert form["columns"]["chave"] == {"from": "Pedido"}
    assert form["columns"]["parcelas.2.valor"] == {"from": "Valor 2", "numbers": "pt"}
    targets = {target["name"] for target in form["targets"]}
    assert {"produtos.1.valorDesconto", "parcelas.2.percentual", "observacao"} <= targets
    # Quantities are texts here: the header is given its column by hand.
    place = {name: form[name] for name in ("resource", "sheet", "header_row")}
    for header, name in (("Quantidade", "quantidade"), ("Código do produto", "idProduto")):
        chosen = {**place, "header": header, "column": f"produtos.1.{name}"}
        body = client.post("/api/mapping-column", json=chosen).json()
        form["columns"][f"produtos.1.{name}"] = {"from": body["from"]}
    form["columns"]["codigoDaFilial"] = {"constant": "1"}
    sent = {name: form[name] for name in ("columns", "rows", "once")}
    sheet = client.post("/api/map", json={**place, **sent}).json()
    # One sheet is shown, with the findings of records and items at their own cells.
    assert [part["errors"] for part in sheet["parts"]] == [1]
    assert [rule["column"] for rule in sheet["rules"]] == ["produtos.1.quantidade"]
    assert (sheet["rows"], marked_cells(client)) == (3, [(3, "3", "error")])
    typed = [{"row": 3, "column": 3, "value": "1"}]
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    token = client.post("/api/plan", json={}).json()["token"]
    client.post("/api/send", json={"token": token})
    ended = wait_for_end(client)["outcome"]
    assert (ended["rows"]["accepted"], ended["rows"]["rejected"]) == (1, 1)
    # The refused product is marked in the row of its item.
    assert marked_cells(client) == [(4, "2", "refused")]
    again = open_workbook(client, path)
    assert (again["mapping"]["kind"], again["mapping"]["once"]) == ("remembered", ["parcelas"])


@pytest.mark.programs
def test_the_columns_of_items_and_due_days_are_confirmed_in_the_browser(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "pedidos.csv"
    path.write_text("\n".join(_ROWS).replace("uma", "1") + "\n", "utf-8")
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.goto(ui.link)
    tab.set_input_files('[data-testid="drop"]', path)
    mapping = tab.get_by_test_id("mapping")
    quantity = mapping.get_by_label("Quantidade: In the system")
    expect(quantity).to_have_value("produtos.1.quantidade")
    expect(quantity.locator("option:checked")).to_have_text("Products of the order 1 · Quantity")
    mapping.locator("input[data-column=codigoDaFilial]").fill("1")
    mapping.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#known-counts", has_text="errors: 0").wait_for()
    rows = [
        "1311;todo dia 10;10/2026;99,90;Aluguel;Em aberto",
        "1197;dia 5;11/2026;50,10;Suporte;Pago",
        "1197;dia 5;11/2026;50,10;Suporte;Renegociado",
    ]
    lines = ["Cliente;Dia de vencimento;Competência;Valor;Histórico;Situação", *rows]
    path = tmp_path / "a receber.csv"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    tab.set_input_files('[data-testid="drop"]', path)
    due = mapping.get_by_label("Months after that one")
    expect(due).to_have_value("")
    missing = {
        "codigoDaFilial": "1",
        "codigoDaContaCorrente": "1",
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
    }
    for name, value in missing.items():
        mapping.locator(f"input[data-column={name}]").fill(value)
    mapping.get_by_role("button", name="Confirm the columns").click()
    expect(due).to_be_focused()
    due.fill("1")
    mapping.get_by_role("button", name="Confirm the columns").click()
    state = mapping.get_by_label("Renegociado")
    expect(state).to_be_focused()
    state.select_option("are left out")
    mapping.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#known-counts", has_text="errors: 0").wait_for()
    # A column that must differ in each record is no constant.
    path = tmp_path / "centros de custo.csv"
    path.write_text("Denominação;Gestor\nOficina;Rita\nMarketing;João\n", "utf-8")
    tab.set_input_files('[data-testid="drop"]', path)
    expect(mapping).to_contain_text(
        "Different in each record; choose the column of the sheet above"
    )
    expect(mapping.locator("input[data-column=codigoDoCentroDeCusto]")).to_have_count(0)
