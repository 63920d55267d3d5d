"""Exports on the page: formats, import sheets, totals with pictures, templates with lists."""

import csv
import io
import re
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest
from browser import Page
from environment import Xlbridge, credentials
from playwright.sync_api import expect
from running_page import RunningPage, open_workbook, wait_for_end
from sheets import write_records

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """The system that the page asks: a company with clients and orders."""
    return demo_sandbox


def export(client: httpx.Client, listing: str, form: str, **filters: str) -> dict[str, Any]:
    """Export a listing; return the outcome."""
    body = {"listing": listing, "filters": filters, "format": form}
    assert client.post("/api/export", json=body).status_code == 200
    ended = wait_for_end(client)
    assert ended["error"] is None, ended
    outcome: dict[str, Any] = ended["outcome"]
    return outcome


def exported(client: httpx.Client, listing: str) -> bytes:
    return client.get("/api/exported", params={"listing": listing}).content


def test_a_listing_is_exported_as_csv(client: httpx.Client) -> None:
    outcome = export(client, "fornecedores", "csv-br")
    text = exported(client, "fornecedores").decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text), delimiter=";"))
    assert rows[0] == outcome["preview"][0]
    assert len(rows) > 1


def test_an_export_says_by_which_filters_it_was_made_and_names_no_empty_list(
    client: httpx.Client,
) -> None:
    outcome = export(client, "contaspagar", "xlsx", branch="1")
    assert outcome["title"] == "Export: Open payables"
    assert {"Complete: yes", "Branch code: 1"} <= {*outcome["lines"]}
    assert not any("Arquivos" in line for line in (*outcome["lines"], *outcome["below"]))


def test_lists_of_a_csv_export_are_one_archive(client: httpx.Client) -> None:
    export(client, "pedidos", "csv", **{"from": "2026-11-01"})
    with zipfile.ZipFile(io.BytesIO(exported(client, "pedidos"))) as archive:
        assert len(archive.namelist()) == 3
        assert all(name.endswith(".csv") for name in archive.namelist())


@pytest.mark.parametrize("listing", ["contasreceber", "pedidos", "produtos", "clientes"])
def test_an_exported_listing_offers_no_mapping(
    client: httpx.Client, tmp_path: Path, listing: str
) -> None:
    # A mapping of its headers would lose the system's own numbers and joined keys.
    export(client, listing, "xlsx")
    path = tmp_path / f"{listing}.xlsx"
    path.write_bytes(exported(client, listing))
    opened = open_workbook(client, path)
    assert (opened["errors"], opened["mapping"]) == (0, None)


def test_a_listing_is_exported_as_its_import_sheet(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge
) -> None:
    export(client, "clientes", "import")
    path = tmp_path / "clientes.xlsx"
    path.write_bytes(exported(client, "clientes"))
    checked = xlbridge("validate", path, "--format", "json")
    assert '"resource": "cliente"' in checked.stdout


def test_open_titles_are_summed_by_due_week_and_what_is_overdue(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    today = datetime.now().date()
    monday = today + timedelta(days=-today.weekday(), weeks=60)
    days = [today - timedelta(days=40), today - timedelta(days=400), monday + timedelta(days=4)]
    records = [
        {
            "codigoDaFilial": 3,
            "numeroDoDocumento": f"WEEK-{number}",
            "valorDoLancamento": 10.5 + number,
            "dataDeVencimento": day,
            "dataDeEmissao": day,
        }
        for number, day in enumerate(days)
    ]
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", records)
    sent = xlbridge("upload", path, "--yes", **credentials(demo_sandbox))
    assert sent.returncode == 0, sent.stderr
    outcome = export(client, "contasreceber", "xlsx")
    head, *rows = outcome["preview"]
    at = head.index("Amount")
    assert (outcome["amounts"][at], outcome["amounts"][0]) == (True, False)
    assert all(re.fullmatch(r"[\d,]+\.\d\d", row[at]) for row in rows)
    totals = outcome["totals"]
    by_week = next(table for table in totals if table["title"] == "Due date, by week")
    labels = [line["cells"][0] for line in by_week["lines"]]
    tones = {line["cells"][0]: line["tone"] for line in by_week["lines"]}
    overdue = [label for label in labels if label.startswith("overdue")]
    assert labels[: len(overdue)] == overdue
    assert {"overdue more than 90 days", "overdue 31–60 days"} <= {*overdue}
    assert tones["overdue 31–60 days"] == "open"
    assert tones[f"week of {monday:%d/%m/%Y}"] == "plain"
    assert by_week["picture"][0] == "svg"
    assert {table["title"] for table in totals} >= {"Branch", "Due date, by month"}


def test_a_template_has_the_lists_of_the_system(client: httpx.Client) -> None:
    resource = {"resource": "contasreceber"}
    assert client.get("/api/template-with-lists", params=resource).status_code == 422
    assert client.post("/api/template-with-lists", json=resource).status_code == 200
    ended = wait_for_end(client)
    assert ended["error"] is None, ended
    assert ended["done"] == ended["total"] > 1
    assert any(line.startswith("Reading") and line.endswith("records") for line in ended["lines"])
    with_lists = client.get("/api/template-with-lists", params=resource)
    book = openpyxl.load_workbook(io.BytesIO(with_lists.content))
    plain = client.get("/api/template", params=resource)
    without = openpyxl.load_workbook(io.BytesIO(plain.content))
    assert len(book.sheetnames) > len(without.sheetnames)


@pytest.mark.programs
def test_a_template_with_lists_shows_its_progress_and_is_saved_at_the_end(
    page: Page, ui: RunningPage
) -> None:
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("#template").select_option("contasreceber")
    tab.locator("#template-lists").check()
    expect(tab.locator("#template-link")).to_be_hidden()
    make = tab.locator("#template-make")
    with tab.expect_download() as download:
        make.click()
    assert download.value.suggested_filename == "contasreceber.xlsx"
    expect(make).to_be_enabled()
    expect(tab.locator("#template-made").get_by_role("link", name="Download")).to_be_visible()
    expect(tab.locator("#template-make-cancel")).to_be_hidden()
    state = {"running": True, "lines": ["Reading clients"], "outcome": None, "error": None}
    work = state | {"done": 1, "total": 4}
    tab.route("**/api/work", lambda route: route.fulfill(json=work))
    make.click()
    expect(tab.locator("#template-make-progress")).to_have_text("Reading clients")
    expect(tab.locator("#template-make-share")).to_contain_text("25%")
    with tab.expect_request("**/api/cancel"):
        tab.locator("#template-make-cancel").click()
    tab.unroute_all()


@pytest.mark.programs
def test_a_long_table_of_totals_keeps_its_sum_in_view_and_is_printed_whole(
    page: Page, ui: RunningPage
) -> None:
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("[data-view=exports]").click()
    tab.locator("#export").click()
    tab.locator("#preview td").first.wait_for()
    months = tab.locator("#export-totals .long").first
    hidden = "one => one.scrollHeight - one.clientHeight"
    assert months.evaluate(hidden) > 0
    bottom = "one => one.getBoundingClientRect().bottom"
    assert months.locator(".sum td").first.evaluate(bottom) <= months.evaluate(bottom)
    tab.emulate_media(media="print")
    assert months.evaluate(hidden) == 0
    expect(tab.get_by_role("heading", name="Export: ")).to_be_visible()
    expect(tab.locator("#filters input").first).to_be_hidden()
    sizes = tab.locator("#export-totals .bars text").evaluate_all(
        "all => all.map((one) => Math.round(10 * one.getBoundingClientRect().height))"
    )
    assert len(set(sizes)) == 1, sizes
