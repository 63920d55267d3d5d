"""Jobs started in the page and continued on the command line, and vice versa."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from lossy_proxy import ProxyFault, lossy_proxy
from openpyxl import load_workbook
from running_page import open_workbook, running_page, wait_for_end
from sheets import write_clients, write_records

from xlbridge.sandbox import RunningSandbox


def test_an_unconfirmed_job_is_not_sent_by_a_click(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"cnpj": None, "seuCodigo": "UNCONFIRMED"}])
    assert xlbridge("upload", path, **credentials(empty_sandbox)).returncode == 2
    (job,) = client.get("/api/jobs").json()["jobs"]
    assert client.post("/api/resume", json={"job": job["job"]}).status_code == 200
    lines = client.get("/api/job", params={"job": job["job"]}).json()["lines"]
    assert lines == ["Not sent yet.", "Open the workbook, see the plan and send."]
    assert "has not been confirmed" in wait_for_end(client)["error"]["message"]
    assert client.get("/api/jobs").json()["jobs"] == [job]


def test_doubtful_write_is_resolved_manually(
    tmp_path: Path, home: Path, forks: Zygote, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"cnpj": None, "seuCodigo": None, "nomeComercial": "Lost"}])
    with lossy_proxy(empty_sandbox.base_url) as proxy:
        at = proxy.base_url
        own = credentials(empty_sandbox, XLBRIDGE_BASE_URL=at, XLBRIDGE_SETTLE="0")
        proxy.fail_once("401 after", "preview=false")
        lost = xlbridge("upload", path, "--yes", "--create-unread", "--mode", "direct", **own)
        assert lost.returncode == 5, lost.stderr
        page = running_page(forks, tmp_path, home, clean_environment(home, **own))
        with page as ui, ui.client() as client:
            (job,) = client.get("/api/jobs").json()["jobs"]
            assert job["doubtful"]
            assert "Lost" in client.get("/api/doubt", params={"job": job["job"]}).text
            seen = {"job": job["job"], "as": "applied", "reason": " "}
            assert client.post("/api/resolve", json=seen).status_code == 422
            answer = client.post("/api/resolve", json={**seen, "reason": "it is in the list"})
            assert (answer.json()["state"], answer.json()["doubtful"]) == ("done", False)
            again = client.post("/api/resolve", json={**seen, "reason": "twice"})
            assert "is not in doubt" in again.json()["error"]["message"]


def test_command_line_job_is_finished_in_the_page(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    record = {"cnpj": None, "seuCodigo": "BOTH-WAYS"}
    path = write_records(tmp_path / "clientes.xlsx", "cliente", [record])
    own = credentials(empty_sandbox)
    begun = xlbridge("upload", path, "--yes", "--mode", "queue", "--no-wait", **own)
    assert begun.returncode == 0, begun.stderr
    (job,) = client.get("/api/jobs").json()["jobs"]
    assert (job["sent"], job["final"]) == (True, False)
    assert client.post("/api/resume", json={"job": job["job"]}).status_code == 200
    assert wait_for_end(client)["outcome"]["state"] == "done"
    ended = json.loads(xlbridge("jobs", job["job"], "--format", "json", **own).stdout)
    assert (ended["state"], ended["rows"]["created"]) == ("done", 1)
    content = client.get("/api/job", params={"job": job["job"]}).json()["lines"]
    assert content[0].startswith("Done")
    assert not any("xlbridge" in line for line in content)  # the page has a button for what is next


def test_a_resumed_upload_of_another_sheet_leaves_the_open_one(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    wrong = write_records(tmp_path / "a.xlsx", "contasreceber", [{"codigoDoCliente": 987654}])
    own = credentials(empty_sandbox)
    xlbridge("upload", wrong, "--yes", "--mode", "queue", "--no-wait", **own)
    open_workbook(client, write_records(tmp_path / "b.xlsx", "cliente", [{"cnpj": None}]))
    (job,) = client.get("/api/jobs").json()["jobs"]
    client.post("/api/resume", json={"job": job["job"]})
    outcome = wait_for_end(client)["outcome"]
    assert outcome["state"] == "rejected"
    reasons = [str(line["cells"]) for table in outcome["totals"] for line in table["lines"]]
    assert sum("987654" in text for text in (*outcome["lines"], *reasons)) == 1
    assert client.get("/api/sheet").json()["refused"] == 0
    planned = client.post("/api/plan", json={}).json()
    assert (planned["retry_of"], planned["writes"]) == (None, 1)


def test_rows_rejected_on_the_command_line_are_corrected_in_the_grid(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [{"codigoDoCliente": 987654}])
    original = path.read_bytes()
    assert xlbridge("upload", path, "--yes", **credentials(empty_sandbox)).returncode == 1
    (job,) = client.get("/api/jobs").json()["jobs"]
    lines = client.get("/api/job", params={"job": job["job"]}).json()["lines"]
    assert not any("987654" in line for line in lines)  # its totals have the reasons
    sheet = client.post("/api/job-workbook", json={"job": job["job"]}).json()
    assert (sheet["file"], sheet["refused"], sheet["errors"]) == (path.name, 1, 0)
    assert "987654" in sheet["rules"][0]["message"]
    place = [column["name"] for column in sheet["columns"]].index("codigoDoCliente")
    (row,) = client.get("/api/rows", params={"view": "wrong", "renew": 1}).json()["rows"]
    assert row["marks"][str(place)][0]["severity"] == "refused"
    client.post("/api/edit", json=[{"row": row["row"], "column": place, "value": "987655"}])
    planned = client.post("/api/plan", json={}).json()
    assert (planned["retry_of"], planned["writes"]) == (job["job"], 1)
    assert path.read_bytes() == original
    path.unlink()
    gone = client.post("/api/job-workbook", json={"job": job["job"]})
    assert "no longer the file that was sent" in gone.json()["error"]["message"]


def test_job_stopped_in_the_page_is_finished_on_the_command_line(
    tmp_path: Path, home: Path, forks: Zygote, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    path = write_records(tmp_path / "clientes.xlsx", "cliente", [{"cnpj": None}])
    with lossy_proxy(empty_sandbox.base_url) as proxy:
        own = credentials(empty_sandbox, XLBRIDGE_BASE_URL=proxy.base_url)
        page = running_page(forks, tmp_path, home, clean_environment(home, **own))
        with page as ui, ui.client() as client:

            def decide(method: str, requested: str) -> ProxyFault:
                if "preview=true" in requested:
                    client.post("/api/cancel", json={})
                return "pass"

            open_workbook(client, path)
            token = client.post("/api/plan", json={}).json()["token"]
            proxy.decide = decide
            client.post("/api/send", json={"token": token})
            stopped = wait_for_end(client)
            (job,) = client.get("/api/jobs").json()["jobs"]
            assert (stopped["outcome"], stopped["error"]) == (None, None)
            assert "nothing was written" in stopped["lines"][-1]
            assert (job["sent"], job["final"]) == (False, False)
        proxy.decide = lambda _method, _asked: "pass"
        resumed = xlbridge("resume", job["job"], "--yes", **own)
        assert resumed.returncode == 0, resumed.stderr
        ended = json.loads(xlbridge("jobs", job["job"], "--format", "json", **own).stdout)
        assert (ended["state"], ended["rows"]["created"]) == ("done", 1)


def test_jobs_have_the_rows_of_the_ledger_and_the_titles_of_resources(
    client: httpx.Client, xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """A row that a retry has written counts as in ``xlbridge jobs``."""
    own = credentials(empty_sandbox)
    wrong = {"numeroDoDocumento": "LEDGER-1", "codigoDoCliente": 987654}
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [wrong])
    sent = xlbridge("upload", path, "--yes", "--format", "json", **own)
    job = json.loads(sent.stdout)["job"]
    for name in ("jobs", "job"):
        shown = client.get(f"/api/{name}", params={"job": job}).json()
        shown = shown["jobs"][0] if name == "jobs" else shown
        listed = json.loads(xlbridge("jobs", job, "--format", "json", **own).stdout)
        assert shown["rows"] == listed["rows"], name
        assert shown["rows"]["rejected"] == 1
    table = client.get("/api/jobs").json()["table"]
    assert "Receivable entries" in table["lines"][0]["cells"]
    terminal = xlbridge("jobs", **own).stdout
    assert "contasreceber" in terminal


def rejected(client: httpx.Client) -> dict[str, Any]:
    """Send the open sheet, whose rows are rejected, and return it."""
    client.post("/api/send", json={"token": client.post("/api/plan", json={}).json()["token"]})
    assert wait_for_end(client)["outcome"]["state"] == "rejected"
    sheet: dict[str, Any] = client.get("/api/sheet").json()
    return sheet


def test_a_refusal_returns_with_the_value_that_was_refused(
    client: httpx.Client, tmp_path: Path
) -> None:
    wrong = [{"codigoDoCliente": 987654}]
    open_workbook(client, write_records(tmp_path / "titulos.xlsx", "contasreceber", wrong))
    sheet = rejected(client)
    column = [one["name"] for one in sheet["columns"]].index("codigoDoCliente")
    cell = {"row": 2, "column": column}
    for edit, refused in (("1001", 0), ("987654", 1), ("", 0)):
        edited = client.post("/api/edit", json=[{**cell, "value": edit}]).json()
        assert edited["refused"] == refused
    assert client.post("/api/step", json={"step": "undo"}).json()["refused"] == 1
    assert client.post("/api/step", json={"step": "redo"}).json()["refused"] == 0


def test_a_refusal_ends_when_the_mapping_converts_the_value_otherwise(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "titulos.csv"
    header = "Filial;Quem;Categoria;Centro;Conta;Histórico;Emissão;Vencimento;Valor"
    rows = ("1;Bar;1.01.001;01.001;1;A;13/10/2026;30/10/2026;10,00",) * 2
    path.write_text("\n".join((header, *rows)), "utf-8")
    open_workbook(client, path)
    form = client.post("/api/choose", json={"resource": "contasreceber", "sheet": ""}).json()
    form = form["mapping"]
    wanted = {name: form[name] for name in ("resource", "sheet", "header_row", "rows", "accept")}
    for code, refused in ((987654, 2), (1001, 0)):
        client_code = {"from": "Quem", "values": {"Bar": code}}
        columns = {**form["columns"], "codigoDoCliente": client_code}
        sheet = client.post("/api/map", json={**wanted, "columns": columns}).json()
        assert (sheet["errors"], sheet["refused"]) == (0, 0)
        if refused:
            assert rejected(client)["refused"] == refused


@pytest.mark.parametrize("name", ["clientes [2026].xlsx", "clientes.csv"])
def test_uploads_are_listed_by_the_name_of_the_users_file(
    client: httpx.Client, tmp_path: Path, name: str
) -> None:
    path = write_clients(tmp_path / "padaria.xlsx", "OWN-NAME", ("Padaria",))
    if name.endswith(".csv"):
        rows = load_workbook(path).worksheets[0].values
        lines = (";".join("" if value is None else str(value) for value in row) for row in rows)
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
    else:
        path.rename(tmp_path / name)
    open_workbook(client, tmp_path / name)
    client.post("/api/send", json={"token": client.post("/api/plan", json={}).json()["token"]})
    assert wait_for_end(client)["outcome"]["state"] == "done"
    assert name in client.get("/api/jobs").json()["table"]["lines"][0]["cells"]
