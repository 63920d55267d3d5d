"""Processing of records in the page, and exports from a system that does not answer."""

import time
from pathlib import Path

import pytest
from browser import Page
from environment import clean_environment, credentials
from forked import Zygote
from playwright.sync_api import expect
from running_page import RunningPage, running_page, wait_for_end
from sheets import write_records

from xlbridge.client import Client, Target
from xlbridge.sandbox import RunningSandbox

REPEATED = "The system did not answer as expected; next attempt in "


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """A system with invoices."""
    return demo_sandbox


@pytest.fixture
def invoice(system: RunningSandbox) -> int:
    """Number of a service invoice that is still to be issued."""
    target = Target("rehearsal", system.base_url, system.email, system.password)
    with Client(target) as client:
        registered = client.sales.service_invoices.register(
            codigoDaFilial=1,
            codigoDoCliente=1080,
            codigoDoServicoPrestado="14.01",
            valorDoServico=100,
        )
    return int(registered.idNF)


@pytest.mark.programs
def test_an_invoice_is_issued_after_a_warning(
    page: Page, ui: RunningPage, tmp_path: Path, invoice: int
) -> None:
    tab = page.tab
    tab.goto(ui.link)
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", [{}])
    tab.set_input_files('[data-testid="drop"]', path)
    expect(tab.locator("[data-view=send]")).to_be_enabled()
    tab.locator("[data-view=process]").click()
    tab.locator("#process-listing").select_option(label="Service invoices")
    tab.locator("#process-numbers").fill(f"{invoice} 987654321")
    tab.locator("#process-plan").click()
    shown = tab.locator("#process-shown")
    shown.get_by_text("This is final: the service invoice is issued").wait_for()
    shown.get_by_test_id("send").click()
    outcome = tab.get_by_test_id("outcome")
    outcome.get_by_text("Processed (nfse): 1 of 2; already done: 0; rejected: 1.").wait_for()
    expect(outcome).to_have_attribute("data-state", "partial")
    expect(tab.locator("#plan-form")).to_be_hidden()
    tab.locator("[data-view=jobs]").click()
    cells = tab.locator("#job-table tr").nth(1).locator("td")
    # The table is filled by an answer: each cell is awaited.
    for column, text in enumerate(["process", "nfse", "2", "1", "1"], start=3):
        expect(cells.nth(column)).to_have_text(text)
    tab.locator("[data-view=send]").click()
    expect(tab.locator("#plan-form")).to_be_visible()
    tab.locator("[data-view=process]").click()
    tab.locator("#process-plan").click()
    shown.get_by_text("Nothing to process.").wait_for()
    expect(shown.get_by_text("This is final")).to_have_count(0)


def test_repeated_requests_are_shown_and_can_be_stopped(
    tmp_path: Path, home: Path, forks: Zygote, system: RunningSandbox
) -> None:
    environment = clean_environment(home, **credentials(system))
    environment["XLBRIDGE_BASE_URL"] = "http://127.0.0.1:9"
    with running_page(forks, tmp_path, home, environment) as running, running.client() as client:
        assert client.post("/api/export", json={"listing": "clientes"}).status_code == 200
        for _ in range(200):
            lines = client.get("/api/work").json()["lines"]
            if any(line.startswith(REPEATED) for line in lines):
                break
            time.sleep(0.05)
        else:
            raise AssertionError(lines)
        client.post("/api/cancel", json={})
        assert wait_for_end(client)["lines"][-1] == "Stopped."
