"""The first minutes with the page: a sample, help, language and theme, keyboard alone."""

from pathlib import Path

import pytest
from browser import Page
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from playwright.sync_api import Page as Tab, expect
from running_page import RunningPage, running_page
from sheets import write_clients
from test_workflow import begin, begin_without_file, outcome

from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs


def test_the_sample_goes_from_opened_to_sent(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    steps = tab.locator("#first-steps")
    expect(steps.locator("li")).to_have_count(3)
    expect(steps).to_contain_text(str(ui.home))
    steps.get_by_role("button", name="Try it with a sample").click()
    expect(tab.locator("#file-name")).to_have_text("sample-clients.xlsx")
    expect(tab.locator("#known-counts")).to_contain_text("errors: 2 · warnings: 1")
    expect(steps).to_be_hidden()
    tab.locator("#to-mend:focus").click()
    tab.get_by_test_id("fix-all").click()
    tab.locator("#fixes-do").click()
    tab.locator("#counts", has_text="warnings: 0").wait_for()
    for value in ("Empório Sol", "33.000.167/0001-01"):
        tab.get_by_test_id("next-error").click()
        tab.locator("#remark:not(:empty)").wait_for()
        expect(tab.locator("#grid textarea")).to_be_focused()
        tab.keyboard.insert_text(value)
        tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    tab.locator("#to-send").click()
    tab.get_by_test_id("send").click()
    assert outcome(tab) == "done"


def test_language_and_theme_are_kept(
    page: Page, tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> None:
    environment = clean_environment(home, **credentials(system))
    path = write_clients(tmp_path / "clientes.xlsx", "LANG", (None,))
    ground = "() => getComputedStyle(document.body).backgroundColor"
    with running_page(forks, tmp_path, home, environment) as ui:
        tab = begin(page, ui, path)
        tab.locator("#to-mend").click()
        light = tab.evaluate(ground)
        choose(tab, "#theme", "dark")
        expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
        assert tab.evaluate(ground) != light
        choose(tab, "#language", "pt-BR")
        expect(tab.locator("#counts")).to_contain_text("erros: 1")
        tab.get_by_test_id("next-error").click()
        expect(tab.locator("#remark")).to_contain_text("obrigatório")
    with running_page(forks, tmp_path, home, environment) as ui:
        tab = begin_without_file(page, ui)
        expect(tab.locator("#first-steps")).to_contain_text("Como funciona")
        expect(tab.locator("html")).to_have_attribute("data-theme", "dark")


def choose(tab: Tab, select: str, value: str) -> None:
    """Choose a language or theme in the menu, and wait until the page is shown with it."""
    tab.locator("#menu").click()
    with tab.expect_navigation():
        tab.locator(select).select_option(value)


def test_help_follows_the_screen(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    tab.get_by_role("button", name="Help").click()
    shown = tab.get_by_role("complementary", name="Help")
    expect(shown.get_by_role("heading")).to_have_text("Help: Open")
    tab.locator("[data-view=jobs]").click()
    expect(shown.get_by_role("heading")).to_have_text("Help: Uploads")
    expect(tab.locator("#job-table")).to_contain_text("Open a sheet under Open and send it")
    tab.get_by_role("button", name="Help").click()
    expect(shown).to_be_hidden()


def test_from_file_to_sent_by_keyboard_alone(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = write_clients(tmp_path / "clientes.xlsx", "ALONE", ("Loja 0", None))
    # A listener from the start: Chromium cancels a dialog opened before Playwright intercepts it.
    page.tab.on("filechooser", lambda _: None)
    tab = begin_without_file(page, ui)
    reach(tab, "input[type=file]")
    with tab.expect_file_chooser() as chooser:
        tab.keyboard.press("Enter")
    chooser.value.set_files(path)
    tab.locator("#choices:enabled").wait_for()
    reach(tab, "#to-mend")
    tab.keyboard.press("Enter")
    tab.locator('[data-cell="A3"].error').wait_for()
    tab.keyboard.press("F8")
    tab.locator("#remark", has_text="required").wait_for()
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.type("Loja 1")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    tab.keyboard.press("Escape")  # out of the grid, in which Tab goes to the next cell
    reach(tab, "#to-send", "Shift+Tab")
    tab.keyboard.press("Enter")
    expect(tab.get_by_test_id("send")).to_be_focused()
    tab.keyboard.press("Enter")
    assert outcome(tab) == "done"
    reach(tab, "[data-view=jobs]", "Shift+Tab")
    tab.keyboard.press("Enter")
    reach(tab, "[data-testid=jobs] button")
    tab.keyboard.press("Enter")
    expect(tab.locator("#job-shown")).to_be_focused()


def reach(tab: Tab, wanted: str, key: str = "Tab") -> None:
    """Press a key until an element has the focus."""
    for _ in range(60):
        if tab.locator(f"{wanted}:focus").count():
            return
        tab.keyboard.press(key)
    raise AssertionError(f"{wanted} is not reached")
