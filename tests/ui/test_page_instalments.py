"""Titles side by side in the rows of a sheet on the page: mapped, corrected, planned, sent."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage, marked_cells, open_workbook, wait_for_end

from xlbridge.sandbox import RunningSandbox

_ROWS = (
    "Documento;Cliente;Filial;Item;CC;Conta;Histórico;Vencto 1;Valor 1;Vencto 2;Valor 2",
    "NF-1;1311;1;1.01.001;01.001;1;Venda;31/10/2026;100,00;31/11/2026;200,00",
    "NF-2;1197;1;1.01.001;01.001;1;Venda;31/10/2026;50,00;;",
)


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    return demo_sandbox


def write(folder: Path) -> Path:
    path = folder / "contas a receber.csv"
    path.write_text("\n".join(_ROWS) + "\n", "utf-8")
    return path


def test_titles_are_corrected_and_sent_from_the_page(client: httpx.Client, tmp_path: Path) -> None:
    path = write(tmp_path)
    form: dict[str, Any] = open_workbook(client, path)["mapping"]
    key = "contasreceber.2.numeroDoDocumento"
    assert form["columns"][key] == {"from": "Documento", "suffix": "/2"}
    assert key in {target["name"] for target in form["targets"]}
    place = {name: form[name] for name in ("resource", "sheet", "header_row")}
    chosen = {**place, "header": "Documento", "column": key}
    assert client.post("/api/mapping-column", json=chosen).json() == form["columns"][key]
    sent = {name: form[name] for name in ("columns", "rows", "once")}
    sheet = client.post("/api/map", json={**place, **sent}).json()
    assert [rule["column"] for rule in sheet["rules"]] == ["contasreceber.2.dataDeVencimento"]
    assert (sheet["rows"], marked_cells(client)) == (2, [(2, "9", "error")])
    typed = [{"row": 2, "column": 9, "value": "30/11/2026"}]
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    plan = client.post("/api/plan", json={}).json()
    assert plan["counts"]["create"] == 3
    client.post("/api/send", json={"token": plan["token"]})
    assert wait_for_end(client)["outcome"]["rows"]["accepted"] == 3
    # Another amount of the second instalment is marked there.
    client.post("/api/edit", json=[{"row": 2, "column": 10, "value": "250,00"}])
    plan = client.post("/api/plan", json={}).json()
    assert (plan["counts"]["unchanged"], plan["counts"]["held"]) == (2, 1)
    assert (2, "10", "planned") in marked_cells(client)
    again = open_workbook(client, path)
    assert again["mapping"]["kind"] == "remembered"


@pytest.mark.programs
def test_titles_of_instalments_are_confirmed_in_the_browser(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.goto(ui.link)
    tab.set_input_files('[data-testid="drop"]', write(tmp_path))
    mapping = tab.get_by_test_id("mapping")
    amount = mapping.get_by_label("Valor 2: In the system")
    expect(amount).to_have_value("contasreceber.2.valorDoLancamento")
    expect(amount.locator("option:checked")).to_have_text("Receivable entries 2 · Amount")
    mapping.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#known-counts", has_text="errors: 1").wait_for()
