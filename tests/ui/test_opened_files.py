"""Files opened on the page: their content, and messages about those that are refused."""

import json
import re
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from bad_sheet import write_sheet
from browser import Page
from environment import clean_environment
from forked import Zygote
from openpyxl import Workbook
from playwright.sync_api import expect
from running_page import RunningPage, open_workbook, running_page, wait_for_end
from sheets import write_clients, write_records
from test_workflow import begin, drop

from xlbridge.profiles import Profile
from xlbridge.saved_logins import remove_profile, save_profile
from xlbridge.settings import Settings


def test_a_workbook_without_data_is_reported(client: httpx.Client, tmp_path: Path) -> None:
    book = Workbook()
    book.save(tmp_path / "vazio.xlsx")
    answer = open_workbook(client, tmp_path / "vazio.xlsx")
    assert "rows" not in answer
    message = "The workbook is empty. Enter the rows in Excel, save, and open it again."
    assert (answer["empty"], answer["error"]) == (True, {"message": message, "hint": ""})
    assert re.search(r"isOpen\W+false", client.get("/").text)
    book.active.append(["Resumo"])
    hidden = book.create_sheet("Títulos")
    hidden.append(["codigoDaFilial", "historico"])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "oculta.xlsx")
    answer = open_workbook(client, tmp_path / "oculta.xlsx")["error"]
    assert answer["message"].startswith("oculta.xlsx: ")
    assert "Títulos" in answer["hint"]
    assert "--" not in answer["hint"]


def test_an_unknown_encoding_is_detected(client: httpx.Client) -> None:
    content = "codigo;nome\n1;São João\n".encode("cp1252")
    answer = client.post(
        "/api/open?encoding=latim&delimiter=x",
        content=content,
        headers={"X-File-Name": "categoriacliente.csv"},
    )
    assert (answer.status_code, answer.json()["file"]) == (200, "categoriacliente.csv")


@pytest.mark.programs
def test_a_refused_file_is_named_and_leaves_the_other_open(
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
        const init = { dataTransfer: data, bubbles: true, cancelable: true };
        const event = new DragEvent("drop", init);
        document.querySelector("header").dispatchEvent(event);
        return event.defaultPrevented;
    }"""
    assert tab.evaluate(dropped, ["a.xlsx", "b.xlsx"])
    expect(tab.locator("#problem")).to_contain_text("one file at a time")
    tab.locator("#to-mend").click()
    assert tab.evaluate(dropped, ["a.xlsx"])
    expect(tab.locator("#problem")).to_contain_text("a.xlsx: The file is not")
    expect(tab.locator("#begin")).to_be_visible()


def test_upload_from_a_closed_page_is_not_opened(
    ui: RunningPage, client: httpx.Client, tmp_path: Path
) -> None:
    content = write_sheet(tmp_path / "titulos.xlsx", 3_000, 0.01).path.read_bytes()
    port = urlsplit(ui.address).port
    headers = dict(client.build_request("POST", "/api/open", content=content).headers)
    headers["cookie"] = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    # One page closes after sending everything, one in the middle.
    for sent in (len(content), len(content) // 2):
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(f"POST /api/open HTTP/1.1\r\n{head}\r\n".encode() + content[:sent])
    first = write_records(tmp_path / "clientes.xlsx", "cliente", [{}])
    assert open_workbook(client, first)["file"] == "clientes.xlsx"
    for _ in range(20):
        time.sleep(0.1)
        assert client.get("/api/sheet").json()["file"] == "clientes.xlsx"
    assert "Traceback" not in (tmp_path / "page.log").read_text("utf-8")


@pytest.mark.programs
def test_progress_is_shown_while_a_file_is_read_and_it_can_be_stopped(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    small = write_records(tmp_path / "clientes.xlsx", "cliente", [{}])
    tab = begin(page, ui, small)
    sheet = write_sheet(tmp_path / "titulos.xlsx", 3_000, 0.01).path
    steps: list[dict[str, object]] = [
        {"reading": True, "rows": 4096},
        {"reading": True, "column": "historico", "number": 6, "count": 12},
    ]
    tab.route("**/api/progress", lambda route: route.fulfill(json=steps[0]))
    tab.route("**/api/open*", lambda _: None)  # no answer yet
    tab.set_input_files('[data-testid="drop"]', sheet)
    shown = tab.locator("#reading-status")
    expect(shown).to_contain_text("titulos.xlsx (1 MB)… Rows read: 4,096")
    steps.pop(0)
    expect(shown).to_contain_text("Column 6 of 12: historico")
    share = tab.locator("#reading-share")
    expect(share).to_have_text("50% · 6 of 12")
    steps[0] |= {"number": 9}
    expect(share).to_contain_text(re.compile("75% · 9 of 12 · 0:.. left"))
    tab.get_by_role("button", name="Stop").click()
    expect(shown).to_be_hidden()
    expect(tab.locator("#problem")).to_be_hidden()
    expect(tab.locator("#file-name")).to_have_text("clientes.xlsx")
    tab.unroute_all()
    drop(tab, sheet)
    expect(tab.get_by_test_id("resource")).to_have_value("contasreceber")


def restored_environment(client: httpx.Client) -> tuple[str, str]:
    """Return the page's environment, and the one that it names for the sheet it opens again."""
    chosen = client.get("/api/profiles").json()["profiles"][0]
    data = re.search(r'id="page-data">(.*?)</script>', client.get("/").text, re.DOTALL)
    assert data is not None
    return chosen["profile"], json.loads(data[1])["leftEnvironment"]


def test_a_page_that_is_started_again_uses_the_environment_of_the_sheet_it_left(
    tmp_path: Path, home: Path, forks: Zygote
) -> None:
    for name in ("homolog", "outro"):
        save_profile(Settings(home), Profile(name, f"https://{name}.example", "a@b.example"))
    environment = clean_environment(home)
    path = write_clients(tmp_path / "clientes.xlsx", "LEFT", (None,))
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        open_workbook(client, path)
        assert client.post("/api/use-profile", json={"name": "homolog"}).status_code == 200
        edited = client.post("/api/edit", json=[{"row": 2, "column": 0, "value": "Um"}])
        assert edited.json()["edited"] == 1
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        assert restored_environment(client) == ("homolog", "")
    # The command's own choice is kept, and the page says that the sheet had another one.
    named = environment | {"XLBRIDGE_PROFILE": "outro"}
    with running_page(forks, tmp_path, home, named) as ui, ui.client() as client:
        assert restored_environment(client) == ("outro", "homolog")
    remove_profile(Settings(home), "homolog")
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        assert restored_environment(client) == ("sandbox", "homolog")
        client.post("/api/stop", json={})


def test_a_page_that_is_started_again_uses_the_environment_of_the_month_in_progress(
    tmp_path: Path, home: Path, forks: Zygote
) -> None:
    save_profile(Settings(home), Profile("homolog", "https://homolog.example", "a@b.example"))
    environment = clean_environment(home)
    write_clients(tmp_path / "clientes.xlsx", "LEFT", (None,))
    plan = tmp_path / "plan.yaml"
    steps = "  clientes: {upload: clientes.xlsx, resource: cliente}\n"
    plan.write_text(f"version: 1\nname: mes\nsteps:\n{steps}", "utf-8")
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        assert client.post("/api/use-profile", json={"name": "homolog"}).status_code == 200
        assert client.post("/api/begin-batch", json={"plan": str(plan)}).is_success
        wait_for_end(client)
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        assert restored_environment(client) == ("homolog", "")
        client.post("/api/stop", json={})
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        assert restored_environment(client) == ("sandbox", "")


@pytest.mark.programs
def test_an_edit_that_is_continued_begins_at_its_first_error(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    wrong = {"natureza": "J", "nomeComercial": None, "email": "a@b.example"}
    tab = begin(page, ui, write_records(tmp_path / "um.xlsx", "cliente", [wrong]))
    tab.locator("[data-view=mend]").click()
    tab.locator('#grid [data-cell="C2"]').click()
    tab.keyboard.type("x")
    tab.keyboard.press("Enter")
    tab.locator("#saved", has_text="All saved at").wait_for()
    tab.locator("[data-view=begin]").click()
    drop(tab, write_records(tmp_path / "dois.xlsx", "cliente", [{}]))
    tab.locator("[data-view=mend]").click()
    tab.locator('#grid [data-cell="C2"]').click()
    tab.locator("[data-view=begin]").click()
    tab.get_by_role("row", name="um.xlsx").get_by_role("button", name="Continue").click()
    expect(tab.locator("#file-name")).to_have_text("um.xlsx")
    expect(tab.locator("#cell-here")).to_have_attribute("aria-invalid", "true")
    expect(tab.locator("#remark")).to_contain_text("required")
