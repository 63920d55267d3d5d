"""Late answers: changes made meanwhile are not lost, and outdated answers are not shown."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from browser import Page
from playwright.sync_api import APIResponse, Page as Tab, Route, expect
from running_page import RunningPage
from sheets import write_clients, write_records, write_rows
from test_workflow import begin, begin_without_file, drop

from xlbridge import validate

pytestmark = pytest.mark.programs


@dataclass
class Held:
    """Answer of the server that is held back from the page: the first one."""

    tab: Tab
    routes: list[Route] = field(default_factory=list)
    answers: list[APIResponse] = field(default_factory=list)

    def hold(self, route: Route) -> None:
        if self.routes:
            route.fallback()
            return
        self.routes.append(route)
        self.answers.append(route.fetch())

    def release(self) -> None:
        deadline = time.monotonic() + 60
        while not self.answers:
            assert time.monotonic() < deadline, "the page did not ask"
            self.tab.wait_for_timeout(10)
        with self.tab.expect_response(self.routes[0].request.url):
            self.routes[0].fulfill(response=self.answers[0])


@contextmanager
def holding(tab: Tab, action: str, query: str = "") -> Iterator[Held]:
    """Hold the answer to the first request of an action in the block, until it is released.

    The route stays: a request that is just being sent when Chromium ends interception, such as the
    upload that waits for the held answer, is never answered.
    """
    held = Held(tab)
    tab.route(f"**/api/{action}{query}", held.hold)
    yield held


def test_choices_wait_for_the_answer_that_replaces_them(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    header = ["Nome fantasia", "Tipo pessoa", "Código interno"]
    path = write_rows(tmp_path / "clientes.xlsx", header, [["Padaria", "Jurídica", "MAP-1"]])
    tab = begin(page, ui, path)
    mapping = tab.get_by_test_id("mapping")
    own = mapping.get_by_label("Código interno: In the system")
    confirm = mapping.get_by_role("button", name="Confirm the columns")
    resource = tab.get_by_test_id("resource")
    with holding(tab, "choose") as held:
        resource.focus()
        resource.select_option("cliente")
        for one in (own, confirm, resource, tab.locator("#sheet"), tab.locator("#to-mend")):
            expect(one).to_be_disabled()
        held.release()
    expect(resource).to_be_focused()
    with holding(tab, "mapping-column") as held:
        own.focus()
        own.select_option("email")
        expect(confirm).to_be_disabled()
        held.release()
    expect(own).to_be_focused()
    expect(own).to_have_value("email")
    own.select_option("seuCodigo")
    confirm.click()
    tab.locator("#known-counts", has_text="errors: 0").wait_for()


def test_an_outdated_answer_is_not_shown(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    first = write_records(tmp_path / "primeira.xlsx", "cliente", [{}])
    second = write_records(tmp_path / "segunda.xlsx", "contasreceber", [{}])
    tab = begin(page, ui, first)
    with holding(tab, "choose") as held:
        tab.get_by_test_id("resource").select_option("fornecedor")
        tab.set_input_files('[data-testid="drop"]', second)
        held.release()
    expect(tab.locator("#file-name")).to_have_text("segunda.xlsx")
    expect(tab.get_by_test_id("resource")).to_have_value("contasreceber")
    tab.locator("[data-view=send]").click()
    with holding(tab, "plan") as held:
        tab.get_by_role("button", name="See the plan").click()
        tab.locator("[data-view=begin]").click()
        drop(tab, first)
        expect(tab.locator("#file-name")).to_have_text("primeira.xlsx")
        held.release()
    tab.locator("[data-view=send]").click()
    expect(tab.get_by_role("button", name="See the plan")).to_be_enabled()
    expect(tab.get_by_test_id("plan")).to_be_hidden()


def test_a_late_answer_leaves_a_newer_message(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "LATE", ("Loja", None)))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A3"]').wait_for()
    first = tab.locator('[data-cell="A2"]')
    (tmp_path / "nota.xlsx").write_text("no workbook", encoding="utf-8")
    with holding(tab, "rows", "?*view=all*") as held:
        tab.locator("#view").select_option("all")
        tab.locator("[data-view=begin]").click()
        tab.set_input_files('[data-testid="drop"]', tmp_path / "nota.xlsx")
        message = tab.locator("#problem", has_text="nota.xlsx: The file is not")
        message.wait_for()
        expect(first).not_to_be_attached()
        held.release()
    expect(first).to_be_attached()
    expect(message).to_be_visible()
    tab.locator("[data-view=mend]").click()
    expect(message).to_be_hidden()


def test_the_next_error_waits_for_the_rows(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = ("Loja", "Bar", None)
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "NEXT", names))
    tab.locator("#to-mend").click()
    tab.locator('[data-cell="A4"]').wait_for()
    with holding(tab, "rows", "?*view=all*") as held:
        tab.locator("#view").select_option("all")
        tab.get_by_test_id("next-error").click()
        held.release()
    tab.locator("#remark", has_text="required").wait_for()
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "A4")


def test_cells_are_cut_as_selected(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = [f"Loja {n}" for n in range(150)]
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "CUT", names))
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator("#to-mend").click()
    first = tab.locator('[data-cell="A2"]')
    first.click()
    with holding(tab, "rows", "?start=100*") as held:
        for _ in range(120):
            tab.keyboard.press("Shift+ArrowDown")
        tab.keyboard.press("Control+x")
        tab.keyboard.press("Control+Home")
        tab.locator("#view").select_option("wrong")
        expect(tab.locator("#grid .line")).to_have_count(0)
        held.release()
    tab.locator("#counts", has_text="errors: 121").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied == "\n".join(names[:121])


def test_edits_reach_the_sheet_in_their_order(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    names = ("Loja", None, "Bar")
    tab = begin(page, ui, write_clients(tmp_path / "clientes.xlsx", "TURN", names))
    tab.locator("#to-mend").click()
    wrong = tab.locator('[data-cell="A3"]')
    wrong.wait_for()
    with holding(tab, "rows", "?*view=all*") as held:
        tab.locator("#view").select_option("all")
        tab.locator("#view").select_option("wrong")
        held.release()
    expect(tab.locator("#grid .line")).to_have_count(1)
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').click()
    with holding(tab, "edit", "?*") as held:
        for name in ("Um", "Dois"):
            tab.keyboard.type(name)
            tab.keyboard.press("Enter")
        tab.locator("#undo").click()
        tab.locator("#redo").click()
        held.release()
    expect(tab.locator("#counts")).to_contain_text("cells changed: 2")
    expect(tab.locator('[data-cell="A2"]')).to_have_text("Um")
    expect(wrong).to_have_text("Dois")
    expect(tab.locator("#counts")).to_contain_text("errors: 0")


def test_back_and_a_reload_keep_the_screen(page: Page, ui: RunningPage, tmp_path: Path) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"nomeComercial": None}])
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator("[data-view=jobs]").click()
    expect(tab.locator("#jobs")).to_be_visible()
    tab.go_back()
    expect(tab.locator("#mend")).to_be_visible()
    tab.reload()
    tab.locator('[data-cell="A2"].error').wait_for()
    tab.go_back()
    expect(tab.locator("#begin")).to_be_visible()


def test_a_tab_downloads_the_sheet_that_it_shows(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    first, second = tmp_path / "açúcar.xlsx", tmp_path / "outra.xlsx"
    for path in (first, second):
        write_records(path, "cliente", [{}])
    tab = begin(page, ui, first)
    tab.locator("#to-mend").click()
    link = tab.get_by_test_id("download-workbook")
    with tab.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == "açúcar-corrigida.xlsx"
    assert validate(download.value.path()).ok
    with tab.expect_popup() as other:
        tab.evaluate("window.open('/'), null")
    other.value.wait_for_load_state()
    drop(other.value, second)
    other.value.close()
    link.click()
    tab.locator("#problem", has_text="Another sheet was opened").wait_for()
    expect(tab.locator("#mend")).to_be_visible()


def test_stop_request_is_shown_immediately(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    running = {"running": True, "lines": ["Reading"], "outcome": None, "error": None}
    tab.route("**/api/export", lambda route: route.fulfill(json={"started": True}))
    tab.route("**/api/work", lambda route: route.fulfill(json=running))
    tab.locator("[data-view=exports]").click()
    tab.locator("#export").click()
    stop = tab.locator("#export-cancel")
    with holding(tab, "cancel") as held:
        stop.click()
        expect(stop).to_be_disabled()
        expect(stop).to_contain_text("Stopping")
        held.release()
    tab.unroute_all()


def test_the_test_of_a_login_says_what_it_does(page: Page, ui: RunningPage) -> None:
    tab = begin_without_file(page, ui)
    tab.locator("[data-view=profiles]").click()
    with holding(tab, "login") as held:
        tab.get_by_role("button", name="Test the login").click()
        expect(tab.locator("#profile-status")).to_have_text("Testing the login…")
        held.release()
    expect(tab.locator("#profile-status")).to_contain_text("the credentials are accepted")


@pytest.mark.parametrize("way", ["key", "button", "input method"])
def test_what_is_typed_before_the_next_error_is_found_reaches_its_cell(
    page: Page, ui: RunningPage, tmp_path: Path, way: str
) -> None:
    path = write_clients(tmp_path / "clientes.xlsx", "LATE", ("Bar", "Loja", None))
    tab = begin(page, ui, path)
    tab.locator("#to-mend").click()
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').click()
    with holding(tab, "next-error", "*") as held:
        if way == "key":
            tab.keyboard.press("F8")
        else:
            tab.get_by_test_id("next-error").click()
        if way == "input method":  # as dead keys and telephones type, without a key for each letter
            tab.keyboard.insert_text("Padaria")
        else:
            tab.keyboard.type("Padaria")
        tab.keyboard.press("Enter")
        held.release()
    expect(tab.locator('[data-cell="A4"]')).to_have_text("Padaria")
    expect(tab.locator('[data-cell="A2"]')).to_have_text("Bar")
    expect(tab.locator("#counts")).to_contain_text("errors: 0")
