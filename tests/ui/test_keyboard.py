"""The sheet by keyboard, as in Excel: keys that move, edit, copy and undo."""

from pathlib import Path

import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage
from sheets import write_clients
from test_workflow import begin

pytestmark = pytest.mark.programs

_CUT = """() => {
    const data = new DataTransfer();
    const event = new ClipboardEvent("cut", { clipboardData: data, cancelable: true });
    document.querySelector("#grid textarea").dispatchEvent(event);
    return data.getData("text/plain");
}"""


def test_keys_work_as_in_excel(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = (None, *(f"Loja {n}" for n in range(2, 301)))
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "KEY", names))
    expect(tab.locator("#known-title")).to_be_focused()  # above what can be done with the sheet
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').wait_for()
    tab.keyboard.press("F8")  # works outside the grid, too
    tab.locator("#remark", has_text="required").wait_for()
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.insert_text("Loja 1")
    tab.keyboard.press("Alt+Enter")
    tab.keyboard.insert_text("Centro")
    assert tab.locator("#grid textarea").bounding_box()["height"] > 40
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    corrected = tab.locator('[data-cell="A2"]')
    expect(corrected).to_have_js_property("textContent", "Loja 1\nCentro")
    tab.locator("#undo").focus()
    tab.keyboard.press("Control+z")
    tab.locator("#counts", has_text="errors: 1").wait_for()
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A3"]').click()
    here = tab.locator("#cell-here")
    last = len(names) + 1
    for keys, cell in (
        ("Control+ArrowUp", "A2"),
        ("Control+ArrowDown", "A3"),  # over empty ones
        ("Control+ArrowDown", f"A{last}"),
        ("Control+ArrowDown", f"A{last + 1}"),
        ("Control+Home", "A2"),
        ("ArrowDown", "A3"),
        ("End", "D3"),
        ("Control+ArrowLeft", "B3"),  # over an empty one
        ("Control+ArrowLeft", "A3"),
        ("Tab", "B3"),
        ("Tab", "C3"),
        ("Shift+Tab", "B3"),
        ("Enter", "A4"),  # below the cell where Tab began
        ("PageDown", None),
        ("PageUp", "A4"),
        ("ArrowUp", "A3"),
    ):
        tab.keyboard.press(keys)
        if cell is not None:
            expect(here).to_have_attribute("data-cell", cell)
    assert tab.evaluate(_CUT) == "Loja 2"
    tab.locator("#counts", has_text="errors: 2").wait_for()


def test_cells_are_selected_with_the_mouse_and_all_at_once(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    names = [f"Loja {n}" for n in range(4)]
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "DRAG", names))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').hover()
    tab.mouse.down()
    tab.locator('[data-cell="B4"]').hover()
    tab.mouse.up()
    tab.locator('[data-cell="D5"]').hover()
    selected = tab.locator("#grid .range")
    expect(selected).to_have_text(["Loja 0", "J", "Loja 1", "J", "Loja 2", "J"])
    tab.keyboard.press("Control+a")
    expect(selected).to_have_count(4 * 5)  # with the empty row below
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "A2")


def test_too_many_rows_are_neither_copied_nor_erased(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    names = [f"Loja {n}" for n in range(5_001)]
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "MANY", names))
    tab.locator("#to-mend").click()
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    for key in ("Control+c", "Delete"):
        tab.locator('[data-cell="A2"]').click()
        tab.keyboard.press("Control+a")
        tab.keyboard.press(key)
        tab.locator("#problem", has_text="Too many rows to copy or erase at once").wait_for()
        with tab.expect_response("**/api/step"):  # sent after an edit, if there was one
            tab.keyboard.press("Control+z")
        expect(tab.locator("#problem")).to_be_hidden()
    assert not [url for url in requests if "/api/edit" in url]


def test_rows_outside_the_view_are_copied(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = [f"Loja {n}" for n in range(300)]
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "KEY", names))
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').click()
    tab.keyboard.press("Control+Shift+ArrowDown")
    tab.keyboard.press("Control+c")  # waits for the end of the filled cells
    copied = "\n".join(names)
    for _ in range(100):
        if tab.evaluate("navigator.clipboard.readText()") == copied:
            return
        tab.wait_for_timeout(50)
    assert tab.evaluate("navigator.clipboard.readText()") == copied


def test_typing_ends_with_the_arrows_and_tab_leaves_after_escape(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "TAB", ("Um", "Dois")))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').click()
    tab.keyboard.type("Outro")
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "A3")
    expect(tab.locator('[data-cell="A2"]')).to_have_text("Outro")
    tab.keyboard.press("F2")
    tab.keyboard.press("ArrowLeft")  # moves within the text
    typed = tab.locator("#grid textarea")
    expect(typed).to_have_class("typing")
    tab.keyboard.press("Escape")
    expect(tab.locator('[data-cell="A3"]')).to_have_text("Dois")
    tab.keyboard.press("Tab")
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "B3")
    expect(typed).to_be_focused()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")
    expect(typed).not_to_be_focused()
    tab.locator('[data-cell="A2"]').click()
    tab.keyboard.press("Shift+Space")
    expect(tab.locator("#grid .range")).to_have_count(4)
