"""The plan on the page explains itself, decides about rows together, and has control totals.

Inside: ui.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import httpx
import pytest
from browser import Page
from openpyxl import load_workbook
from playwright.sync_api import Page as Tab, expect
from running_page import RunningPage, open_workbook, wait_for_end
from sheets import write_records, write_workbook
from test_workflow import begin, drop, outcome, send

from xlbridge.i18n import override_language
from xlbridge.sandbox import RunningSandbox
from xlbridge.ui.texts import page_texts
from xlbridge.upload.planning import RowReason


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends: a company with clients and suppliers."""
    return demo_sandbox


def titles(tmp_path: Path) -> Path:
    """Write titles of two branches and months, one for a client that does not exist."""
    records = [
        {"codigoDaFilial": 1, "valorDoLancamento": 1000.1, "dataDeVencimento": date(2027, 2, 10)},
        {"codigoDaFilial": 2, "valorDoLancamento": 0.2, "dataDeVencimento": date(2027, 1, 10)},
        {"codigoDaFilial": 1, "valorDoLancamento": 5, "dataDeVencimento": date(2027, 2, 20)},
    ]
    for number, record in enumerate(records):
        record["numeroDoDocumento"] = f"TOTALS-{number}"
    records[2]["codigoDoCliente"] = 987654
    path = tmp_path / "titulos.xlsx"
    write_records(path, "contasreceber", records)
    return path


def cells(table: dict[str, list[dict[str, object]]]) -> list[object]:
    return [line["cells"] for line in table["lines"]]


def test_counts_of_records_replace_each_other_in_the_progress(
    client: httpx.Client, tmp_path: Path
) -> None:
    records = [{"codigoInterno": f"COUNT-{number}", "valorUnitario": 2} for number in range(60)]
    open_workbook(client, write_records(tmp_path / "produtos.xlsx", "produto", records))
    token = client.post("/api/plan", json={}).json()["token"]
    client.post("/api/send", json={"token": token, "options": {}})
    lines = [line for line in wait_for_end(client)["lines"] if "of 60 records" in line]
    # The first one has no pace yet, the last one no time left.
    assert len(lines) <= 3
    assert lines[-1].startswith("60 of")


def test_control_totals_before_and_after_sending(client: httpx.Client, tmp_path: Path) -> None:
    open_workbook(client, titles(tmp_path))
    planned = client.post("/api/plan", json={}).json()
    by_action, by_month, by_branch = planned["totals"]
    assert cells(by_action) == [["to create", "3", "1,005.30"], ["Total", "3", "1,005.30"]]
    assert by_month["title"] == "Due date, by month"
    assert cells(by_month)[:2] == [["01/2027", "1", "0.20"], ["02/2027", "2", "1,005.10"]]
    assert by_month["picture"][1]["aria-label"].endswith("01/2027 0.20; 02/2027 1,005.10")
    assert cells(by_branch)[:2] == [
        ["1 – Matriz São Paulo", "2", "1,005.10"],
        ["2 – Filial Curitiba", "1", "0.20"],
    ]
    client.post("/api/send", json={"token": planned["token"], "options": {}})
    outcome = wait_for_end(client)["outcome"]
    assert not any("987654" in line for line in outcome["lines"])
    by_outcome, reasons, written_by_month, written_by_branch = outcome["totals"]
    assert cells(by_outcome) == [
        ["Accepted", "2", "1,000.30"],
        ["Rejected", "1", "5.00"],
        ["Total", "3", "1,005.30"],
    ]
    assert cells(reasons)[0][1:] == ["1", "5.00"]
    assert "987654" in cells(reasons)[0][0]
    assert "codigoDoCliente" not in cells(reasons)[0][0]
    assert written_by_month["title"] == "In the system: Due date, by month"
    assert cells(written_by_month)[1][:2] == ["02/2027", "1"]
    assert cells(written_by_branch)[-1] == ["Total", "2", "1,000.30"]
    # The details of the job say the same.
    details = client.get("/api/job-totals", params={"job": outcome["job"]}).json()
    assert details["totals"] == outcome["totals"]


def test_control_totals_of_orders_add_up_their_products(
    client: httpx.Client, tmp_path: Path
) -> None:
    orders = [
        {"chave": key, "codigoDaFilial": branch, "codigoDoCliente": 1001}
        for key, branch in (("A", 1), ("B", 2))
    ]
    products = [
        {"chave": key, "idProduto": product, "quantidade": 2, "valorUnitario": 10.55}
        for key, product in (("A", 2001), ("A", 2002), ("B", 99999999))
    ]
    path = write_workbook(tmp_path / "pedidos.xlsx", pedido=orders, produtos=products)
    open_workbook(client, path)
    planned = client.post("/api/plan", json={}).json()
    by_action, by_branch = planned["totals"]
    assert by_action["headings"][-1]["title"] == "Quantity × Unit price (R$)"
    assert cells(by_action)[-1] == ["Total", "2", "63.30"]
    assert cells(by_branch)[:2] == [
        ["1 – Matriz São Paulo", "1", "42.20"],
        ["2 – Filial Curitiba", "1", "21.10"],
    ]
    client.post("/api/send", json={"token": planned["token"], "options": {}})
    outcome = wait_for_end(client)["outcome"]
    by_outcome, reasons, _ = outcome["totals"]
    assert cells(by_outcome)[:2] == [["Accepted", "1", "42.20"], ["Rejected", "1", "21.10"]]
    assert cells(reasons)[0][1:] == ["1", "21.10"]
    details = client.get("/api/job-totals", params={"job": outcome["job"]}).json()
    assert details["totals"] == outcome["totals"]
    rejects = load_workbook(outcome["rejects_file"])
    summary = [[cell.value for cell in row] for row in rejects.worksheets[0].iter_rows()]
    assert any(row[:3] == ["Rejected", 1, 21.1] for row in summary), summary


def test_a_plan_that_sends_nothing_has_no_totals_of_what_is_sent(
    client: httpx.Client, tmp_path: Path
) -> None:
    changes = [{"numeroDoDocumento": "NOTHING-1"}]
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", changes)
    open_workbook(client, path)
    planned = client.post("/api/plan", json={}).json()
    client.post("/api/send", json={"token": planned["token"], "options": {}})
    assert wait_for_end(client)["outcome"]["state"] == "done"
    open_workbook(client, path)
    again = client.post("/api/plan", json={}).json()
    assert (again["writes"], len(planned["totals"]), len(again["totals"])) == (0, 3, 1)


@pytest.mark.programs
def test_totals_are_a_table_and_a_picture(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    tab = begin(page, ui, titles(tmp_path))
    # The interface does not change receivables.
    tab.locator("[data-view=send]").click()
    expect(tab.locator("#update-choice")).to_be_hidden()
    tab.get_by_role("button", name="See the plan").click()
    picture = tab.get_by_role("img", name="Due date, by month: 01/2027 0.20; 02/2027 1,005.10")
    expect(picture.locator("rect")).to_have_count(2)
    widths = [float(bar.get_attribute("width")) for bar in picture.locator("rect").all()]
    assert 0 < widths[0] < widths[1]
    tab.get_by_test_id("send").click()
    assert outcome(tab) == "partial"
    rejected = tab.get_by_test_id("outcome").locator(".totals tr", has_text="987654")
    expect(rejected.locator("td").nth(2)).to_have_text("5.00")


def test_reasons_of_the_plan_name_columns_by_their_titles(
    client: httpx.Client, tmp_path: Path
) -> None:
    records = [
        {"numeroDoDocumento": "NAMED-1", "dataDeVencimento": "31/11/2026"},
        {"numeroDoDocumento": "NAMED-2", "valorDoLancamento": "muito"},
        {"numeroDoDocumento": "NAMED-3"},
    ]
    open_workbook(client, write_records(tmp_path / "titulos.xlsx", "contasreceber", records))
    planned = client.post("/api/plan", json={"good_rows": True}).json()
    (reason,) = [line for line in planned["table"]["lines"] if line["cells"][1] == "2, 3"]
    told = "\n".join([reason["cells"][2], *reason["below"]])
    assert "row 2: Due date: " in told
    assert "row 3: Amount: " in told
    assert not re.search("[a-z][A-Z]", told)


@pytest.mark.programs
def test_rows_with_one_reason_are_decided_together(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    records = [
        {
            "numeroDoDocumento": f"GROUP-{n}",
            "dataDeVencimento": "30/11/2026",
            "historico": "Aluguel",
        }
        for n in range(3)
    ]
    tab = begin(page, ui, write_records(tmp_path / "pagar.xlsx", "contaspagar", records))
    assert send(tab) == "done"
    for record in records:
        record["historico"] = "Frete"
    del records[2]["numeroDoDocumento"]
    tab.locator("[data-view=begin]").click()
    drop(tab, write_records(tmp_path / "pagar-2.xlsx", "contaspagar", records))
    tab.locator("[data-view=send]").click()
    tab.get_by_role("button", name="See the plan").click()
    plan = tab.get_by_test_id("plan")
    held = plan.locator('[data-action="held"]')
    expect(held).to_contain_text("not sent, waiting for you")
    expect(plan).to_contain_text(
        "These rows are created without checking whether they exist: the rows have no key to be "
        "looked up by. To have them checked, fill in for each row: Bank-slip barcode or Branch "
        "code + Supplier code + Document number + Due date."
    )
    plan.get_by_role("button", name="Change all: 2").click()
    expect(tab.locator("#update")).to_be_checked()
    expect(plan.locator('[data-action="update"]')).to_contain_text("2")
    expect(held).to_contain_text("1")  # which has no key to find its record
    expect(plan).to_contain_text("row 2, Description: sheet 'Frete', system 'Aluguel'")
    plan.locator("tr", has_text="to update").get_by_role("button", name="show in the grid").click()
    expect(tab.locator("#grid .line")).to_have_count(2)


@pytest.mark.programs
def test_only_what_the_interface_reverses_is_offered_to_be_undone(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    record = {"numeroDoDocumento": "UNDO-1", "dataDeVencimento": "30/11/2026"}
    tab = begin(page, ui, write_records(tmp_path / "pagar.xlsx", "contaspagar", [record]))
    assert send(tab) == "done"
    receivable = {"numeroDoDocumento": "UNDO-2", "dataDeVencimento": date(2027, 2, 10)}
    tab.locator("[data-view=begin]").click()
    drop(tab, write_records(tmp_path / "receber.xlsx", "contasreceber", [receivable]))
    assert send(tab) == "done"
    assert offers_undo(tab, "receber.xlsx") == 0
    assert offers_undo(tab, "pagar.xlsx") == 1
    tab.get_by_role("button", name="Undo this upload").click()
    expect(tab.locator("#undo-plan")).to_contain_text("row 2: the record")


def offers_undo(tab: Tab, file: str) -> int:
    """Open the details of a file's upload, and count the buttons that undo it."""
    tab.locator("[data-view=jobs]").click()
    tab.get_by_test_id("jobs").locator("tr", has_text=file.removesuffix(".xlsx")).get_by_role(
        "button"
    ).first.click()
    tab.locator("#job-shown").get_by_text("History").wait_for()
    return tab.get_by_role("button", name="Undo this upload").count()


def both_languages() -> Iterator[dict[str, str]]:
    for language in ("pt-BR", "en"):
        with override_language(language):
            yield page_texts()


@pytest.mark.parametrize("reason", RowReason)
def test_reasons_on_the_page_name_what_the_page_shows(reason: RowReason) -> None:
    shown = {text for texts in both_languages() for text in texts.values()}
    text = reason.text.page or reason.text
    for said in (text.pt, text.en):
        assert not re.search(r"--|xlbridge|terminal", said)
        assert set(re.findall("“(.+?)”", said)) <= shown


def test_what_was_deleted_is_created_again_with_a_reason(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"nomeComercial": "Ágil", "cnpj": None, "seuCodigo": "0042"}])
    open_workbook(client, path)
    planned = client.post("/api/plan", json={}).json()
    client.post("/api/send", json={"token": planned["token"], "options": {}})
    wait_for_end(client)
    write_records(path, "cliente", [{"nomeComercial": "Ágil", "cnpj": None, "seuCodigo": "42"}])
    open_workbook(client, path)
    planned = client.post("/api/plan", json={}).json()
    (group,) = planned["groups"]
    assert (planned["writes"], group["option"]) == (0, "again")
    options = {"again": "another shop", "clear": False, "update": True}
    planned = client.post("/api/plan", json=options).json()
    assert planned["writes"] == 1
    client.post("/api/send", json={"token": planned["token"], "options": options})
    assert wait_for_end(client)["outcome"]["rows"]["accepted"] == 1
