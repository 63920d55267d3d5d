"""Findings on the page in a real browser: one count, their words, and one correction for all."""

from pathlib import Path
from typing import Any

import pytest
from browser import Page
from playwright.sync_api import Page as Tab, expect
from running_page import RunningPage
from sheets import GOOD, write_records, write_rows
from test_workflow import begin

from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs

HEADER = ["Filial", "Valor (R$)", "Cliente", "Vencimento", "Categoria", "Centro", "Conta"]
HEADER += ["Histórico", "Documento"]


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system to which the page sends: a company with clients that have names."""
    return demo_sandbox


def write_foreign(path: Path, clients: list[str], account: str | int = 1) -> Path:
    rows = [
        [1, 1234.5, name, "30/10/2026", "1.01.001", "01.001", account, "Aluguel", f"P-{number}"]
        for number, name in enumerate(clients)
    ]
    write_rows(path, HEADER, rows)
    return path


def counted(tab: Tab) -> int:
    """Return the sum of the counts of the list."""
    return sum(
        map(int, tab.locator("#rules li.error .count, #rules li.refused .count").all_inner_texts())
    )


def test_a_refused_value_of_the_mapping_is_explained_at_its_field(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = write_foreign(tmp_path / "titulos.xlsx", ["Padaria"], "Caixa da loja")
    tab = begin(page, ui, path)
    tab.get_by_test_id("resource").select_option("contasreceber")
    tab.locator("#choices:enabled").wait_for()
    field = tab.get_by_label("Caixa da loja → Current account code")
    expect(tab.locator("#to-mend")).to_be_disabled()
    field.fill("abc")
    tab.get_by_role("button", name="Confirm the columns").click()
    message = tab.locator("#columns .field-problem")
    expect(message).to_have_text("“abc” is not a number; enter the number of Current account code.")
    expect(message).to_be_in_viewport()
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(tab.locator("#problem")).not_to_contain_text("yaml")
    for button in ("#to-mend", "[data-view=mend]", "[data-view=send]"):
        expect(tab.locator(button)).to_be_disabled()
    field.fill("1")
    expect(message).to_have_count(0)
    tab.get_by_role("button", name="Confirm the columns").click()
    expect(tab.locator("#to-mend")).to_be_enabled()


def test_a_row_set_aside_leaves_the_list_the_grid_and_the_count(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    total = {**dict.fromkeys(GOOD["contasreceber"]), "historico": "Total", "valorDoLancamento": 20}
    wrong = {"codigoDaContaCorrente": "x"}
    path = tmp_path / "titulos.xlsx"
    write_records(path, "contasreceber", [{"valorDoLancamento": 10}, wrong, total])
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator("#counts", has_text="errors: 2").wait_for()
    expect(tab.locator("#undo")).to_be_disabled()
    tab.get_by_role("button", name="Set aside: not a record").click()
    tab.locator("#counts", has_text="errors: 1 ").wait_for()
    expect(tab.locator("#counts")).to_contain_text("rows set aside: 1")
    assert counted(tab) == 1
    expect(tab.locator("#grid .line")).to_have_count(1)
    expect(tab.locator("#undo-what")).to_have_text("Undo: row 4 comes back")
    tab.locator("[data-view=send]").click()
    expect(tab.locator("#errors-left")).to_contain_text("Errors in the sheet: 1.")
    tab.locator("#good-rows").check()
    expect(tab.locator("#errors-left")).to_be_hidden()  # its row is left out, as it advises
    tab.locator("#good-rows").uncheck()
    expect(tab.locator("#errors-left")).to_be_visible()
    tab.locator("[data-view=mend]").click()
    tab.locator("#undo").click()
    tab.locator("#counts", has_text="errors: 2").wait_for()
    expect(tab.locator("#undo")).to_be_disabled()
    expect(tab.locator("#redo")).to_be_enabled()


def test_names_that_the_plan_does_not_find_are_counted_and_replaced_at_once(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    clients = ["Padaria Sem Cadastro"] * 3 + ["Mercado Sem Cadastro"]
    tab = begin(page, ui, write_foreign(tmp_path / "titulos.xlsx", clients))
    tab.get_by_test_id("resource").select_option("contasreceber")
    tab.locator("#choices:enabled").wait_for()
    tab.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#to-mend:enabled").wait_for()
    tab.locator("#to-mend").click()
    tab.locator("#to-send").click()
    tab.locator("#errors-left", has_text="Errors in the sheet: 4").wait_for()
    expect(tab.locator("#problem")).to_be_hidden()  # one message, with the way to the errors
    tab.locator("#errors-left button").click()
    counts = "Rows: 4 · errors: 4 (refused by the system or the batch: 4) · warnings: 4"
    expect(tab.locator("#counts")).to_have_text(counts)
    assert counted(tab) == 4
    expect(tab.locator("#grid .refused")).to_have_count(4)
    tab.locator("#rules li").first.get_by_role("button", name="Replace in all…").click()
    line = tab.locator("#values-table tr", has_text="Padaria Sem Cadastro")
    line.get_by_role("textbox").fill("1001")
    line.get_by_role("button", name="Replace in all: 3").click()
    tab.locator("#counts", has_text="cells changed: 3").wait_for()
    tab.locator("#counts", has_text="errors: 1 ").wait_for()
    assert counted(tab) == 1
    expect(tab.locator("#undo-what")).to_have_text(
        "Undo: C2 becomes “Padaria Sem Cadastro” again, and 2 more cells"
    )


def test_the_grid_begins_at_the_first_error_in_the_words_of_the_user(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "titulos.xlsx"
    records = [{"valorDoLancamento": 1234.56}, {"codigoDoCliente": "x", "valorDoLancamento": 0.125}]
    write_records(path, "contasreceber", records)
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    client = tab.locator("#grid .head .cell", has_text="Client code")
    expect(client).to_have_attribute("title", "B · codigoDoCliente → Client code (codigoDoCliente)")
    expect(tab.locator("#rules li").first).to_contain_text("Client code: ")
    expect(tab.locator("#rules .rule").first).to_have_attribute("title", "codigoDoCliente")
    expect(tab.locator("#grid .here")).to_have_attribute("data-cell", "B3")
    expect(tab.locator("#remark")).to_contain_text("B3 · x")
    tab.locator("#view").select_option("all")
    amounts = tab.locator("#grid .line .cell.amount")
    expect(amounts.filter(has_text="1,234.56")).to_have_css("text-align", "right")
    expect(amounts.filter(has_text="0.125")).to_have_count(1)


def test_the_grid_begins_at_the_first_error_below_many_warnings(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "titulos.xlsx"
    records: list[dict[str, Any]] = [{"codigoDoCliente": "1001"} for _ in range(80)]
    records[70]["dataDeVencimento"] = "31/11/2026"
    write_records(path, "contasreceber", records)
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    expect(tab.locator("#grid .here")).to_have_text("31/11/2026")
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.type("30/11/2026")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()


def test_a_closed_list_is_offered_at_its_cell(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"natureza": "X"}])
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    expect(tab.locator("#grid .here")).to_have_text("X")
    tab.get_by_test_id("next-error").click()
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.press("Alt+ArrowDown")
    offered = tab.get_by_role("listbox").get_by_role("option")
    tab.keyboard.press("Backspace")
    expect(offered).to_have_text(["J", "F"])
    tab.keyboard.press("ArrowDown")
    expect(offered.first).to_have_attribute("aria-selected", "true")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    expect(offered).to_have_count(0)
    expect(tab.locator("#undo-what")).to_have_text("Undo: B2 becomes “X” again")
