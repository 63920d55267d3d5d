"""A month on the page: its plan is made of a folder, checked, corrected, sent and proven there."""

from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage, wait_for_end
from sheets import write_records

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends: a company with clients and suppliers."""
    return demo_sandbox


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a month's workbooks: clients of which one has no name, titles, and an unknown list."""
    folder = tmp_path / "Mês 2026-11"
    folder.mkdir()
    clients = [{"cnpj": None, "seuCodigo": f"MONTH-{n}"} for n in range(2)]
    clients[1]["nomeComercial"] = None
    write_records(folder / "clientes.xlsx", "cliente", clients)
    titles: list[dict[str, Any]] = [
        {"codigoDaFilial": 1, "valorDoLancamento": 1000.1, "dataDeVencimento": date(2027, 2, 10)},
        {"codigoDaFilial": 2, "valorDoLancamento": 0.2, "dataDeVencimento": date(2027, 1, 10)},
    ]
    for number, record in enumerate(titles):
        record["numeroDoDocumento"] = f"MONTH-{number}"
    write_records(folder / "titulos.xlsx", "contasreceber", titles)
    (folder / "lista.csv").write_text("Cor;Peso\nazul;1\n", encoding="utf-8")
    return folder


def rows(table: dict[str, Any]) -> list[list[str]]:
    return [line["cells"] for line in table["lines"]]


def test_a_plan_is_made_of_a_folder(client: httpx.Client, folder: Path) -> None:
    inside = client.get("/api/folder", params={"folder": str(folder)}).json()
    assert (inside["workbooks"], inside["plans"], inside["month"]) == (3, [], "2026-11")
    assert inside["parent"] == str(folder.parent)
    above = client.get("/api/folder", params={"folder": inside["parent"]}).json()
    assert str(folder) in [one["path"] for one in above["folders"]]
    found = client.post("/api/workbooks", json={"folder": str(folder)}).json()
    assert found["name"] == "mes"
    clients, unknown, titles = found["workbooks"]
    assert [clients[name] for name in ("title", "rows", "errors")] == ["Clients", 2, 1]
    assert [titles[name] for name in ("title", "rows", "errors")] == ["Receivable entries", 2, 0]
    assert "Open it under Open" in unknown["problem"]
    chosen = [clients["key"], titles["key"]]
    body = {"folder": str(folder), "name": "Mês", "month": "2026-11", "workbooks": chosen}
    plan = client.post("/api/new-plan", json=body).json()["plan"]
    assert "already has a plan" in client.post("/api/new-plan", json=body).text
    (listed,) = client.get("/api/folder", params={"folder": str(folder)}).json()["plans"]
    assert (listed["path"], listed["month"]) == (plan, True)
    assert listed["steps"] == "Clients, Receivable entries"
    assert client.post("/api/begin-batch", json={"plan": plan, "month": "2026-11"}).is_success
    ended = wait_for_end(client)
    assert ended["error"] is None, ended
    assert ended["outcome"]["batch"] == "mes-2026-11"
    (batch,) = client.get("/api/batches").json()["batches"]
    assert [step["state"] for step in batch["steps"]] == ["invalid", "new"]
    below = batch["table"]["lines"][0]["below"]
    assert below[-1] == "A3 Trade name: The value is missing; it is required."
    by_rows, amounts = client.get("/api/batch-totals", params={"batch": "mes-2026-11"}).json()[
        "totals"
    ]
    assert rows(by_rows)[-1] == ["Total", "0", "0", "0", "4", "4"]
    assert rows(amounts)[0] == [
        "Receivable entries",
        "0.00",
        "0.00",
        "0.00",
        "1,000.30",
        "1,000.30",
    ]


def test_a_question_about_a_month_names_the_branches(client: httpx.Client, folder: Path) -> None:
    found = client.post("/api/workbooks", json={"folder": str(folder)}).json()["workbooks"]
    chosen = [one["key"] for one in found if one["title"] == "Receivable entries"]
    body = {"folder": str(folder), "name": "mes", "month": "2026-11", "workbooks": chosen}
    plan = client.post("/api/new-plan", json=body).json()["plan"]
    assert client.post("/api/begin-batch", json={"plan": plan, "month": "2026-11"}).is_success
    by_branch = wait_for_end(client)["outcome"]["asked"]["totals"][-1]
    assert rows(by_branch)[0] == ["1 – Matriz São Paulo", "1", "1,000.10"]


@pytest.mark.programs
def test_a_month_is_begun_corrected_sent_and_proven(
    page: Page, ui: RunningPage, folder: Path, home: Path
) -> None:
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("[data-view=batches]").click()
    tab.locator("#begin-batch[open]").wait_for()  # as there is no batch yet
    tab.locator("#folder-path").fill(str(folder))
    tab.locator("#folder-open").click()
    tab.get_by_role("button", name="Make a plan of these workbooks").click()
    unknown = tab.get_by_label("lista.csv")
    expect(unknown).to_be_disabled()
    tab.get_by_role("button", name="Create the plan and check").click()
    tab.get_by_role("button", name="Correct in the grid · errors: 1").click()
    tab.locator("#grid .error").wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark", has_text="required").wait_for()
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.type("Padaria do mês")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    before = (folder / "clientes.xlsx").read_bytes()
    tab.get_by_role("button", name="Use this corrected workbook in the batch").click()
    tab.locator("#batch-message", has_text="clientes.xlsx is corrected").wait_for()
    assert (folder / "clientes.xlsx").read_bytes() != before
    expect(tab.locator("#batch-asked")).to_be_hidden()  # it asked about the earlier workbook
    (kept,) = (home / "replaced").iterdir()
    assert kept.read_bytes() == before
    tab.get_by_role("button", name="Check and go on").click()
    question = tab.locator("#batch-asked")
    question.get_by_role("cell", name="2 to create").wait_for()
    question.get_by_test_id("send").click()
    tab.locator("#batch-list", has_text="Rows: 4 = 4 accepted").wait_for()
    for name in ("Download the proof, to print", "Download the proof in Excel"):
        expect(tab.get_by_role("link", name=name, exact=True)).to_be_visible()
    expect(question).to_contain_text("4 of 4 rows read back")
    share = tab.get_by_role("img", name="Rows by step: Clients 2 / 2; Receivable entries 2 / 2")
    expect(share.locator(".series-1")).to_have_count(3)  # one is in the legend
    tab.locator("#batch-list summary", has_text="Receivable entries").click()
    expect(tab.locator("#batch-list figure", has_text="by month").locator("tr")).to_have_count(4)
    tab.locator("#batch-list").get_by_role("cell", name="1 – Matriz São Paulo").wait_for()
    assert len(list(folder.glob("*.xlsx"))) == 3  # one is the proof
    tab.locator("#begin-batch > summary").click()
    tab.locator("#folder-open").click()
    # With lista.csv, without the proof.
    expect(tab.locator("#begin-batch")).to_contain_text("Workbooks in this folder: 3")
    tab.get_by_role("button", name="Write the proof as of now").click()
    tab.locator("#batch-work").get_by_text("Reading back").first.wait_for(state="attached")
    expect(question).to_contain_text("4 of 4 rows read back")
