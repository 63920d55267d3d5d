"""Runs of a batch by the real command: in order, once, and then only the open rest."""

import json
import shutil
from pathlib import Path

from batch_parts import (
    PLAN,
    RunBatch,
    WritePlan,
    report,
    row_counts,
    states,
    write_clients,
    write_payables,
)
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import write_records, write_rows
from upload_parts import new_cnpj

from xlbridge.files import file_lock
from xlbridge.i18n import Text
from xlbridge.sandbox import RunningSandbox

SAMPLES = Path(__file__).parents[2] / "samples"
OWN = """\
schema_type: dataframe
version: 0.35.0
title: Transportadoras
coerce: false
strict: false
metadata: {resource: transportadora, import: {direct: imports.direct}, natural_keys: [nome]}
columns:
  nome: {dtype: str, nullable: false, required: true}
"""


def test_a_batch_is_run_once(run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path) -> None:
    plan = write_plan(PLAN)
    write_clients(tmp_path, "clients-1.xlsx", [new_cnpj(), new_cnpj()])
    write_clients(tmp_path, "clients-2.xlsx", [new_cnpj()])
    write_payables(tmp_path, "payables.xlsx", 501, 501, 501)
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert states(found) == {"clients": "done", "payables": "done", "listing": "done"}
    assert found["rows"] == row_counts(read=6, accepted=6)
    jobs = [unit["jobs"] for step in found["steps"] for unit in step["units"]]
    assert [len(of_unit) for of_unit in jobs] == [1, 1, 1, 0]
    (proof,) = found["proofs"]
    assert proof["settled"]
    assert Path(proof["workbook"]) == tmp_path / "month-proof.xlsx"
    assert "month-proof.html" in proof["page"]
    cover = load_workbook(proof["workbook"]).worksheets[0]
    (signing,) = [row for row in cover.iter_rows() if row[0].value == "Prepared by"]
    at = signing[0].row
    assert cover.row_dimensions[at].height == 30
    assert {f"C{at}:D{at}", f"E{at}:G{at}"} <= {str(one) for one in cover.merged_cells.ranges}
    again = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert again["proofs"] == []
    assert [unit["jobs"] for step in again["steps"] for unit in step["units"]] == jobs
    written = (tmp_path / "out" / "clients.xlsx").stat().st_mtime_ns
    assert report(run_batch("resume", "--yes", "--format", "json"), 0) == again
    assert (tmp_path / "out" / "clients.xlsx").stat().st_mtime_ns == written


def test_a_step_says_how_its_csv_files_are_written(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    text = "nomeComercial|natureza\nPadaria São João|J\n"
    (tmp_path / "clients.csv").write_text(text, "cp850")
    step = "name: csv\nsteps:\n  clients:\n    validate: clients.csv\n    resource: cliente\n"
    untold = report(run_batch("run", write_plan(step), "--yes", "--format", "json"), 3)
    assert "encoding" in untold["steps"][0]["units"][0]["problem"]
    plan = write_plan(f"{step}    delimiter: '|'\n    encoding: cp850\n")
    done = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert (done["done"], done["steps"][0]["units"][0]["warnings"]) == (True, 0)
    wrong = run_batch("plan", write_plan(f"{step}    delimiter: '#'\n"))
    assert (wrong.returncode, "plan.yaml:6" in wrong.stderr) == (2, True), wrong.stderr


def test_a_step_says_which_findings_are_right(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    codes = [*(f"{number:05}" for number in range(1, 20)), "20"]
    rows = [[f"Padaria {code}", "J", code] for code in codes]
    write_rows(tmp_path / "clients.xlsx", ["nomeComercial", "natureza", "seuCodigo"], rows)
    step = "name: codes\nsteps:\n  clients:\n    validate: clients.xlsx\n"
    told = report(run_batch("run", write_plan(step), "--yes", "--format", "json"), 0)
    assert told["steps"][0]["units"][0]["warnings"] == 1
    plan = write_plan(f"{step}    accept: [code-shape:seuCodigo]\n".replace("codes", "accepted"))
    accepted = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert accepted["steps"][0]["units"][0]["warnings"] == 0
    wrong = run_batch("plan", write_plan(f"{step}    accept: [type-date]\n"))
    assert (wrong.returncode, "plan.yaml:5" in wrong.stderr) == (2, True), wrong.stderr


def test_consent_is_only_asked_for_rows_that_will_be_sent(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN)
    write_clients(tmp_path, "clients-1.xlsx", [new_cnpj()])
    bad = write_clients(tmp_path, "clients-2.xlsx", ["11.222.333/0001-82"])
    write_payables(tmp_path, "payables.xlsx", 501)
    asked = run_batch("run", plan)
    assert asked.returncode == 2
    assert "clients · cliente to" in asked.stderr
    assert "payables · contaspagar" not in asked.stderr
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert states(found) == {"clients": "invalid", "payables": "new", "listing": "new"}
    again = run_batch("resume")
    assert (again.returncode, "payables · contaspagar" in again.stderr) == (1, False)
    write_clients(tmp_path, bad.name, [new_cnpj()])
    found = report(run_batch("resume", "--yes", "--format", "json"), 0)
    assert found["rows"]["accepted"] == 3


def test_consent_names_what_cannot_be_looked_up(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        "name: month\nsteps:\n  clients: {upload: clients.xlsx, resource: cliente}\n"
        "  orders: {upload: orders.xlsx, resource: pedido}\n"
    )
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    shutil.copy(SAMPLES / "pedido.xlsx", tmp_path / "orders.xlsx")
    asked = run_batch("run", plan)
    assert asked.returncode == 2
    clients, orders = asked.stderr.split("  orders · pedido")
    why = "created without checking whether they exist: the interface does not let these records"
    assert why in orders
    assert why not in clients


def test_consent_says_what_to_fill_in_for_rows_to_be_looked_up(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        "name: month\nsteps:\n  titles: {upload: titles.xlsx, resource: contasreceber}\n"
    )
    write_records(tmp_path / "titles.xlsx", "contasreceber", [{}])
    asked = run_batch("run", plan)
    assert asked.returncode == 2
    assert "1 to create without a look-up" in asked.stderr
    assert "To have them checked, fill in for each row: Your identifier" in asked.stderr


def test_a_bad_workbook_stops_only_dependent_steps(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.replace("    after: clients\n  listing", "  listing"))
    good = new_cnpj()
    write_clients(tmp_path, "clients-1.xlsx", [good])
    bad = write_clients(tmp_path, "clients-2.xlsx", ["11.222.333/0001-82"])
    write_payables(tmp_path, "payables.xlsx", 501)
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert states(found) == {"clients": "invalid", "payables": "done", "listing": "new"}
    assert found["steps"][-1]["waits_for"] == ["clients"]
    page = Path(found["findings_page"]).read_text("utf-8")
    assert "clients-2.xlsx" in page
    # What names the record stands beside its finding.
    assert "Client 11.222.333/0001-82" in page
    assert [proof["settled"] for proof in found["proofs"]] == [False]
    assert found["rows"] == row_counts(read=3, accepted=2, unsent=1)
    status = run_batch("status", "month")
    assert status.returncode == 1
    assert "clients-2.xlsx: has errors" in status.stdout
    assert "B2 cnpj: The CNPJ" in status.stdout
    assert "B2 cnpj: O CNPJ" in run_batch("status", "month", "--lang", "pt-BR").stdout
    assert status.stdout.splitlines()[-1].startswith("Next: fix the problems shown, then: ")
    write_clients(tmp_path, bad.name, [new_cnpj()])
    found = report(run_batch("resume", "month", "--yes", "--format", "json"), 0)
    assert found["rows"]["accepted"] == 3
    assert not list(tmp_path.glob("*findings.html"))
    assert [len(unit["jobs"]) for unit in found["steps"][0]["units"]] == [1, 1]


def test_nothing_is_sent_with_all_or_nothing(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN)
    write_clients(tmp_path, "clients-1.xlsx", [new_cnpj()])
    write_clients(tmp_path, "clients-2.xlsx", ["11.222.333/0001-82"])
    write_payables(tmp_path, "payables.xlsx", 501)
    asked = ("run", plan, "--yes", "--all-or-nothing", "--format", "json")
    assert report(run_batch(*asked), 1)["rows"]["accepted"] == 0


def test_a_proof_does_not_replace_a_workbook_and_is_not_matched_as_one(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    text = "name: a\nproof: p-1\nsteps:\n  p:\n    upload: p*.xlsx\n    resource: contaspagar\n"
    plan = write_plan(text)
    book = write_payables(tmp_path, "p-1.xlsx", 501)
    before = book.read_bytes()
    done = run_batch("run", plan, "--yes")
    assert (done.returncode, done.stdout, book.read_bytes()) == (2, "", before)
    assert "p-1.xlsx already exists" in done.stderr
    book.rename(tmp_path / "p-2.xlsx")
    assert run_batch("run", plan, "--yes").returncode == 0
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 0)
    assert [unit["name"] for unit in found["steps"][0]["units"]] == ["p-2.xlsx"]
    (tmp_path / "file").touch()
    write_plan(text.replace("p-1", "file/proof").replace("name: a", "name: b"))
    done = run_batch("run", plan, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Cannot write" in done.stderr


def test_a_row_in_two_workbooks_is_sent_once(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan("name: a\nsteps:\n  p:\n    upload: p*.xlsx\n    resource: contaspagar\n")
    sent = write_payables(tmp_path, "p-1.xlsx", 501, 501)
    (tmp_path / "p-2.xlsx").write_bytes(sent.read_bytes())
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert [unit["state"] for unit in found["steps"][0]["units"]] == ["done", "invalid"]
    assert (found["rows"]["accepted"], found["rows"]["unsent"]) == (2, 2)
    assert "p-1.xlsx · Plan1!A2" in run_batch("status", "a").stdout


def test_without_consent_nothing_is_sent(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan("name: a\nsteps:\n  p:\n    upload: p.xlsx\n    resource: contaspagar\n")
    write_payables(tmp_path, "p.xlsx", 501)
    done = run_batch("run", plan)
    assert done.returncode == 2
    assert "--confirm 1:" in done.stderr
    token = done.stderr.rpartition("--confirm ")[2].split()[0]
    assert run_batch("run", plan, "--confirm", "1:00000000").returncode == 2
    assert report(run_batch("run", plan, "--confirm", token, "--format", "json"), 0)["rows"][
        "accepted"
    ]


def test_a_batch_is_run_by_one_process_at_a_time(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path, home: Path
) -> None:
    plan = write_plan("name: a\nsteps:\n  p:\n    upload: p.xlsx\n    resource: contaspagar\n")
    write_payables(tmp_path, "p.xlsx", 501)
    with file_lock(home / "locks" / "batch-a.lock", Text(pt="–", en="–")):
        done = run_batch("run", plan, "--yes")
    assert done.returncode == 2
    assert "Another process is already running the batch a." in done.stderr
    assert run_batch("run", plan, "--yes").returncode == 0


def test_a_plan_without_workbooks_reports_it(run_batch: RunBatch, write_plan: WritePlan) -> None:
    plan = write_plan("name: a\nsteps:\n  p:\n    upload: p*.xlsx\n    resource: contaspagar\n")
    found = report(run_batch("run", plan, "--yes", "--format", "json"), 1)
    assert found["steps"][0]["problem"].startswith("no workbook matches p*.xlsx (in ")


def test_a_batch_remembers_the_folder_of_own_resources(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "transportadora.yaml").write_text(OWN, encoding="utf-8")
    write_rows(tmp_path / "f.xlsx", ["nome"], [["Um"]])
    plan = write_plan("name: a\nsteps:\n  v:\n    validate: f.xlsx\n    resource: transportadora\n")
    assert run_batch("run", plan, "--schemas", folder).returncode == 0
    assert report(run_batch("status", "a", "--format", "json"), 0)["done"]
    assert report(run_batch("resume", "--format", "json"), 0)["done"]
    assert run_batch("status", "a", "--schemas", folder).returncode == 0
    folder.rename(tmp_path / "moved")
    lost = run_batch("status", "a")
    assert lost.returncode == 2
    assert str(folder) in lost.stderr
    assert "--schemas" in lost.stderr
    assert run_batch("status", "a", "--schemas", tmp_path / "moved").returncode == 0
    unsaid = run_batch("plan", plan)
    assert (unsaid.returncode, "--schemas FOLDER" in unsaid.stderr) == (2, True)


def test_batches_are_listed_and_unknown_ones_reported(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    assert "No batch yet" in run_batch("status").stderr
    plan = write_plan("name: a\nsteps:\n  v:\n    validate: '*.xlsx'\n    may_be_empty: true\n")
    assert run_batch("run", plan).returncode == 0
    assert "\na  " in run_batch("status").stdout
    assert "There is no batch 'b'" in run_batch("status", "b").stderr
    listed = json.loads(run_batch("status", "--format", "json").stdout)
    assert [item["batch"] for item in listed["batches"]] == ["a"]


def test_steps_that_share_a_file_depend_on_each_other_however_its_path_is_spelt(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(
        "name: month\nsteps:\n"
        "  send: {upload: ./out/clients.xlsx, resource: cliente}\n"
        "  fetch: {export: clientes, output: out/old/../clients.xlsx}\n"
        "  payables:\n    upload: payables.xlsx\n    resource: contaspagar\n"
        "    links: {codigoDoFornecedor: ./suppliers.xlsx#cnpj}\n"
        "  suppliers: {upload: suppliers.xlsx, resource: fornecedor}\n"
    )
    write_payables(tmp_path, "payables.xlsx", 501)
    shutil.copy(SAMPLES / "fornecedor.xlsx", tmp_path / "suppliers.xlsx")
    assert run_batch("run", plan).returncode == 2
    found = report(run_batch("status", "month", "--format", "json"), 1)
    after = {step["step"]: step["after"] for step in found["steps"]}
    assert after == {"fetch": [], "send": ["fetch"], "suppliers": [], "payables": ["suppliers"]}


def test_people_read_columns_as_their_sheet_calls_them_and_programs_their_names(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    header = ["Nome comercial", "CNPJ"]
    write_rows(tmp_path / "clients.xlsx", header, [["A client", "11.222.333/0001-82"], [None, ""]])
    step = "  clients: {upload: clients.xlsx, resource: cliente}\n"
    found = report(
        run_batch("run", write_plan(f"name: titled\nsteps:\n{step}"), "--yes", "--format", "json"),
        1,
    )
    (first, *_) = found["steps"][0]["units"][0]["findings"]
    assert first.startswith("B2 cnpj: ")
    status = run_batch("status", "titled").stdout
    assert ("B2 CNPJ: " in status, "B2 cnpj" in status) == (True, False), status


def test_the_page_of_a_status_names_branches(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    write_payables(tmp_path, "payables.xlsx", 501)
    step = "  payables: {upload: payables.xlsx, resource: contaspagar}\n"
    run = run_batch("run", write_plan(f"name: named\nsteps:\n{step}"), "--yes")
    assert run.returncode == 0, run.stderr
    assert "1 – Matriz São Paulo" in run_batch("status", "named", "--format", "html").stdout


def test_the_status_of_twelve_steps_fits_on_a_screen(
    run_batch: RunBatch,
    write_plan: WritePlan,
    tmp_path: Path,
    xlbridge: Xlbridge,
    batch_sandbox: RunningSandbox,
) -> None:
    steps = []
    for number in range(12):
        header, wrong = ["nomeComercial", "cnpj"], [f"A client with number {number}", "12"]
        write_rows(tmp_path / f"wrong-{number}.xlsx", header, [wrong] * 8)
        steps.append(f"  step-{number}: {{validate: wrong-{number}.xlsx, resource: cliente}}\n")
    plan = write_plan(f"name: many\nsteps:\n{''.join(steps)}")
    run = run_batch("run", plan, "--yes")
    screen = credentials(batch_sandbox, COLUMNS="80", LINES="24")
    status = xlbridge("batch", "status", "many", **screen)
    assert (run.returncode, status.returncode) == (1, 1), status.stderr
    # A pipe is no screen, unless a variable says how long one is.
    piped = xlbridge("batch", "status", "many", **credentials(batch_sandbox, LINES="0")).stdout
    assert "more lines" not in piped
    assert len(piped.splitlines()) > 12 * 2
    lines = status.stdout.splitlines()
    assert sum(-(-len(line) // 80) for line in lines) <= 23 < len(run.stdout.splitlines())
    assert all(sum(f" step-{number} " in line for line in lines) == 1 for number in range(12))
    (more,) = [line for line in lines if "more lines" in line]
    assert more.endswith("xlbridge batch status many --format html")
    larger = credentials(batch_sandbox, COLUMNS="120", LINES="30")
    shown = xlbridge("batch", "status", "many", **larger).stdout.splitlines()
    assert len(lines) < sum(-(-len(line) // 120) for line in shown) <= 29
    page = run_batch("status", "many", "--format", "html").stdout
    assert all(page.count(f"wrong-{number}.xlsx") for number in range(12))
