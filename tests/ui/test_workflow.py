"""The whole workflow in a real browser: open, correct, plan, send; by keyboard too."""

import json
import os
import re
import signal
from itertools import pairwise
from pathlib import Path

import pytest
from bad_sheet import write_sheet
from browser import Page
from environment import Xlbridge
from playwright.sync_api import Page as Tab, expect
from running_page import RunningPage
from sheets import GOOD, write_clients, write_records, write_rows, write_workbook


def begin(page: Page, ui: RunningPage, path: Path) -> Tab:
    tab = begin_without_file(page, ui)
    drop(tab, path)
    return tab


def begin_without_file(page: Page, ui: RunningPage) -> Tab:
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto(ui.link)
    return tab


def drop(tab: Tab, path: Path) -> None:
    """Open a workbook, and wait until the page has recognised it."""
    tab.set_input_files('[data-testid="drop"]', path)
    tab.locator("#file-name", has_text=path.name).wait_for()
    tab.locator("#choices:enabled").wait_for()


def send(tab: Tab) -> str:
    tab.locator("[data-view=send]").click()
    tab.get_by_role("button", name="See the plan").click()
    tab.get_by_test_id("send").click()
    return outcome(tab)


def outcome(tab: Tab) -> str:
    tab.locator('[data-testid="outcome"]:not([hidden])').wait_for()
    return tab.get_by_test_id("outcome").get_attribute("data-state") or ""


def test_from_drop_to_done_in_six_steps(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = write_clients(tmp_path / "clientes.xlsx", "PAGE", ("Loja 0", None, "Loja 2"))
    tab = begin(page, ui, path)  # 1
    expect(tab.get_by_test_id("resource")).to_have_value("cliente")
    tab.locator("#to-mend").click()  # 2
    expect(tab.get_by_test_id("rules").locator(".count")).to_have_text(["1"])
    tab.get_by_test_id("next-error").click()  # 3
    tab.locator("#remark", has_text="required").wait_for()
    tab.keyboard.type("Açougue Central")  # 4
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    expect(tab.get_by_test_id("rules")).to_have_text("No findings.")
    tab.locator("#to-send").click()  # 5
    tab.get_by_test_id("send").click()  # 6
    assert outcome(tab) == "done"
    shown = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert [(job["state"], job["rows"]["created"]) for job in shown] == [("done", 3)]
    tab.locator("[data-view=jobs]").click()
    tab.get_by_test_id("jobs").get_by_text(shown[0]["job"]).wait_for()
    tab.get_by_test_id("jobs").get_by_role("button", name="Details").click()
    tab.locator("#job-shown td").first.wait_for()
    history = tab.locator("#job-shown table").first
    states = history.locator("td:nth-child(2)").all_inner_texts()
    assert len(states) > 2
    assert all(one != two for one, two in pairwise(states)), states
    tab.locator("[data-view=exports]").click()
    exports = tab.get_by_test_id("exports")
    exports.locator("select").first.select_option("clientes")
    exports.get_by_role("button", name="Export").click()
    # Other tests write to this system, too, and only the first rows are shown.
    exports.locator("#preview").get_by_text("Trade name").wait_for()
    exports.locator("#preview td").first.wait_for()
    tab.locator("#menu").click()
    tab.locator("#end").click()
    # A list is compared again until nothing else is left.
    closed = "The page is closed. To open it again, start xlbridge as before."
    expect(tab.locator(".card")).to_have_text([closed])


@pytest.mark.programs
def test_a_mapping_is_confirmed_with_sample_values(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = tmp_path / "cadastro.xlsx"
    header = ["Nome fantasia", "Tipo pessoa", "Código interno"]
    write_rows(path, header, [["Padaria", "Jurídica", "MAP-1"], ["Maria", "Física", "MAP-2"]])
    tab = begin(page, ui, path)  # 1
    tab.get_by_test_id("resource").select_option("cliente")  # 2
    mapping = tab.get_by_test_id("mapping")
    mapping.get_by_text("Padaria").wait_for()
    tab.locator("#choices:enabled").wait_for()
    expect(tab.locator("#known-counts")).to_have_text("Check the columns below and confirm.")
    expect(tab.locator("#known .main")).to_have_text(["Confirm the columns"])
    own = mapping.get_by_label("Código interno: In the system")
    if own.input_value() != "seuCodigo":
        own.select_option("seuCodigo")  # 3
    mapping.get_by_role("button", name="Confirm the columns").click()  # 4
    tab.locator("#known-counts", has_text="errors: 0").wait_for()
    expect(tab.locator("#known .main")).to_have_text(["Send"])
    tab.locator("#known-send").click()  # 5
    tab.get_by_test_id("send").click()  # 6
    assert outcome(tab) == "done"
    (job,) = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert (job["state"], job["rows"]["created"]) == ("done", 2)


@pytest.mark.programs
def test_rows_refused_by_the_system_are_marked_in_the_grid(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = tmp_path / "titulos.xlsx"
    write_records(path, "contasreceber", [{"codigoDoCliente": 987654}])
    tab = begin(page, ui, path)
    assert send(tab) == "rejected"
    tab.locator("#errors-left", has_text="Errors in the sheet: 1").wait_for()
    assert tab.get_by_test_id("outcome").inner_text().count("987654") == 1
    tab.get_by_test_id("download-rejects").wait_for()
    tab.get_by_role("button", name="Show the rejected rows").click()
    tab.locator("#counts", has_text="refused by the system or the batch: 1").wait_for()
    refused = tab.locator("#grid .refused")
    expect(refused).to_have_attribute("aria-invalid", "true")
    expect(refused).to_have_attribute("title", re.compile("987654"))
    tab.locator("#remark", has_text="987654").wait_for()
    tab.locator("#view").select_option("all")
    expect(tab.locator("#remark")).to_have_text("")
    tab.get_by_test_id("rules").get_by_role("button").click()
    tab.locator("#remark", has_text="987654").wait_for()
    tab.locator("[data-view=send]").click()
    tab.get_by_role("button", name="See the plan").click()
    tab.locator("#problem", has_text="no rejected row that was corrected").wait_for()
    tab.locator("[data-view=mend]").click()
    refused.click()
    tab.keyboard.type("987655")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="cells changed: 1").wait_for()
    assert send(tab) == "rejected"
    tab.get_by_test_id("outcome").get_by_text("987655").first.wait_for()
    first, second = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert {first["rows"]["rejected"], second["rows"]["rejected"]} == {1}


def write_wrong_order(path: Path) -> Path:
    """Write an order with an error in each of its two sheets."""
    order = {"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": None}
    product = {"chave": "A", "idProduto": 2001, "quantidade": "duas", "valorUnitario": 10.5}
    return write_workbook(path, pedido=[order], produtos=[product])


@pytest.mark.programs
def test_child_sheets_of_an_order_are_corrected_in_the_grid(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = begin(page, ui, write_wrong_order(tmp_path / "p.xlsx"))
    tab.locator("#to-mend").click()
    for name, cell, value in (("produtos", "C2", "2"), ("pedido", "C2", "1001")):
        tab.locator("#part").select_option(name)
        expect(tab.locator("#cell-here")).to_have_attribute("data-cell", cell)
        tab.locator(f'[data-cell="{cell}"].error').click()
        expect(tab.locator("#problem")).to_be_hidden()
        tab.keyboard.type(value)
        tab.keyboard.press("Enter")
        tab.locator("#counts", has_text="errors: 0").wait_for()
    tab.locator("#undo").click()
    tab.locator("#undo").click()
    expect(tab.locator("#part")).to_have_value("produtos")
    expect(tab.locator('[data-cell="C2"]')).to_have_text("duas")
    for _ in range(2):
        tab.locator("#redo").click()
    expect(tab.locator("#part option")).to_have_text(["pedido · 0", "produtos · 0"])
    tab.locator("[data-view=begin]").click()
    tab.locator("#dates").select_option("dmy")
    tab.locator("#choices:enabled").wait_for()
    tab.locator("[data-view=mend]").click()
    tab.locator("#to-send").click()
    tab.get_by_test_id("send").wait_for()
    expect(tab.locator("#counts")).to_contain_text("cells changed: 2")


@pytest.mark.programs
def test_the_next_error_is_in_another_sheet_of_the_file_if_this_one_has_none(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = begin(page, ui, write_wrong_order(tmp_path / "p.xlsx"))
    elsewhere = "errors in the file's other sheets: 1"
    expect(tab.locator("#known-counts")).to_contain_text(f"errors: 1 · warnings: 0 · {elsewhere}")
    tab.locator("#to-mend").click()
    for name, value in (("pedido", "1001"), ("produtos", "2")):
        tab.keyboard.press("F8")
        expect(tab.locator("#cell-here")).to_have_attribute("aria-invalid", "true")
        expect(tab.locator("#part")).to_have_value(name)
        is_last = name == "produtos"
        tab.keyboard.type(value)
        tab.keyboard.press("Enter")
        tab.locator("#counts", has_text="errors: 0").wait_for()
        expect(tab.locator("#counts")).to_contain_text("can be sent" if is_last else elsewhere)
    expect(tab.locator("#counts")).not_to_contain_text("other sheets")
    tab.keyboard.press("F8")
    expect(tab.locator("#part")).to_have_value("produtos")


@pytest.mark.programs
def test_cells_are_text_whatever_they_contain(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    path = tmp_path / "script.xlsx"
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    write_records(path, "cliente", [{"nomeComercial": evil, "email": evil}])
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator("#view").select_option("all")
    expect(tab.locator("#grid").get_by_text(evil, exact=True)).to_have_count(2)
    expect(tab.locator("main img, main script")).to_have_count(0)
    expect(tab).to_have_title("xlbridge")


def paste(tab: Tab, text: str) -> None:
    tab.evaluate(
        """text => {
            const data = new DataTransfer();
            data.setData('text/plain', text);
            document.activeElement.dispatchEvent(
                new ClipboardEvent('paste', { clipboardData: data, cancelable: true }));
        }""",
        text,
    )


@pytest.mark.programs
def test_a_block_is_pasted_and_undone(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    path = tmp_path / "bloco.xlsx"
    names = ("Loja 0", "Loja 1", None)
    write_records(path, "cliente", [{"nomeComercial": name} for name in names])
    block = 'Um\tJ\r\n"Dois\nlinhas ""aqui"""\tF\r\nTrês\tF\r\n'
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A4"]').click()
    paste(tab, block)
    tab.locator("#problem", has_text="nothing was changed").wait_for()
    tab.locator("#view").select_option("all")
    expect(tab.locator("#grid .line")).to_have_count(4)
    tab.locator('[data-cell="A3"]').click()
    paste(tab, block)
    tab.locator("#counts", has_text="Rows: 4").wait_for()
    for cell, text in (("A3", "Um"), ("A4", 'Dois\nlinhas "aqui"'), ("A5", "Três"), ("B5", "F")):
        expect(tab.locator(f'[data-cell="{cell}"]')).to_have_text(text)
    tab.locator("#undo").click()
    tab.locator('[data-cell="A3"]', has_text="Loja 1").wait_for()
    expect(tab.locator("#grid .line")).to_have_count(4)


@pytest.mark.programs
@pytest.mark.parametrize("drag", [("A2", "A6"), ("A6", "A2")], ids=["down", "up"])
def test_a_paste_starts_at_the_top_left_of_the_selection(
    page: Page, ui: RunningPage, tmp_path: Path, drag: tuple[str, str]
) -> None:
    """A block that fits several times, such as one value, fills the selection."""
    path = tmp_path / "selecao.xlsx"
    names = [f"Loja {n}" for n in range(6)]
    write_records(path, "cliente", [{"nomeComercial": name} for name in names])
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator("#view").select_option("all")

    def select() -> None:
        begin, end = (tab.locator(f'[data-cell="{cell}"]') for cell in drag)
        begin.hover()
        tab.mouse.down()
        end.hover()
        tab.mouse.up()

    def require_names(*expected: str) -> None:
        for number, text in enumerate(expected, start=2):
            expect(tab.locator(f'[data-cell="A{number}"]')).to_have_text(text)

    new = [f"Nova {n}" for n in range(5)]
    select()
    paste(tab, "\r\n".join(new) + "\r\n")
    require_names(*new, "Loja 5")
    expect(tab.locator("#grid .range")).to_have_count(5)
    select()
    paste(tab, "Uma só")
    require_names(*["Uma só"] * 5, "Loja 5")
    tab.locator("#undo").click()
    require_names(*new, "Loja 5")


@pytest.mark.programs
def test_no_request_leaves_for_another_host(page: Page, ui: RunningPage, samples: Path) -> None:
    requested: list[str] = []
    page.tab.on("request", lambda request: requested.append(request.url))
    tab = begin(page, ui, samples / "contasreceber-com-erros.xlsx")
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    assert requested
    assert all(url.startswith(ui.address) for url in requested)


def tab_to(tab: Tab, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(60):
        if tab.evaluate("it => document.activeElement.matches(it)", selector):
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {selector}")


@pytest.mark.programs
def test_whole_workflow_works_by_keyboard(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    path = write_clients(tmp_path / "clientes.xlsx", "KEYS", (None, None))
    tab = begin(page, ui, path)
    tab_to(tab, "#to-mend")
    tab.keyboard.press("Enter")
    tab.locator("#grid textarea:focus").wait_for()
    tab.locator("#remark", has_text="required").wait_for()
    tab.keyboard.type("Padaria")
    tab.keyboard.press("F8")
    tab.locator("#remark", has_text="A3 · ").wait_for()
    tab.keyboard.type("Bar")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    tab.keyboard.press("Escape")  # the next Tab leaves the grid
    tab.keyboard.press("Shift+Tab")
    tab_to(tab, "#to-send")
    tab.keyboard.press("Enter")
    tab.locator('[data-testid="send"]:focus').wait_for()
    tab.keyboard.press("Enter")
    assert outcome(tab) == "done"


@pytest.mark.programs
def test_a_lost_connection_is_reported(page: Page, ui: RunningPage, samples: Path) -> None:
    tab = begin(page, ui, samples / "contasreceber-com-erros.xlsx")
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    os.kill(ui.pid, signal.SIGKILL)
    tab.get_by_test_id("next-error").click()
    tab.locator("#problem", has_text="start it again").wait_for()


@pytest.mark.programs
def test_a_connection_lost_while_sending_leads_to_the_uploads(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    tab.route("**/api/work", lambda route: route.abort())
    tab.route("**/api/export", lambda route: route.fulfill(json={"started": True}))
    tab.locator("[data-view=exports]").click()
    tab.locator("#export").click()
    tab.locator("#problem", has_text="Uploads and Batches show what was written").wait_for()
    tab.unroute_all()


@pytest.mark.programs
@pytest.mark.parametrize("rows", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_long_sheet_is_displayed_and_corrected_to_its_end(
    page: Page, ui: RunningPage, tmp_path: Path, rows: int
) -> None:
    written = write_sheet(tmp_path / "longa.xlsx", rows, 0.01)
    tab = begin(page, ui, written.path)
    tab.locator("#to-mend").click()
    tab.locator("#grid .error").first.wait_for()
    errors = len(written.bad_cells)
    expect(tab.locator("#counts")).to_contain_text(f"errors: {errors:,} ")
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').wait_for()
    tab.evaluate("top => { document.getElementById('grid').scrollTop = top; }", rows * 28)
    tab.locator(f'[data-cell="A{rows + 1}"]').wait_for()
    cell = next(f"B{row}" for row in range(rows, 1, -1) if f"B{row}" not in written.bad_cells)
    tab.locator(f'[data-cell="{cell}"]').click()
    tab.keyboard.type("wrong")
    tab.keyboard.press("Enter")
    tab.locator(f'[data-cell="{cell}"].error').wait_for()
    expect(tab.locator("#counts")).to_contain_text(f"errors: {errors + 1:,} ")
    tab.keyboard.press("Control+z")
    tab.locator(f'[data-cell="{cell}"]:not(.error)').wait_for()
    expect(tab.locator("#counts")).to_contain_text(f"errors: {errors:,} ")


@pytest.mark.programs
def test_delimiter_and_encoding_of_a_csv_are_chosen_on_the_page(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "clientes.csv"
    path.write_bytes("nomeComercial;natureza;Obs\r\nAção São João;J;x\r\n".encode("cp850"))
    tab = begin_without_file(page, ui)
    tab.set_input_files('[data-testid="drop"]', path)
    problem = tab.locator("#problem", has_text="Choose the encoding under Open")
    problem.wait_for()
    expect(problem).not_to_contain_text("--")
    tab.get_by_label("Encoding of the .csv").select_option("cp850")
    tab.locator("#known-counts", has_text="errors: 0").wait_for()
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]', has_text="Ação São João").wait_for()


@pytest.mark.programs
def test_hints_are_shown_at_the_cell_and_at_the_header(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "titulos.xlsx"
    good = GOOD["contasreceber"]
    rows = [
        [*(good | {"dataDeVencimento": "05/11/2026", "valorDoLancamento": -1}).values(), "a", "b"]
    ] * 2
    write_rows(path, [*good, "Obs", "Cor"], rows)
    tab = begin(page, ui, path)
    tab.set_viewport_size({"width": 850, "height": 530})  # as at 150 % in a laptop
    tab.locator("#to-mend").click()
    rules = tab.get_by_test_id("rules")
    expect(rules.get_by_text("The value must be greater than 0.")).to_have_count(1)
    rules.get_by_text("Obs, Cor").click()
    expect(tab.locator("#remark")).to_contain_text("Check the name")
    expect(tab.locator("#grid .unused")).to_have_count(2)
    tab.locator("#next-error").click()
    remark = tab.locator("#remark", has_text="Type it again, day first")
    expect(remark).to_be_in_viewport(ratio=1)
    expect(remark).not_to_contain_text("--")
    tab.keyboard.type("05/11/2026")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="cells changed: 1").wait_for()


@pytest.mark.programs
def test_messages_about_fields_are_beside_them(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    tab.locator("[data-view=process]").click()
    tab.locator("#process-numbers").fill("pedido 7")
    tab.locator("#process-plan").click()
    tab.locator("#process .field-problem", has_text="Enter the numbers").wait_for()
    tab.locator("[data-view=exports]").click()
    tab.locator("#listing").select_option("pedidos")
    branch = tab.locator('[data-filter="branch"]')
    branch.fill("loja")
    tab.locator("#export").click()
    problem = tab.locator("#exports .field-problem")
    expect(problem).to_contain_text("'loja' is not a code")
    expect(problem).to_be_in_viewport(ratio=1)
    expect(branch).to_be_focused()
    expect(tab.locator("#problem")).to_be_hidden()
    branch.fill("")
    expect(problem).to_have_count(0)
