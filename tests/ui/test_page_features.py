"""Exports with filters, batches, processing and environments, over HTTP."""

import html
import json
import re
from pathlib import Path

import httpx
import pytest
from browser import Page
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from playwright.sync_api import expect
from running_page import RunningPage, running_page, wait_for_end
from sheets import write_clients, write_records

from xlbridge.profiles import Profile, read_profile_file
from xlbridge.sandbox import RunningSandbox
from xlbridge.saved_logins import PasswordSource, save_profile, store_password
from xlbridge.settings import Settings

PLAN = """
name: month
steps:
  clients:
    upload: clientes.xlsx
    resource: cliente
  listing:
    export: clientes
    after: clients
    output: out/clientes.xlsx
"""


def test_export_applies_its_filters(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    documents = ("90.817.263/0001-80", "90.817.263/0002-61")
    records = [
        {"cnpj": document, "nomeComercial": f"Loja {document}", "seuCodigo": None}
        for document in documents
    ]
    path = write_records(tmp_path / "clientes.xlsx", "cliente", records)
    assert xlbridge("upload", path, "--yes", **credentials(empty_sandbox)).returncode == 0
    body = {"listing": "clientes", "filters": {"document": documents[1], "from": ""}}
    assert client.post("/api/export", json=body).status_code == 200
    ended = wait_for_end(client)
    assert any("1" in line for line in ended["lines"]), ended
    outcome = ended["outcome"]
    header, *rows = outcome["preview"]
    names = [row[header.index("Trade name")] for row in rows]
    assert [row[header.index("Active")] for row in rows] == ["TRUE"]
    assert names == [f"Loja {documents[1]}"]
    assert {"Records: 1", "Complete: yes"} <= {*outcome["lines"]}
    assert client.get("/api/exported?listing=clientes").content.startswith(b"PK")
    wrong = {"listing": "clientes", "filters": {"from": "amanhã"}}
    message = client.post("/api/export", json=wrong).json()["error"]["message"]
    assert message.startswith("Updated since:")
    assert "'amanhã' is not a date" in message


def test_batch_shows_the_corrections_left_to_make(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    assert client.get("/api/batches").json()["batches"] == []
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    write_records(tmp_path / "clientes.xlsx", "cliente", [{"nomeComercial": None}])
    run = xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **credentials(empty_sandbox))
    assert run.returncode == 1, run.stderr
    (batch,) = client.get("/api/batches").json()["batches"]
    states = {step["step"]: step["state"] for step in batch["steps"]}
    assert states == {"clients": "invalid", "listing": "new"}
    (unit,) = batch["steps"][0]["units"]
    assert (unit["state"], unit["errors"]) == ("invalid", 1)
    assert "nomeComercial" in unit["findings"][0]
    # The page shows the table of `batch status`, line by line, with titles of columns.
    page = xlbridge("batch", "status", "month", "--format", "html", **credentials(empty_sandbox))
    status = html.unescape(re.sub(r"<[^>]*>", "", page.stdout))
    step = batch["table"]["lines"][0]
    assert [step["cells"][0], step["tone"]] == ["clients", "open"]
    below = [text.replace("Trade name", "nomeComercial") for text in step["below"]]
    assert below != step["below"]
    assert [text for text in [*step["cells"], *below, batch["verdict"]] if text not in status] == []
    assert 'aria-label="Rows by step: clients 0 / 1"' in page.stdout
    proof = client.get("/api/proof", params={"batch": batch["batch"], "file": "month-proof.pdf"})
    assert "no file" in proof.json()["error"]["message"]


def test_the_proof_of_each_environment_of_a_batch_is_offered(
    client: httpx.Client,
    tmp_path: Path,
    home: Path,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
) -> None:
    plan = ["name: two", "steps:"]
    for name in ("first", "second"):
        profile = Profile(name, empty_sandbox.base_url, empty_sandbox.email)
        save_profile(Settings(home), profile)
        store_password(Settings(home), profile, empty_sandbox.password, PasswordSource.FILE)
        write_clients(tmp_path / f"{name}.xlsx", name, ("Loja",))
        plan.append(f"  {name}: {{upload: {name}.xlsx, resource: cliente, profile: {name}}}")
    (tmp_path / "plan.yaml").write_text("\n".join(plan), encoding="utf-8")
    run = xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **credentials(empty_sandbox))
    assert run.returncode == 0, run.stdout
    (batch,) = client.get("/api/batches").json()["batches"]
    files = [proof["file"] for proof in batch["proofs"]]
    names = [
        f"two-proof-{name}{suffix}" for name in ("first", "second") for suffix in (".html", ".xlsx")
    ]
    assert files == names
    for name in names:
        found = client.get("/api/proof", params={"batch": "two", "file": name})
        assert found.content.startswith(b"PK" if name.endswith(".xlsx") else b"<!doctype")


@pytest.mark.programs
def test_missing_records_are_not_processed(page: Page, ui: RunningPage) -> None:
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("[data-view=process]").click()
    tab.locator("#process-numbers").fill("987654321")
    tab.locator("#process-plan").click()
    shown = tab.locator("#process-shown")
    expect(shown.locator("td").nth(0)).to_have_text("987654321")
    expect(shown.locator("td").nth(1)).to_have_text("left out")
    shown.get_by_text("Nothing to process.").wait_for()
    expect(shown.get_by_test_id("send")).to_have_count(0)


_OUTSIDE_OF_CARDS = """() => [...document.querySelectorAll("section:not([hidden]) .card *")]
    .filter((one) => !one.closest(".scroll"))
    .filter((one) => {
        const card = one.closest(".card").getBoundingClientRect();
        return one.getBoundingClientRect().right > card.right;
    }).map((one) => `${one.tagName} ${one.id}`)"""


@pytest.mark.programs
def test_nothing_leaves_its_card_on_a_telephone(page: Page, ui: RunningPage) -> None:
    tab = page.tab
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto(ui.link)
    for view in ("begin", "jobs", "exports", "batches", "process", "profiles"):
        tab.locator(f"[data-view={view}]").click()
        expect(tab.locator(f"#{view}")).to_be_visible()
        assert tab.evaluate(_OUTSIDE_OF_CARDS) == [], view


def test_the_page_names_no_options_of_commands(client: httpx.Client) -> None:
    html = client.get("/").text
    labels = re.findall(r"<option[^>]*>([^<]*)</option>", html)
    assert len(labels) > 50
    assert [label for label in labels if "--" in label] == []


def test_environments_are_listed_without_their_passwords(
    client: httpx.Client, home: Path, empty_sandbox: RunningSandbox
) -> None:
    profiles = client.get("/api/profiles")
    (chosen,) = [one for one in profiles.json()["profiles"] if one["chosen"]]
    assert (chosen["base_url"], chosen["email"]) == (empty_sandbox.base_url, empty_sandbox.email)
    assert not chosen["production"]
    assert empty_sandbox.password not in profiles.text


@pytest.mark.programs
def test_a_batch_is_corrected_run_and_proven(
    page: Page, ui: RunningPage, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    record = {"cnpj": None, "seuCodigo": "BATCH-1", "nomeComercial": None}
    path = write_records(tmp_path / "clientes.xlsx", "cliente", [record])
    original = path.read_bytes()
    own = credentials(empty_sandbox)
    assert xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **own).returncode == 1
    tab = page.tab
    tab.goto(ui.link)
    tab.locator("[data-view=batches]").click()
    tab.get_by_role("button", name="Correct in the grid").click()
    tab.locator("#unit", has_text=str(path)).wait_for()
    tab.get_by_test_id("next-error").click()
    tab.locator("#remark", has_text="required").wait_for()
    tab.keyboard.type("Padaria do lote")
    tab.keyboard.press("Enter")
    tab.locator("#counts", has_text="errors: 0").wait_for()
    with tab.expect_download() as download:
        tab.get_by_test_id("download-workbook").click()
    assert path.read_bytes() == original
    download.value.save_as(path)
    tab.locator("[data-view=batches]").click()
    run = tab.get_by_role("button", name="Check and go on")
    run.click()
    question = tab.locator("#batch-asked")
    question.get_by_role("cell", name="1 to create").wait_for()
    question.get_by_test_id("send").click()
    tab.locator("#batch-list", has_text="Rows: 1 = 1 accepted").wait_for()
    expect(tab.get_by_role("link", name="Download the proof")).to_have_count(2)
    expect(run).to_have_count(0)
    status = xlbridge("batch", "status", "month", "--format", "json", **own)
    assert json.loads(status.stdout)["done"], status.stderr


@pytest.mark.programs
def test_the_environment_is_chosen_tested_and_marked(
    page: Page,
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
) -> None:
    for name in ("homolog", "outro"):
        profile = Profile(name, empty_sandbox.base_url, empty_sandbox.email)
        save_profile(Settings(home), profile)
        store_password(Settings(home), profile, empty_sandbox.password, PasswordSource.FILE)
    path = write_clients(tmp_path / "clientes.xlsx", "ENV", ("Loja",))
    with running_page(forks, tmp_path, home, clean_environment(home)) as ui:
        tab = page.tab
        tab.goto(ui.link)
        expect(tab.locator("#environment.practice")).to_have_text("sandbox")
        tab.set_input_files('[data-testid="drop"]', path)
        tab.locator("#to-mend:enabled").wait_for()
        tab.locator("[data-view=profiles]").click()
        row = tab.locator("#profile-table tr", has_text="homolog")
        row.get_by_role("button", name="Test the login").click()
        tab.locator("#profile-status", has_text="accepted").wait_for()
        with tab.expect_navigation():
            row.get_by_role("button", name="Use this one").click()
        tab.locator("#environment", has_text="homolog").wait_for()
        tab.locator("[data-view=profiles]").click()
        tab.locator("#profile-table tr", has_text="outro").get_by_role(
            "button", name="Mark"
        ).click()
        dialog = tab.get_by_role("dialog", name="Mark as production")
        expect(dialog).to_contain_text("type a code")
        dialog.get_by_role("button", name="Mark").click()
        tab.locator("#problem", has_text="same address").wait_for()
        assert xlbridge("profiles", "--remove", "outro").returncode == 0
        row.get_by_role("button", name="Mark as production").click()
        with tab.expect_navigation():
            dialog.get_by_role("button", name="Mark").click()
        tab.locator("#environment.production", has_text="homolog").wait_for()
        tab.locator("[data-view=send]:enabled").click()
        tab.get_by_role("button", name="See the plan").click()
        send = tab.get_by_test_id("send")
        expect(send).to_be_disabled()
        typed = tab.get_by_label("To write to production")
        token = (typed.get_attribute("aria-label") or "").split()[-1]
        typed.fill(token[:-1])
        expect(send).to_be_disabled()
        typed.fill(token)
        send.click()
        tab.locator('[data-testid="outcome"][data-state="done"]').wait_for()
        expect(tab.get_by_test_id("progress")).to_be_hidden()
        expect(tab.get_by_role("log")).to_have_count(0)
        tab.locator("#sending summary").click()
        expect(tab.get_by_test_id("progress")).to_be_visible()
        tab.locator("[data-view=profiles]").click()
        remove = row.get_by_role("button", name="Remove the production mark")
        asked = tab.get_by_role("dialog", name="Remove the production mark")
        remove.click()
        expect(asked).to_contain_text(
            f"one click is enough to write to homolog ({empty_sandbox.base_url}"
        )
        expect(asked.get_by_role("button", name="Back")).to_be_focused()
        tab.keyboard.press("Enter")
        expect(asked).to_be_hidden()
        assert read_profile_file(Settings(home)).profiles["homolog"].production
        remove.click()
        with tab.expect_navigation():
            asked.get_by_role("button", name="Remove").click()
        expect(tab.locator("#environment.practice", has_text="homolog")).to_be_visible()
        assert not read_profile_file(Settings(home)).profiles["homolog"].production
    assert empty_sandbox.password not in (home / "profiles.toml").read_text("utf-8")


@pytest.mark.programs
def test_an_environment_is_added_on_the_page(
    page: Page,
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
) -> None:
    values = {
        "name": "homolog",
        "url": empty_sandbox.base_url,
        "email": empty_sandbox.email,
        "password": "wrong",
    }
    with running_page(forks, tmp_path, home, clean_environment(home)) as ui:
        tab = page.tab
        tab.goto(ui.link)
        tab.locator("[data-view=profiles]").click()
        tab.locator("#new-profile summary").click()
        form = tab.locator("#profile-form")
        problem = form.locator(".field-problem")
        form.get_by_role("button").click()
        expect(problem).to_have_text(["Fill in this value."] * 5)
        expect(form.locator("[name=name]")).to_be_focused()
        for name, value in values.items():
            form.locator(f"[name={name}]").fill(value)
        form.locator("[name=production]").select_option("no")
        form.get_by_role("button").click()
        expect(problem).to_contain_text("did not accept the credentials")
        expect(form.locator("[name=password]")).to_be_focused()
        expect(form.locator("[name=password]")).to_have_value("")
        for address, message in (
            ("http://erp.example.com", "https"),
            ("http://127.0.0.1:9", "not answer"),
        ):
            form.locator("[name=url]").fill(address)
            form.locator("[name=password]").fill("wrong")
            form.get_by_role("button").click()
            expect(problem).to_contain_text(message)
            expect(form.locator("[name=url]")).to_be_focused()
        expect(tab.locator("#problem")).to_be_hidden()
        form.locator("[name=name]").fill("Homologação")
        form.get_by_role("button").click()
        expect(problem.first).to_contain_text("Only lower-case letters")
        form.locator("[name=name]").fill("homolog")
        form.locator("[name=url]").fill(empty_sandbox.base_url)
        expect(tab.locator("#profile-table tr", has_text="homolog")).to_have_count(0)
        form.locator("[name=password]").fill(empty_sandbox.password)
        form.get_by_role("button").click()
        tab.locator("#profile-status", has_text="homolog: the credentials are accepted").wait_for()
        row = tab.locator("#profile-table tr", has_text="homolog")
        expect(row).to_contain_text(empty_sandbox.base_url)
        assert empty_sandbox.password not in tab.content()
    assert xlbridge("whoami", "--profile", "homolog").returncode == 0
    assert empty_sandbox.password not in (tmp_path / "page.log").read_text("utf-8")


@pytest.mark.parametrize(
    ("client_of_title", "links"),
    [(987654, ""), ("Padaria que não existe", ", links: {codigoDoCliente: cliente}")],
)
def test_a_workbook_of_a_batch_opens_with_the_errors_that_only_the_batch_finds(
    client: httpx.Client,
    tmp_path: Path,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
    client_of_title: int | str,
    links: str,
) -> None:
    """The client of a title is not in the system: the workbook alone has no error."""
    step = f"{{upload: titulos.xlsx, resource: contasreceber{links}}}"
    plan = f"name: month\nsteps: {{titles: {step}}}\n"
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    records = [{"codigoDoCliente": client_of_title}]
    write_records(tmp_path / "titulos.xlsx", "contasreceber", records)
    run = xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **credentials(empty_sandbox))
    assert run.returncode == 1, run.stderr
    (batch,) = client.get("/api/batches").json()["batches"]
    (unit,) = batch["steps"][0]["units"]
    assert unit["state"] == "invalid"
    target = {"batch": "month", "step": "titles", "unit": unit["name"]}
    sheet = client.post("/api/batch-unit", json=target).json()
    assert (sheet["errors"], sheet["refused"]) == (0, unit["errors"])
    assert [rule["message"] for rule in sheet["rules"] if rule["severity"] == "refused"]
    shown = client.get("/api/rows", params={"view": "wrong", "renew": 1}).json()["rows"]
    place = str([column["name"] for column in sheet["columns"]].index("codigoDoCliente"))
    (mark,) = shown[0]["marks"][place]
    message = unit["findings"][0].partition(": ")[2]
    assert mark["message"].startswith(message)
    assert len(mark["message"]) > len(message), "what to do follows"


def test_rows_that_a_batch_holds_open_with_their_reasons(
    client: httpx.Client, tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    own = credentials(empty_sandbox)
    record = {"codigoInterno": "HELD-1", "valorUnitario": 2}
    first = write_records(tmp_path / "primeiro.xlsx", "produto", [record])
    assert xlbridge("upload", first, "--yes", **own).returncode == 0
    plan = "name: month\nsteps: {products: {upload: produtos.xlsx, resource: produto}}\n"
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    changed = {"codigoInterno": "HELD-1", "valorUnitario": 3}
    new = {"codigoInterno": "HELD-2", "valorUnitario": 3}
    write_records(tmp_path / "produtos.xlsx", "produto", [changed, new])
    assert xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **own).returncode == 1
    (batch,) = client.get("/api/batches").json()["batches"]
    (unit,) = batch["steps"][0]["units"]
    assert (unit["rows"]["held"], unit["rows"]["rejected"]) == (1, 0)
    sheet = client.post("/api/job-workbook", json={"job": unit["jobs"][-1]}).json()
    assert sheet["refused"] == 1
    (rule,) = [rule for rule in sheet["rules"] if rule["severity"] == "refused"]
    assert "in the system: 2" in rule["message"]
    shown = client.get("/api/rows", params={"view": "wrong", "renew": 1}).json()["rows"]
    assert [row["row"] for row in shown] == [2]
    tables = client.get("/api/batch-totals", params={"batch": "month"}).json()["totals"]
    reasons = next(one for one in tables if one["title"] == "Why they were not written")
    assert reasons["lines"][0]["cells"][1] == "1"


@pytest.mark.programs
def test_errors_that_only_the_batch_finds_are_counted_on_every_screen(
    page: Page,
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    xlbridge: Xlbridge,
    empty_sandbox: RunningSandbox,
) -> None:
    plan = "name: month\nsteps: {titles: {upload: titulos.xlsx, resource: contasreceber}}\n"
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    write_records(tmp_path / "titulos.xlsx", "contasreceber", [{"codigoDoCliente": 987654}])
    own = credentials(empty_sandbox)
    assert xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **own).returncode == 1
    with running_page(forks, tmp_path, home, clean_environment(home, **own)) as ui:
        tab = page.tab
        tab.goto(ui.link)
        tab.locator("[data-view=batches]").click()
        tab.get_by_role("button", name="Correct in the grid · errors: 1").click()
        tab.locator("#counts", has_text="refused by the system or the batch: 1").wait_for()
        expect(tab.locator("#rules li")).to_have_count(1)
        expect(tab.locator("#rules li")).to_contain_text("Check the code, or register")
        tab.locator("[data-view=send]").click()
        tab.locator("#errors-left", has_text="Errors in the sheet: 1").wait_for()
        tab.locator("#errors-left button").click()
        tab.locator("#grid .refused").wait_for()


@pytest.mark.programs
def test_rows_rejected_in_a_batch_are_shown_with_their_reasons_and_file(
    page: Page,
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    xlbridge: Xlbridge,
    demo_sandbox: RunningSandbox,
) -> None:
    plan = "name: month\nsteps: {bills: {upload: contas.xlsx, resource: contaspagar}}\n"
    (tmp_path / "plan.yaml").write_text(plan, encoding="utf-8")
    records = [
        {"numeroDoDocumento": f"BATCH-{n}", "codigoDaContaCorrente": 99999 if n else 1}
        for n in range(2)
    ]
    for record in records:
        record["dataDeVencimento"] = "2026-12-01"
    write_records(tmp_path / "contas.xlsx", "contaspagar", records)
    own = credentials(demo_sandbox)
    assert xlbridge("batch", "run", tmp_path / "plan.yaml", "--yes", **own).returncode == 1
    with running_page(forks, tmp_path, home, clean_environment(home, **own)) as ui:
        tab = page.tab
        tab.goto(ui.link)
        tab.locator("[data-view=batches]").click()
        with tab.expect_download() as download:
            tab.get_by_test_id("download-rejects").click()
        assert download.value.suggested_filename.endswith(".xlsx")
        tab.get_by_role("button", name="Show the rejected rows").click()
        tab.locator("#counts", has_text="errors: 1 ").wait_for()
        expect(tab.locator("#rules li.refused .count")).to_have_text(["1"])
        expect(tab.locator("#grid .refused")).to_have_count(1)
        expect(tab.locator("#grid .number").last).to_have_text("3")
        tab.locator("#remark", has_text="99999").wait_for()


@pytest.mark.parametrize(
    ("url", "password", "hint"),
    [
        ("http://127.0.0.1:9", "x", "“Test the login” shows whether the system answers"),
        ("", "wrong", "add the environment again under Environments"),
        ("", "", "Add the environment under Environments"),
    ],
)
def test_hints_name_what_the_page_has_instead_of_commands(
    tmp_path: Path,
    home: Path,
    forks: Zygote,
    empty_sandbox: RunningSandbox,
    url: str,
    password: str,
    hint: str,
) -> None:
    profile = Profile("homolog", url or empty_sandbox.base_url, empty_sandbox.email)
    save_profile(Settings(home), profile)
    if password:
        store_password(Settings(home), profile, password, PasswordSource.FILE)
    with running_page(forks, tmp_path, home, clean_environment(home)) as ui, ui.client() as client:
        error = client.post("/api/login", json={"name": "homolog"}).json()["error"]
    assert hint in error["hint"]
    assert "xlbridge" not in error["hint"]
