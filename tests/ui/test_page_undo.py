"""Undo of an upload in the page: preview, confirmation, outcome."""

import json
import re
from datetime import date
from pathlib import Path

import httpx
import pytest
from browser import Page
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from playwright.sync_api import expect
from running_page import RunningPage, open_workbook, wait_for_end
from sheets import data_sheet, header_of, write_records

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def system(demo_sandbox: RunningSandbox) -> RunningSandbox:
    """A system with suppliers, so that payables can be sent."""
    return demo_sandbox


def write_payables(folder: Path, *documents: str) -> Path:
    records = [
        {"numeroDoDocumento": document, "dataDeVencimento": date(2026, 10, 30)}
        for document in documents
    ]
    return write_records(folder / "contas.xlsx", "contaspagar", records)


def change_cell(path: Path, row: int, **values: object) -> None:
    book = load_workbook(path)
    header = header_of(data_sheet(book))
    for column, value in values.items():
        data_sheet(book).cell(row, header.index(column) + 1).value = value
    book.save(path)


def newest(client: httpx.Client) -> dict[str, object]:
    job: dict[str, object] = client.get("/api/jobs").json()["jobs"][0]
    return job


def test_an_upload_is_undone_after_the_same_plan_as_in_the_terminal(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    own = credentials(demo_sandbox)
    path = write_payables(tmp_path, "UNDO-1", "UNDO-2", "UNDO-3")
    first = json.loads(xlbridge("upload", path, "--yes", "--format", "json", **own).stdout)
    change_cell(path, 3, historico="De um colega")
    assert xlbridge("upload", path, "--update", "--yes", **own).returncode == 0
    before = client.get("/api/jobs").json()["jobs"]
    job = {"job": first["job"]}
    assert [one["can_undo"] for one in before] == [True, True]
    planned = client.post("/api/undo-plan", json=job).json()
    assert (planned["undo"], planned["left"], planned["target"]["production"]) == (2, 1, False)
    (reason,) = planned["reasons"]
    assert reason.startswith("1 row not undone: the record was changed")
    assert reason.endswith("(row 3)")
    assert client.get("/api/jobs").json()["jobs"] == before
    shown = xlbridge("undo", first["job"], **own).stderr
    assert "rows to undo: 2; not undone: 1" in shown
    assert f"confirmation: {planned['token']}" in shown
    assert reason in shown

    client.post("/api/undo", json={**job, "token": "2:00000000"})
    assert "does not match" in wait_for_end(client)["error"]["message"]
    client.post("/api/undo", json={**job, "token": planned["token"]})
    outcome = wait_for_end(client)["outcome"]
    assert (outcome["undo_of"], outcome["rows"]["undone"], outcome["rows"]["left"]) == (
        first["job"],
        2,
        1,
    )
    assert outcome["headline"] == (
        f"Undone: the upload {first['job']}. Rows undone: 2 of 3; left: 1."
    )
    assert outcome["lines"] == [reason]
    details = client.get("/api/job", params={"job": outcome["job"]}).json()
    assert (details["lines"], details["can_undo"], details["mode"]) == (
        [reason, outcome["headline"]],
        False,
        "undo",
    )
    # The page has the same counts as the terminal, in its list and of the upload alone.
    shown = json.loads(xlbridge("jobs", first["job"], "--format", "json", **own).stdout)
    assert (shown["rows"]["accepted"], shown["rows"]["undone"]) == (1, 2)
    listed = {one["job"]: one for one in client.get("/api/jobs").json()["jobs"]}
    for one in (listed[first["job"]], client.get("/api/job", params=job).json()):
        assert one["rows"] == shown["rows"]


def test_the_values_that_an_undo_restores_are_written_as_in_portuguese(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    own = credentials(demo_sandbox)
    for price in (1234.5, 3):
        record = {"codigoInterno": "RESTORED-1", "valorUnitario": price}
        path = write_records(tmp_path / "produtos.xlsx", "produto", [record])
        assert xlbridge("upload", path, "--update", "--yes", **own).returncode == 0
    preferences = {"language": "pt-BR", "theme": ""}
    assert client.post("/api/preferences", json=preferences).is_success
    (restored,) = client.post("/api/undo-plan", json={"job": newest(client)["job"]}).json()[
        "restored"
    ]
    assert restored.endswith("volta a ter Valor unitário: 1234,5"), restored


def test_a_sheet_is_sent_again_after_its_undo(client: httpx.Client, tmp_path: Path) -> None:
    path = write_payables(tmp_path, "AGAIN-1", "AGAIN-2")
    change_cell(path, 3, codigoDoFornecedor=999_999)
    open_workbook(client, path)
    client.post("/api/send", json={"token": client.post("/api/plan", json={}).json()["token"]})
    sent = wait_for_end(client)["outcome"]
    assert (sent["state"], sent["rows"]["created"], sent["rows"]["rejected"]) == ("partial", 1, 1)
    job = {"job": sent["job"]}
    token = client.post("/api/undo-plan", json=job).json()["token"]
    client.post("/api/undo", json={**job, "token": token})
    assert wait_for_end(client)["outcome"]["rows"]["undone"] == 1
    planned = client.post("/api/plan", json={}).json()
    assert (planned["retry_of"], planned["counts"]["create"]) == (None, 2), planned
    details = client.get("/api/job", params=job).json()
    assert not details["can_undo"]
    nothing = client.post("/api/undo-plan", json=job).json()
    assert (nothing["undo"], nothing["left"], len(nothing["reasons"])) == (0, 0, 1)
    assert "already undone" in nothing["reasons"][0]


def test_only_a_finished_upload_is_undone(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    path = write_payables(tmp_path, "QUEUED-1")
    own = credentials(demo_sandbox)
    assert xlbridge("upload", path, "--yes", "--no-wait", **own).returncode == 0
    job = newest(client)
    assert (job["final"], job["can_undo"]) == (False, False)
    refused = client.post("/api/undo-plan", json={"job": job["job"]})
    assert refused.status_code == 422
    assert "is not finished" in refused.json()["error"]["message"]


@pytest.mark.programs
def test_an_upload_is_undone_from_its_details(
    page: Page,
    ui: RunningPage,
    tmp_path: Path,
    xlbridge: Xlbridge,
    demo_sandbox: RunningSandbox,
) -> None:
    own = credentials(demo_sandbox)
    path = write_payables(tmp_path, "CLICK-1", "CLICK-2")
    assert xlbridge("upload", path, "--yes", **own).returncode == 0
    client_file = write_records(tmp_path / "clientes.xlsx", "cliente", [{}])
    assert xlbridge("upload", client_file, "--yes", **own).returncode == 0
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("[data-view=jobs]").click()
    jobs, shown = tab.get_by_test_id("jobs"), tab.locator("#job-shown")
    details = jobs.get_by_role("button", name="Details")
    details.first.click()
    undo = shown.get_by_role("button", name="Undo this upload")
    shown.get_by_text("History").wait_for()
    expect(undo).to_have_count(0)  # the interface does not delete clients
    details.nth(1).click()
    undo.click()
    expect(shown.locator("[data-action=undo] b")).to_have_text("2")
    confirm = shown.get_by_test_id("send")
    expect(confirm).to_have_text("Undo · rows: 2")
    expect(confirm).to_be_focused()
    confirm.click()
    outcome = tab.get_by_test_id("outcome")
    outcome.get_by_role("heading", name=re.compile("Rows undone: 2 of 2")).wait_for()
    expect(tab.get_by_role("button", name="See the plan")).to_be_hidden()
    tab.locator("[data-view=jobs]").click()
    expect(jobs.get_by_role("button", name="Details")).to_have_count(3)
    expect(jobs.locator("tr").nth(1)).to_contain_text("undo")
    expect(jobs.locator("tr").nth(3)).to_contain_text("done · undone: 2")
    details.nth(2).click()
    shown.get_by_text("Undone since").wait_for()
    expect(undo).to_have_count(0)
