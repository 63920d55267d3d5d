"""The grid in a browser: find and replace, menus of columns and cells, widths, what is saved."""

import re
from datetime import date
from pathlib import Path

import pytest
from browser import Page
from playwright.sync_api import Locator, Page as Tab, expect
from running_page import RunningPage
from sheets import write_records
from test_accessibility import violations
from test_workflow import begin

from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """A system with clients, whose names are looked up."""
    return demo_sandbox


@pytest.fixture
def tab(page: Page, ui: RunningPage, tmp_path: Path) -> Tab:
    """The grid with all rows of 60 receivables."""
    records = [
        {
            "historico": f"{('Juros', 'Frete', 'Aluguel')[number % 3]} {number}",
            "valorDoLancamento": 1000.5 + number,
            "dataDeVencimento": date(2026, 11, 1 + number % 28),
        }
        for number in range(60)
    ]
    tab = begin(page, ui, write_records(tmp_path / "titulos.xlsx", "contasreceber", records))
    tab.locator("#to-mend").click()
    tab.locator("#view").select_option("all")
    tab.locator('[data-cell="A2"]').wait_for()
    return tab


def open_column(tab: Tab, title: str) -> None:
    tab.locator("#grid .head .cell", has_text=f"· {title}").click()
    tab.locator("#filter-values input").first.wait_for()


def numbers(tab: Tab, *rows: int) -> None:
    """Wait until the first rows shown are these."""
    shown = tab.locator("#grid .line .number")
    for at, row in enumerate(rows):
        expect(shown.nth(at)).to_have_text(str(row))


def test_a_text_is_found_and_replaced_in_rows_out_of_sight(tab: Tab) -> None:
    first = tab.locator("#grid .line .cell", has_text="Juros 0")
    letters = first.get_attribute("data-cell").rstrip("2")
    tab.locator('[data-cell="A2"]').click()
    tab.keyboard.press("Control+f")
    expect(tab.locator("#find-text")).to_be_focused()
    expect(tab.locator("#find-one")).to_be_disabled()
    tab.keyboard.type("juros 57")
    tab.keyboard.press("Enter")  # before the cells are counted
    tab.locator("#find-count", has_text="Cells found: 1").wait_for()
    assert violations(tab, "find") == []
    here = tab.locator("#cell-here")
    expect(here).to_have_text("Juros 57")
    expect(here).to_have_attribute("data-cell", f"{letters}59")
    tab.locator("#find-by").fill("Multa 57")
    tab.locator("#find-one").click()
    expect(tab.locator(f'[data-cell="{letters}59"]')).to_have_text("Multa 57")
    tab.locator("#find-text").fill("juros")
    tab.locator("#find-count", has_text="Cells found: 19").wait_for()
    tab.locator("#find-by").fill("Mora")
    tab.locator("#find-all").click()
    expect(tab.locator("#fixes-title")).to_have_text("Cells to be corrected: 19")
    tab.locator("#fixes-do").click()
    tab.locator("#find-count", has_text="Cells found: 0").wait_for()
    expect(tab.locator("#saved")).to_contain_text("All saved at")
    expect(tab.locator("#undo")).to_have_attribute(
        "title", f"{letters}2 becomes “Juros 0” again, and 18 more cells"
    )
    tab.keyboard.press("Escape")
    expect(tab.locator("#find")).to_be_hidden()
    tab.keyboard.press("Control+z")
    expect(tab.locator("#undo")).to_be_enabled()
    expect(tab.locator("#redo")).to_be_enabled()


def test_columns_are_sorted_filtered_hidden_frozen_and_widened(tab: Tab) -> None:
    open_column(tab, "Due date")
    assert violations(tab, "column") == []
    tab.locator("#sort-down").click()
    numbers(tab, 29, 57, 28, 56)
    open_column(tab, "Due date")
    tab.locator("#filter-text").fill("28/11")
    expect(tab.locator("#filter-values input")).to_have_count(1)
    tab.keyboard.press("Enter")
    expect(tab.locator("#grid .line")).to_have_count(2)
    head = tab.locator("#grid .head .cell", has_text="Due date")
    expect(head).to_have_attribute("aria-sort", "descending")
    tab.reload()
    expect(tab.locator("#arranged")).to_have_text("Remove filters and order · rows shown: 2")
    expect(tab.locator("#grid .line")).to_have_count(2)
    tab.locator("#arranged").click()
    numbers(tab, 2, 3)
    # Hidden, frozen and wide columns outlive a reload, too.
    tab.locator('[data-cell="B2"]').click()
    tab.locator("#column-open").click()
    tab.locator("#column-freeze").click()
    expect(tab.locator("#grid .line").first.locator(".frozen")).to_have_count(2)
    tab.locator('[data-cell="C2"]').click()
    tab.locator("#column-open").click()
    tab.locator("#column-hide").click()
    expect(tab.locator('[data-cell="C2"]')).to_have_count(0)
    handle = box_of(tab.locator("#grid .head .cell").nth(1).locator(".resize"))
    tab.mouse.move(handle["x"] + 3, handle["y"] + 10)
    tab.mouse.down()
    tab.mouse.move(handle["x"] + 53, handle["y"] + 10)
    with tab.expect_response("**/api/layout"):
        tab.mouse.up()
    tab.reload()
    tab.locator('[data-cell="A2"]').wait_for()
    assert round(box_of(tab.locator('[data-cell="A2"]'))["width"]) == 200
    expect(tab.locator('[data-cell="C2"]')).to_have_count(0)
    tab.locator('[data-cell="B2"]').click()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "D2")
    tab.keyboard.press("End")
    box = box_of(tab.locator('[data-cell="B2"]'))
    assert box["x"] > tab.locator("#grid").bounding_box()["x"]


def test_cells_are_filled_and_rows_inserted_and_deleted_from_the_menu(tab: Tab) -> None:
    cells = [tab.locator(f'[data-cell="B{row}"]') for row in range(2, 6)]
    cells[0].click()
    tab.keyboard.type("7")
    tab.keyboard.press("Enter")
    expect(cells[0]).to_have_text("7")
    cells[0].click()
    cells[3].click(modifiers=["Shift"])
    tab.keyboard.press("Control+d")
    expect(cells[3]).to_have_text("7")
    cells[1].click()
    tab.keyboard.type("9")
    tab.keyboard.press("Enter")
    cells[0].click()
    cells[3].click(modifiers=["Shift"])
    cells[2].click(button="right")
    assert violations(tab, "cells") == []
    tab.locator("#fill-series").click()
    for cell, text in zip(cells, ("7", "9", "11", "13"), strict=True):
        expect(cell).to_have_text(text)
    tab.locator("#grid .line .number").nth(1).click()
    tab.locator("#grid .line .number").nth(2).click(modifiers=["Shift"])
    tab.locator("#cell-open").click()
    tab.locator("#insert-below").click()
    numbers(tab, 2, 3, 4, 62, 63, 5)
    tab.locator("#grid .line .number").nth(1).click(button="right")
    tab.locator("#delete-rows").click()
    numbers(tab, 2, 4, 62, 63, 5)
    expect(tab.locator("#undo-what")).to_have_text("Undo: row 3 comes back")
    tab.locator("#undo").click()
    numbers(tab, 2, 3, 4, 62)


def test_a_client_is_found_by_name_and_a_day_in_a_calendar(tab: Tab) -> None:
    tab.locator('[data-cell="B2"]').click()
    tab.keyboard.press("F2")
    offered = tab.locator("#choices-of-cell li")
    offered.first.wait_for()
    expect(tab.locator("#choices-of-cell")).to_be_visible()
    code, name = offered.nth(1).inner_text().split(" · ", 1)
    tab.keyboard.press("Escape")
    tab.keyboard.type(name.split()[0][:4].lower())
    tab.locator("#choices-of-cell li", has_text=name).wait_for()
    assert violations(tab, "names") == []
    while tab.locator("#choices-of-cell [aria-selected=true]").all_inner_texts() != [
        f"{code} · {name}"
    ]:
        tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    chosen = tab.locator('[data-cell="B2"]')
    expect(chosen).to_have_text(code)
    expect(chosen).to_have_attribute("data-name", name)
    tab.keyboard.press("ArrowUp")
    expect(tab.locator("#remark")).to_contain_text(f"B2 · {code} · {name}")
    due = tab.locator("#grid .line").first.locator(".cell", has_text="01/11/2026")
    due.click()
    expect(tab.locator("#grid .opener")).to_be_visible()
    tab.locator("#grid .day").evaluate(
        "one => { one.value = '2026-12-24'; one.dispatchEvent(new Event('change')); }"
    )
    expect(tab.locator("#cell-here")).to_have_text("24/12/2026")


def test_an_error_that_a_filter_or_a_hidden_column_conceals_is_gone_to(tab: Tab) -> None:
    wrong = tab.locator('[data-cell="B2"]')
    wrong.click()
    tab.keyboard.type("ninguém")
    tab.keyboard.press("Enter")
    expect(wrong).to_have_class(re.compile("error"))
    open_column(tab, "Due date")
    tab.locator("#filter-text").fill("28/11")
    expect(tab.locator("#filter-values input")).to_have_count(1)
    tab.keyboard.press("Enter")
    expect(tab.locator("#grid .line")).to_have_count(2)
    open_column(tab, "Client code")
    tab.locator("#column-hide").click()
    expect(tab.locator('#grid .line [data-place="1"]')).to_have_count(0)
    tab.get_by_test_id("next-error").click()
    expect(tab.locator("#cell-here")).to_have_attribute("data-cell", "B2")
    expect(tab.locator("#grid textarea")).to_be_focused()
    expect(tab.locator("#arranged")).to_be_hidden()


def box_of(part: Locator) -> dict[str, float]:
    """Return the place and size of a part of the page, again if it is drawn anew meanwhile."""
    while (box := part.bounding_box()) is None:
        pass
    return box


def middle(cell: Locator) -> tuple[float, float]:
    box = box_of(cell)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_double_click_edits_the_cell(tab: Tab) -> None:
    cell = tab.locator("#grid .line .cell", has_text=re.compile("^Aluguel 2$"))
    address = cell.get_attribute("data-cell")
    tab.mouse.dblclick(*middle(cell))
    expect(tab.locator("#grid textarea.typing")).to_have_value("Aluguel 2")
    tab.keyboard.press("End")
    tab.keyboard.type(" de novo")
    tab.keyboard.press("Enter")
    expect(tab.locator(f'[data-cell="{address}"]')).to_have_text("Aluguel 2 de novo")


def test_a_selection_dragged_past_the_edge_scrolls_the_grid(tab: Tab) -> None:
    grid = tab.locator("#grid").bounding_box()
    across, down = middle(tab.locator('[data-cell="A5"]'))
    tab.mouse.move(across, down)
    tab.mouse.down()
    tab.mouse.move(across, grid["y"] + grid["height"] + 5)
    tab.locator('[data-cell="A61"].range').wait_for()
    tab.mouse.up()
    tab.keyboard.press("Delete")
    tab.locator("#counts", has_text="errors: 57").wait_for()


def test_the_grid_has_the_focus_when_it_opens_and_after_a_calendar(tab: Tab) -> None:
    tab.locator("[data-view=begin]").click()
    tab.locator("#to-mend").click()
    expect(tab.locator("#grid textarea")).to_be_focused()
    cell = tab.locator("#grid .line .cell", has_text="01/11/2026").first
    cell.click()
    tab.locator("#grid .opener").click()
    expect(tab.locator("#grid textarea")).to_be_focused()
