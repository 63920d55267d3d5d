"""Accessibility: screens checked by axe-core in both themes, the grid for screen readers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import Page
from environment import Xlbridge, credentials
from playwright.sync_api import Page as Tab, expect
from running_page import RunningPage
from sheets import write_clients, write_records
from test_page_features import PLAN
from test_workflow import begin_without_file, drop

from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs


def violations(
    tab: Tab, screen: str, on_theme: Callable[[str, str], None] = lambda *_: None
) -> list[tuple[Any, ...]]:
    """Return what axe-core finds in a screen, in both themes; ``on_theme`` is called in each."""
    found: list[tuple[Any, ...]] = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme="light" if scheme == "light" else "dark")
        on_theme(screen, scheme)
        for rule in Axe().run(tab).response["violations"]:
            nodes = [
                (node["html"], node["any"] and node["any"][0]["message"]) for node in rule["nodes"]
            ]
            found.append((screen, scheme, rule["id"], nodes[:3]))
    return found


def test_every_screen_keeps_the_rules_of_accessibility(
    page: Page,
    ui: RunningPage,
    tmp_path: Path,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    names = (None, "  Bar  ", "Café")
    path = write_clients(tmp_path / "clientes.xlsx", "AXE", names)
    own = credentials(empty_sandbox)
    assert xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **own).returncode == 1
    for price, options in ((2, ()), (3, ("--update",))):
        record = {"codigoInterno": "AXE-1", "valorUnitario": price}
        changed = write_records(tmp_path / "produtos.xlsx", "produto", [record])
        assert xlbridge("upload", changed, "--yes", *options, **own).returncode == 0
    tab = begin_without_file(page, ui)
    tab.locator("#help-button").click()
    tab.locator("#menu").click()
    found = violations(tab, "first steps, help and menu")
    tab.locator("#help-button").click()
    drop(tab, path)
    tab.locator("#mapping summary").click()
    found += violations(tab, "begin")
    tab.locator("#to-mend").click()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark", has_text="required").wait_for()
    found += violations(tab, "correct")
    cells = tab.get_by_role("grid")
    expect(cells).to_have_attribute("aria-rowcount", "3")
    here = cells.locator("#cell-here")
    expect(here).to_have_attribute("aria-invalid", "true")
    typed = tab.locator("#grid textarea")
    expect(typed).to_be_focused()
    expect(typed).to_have_attribute("aria-activedescendant", "cell-here")
    expect(tab.locator("#remark")).to_have_attribute("aria-live", "polite")
    tab.get_by_test_id("fix-all").click()
    tab.locator("#fixes[open]").wait_for()
    found += violations(tab, "fixes")
    tab.locator("#fixes-close").click()
    tab.locator("[data-view=send]").click()
    tab.locator("#good-rows").check()
    tab.get_by_role("button", name="See the plan").click()
    tab.get_by_test_id("send").wait_for()
    found += violations(tab, "plan")
    tab.get_by_test_id("send").click()
    tab.locator('[data-testid="outcome"]:not([hidden])').wait_for()
    found += violations(tab, "outcome")
    tab.locator("[data-view=jobs]").click()
    tab.get_by_role("button", name="Details").nth(1).click()  # the change can be undone
    tab.get_by_role("button", name="Undo this upload").click()
    tab.locator("#undo-plan .figures").wait_for()
    expect(tab.locator("#undo-plan")).to_contain_text("gets back Unit price: 2")
    tab.locator("#job-shown .totals table").first.wait_for()
    found += violations(tab, "jobs")
    tab.locator("[data-view=exports]").click()
    tab.locator("#listing").select_option("clientes")
    tab.locator("#export").click()
    tab.locator("#preview td").first.wait_for()
    found += violations(tab, "exports")
    for view, shown in (
        ("batches", "#batch-list td"),
        ("profiles", "#profile-table td"),
        ("process", "#process-plan"),
    ):
        tab.locator(f"[data-view={view}]").click()
        tab.locator(shown).first.wait_for()
        for part in tab.locator(f"#{view} details:not([open]) > summary").all():
            part.click()
        if view == "batches":
            tab.locator("#folder-shown button").first.wait_for()
            tab.locator("#batch-list .bars").first.wait_for()
        found += violations(tab, view)
    assert found == [], "\n".join(map(str, found))
