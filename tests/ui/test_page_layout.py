"""Layout of the page with long texts, on a telephone, and where the focus is."""

from pathlib import Path

import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage
from sheets import write_clients, write_rows
from test_workflow import begin, begin_without_file

pytestmark = pytest.mark.programs


def test_the_columns_of_a_mapping_fit_on_a_telephone(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    header = ["Nome fantasia", "Tipo pessoa", "Um cabeçalho comprido de outro sistema"]
    path = write_rows(tmp_path / "cadastro.xlsx", header, [["Padaria", "Jurídica", "x"]])
    tab = begin(page, ui, path)
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.get_by_test_id("resource").select_option("cliente")
    tab.locator("#columns select").first.wait_for()
    cut = tab.locator("#mapping .scroll").evaluate("one => one.scrollWidth - one.clientWidth")
    assert cut == 0
    for select in tab.locator("#columns select").all():
        box = select.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    expect(tab.locator("#columns").get_by_text("Jurídica → Nature")).to_be_visible()


def test_the_bar_leaves_room_for_the_sheet_on_a_telephone(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    name = "contas a receber da filial de outubro com os clientes inativos.xlsx"
    tab = begin(page, ui, write_clients(tmp_path / name, "BAR", ("Um",)))
    tab.set_viewport_size({"width": 390, "height": 844})
    boxes = {
        part: tab.locator(part).bounding_box()
        for part in (".bar", ".bar nav", "#environment", "#help-button", "#menu")
    }
    assert boxes[".bar"]["height"] <= 844 / 6
    for box in (boxes["#menu"], *(one.bounding_box() for one in tab.locator("nav button").all())):
        assert box["x"] + box["width"] <= 390
    for part in ("#environment", "#help-button", "#menu"):
        assert boxes[part]["y"] + boxes[part]["height"] <= boxes[".bar nav"]["y"]


def test_the_menu_stays_on_the_first_line(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "END", ("Um",)))
    for width in (900, 1000, 1100, 1200, 1280):
        tab.set_viewport_size({"width": width, "height": 800})
        name, end = (tab.locator(part).bounding_box() for part in (".bar strong", "#menu"))
        assert end["y"] < name["y"] + name["height"], width
        assert end["x"] + end["width"] <= width


def test_long_texts_hide_neither_the_message_nor_the_correction(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = write_clients(tmp_path / "clientes.xlsx", "LONG", (" A" * 15_000, "B" * 20_000))
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    remark = tab.locator("#remark")
    for cell in ("A2", "A3"):
        tab.locator(f'[data-cell="{cell}"]').click()
        expect(remark).to_contain_text("The text must have from 1 to 150 characters")
        assert remark.evaluate("one => one.scrollHeight <= one.clientHeight")
    tab.get_by_test_id("fix-all").click()
    for part in ("#fixes-title", "#fixes-do", "#fixes-close"):
        expect(tab.locator(part)).to_be_in_viewport(ratio=1)


def test_the_current_cell_shows_whether_the_grid_has_the_focus(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "FOCUS", (None,)))
    tab.locator("#to-mend").click()
    here = tab.locator("#cell-here")
    shadow = "one => getComputedStyle(one).boxShadow"
    tab.locator("#view").focus()
    outside = here.evaluate(shadow)
    tab.locator("#grid textarea").focus()
    inside = here.evaluate(shadow)
    assert outside != inside


def test_the_last_line_of_a_batch_stays_in_sight(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    lines = [f"Line {number}" for number in range(60)]
    running = {"running": True, "lines": lines, "outcome": None, "error": None}
    batch = {
        "batch": "month",
        "created_at": "27/11/2026",
        "error": None,
        "done": False,
        "steps": [],
        "verdict": "",
        "table": {"headings": [], "lines": []},
    }
    shown = {"batches": [batch]}
    tab.route("**/api/batches", lambda route: route.fulfill(json=shown))
    tab.route("**/api/batch-run", lambda route: route.fulfill(json={"started": True}))
    tab.route("**/api/work", lambda route: route.fulfill(json=running))
    tab.locator("[data-view=batches]").click()
    tab.get_by_role("button", name="Check and go on").click()
    progress = tab.locator("#batch-progress", has_text="Line 59")
    progress.wait_for()
    assert progress.evaluate("one => one.scrollHeight - one.scrollTop - one.clientHeight") <= 1
    tab.unroute_all()
