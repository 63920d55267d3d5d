"""Tabs of one page, and tabs whose page was started again."""

import re
from pathlib import Path

import pytest
from browser import Page
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from playwright.sync_api import expect
from running_page import RunningPage, running_page
from sheets import write_clients
from test_workflow import begin

from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs


def test_a_tab_shows_what_another_one_changed(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "TABS", ("Um", None)))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A3"].error').wait_for()
    with tab.expect_popup() as opened:
        tab.evaluate("window.open('/'), null")
    other = opened.value
    other.locator("#known-counts", has_text="errors: 1").wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark", has_text="required").wait_for()
    tab.keyboard.type("Dois")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    other.locator("[data-view=mend]").click()
    expect(other.locator("#counts")).to_contain_text("errors: 0")
    expect(other.locator("#counts")).to_contain_text("cells changed: 1")
    expect(other.get_by_test_id("rules")).to_have_text("No findings.")
    tab.keyboard.press("Control+z")
    tab.locator("#counts", has_text="errors: 1").wait_for()
    other.evaluate("document.dispatchEvent(new Event('visibilitychange')), null")
    expect(other.locator("#counts")).to_contain_text("errors: 1")
    other.locator("#view").select_option("all")
    other.locator('[data-cell="A3"].error').dblclick()
    tab.keyboard.press("Control+y")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    other.keyboard.type("!")
    other.evaluate("window.dispatchEvent(new Event('focus')), null")
    expect(other.locator("#counts")).to_contain_text("errors: 0")
    expect(other.locator("#grid textarea")).to_have_value("!")


def test_a_tab_without_access_says_how_to_come_back_to_the_work(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge, system: RunningSandbox
) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "ACCESS", (None,)))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A2"].error').wait_for()
    tab.keyboard.press("F8")
    tab.locator("#remark", has_text="required").wait_for()
    expect(tab.locator("#grid textarea")).to_be_focused()
    tab.keyboard.type("Um")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    tab.context.clear_cookies()  # as if the page was started again at the same port
    tab.locator("[data-view=jobs]").click()
    tab.locator(
        "#problem", has_text="This tab has lost its access to the page. Start xlbridge again"
    ).wait_for()
    again = xlbridge("ui", "--no-browser", **credentials(system)).stderr
    (link,) = re.findall(r"http://\S+/launch/\S+", again)
    with tab.expect_popup() as opened:
        tab.evaluate("link => { window.open(link); }", link)
    other = opened.value
    expect(other.locator("#known-counts")).to_contain_text("cells changed: 1")
    tab.locator("[data-view=mend]").click()  # the first tab has access again, too
    expect(tab.locator("#problem")).to_be_hidden()
    expect(tab.locator("#counts")).to_contain_text("cells changed: 1")


def test_a_page_that_is_started_again_opens_the_sheet_it_left(
    page: Page, forks: Zygote, home: Path, tmp_path: Path, system: RunningSandbox
) -> None:
    environment = clean_environment(home, **credentials(system))
    with running_page(forks, tmp_path, home, environment) as first:
        tab = begin(page, first, write_clients(tmp_path / "clientes.xlsx", "AGAIN", (None,)))
        tab.locator("#to-mend").click()
        tab.locator('[data-cell="A2"].error').wait_for()
        tab.keyboard.press("F8")
        expect(tab.locator("#grid textarea")).to_be_focused()
        tab.keyboard.type("Um")
        tab.keyboard.press("Enter")
        tab.locator("#counts", has_text="errors: 0").wait_for()
    with running_page(forks, tmp_path, home, environment) as second:
        tab.goto(second.link)
        expect(tab.locator("#saved")).to_contain_text("Reopened")
        expect(tab.locator("#counts")).to_contain_text("cells changed: 1")
        tab.locator("#menu").click()
        tab.locator("#end").click()
        tab.locator(".card", has_text="The page is closed").wait_for()
    with running_page(forks, tmp_path, home, environment) as third:
        tab.goto(third.link)
        tab.locator("#drafts button").first.wait_for()
        expect(tab.locator("#mend")).to_be_hidden()
