"""Names in a column of codes on the page: the system's are proposed, the others asked for once."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import Page
from environment import clean_environment, credentials
from forked import Zygote
from lossy_proxy import LossyProxy, lossy_proxy
from playwright.sync_api import expect
from running_page import RunningPage, marked_cells, open_workbook, running_page
from sheets import write_records

from xlbridge.sandbox import RunningSandbox

_HEADER = (
    "Filial;Cliente;Item;Centro de custo;Conta;Histórico;Nº documento;Data de emissão;Vencimento;"
    "Valor"
)
_ROWS = (
    "Matrz São Paulo;1311;1.01.001;Comercial;1;Venda;N-1;13/10/2026;30/10/2026;10,00",
    "Matriz São Paulo;1197;1.01.001;Logistica;1;Venda;N-2;13/10/2026;30/10/2026;20,00",
)


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    return demo_sandbox


def write(folder: Path, name: str, more: str = "") -> Path:
    path = folder / name
    lines = [_HEADER + (";Obs" if more else ""), *(f"{row}{more}" for row in _ROWS)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def unknown_names(client: httpx.Client, form: dict[str, Any]) -> dict[str, Any]:
    place = {name: form[name] for name in ("resource", "sheet", "header_row")}
    answer: dict[str, Any] = client.post("/api/unknown-names", json=place).json()
    return answer


def test_only_names_that_the_system_lacks_are_asked_for_and_once(
    client: httpx.Client, tmp_path: Path
) -> None:
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv"))["mapping"]
    assert form["columns"]["codigoDaFilial"] == {"from": "Filial", "link": "filial"}
    asked = unknown_names(client, form)
    # Accents and case do not make another name.
    assert list(asked["columns"]) == ["codigoDaFilial"]
    body = asked["columns"]["codigoDaFilial"]
    assert body["values"] == {"Matrz São Paulo": "?"}
    assert "Similar: 1 – Matriz São Paulo" in asked["reasons"]["codigoDaFilial"]
    form["columns"]["codigoDaFilial"] = body | {"values": {"Matrz São Paulo": "Matriz São Paulo"}}
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    sheet = client.post("/api/map", json={name: form[name] for name in names}).json()
    assert sheet["errors"] == 0
    assert client.post("/api/plan", json={}).json()["counts"]["create"] == 2
    # The answer is remembered, also for another sheet.
    again = open_workbook(client, tmp_path / "a receber.csv")["mapping"]
    assert again["kind"] == "remembered"
    assert unknown_names(client, again)["columns"] == {}
    other = open_workbook(client, write(tmp_path, "outra.csv", ";x"))["mapping"]
    assert other["columns"]["codigoDaFilial"]["values"] == {"Matrz São Paulo": "Matriz São Paulo"}
    assert unknown_names(client, other)["columns"] == {}


def test_a_word_stands_for_a_code_of_the_system(client: httpx.Client, tmp_path: Path) -> None:
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv"))["mapping"]
    asked = unknown_names(client, form)["columns"]["codigoDaFilial"]
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    form["columns"]["codigoDaFilial"] = asked | {"values": {"Matrz São Paulo": " 1"}}
    sheet = client.post("/api/map", json={name: form[name] for name in names}).json()
    assert sheet["errors"] == 0, sheet
    assert client.post("/api/plan", json={}).json()["counts"]["create"] == 2


def test_a_name_that_an_edit_brings_after_the_mapping_is_marked_as_the_plan_would(
    client: httpx.Client, tmp_path: Path
) -> None:
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv"))["mapping"]
    asked = unknown_names(client, form)["columns"]["codigoDaFilial"]
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    form["columns"]["codigoDaFilial"] = asked | {"values": {"Matrz São Paulo": "1"}}
    client.post("/api/map", json={name: form[name] for name in names}).raise_for_status()

    def edited(*values: str) -> dict[str, Any]:
        cells = [{"row": 2 + n, "column": 0, "value": value} for n, value in enumerate(values)]
        answer: dict[str, Any] = client.post("/api/edit", json=cells).json()
        return answer

    assert edited("Filial do Norte", "MATRIZ SAO PAULO")["refused"] == 1
    (rule,) = edited("Matriz")["rules"]
    assert rule["message"].startswith("Not found among the branches by name. Similar names: 1 – ")

    def refused_after(change: str, **body: object) -> int:
        answer = client.post(f"/api/{change}", json=body)
        assert answer.status_code == 200, answer.text
        return int(answer.json()["refused"])

    block = {"view": "all", "first": 2, "last": 3, "left": 0, "right": 0}
    assert refused_after("fill", **block, series=False) == 2
    assert refused_after("step", step="undo") == 1
    assert refused_after("replace", rule=rule["key"], before="Matriz", after="Sul") == 1
    sought = {"text": "MATRIZ SAO PAULO", "column": 0, "whole": True, "only": None}
    assert refused_after("find-replace", **sought, by="Filial do Norte") == 2
    assert refused_after("step", step="undo") == 1
    # What the confirmed mapping converts has a record.
    assert edited("Matrz São Paulo")["refused"] == 0
    assert client.post("/api/plan", json={}).json()["counts"]["create"] == 2


def write_without_branch(path: Path) -> None:
    lines = (line.partition(";")[2] for line in (_HEADER, *_ROWS))
    path.write_text("\n".join(lines).replace("Logistica", "Comercial") + "\n", "utf-8")


def with_branch(client: httpx.Client, path: Path, name: str) -> dict[str, Any]:
    """Open a sheet without a column of branches; return its form with one for all rows."""
    write_without_branch(path)
    form: dict[str, Any] = open_workbook(client, path)["mapping"]
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    form["columns"]["codigoDaFilial"] = {"constant": name}
    return {name: form[name] for name in names}


_TOPS = "all => all.map((one) => one.getBoundingClientRect().top)"
_NOT_FOUND = "Not found among the branches by name. Similar: 1 – Matriz São Paulo."


def test_a_name_for_all_rows_without_a_record_is_refused_at_its_field(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "sem filial.csv"
    refused = client.post("/api/map", json=with_branch(client, path, "Matriz"))
    (problem,) = refused.json()["error"]["fields"]
    assert (problem["column"], problem["message"]) == ("codigoDaFilial", _NOT_FOUND)
    form = with_branch(client, path, "Matriz São Paulo")
    assert client.post("/api/map", json=form).json()["errors"] == 0


def test_names_of_a_form_are_checked_before_it_is_confirmed(
    client: httpx.Client, tmp_path: Path
) -> None:
    form = with_branch(client, tmp_path / "sem filial.csv", "Matriz")
    (problem,) = client.post("/api/mapped-names", json=form).json()["fields"]
    assert problem == {"column": "codigoDaFilial", "word": None, "message": _NOT_FOUND}
    form = open_workbook(client, write(tmp_path, "a receber.csv"))["mapping"]
    form["columns"]["codigoDaFilial"]["values"] = {"Matrz São Paulo": "Matriz", "Outra": "?"}
    (problem,) = client.post("/api/mapped-names", json=form).json()["fields"]
    assert problem == {"column": "codigoDaFilial", "word": "Matrz São Paulo", "message": _NOT_FOUND}


@pytest.fixture
def by_proxy(
    tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> Iterator[tuple[httpx.Client, LossyProxy]]:
    """Client of a page whose system is reached through a proxy, and the proxy."""
    with lossy_proxy(system.base_url) as proxy:
        address = credentials(system, XLBRIDGE_BASE_URL=proxy.base_url)
        page = running_page(forks, tmp_path, home, clean_environment(home, **address))
        with page as ui, ui.client() as client:
            yield client, proxy


def test_a_name_for_all_rows_that_was_not_looked_up_is_refused_by_the_plan(
    by_proxy: tuple[httpx.Client, LossyProxy], tmp_path: Path
) -> None:
    client, proxy = by_proxy
    form = with_branch(client, tmp_path / "sem filial.csv", "Matriz")
    proxy.decide = lambda _method, _asked: "lose answer"
    (unchecked,) = client.post("/api/mapped-names", json=form).json()["fields"]
    assert "checked only when connected" in unchecked["message"]
    assert client.post("/api/map", json=form).is_success
    proxy.decide = lambda _method, _asked: "pass"
    error = client.post("/api/plan", json={}).json()["error"]
    assert not error["in_grid"]
    assert error["message"] == f"Branch code, in all rows: “Matriz”. {_NOT_FOUND}"
    assert "Columns used" in error["hint"]
    assert client.get("/api/sheet").json()["refused"] == 0


def test_a_name_typed_in_the_grid_is_marked_at_its_cell_by_the_plan(
    client: httpx.Client, tmp_path: Path
) -> None:
    form: dict[str, Any] = open_workbook(client, write(tmp_path, "a receber.csv"))["mapping"]
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    form["columns"]["codigoDaFilial"]["values"] = {"Matrz São Paulo": "1"}
    assert client.post("/api/map", json={name: form[name] for name in names}).is_success
    # Other names than the words of the mapping are looked up, and so they are offered.
    offered = client.get("/api/names", params={"column": 0, "text": "matr"}).json()["records"]
    assert [one["value"] for one in offered] == ["1 – Matriz São Paulo"]
    typed = [{"row": 3, "column": 0, "value": "Matriz Sao Palo"}]
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    error = client.post("/api/plan", json={}).json()["error"]
    assert error["in_grid"], error
    assert marked_cells(client) == [(3, "0", "refused")]
    (row,) = (row for row in client.get("/api/rows").json()["rows"] if row["marks"])
    assert "Similar: 1 – Matriz São Paulo. Register it first, or enter another." in str(
        row["marks"]
    )
    # The code or the name mends it there.
    typed[0]["value"] = "Matriz São Paulo"
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    planned = client.post("/api/plan", json={}).json()
    assert planned["counts"]["create"] == 2, planned


def test_a_name_is_compared_with_those_read_earlier_if_the_system_does_not_answer(
    by_proxy: tuple[httpx.Client, LossyProxy], tmp_path: Path
) -> None:
    client, proxy = by_proxy
    path = tmp_path / "sem filial.csv"
    assert client.post("/api/map", json=with_branch(client, path, "1")).is_success
    assert client.post("/api/plan", json={}).is_success  # which reads the branches
    form = with_branch(client, path, "Matriz")
    proxy.decide = lambda _method, _asked: "lose answer"
    (problem,) = client.post("/api/mapped-names", json=form).json()["fields"]
    assert problem["column"] == "codigoDaFilial"
    assert "Not found among the branches by name." in problem["message"]
    assert "Similar names: 1 – Matriz São Paulo" in problem["message"]
    # The system may have a new branch of this name.
    assert client.post("/api/map", json=form).is_success
    form = with_branch(client, path, "matriz sao paulo")
    assert client.post("/api/mapped-names", json=form).json()["fields"] == []


_CODES = {"codigoDaFilial": "1", "codigoDoCliente": "1311"}


def names_of_codes(client: httpx.Client) -> set[str]:
    """Return the names beside the codes of the first row."""
    row = client.get("/api/rows", params={"view": "all"}).json()["rows"][0]
    return set(row["names"].values())


def test_names_of_codes_are_read_once_beside_other_work(
    by_proxy: tuple[httpx.Client, LossyProxy], tmp_path: Path
) -> None:
    client, proxy = by_proxy
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [_CODES])
    open_workbook(client, path)
    assert names_of_codes(client) == set()
    proxy.decide = lambda _method, _asked: "lose answer"
    asked = client.get("/api/known-names")
    assert (asked.status_code, asked.json()) == (200, {"new": False})
    proxy.decide = lambda _method, _asked: "pass"
    proxy.seen.clear()
    assert client.get("/api/known-names").json() == {"new": True}
    assert "Matriz São Paulo" in names_of_codes(client)
    # A long registry is read in windows of time, none of them twice.
    assert len(set(proxy.seen)) == len(proxy.seen)
    proxy.seen.clear()
    open_workbook(client, path)
    assert client.get("/api/known-names").json() == {"new": False}
    assert proxy.seen == []


def test_credentials_that_were_refused_once_are_not_sent_again_unasked(
    by_proxy: tuple[httpx.Client, LossyProxy], tmp_path: Path
) -> None:
    client, proxy = by_proxy
    open_workbook(client, write_records(tmp_path / "titulos.xlsx", "contasreceber", [_CODES]))
    proxy.answers["/autenticar"] = b'{"authenticated": false, "message": "Senha expirada."}'
    for _ in range(2):
        assert client.get("/api/known-names").json() == {"new": False}
    assert proxy.seen == [("POST", "/v2/autenticar")]
    proxy.answers.clear()
    assert client.post("/api/plan", json={}).is_success


def test_a_page_that_waits_for_names_ends_quietly(
    tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> None:
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [_CODES])
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor() as pool:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        chosen = credentials(system, XLBRIDGE_BASE_URL=address)
        page = running_page(forks, tmp_path, home, clean_environment(home, **chosen))
        with page as ui, ui.client() as client:
            open_workbook(client, path)
            asked = pool.submit(client.get, "/api/known-names")
            connection, _ = silent.accept()
            assert client.get("/api/rows").is_success
            client.post("/api/stop", json={})
            assert not asked.result().is_success
            connection.close()
    assert "Traceback" not in (tmp_path / "page.log").read_text("utf-8")


@pytest.mark.programs
@pytest.mark.parametrize("environment", ["chosen", "practice"])
def test_names_are_beside_codes_as_soon_as_a_sheet_is_shown(
    environment: str, page: Page, tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> None:
    chosen = credentials(system) if environment == "chosen" else {}
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [_CODES])
    with running_page(forks, tmp_path, home, clean_environment(home, **chosen)) as ui:
        tab = page.tab
        tab.goto(ui.link)
        tab.set_input_files('[data-testid="drop"]', path)
        tab.locator("#to-mend").click()
        expect(tab.locator('#grid [data-name="Matriz São Paulo"]').first).to_have_text("1")


@pytest.mark.programs
def test_unknown_names_are_asked_for_below_their_header(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.goto(ui.link)
    tab.set_input_files('[data-testid="drop"]', write(tmp_path, "a receber.csv"))
    mapping = tab.get_by_test_id("mapping")
    asked = mapping.get_by_label("Matrz São Paulo")
    expect(asked).to_have_value("")
    expect(mapping).to_contain_text("the system does not have “Matrz São Paulo”")
    mapping.get_by_role("button", name="Confirm the columns").click()
    expect(asked).to_be_focused()
    asked.fill("Matriz São Paulo")
    mapping.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#known-counts", has_text="errors: 0").wait_for()


@pytest.mark.programs
def test_a_name_for_all_rows_is_refused_beside_its_field_before_it_is_confirmed(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    path = tmp_path / "sem filial.csv"
    lines = (line.split(";") for line in (_HEADER, *_ROWS))
    # Without columns of branches and of accounts.
    text = "\n".join(";".join([*cells[1:4], *cells[5:]]) for cells in lines)
    path.write_text(text.replace("Logistica", "Comercial") + "\n", "utf-8")
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.goto(ui.link)
    tab.set_input_files('[data-testid="drop"]', path)
    branch = tab.locator("#constants").get_by_label("Branch code")
    branch.fill("Matriz")
    branch.press("Tab")
    expect(tab.locator("#constants .field-problem")).to_have_text(_NOT_FOUND)
    branch.fill("Matriz São Paulo")
    branch.press("Tab")
    expect(tab.locator("#constants .field-problem")).to_have_count(0)
    # What is wrong does not move the other fields below each other.
    fields = tab.locator("#constants input")
    expect(fields).to_have_count(2)
    tops = fields.evaluate_all(_TOPS)
    branch.fill("Matriz")
    branch.press("Tab")
    expect(tab.locator("#constants .field-problem")).to_have_text(_NOT_FOUND)
    assert fields.evaluate_all(_TOPS) == tops


_SPLIT_HEADER = (
    "Filial;Cliente;Categoria;Centro de custo;Conta;Vencimento;Histórico;Nº documento;"
    "Valor do título;CC do rateio;Valor do rateio"
)
_SPLIT_ROWS = (
    "1;1311;1.01.001;01.001;1;30/11/2026;Venda;R-1;100,00;Oficina;60,00",
    "1;1311;1.01.001;01.001;1;30/11/2026;Venda;R-1;100,00;Comercial;40,00",
)


@pytest.mark.programs
def test_unknown_names_in_a_list_are_asked_for_as_in_other_columns(
    page: Page, ui: RunningPage, tmp_path: Path
) -> None:
    tab = page.tab
    tab.set_default_timeout(60_000)
    tab.goto(ui.link)
    path = tmp_path / "a receber.csv"
    path.write_text("\n".join((_SPLIT_HEADER, *_SPLIT_ROWS)) + "\n", "utf-8")
    tab.set_input_files('[data-testid="drop"]', path)
    mapping = tab.get_by_test_id("mapping")
    asked = mapping.get_by_label("Oficina")
    expect(asked).to_have_value("")
    expect(mapping.get_by_label("Comercial")).to_have_count(0)
    asked.fill("Logística")
    mapping.get_by_role("button", name="Confirm the columns").click()
    tab.locator("#known-counts", has_text="errors: 0").wait_for()
