"""Files that are opened on the page: what they hold, what is told of those that it cannot take."""

import re
from pathlib import Path

import httpx
from browser import Page
from openpyxl import Workbook
from playwright.sync_api import expect
from running_page import RunningPage, opened
from sheets import write_records
from test_story import begin


def test_a_workbook_without_data_is_told_as_one(client: httpx.Client, tmp_path: Path) -> None:
    book = Workbook()
    book.save(tmp_path / "vazio.xlsx")
    told = opened(client, tmp_path / "vazio.xlsx")
    assert "rows" not in told
    assert told["error"] == {"message": "The workbook has no rows.", "hint": ""}
    assert re.search(r"isOpen\W+false", client.get("/").text)
    book.active.append(["Resumo"])
    hidden = book.create_sheet("Títulos")
    hidden.append(["codigoDaFilial", "historico"])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "oculta.xlsx")
    hint = opened(client, tmp_path / "oculta.xlsx")["error"]["hint"]
    assert "Títulos" in hint
    assert "--" not in hint


def test_a_file_that_is_refused_is_told_by_its_name_and_leaves_the_other_open(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = begin(page, ui, write_records(tmp_path / "clientes.xlsx", "cliente", [{}]))
    (tmp_path / "nota.xlsx").write_text("no workbook", encoding="utf-8")
    tab.set_input_files('[data-testid="drop"]', tmp_path / "nota.xlsx")
    expect(tab.locator("#problem")).to_contain_text("nota.xlsx: The file is not")
    expect(tab.locator("#file-name")).to_have_text("clientes.xlsx")
    dropped = """files => {
        const data = new DataTransfer();
        for (const name of files) data.items.add(new File(["x"], name));
        const told = { dataTransfer: data, bubbles: true, cancelable: true };
        const event = new DragEvent("drop", told);
        document.querySelector("header").dispatchEvent(event);
        return event.defaultPrevented;
    }"""
    assert tab.evaluate(dropped, ["a.xlsx", "b.xlsx"])
    expect(tab.locator("#problem")).to_contain_text("one file at a time")
    tab.locator("#to-mend").click()
    assert tab.evaluate(dropped, ["a.xlsx"])
    expect(tab.locator("#problem")).to_contain_text("a.xlsx: The file is not")
    expect(tab.locator("#begin")).to_be_visible()
