"""The quirks file in use is shown with the plan and the outcome, and lost fields by their names."""

from pathlib import Path

import httpx
import pytest
from browser import Page
from playwright.sync_api import expect
from running_page import RunningPage, open_workbook, wait_for_end
from sheets import write_records

LOST = "✗ CodigoGenerico: sent “PAR-M8”, the system has no value (rows 2)"


@pytest.fixture
def quirks_file(home: Path) -> Path:
    """A quirks file of the page's environment: it misspells a field of records."""
    path = home / "profiles.d/rehearsal.quirks.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("spellings: {CodigoGenerico: generico}\n", "utf-8")
    return path


def write_product(path: Path, code: str) -> Path:
    """Write a product, which no import takes, with a field that the system then ignores."""
    record = {"codigoInterno": code, "CodigoGenerico": "PAR-M8"}
    return write_records(path, "produto", [record])


def test_outcomes_name_the_quirks_file_and_lost_fields(
    quirks_file: Path, client: httpx.Client, tmp_path: Path
) -> None:
    open_workbook(client, write_product(tmp_path / "produtos.xlsx", "Q-1"))
    planned = client.post("/api/plan", json={}).json()
    assert planned["target"]["quirks"] == str(quirks_file)
    client.post("/api/send", json={"token": planned["token"]})
    outcome = wait_for_end(client)["outcome"]
    used = f"Quirks: {quirks_file}"
    assert (outcome["state"], outcome["lines"]) == ("partial", [used, LOST])
    client.post("/api/export", json={"listing": "produtos", "filters": {}})
    assert used in wait_for_end(client)["outcome"]["lines"]
    (job, *_) = client.get("/api/jobs").json()["jobs"]
    shown = client.get("/api/job", params={"job": job["job"]}).json()["lines"]
    lines = list(map(str.strip, shown))
    assert [lines.count(used), lines.count(LOST)] == [1, 1]


@pytest.mark.programs
def test_the_page_shows_the_quirks_file_and_lost_fields(
    page: Page, quirks_file: Path, ui: RunningPage, tmp_path: Path
) -> None:
    tab = page.tab
    tab.goto(ui.link)
    tab.set_input_files('[data-testid="drop"]', write_product(tmp_path / "produtos.xlsx", "Q-2"))
    tab.locator("[data-view=send]:enabled").click()
    tab.get_by_role("button", name="See the plan").click()
    expect(tab.locator("#plan-shown")).to_contain_text(f"Quirks: {quirks_file}")
    tab.get_by_test_id("send").click()
    outcome = tab.get_by_test_id("outcome")
    expect(outcome).to_contain_text(f"Quirks: {quirks_file}")
    expect(outcome).to_contain_text(LOST)
