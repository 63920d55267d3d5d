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
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').wait_for()
    tab.keyboard.press("F8")  # works outside the grid, too
    tab.locator("#remark", has_text="required").wait_for()
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
        ("Control+ArrowDown", f"A{last + 1}"),
        ("Control+Home", "A2"),
        ("ArrowDown", "A3"),
        ("End", "D3"),
        ("Home", "A3"),
    ):
        tab.keyboard.press(keys)
        expect(here).to_have_attribute("data-cell", cell)
    assert tab.evaluate(_CUT) == "Loja 2"
    tab.locator("#counts", has_text="errors: 2").wait_for()


def test_rows_outside_the_view_are_copied(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = [f"Loja {n}" for n in range(300)]
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "KEY", names))
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"]').click()
    tab.keyboard.press("Control+Shift+ArrowDown")
    tab.keyboard.press("Shift+ArrowUp")
    tab.keyboard.press("Control+c")
    copied = "\n".join(names)
    for _ in range(100):
        if tab.evaluate("navigator.clipboard.readText()") == copied:
            return
        tab.wait_for_timeout(50)
    assert tab.evaluate("navigator.clipboard.readText()") == copied
