"""The contract of the command line: exit codes, JSON, and messages instead of tracebacks."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from environment import ROOT, Xlbridge, clean_environment, credentials
from html_server import html_server
from openpyxl import load_workbook
from sandboxes import create_database
from sheets import write_rows
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox

SAMPLES = ROOT / "samples"


def assert_ended(done: Any, code: int, *words: str) -> None:
    """Check the exit code of a command, and its message instead of a traceback."""
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
    for word in words:
        assert word in done.stderr + done.stdout


def write(path: Path, *rows: list[Any], sheet: str = "Plan1") -> Path:
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet(sheet)
        for number, row in enumerate(rows):
            page.write_row(number, 0, row)
    return path


def test_a_good_workbook_is_good(xlbridge: Xlbridge) -> None:
    done = xlbridge("validate", SAMPLES / "cliente.xlsx", "--format", "json")
    assert_ended(done, 0)
    document = json.loads(done.stdout)
    (report,) = document["files"]
    assert (document["version"], document["ok"]) == (1, True)
    assert (report["resource"], report["errors"], report["findings"]) == ("cliente", 0, [])


def test_a_bad_workbook_is_reported_with_its_cells(xlbridge: Xlbridge) -> None:
    done = xlbridge("validate", SAMPLES / "contasreceber-com-erros.xlsx", "--format", "json")
    assert_ended(done, 1)
    (report,) = json.loads(done.stdout)["files"]
    assert report["errors"] + report["warnings"] == len(report["findings"])
    assert report["truncated"] is False
    keys = {"cell", "row", "column", "code", "severity", "value", "message", "hint"}
    for finding in report["findings"]:
        assert set(finding) == keys
        assert finding["message"]
    rows = [finding["row"] for finding in report["findings"]]
    assert rows == sorted(rows)


def test_both_languages_and_stable_codes(xlbridge: Xlbridge) -> None:
    arguments = ["validate", SAMPLES / "cliente-com-erros.xlsx", "--format", "json"]
    english = json.loads(xlbridge(*arguments).stdout)["files"][0]["findings"]
    portuguese = json.loads(xlbridge("--lang", "pt-BR", *arguments).stdout)["files"][0]["findings"]
    assert [f["code"] for f in english] == [f["code"] for f in portuguese]
    assert english[0]["message"] != portuguese[0]["message"]


def test_listed_findings_can_be_limited_and_counts_stay(xlbridge: Xlbridge) -> None:
    done = xlbridge(
        "validate", SAMPLES / "cliente-com-erros.xlsx", "--format", "json", "--limit", 2
    )
    (report,) = json.loads(done.stdout)["files"]
    assert (len(report["findings"]), report["truncated"]) == (2, True)
    assert report["errors"] > 2


def test_several_files_and_the_worst_exit_code(xlbridge: Xlbridge, tmp_path: Path) -> None:
    page = tmp_path / "page.xlsx"
    page.write_text("<html></html>", encoding="utf-8")
    done = xlbridge("validate", SAMPLES / "cliente.xlsx", page, "--format", "json")
    assert_ended(done, 3)
    good, refused = json.loads(done.stdout)["files"]
    assert good["errors"] == 0
    assert refused["refused"]["code"] == "html"


def test_the_report_and_the_marked_copy_are_written(xlbridge: Xlbridge, tmp_path: Path) -> None:
    report, copy = tmp_path / "r.txt", tmp_path / "marked.xlsx"
    sample = SAMPLES / "cliente-com-erros.xlsx"
    assert_ended(xlbridge("validate", sample, "-o", report, "--annotate", copy), 1)
    assert "cnpj-invalid" in report.read_text(encoding="utf-8")
    sheet = load_workbook(copy)["Plan1"]
    assert sheet["D7"].comment is not None
    assert "CNPJ" in sheet["D7"].comment.text


def test_bad_input_to_validate(xlbridge: Xlbridge, tmp_path: Path) -> None:
    good = SAMPLES / "cliente.xlsx"
    assert_ended(xlbridge("validate"), 2)
    assert_ended(xlbridge("validate", tmp_path / "none.xlsx"), 2, "none.xlsx")
    assert_ended(xlbridge("validate", tmp_path), 2)
    assert_ended(xlbridge("validate", good, "--sheet", "Nada"), 2, "Nada")
    assert_ended(xlbridge("validate", good, "--resource", "fornecedores"), 2, "contaspagar")
    assert_ended(xlbridge("validate", good, "--format", "xml"), 2)
    assert_ended(xlbridge("validate", good, good, "--annotate", "a.xlsx"), 2)
    assert_ended(xlbridge("validate", good, "-o", tmp_path / "no" / "such" / "r.txt"), 2)
    empty = write(tmp_path / "empty.xlsx")
    assert_ended(xlbridge("validate", empty), 1, "sheet-empty")
    (tmp_path / "zero.xlsx").write_bytes(b"")
    assert_ended(xlbridge("validate", tmp_path / "zero.xlsx"), 3)
    twice = write(tmp_path / "twice.xlsx", ["nomeComercial", "cnpj", "CNPJ"], ["A", "", ""])
    assert_ended(xlbridge("validate", twice), 1, "column-duplicate")
    assert_ended(xlbridge("nonsense"), 2)


def test_a_wrong_schema_file_of_the_user(xlbridge: Xlbridge, home: Path) -> None:
    (home / "schemas").mkdir(parents=True)
    (home / "schemas" / "mine.yaml").write_text("title: [", encoding="utf-8")
    assert_ended(xlbridge("resources"), 2, "mine.yaml")


def test_a_wrong_setting(xlbridge: Xlbridge) -> None:
    assert_ended(xlbridge("resources", XLBRIDGE_SETTLE="soon"), 2, "XLBRIDGE_SETTLE")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    "command", [("upload", SAMPLES / "cliente.xlsx", "--yes"), ("whoami",), ("login",)]
)
def test_no_server_and_a_wrong_password(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, command: tuple[object, ...]
) -> None:
    nowhere = credentials(empty_sandbox, XLBRIDGE_BASE_URL=f"http://127.0.0.1:{free_port()}")
    assert_ended(xlbridge(*command, **nowhere), 4)
    wrong = credentials(empty_sandbox, XLBRIDGE_PASSWORD="not-this-one")
    done = xlbridge(*command, **wrong)
    assert_ended(done, 4)
    assert "not-this-one" not in done.stdout + done.stderr


def test_an_address_without_credentials(xlbridge: Xlbridge) -> None:
    done = xlbridge("whoami", XLBRIDGE_BASE_URL="https://erp.example.com")
    assert_ended(done, 2, "XLBRIDGE_EMAIL")


def test_uploading_as_json(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    environment = credentials(empty_sandbox)
    rows = [["Cliente", new_cnpj()] for _ in range(3)]
    book = write_rows(tmp_path / "clientes.xlsx", ["nomeComercial", "cnpj"], rows)
    done = xlbridge("upload", book, "--yes", "--format", "json", **environment)
    assert_ended(done, 0)
    report = json.loads(done.stdout)
    assert (report["version"], report["state"], report["mode"]) == (1, "done", "queue")
    assert report["rows"]["read"] == report["rows"]["accepted"] == 3
    again = json.loads(xlbridge("upload", book, "--yes", "--format", "json", **environment).stdout)
    assert (again["state"], again["rows"]["unchanged"]) == ("done", 3)
    listed = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    assert [job["job"] for job in listed] == [again["job"], report["job"]]
    assert_ended(xlbridge("jobs", report["job"]), 0, "processing")
    assert_ended(xlbridge("jobs", "20200101-000000-abcd"), 2)
    resumed = xlbridge("resume", report["job"], "--format", "json")
    assert json.loads(resumed.stdout) == report
    assert_ended(xlbridge("resume"), 2)


def test_nothing_is_sent_while_there_are_errors(xlbridge: Xlbridge) -> None:
    done = xlbridge("upload", SAMPLES / "cliente-com-erros.xlsx", "--yes", "--format", "json")
    assert_ended(done, 1, "Nothing was sent")
    report = json.loads(done.stdout)
    rows = report["rows"]
    assert (report["job"], report["state"]) == (None, "rejected")
    assert rows["read"] == rows["accepted"] + rows["rejected"] + rows["unknown"]
    assert {item["cell"] for item in report["rejected"]} >= {"D7", "B5"}


def test_without_a_terminal_consent_needs_yes(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    path = write(tmp_path / "um.xlsx", ["nomeComercial"], ["Cliente sem documento"])
    environment = credentials(empty_sandbox)
    done = xlbridge("upload", path, "--resource", "cliente", "--format", "json", **environment)
    assert_ended(done, 2, "--yes")
    listed = json.loads(xlbridge("jobs", "--format", "json").stdout)["jobs"]
    for waiting in (json.loads(done.stdout), *listed):
        rows = waiting["rows"]
        assert (waiting["state"], rows["unknown"], rows["rejected"]) == ("previewed", 1, 0)
    assert_ended(xlbridge("resume", "--yes", **environment), 0)


def test_a_preview_exits_with_zero(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    path = write(tmp_path / "um.xlsx", ["nomeComercial"], ["Só prévia"])
    done = xlbridge(
        "upload", path, "--mode", "preview", "--format", "json", **credentials(empty_sandbox)
    )
    assert_ended(done, 0)
    assert json.loads(done.stdout)["state"] == "previewed"


def test_the_embedded_sandbox_serves_when_nothing_is_configured(
    xlbridge: Xlbridge, home: Path
) -> None:
    create_database(home, [])
    done = xlbridge("whoami", "--format", "json")
    assert_ended(done, 0, "embedded sandbox")
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    "command",
    [
        ("upload", SAMPLES / "cliente.xlsx", "--yes"),
        ("whoami",),
        ("login",),
        ("export", "estoque", "-o", "e.xlsx"),
        ("api", "GET", "/v2/sistema/info"),
    ],
)
def test_a_server_that_answers_html(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, command: tuple[object, ...]
) -> None:
    with html_server() as address:
        done = xlbridge(*command, **credentials(empty_sandbox, XLBRIDGE_BASE_URL=address))
    assert_ended(done, 4, "text/html")


@pytest.mark.parametrize(
    ("bad", "options"),
    [("none.xlsx", ()), (SAMPLES / "contaspagar.xlsx", ("--sheet", "cliente"))],
)
def test_an_unusable_file_among_others_is_reported_with_them(
    xlbridge: Xlbridge, tmp_path: Path, bad: object, options: tuple[str, ...]
) -> None:
    good = write(tmp_path / "good.xlsx", ["nomeComercial"], ["Ana"], sheet="cliente")
    arguments = ["validate", bad, good, "--resource", "cliente", *options]
    done = xlbridge(*arguments, "--format", "json")
    document = json.loads(done.stdout)
    unusable, judged = document["files"]
    assert_ended(done, 2)
    assert (document["ok"], unusable["errors"], judged["errors"]) == (False, 1, 0)
    assert unusable["refused"].keys() == {"type", "code", "message", "hint"}
    assert unusable["refused"]["code"] == "usage-error"
    assert unusable["refused"]["message"] in done.stderr
    assert_ended(xlbridge(*arguments), 2, f"✗ {bad}", "✓ ")


@pytest.mark.parametrize(("password", "code"), [("not-this-one", 4), (None, 0)])
def test_a_login_is_decided_by_its_answer(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, password: str | None, code: int
) -> None:
    login = {"email": empty_sandbox.email, "password": password or empty_sandbox.password}
    arguments = ["api", "POST", "/v2/autenticar", "--data", json.dumps(login)]
    done = xlbridge(*arguments, **credentials(empty_sandbox))
    assert_ended(done, code)
    assert json.loads(done.stdout)["authenticated"] is (code == 0)
    assert bool(done.stderr) is (code != 0)


def test_a_home_that_is_not_a_folder(xlbridge: Xlbridge, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = xlbridge("jobs", XLBRIDGE_HOME=str(tmp_path / "file"))
    assert_ended(done, 2, "XLBRIDGE_HOME")


def test_all_templates_and_one_template_do_not_mix(xlbridge: Xlbridge, tmp_path: Path) -> None:
    assert_ended(xlbridge("template", "--all", tmp_path / "t", "cliente"), 2, "--all")


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
def test_an_unreadable_file_does_not_prevent_the_report_of_others(
    home: Path, tmp_path: Path
) -> None:
    closed = tmp_path / "closed.xlsx"
    closed.write_bytes((ROOT / "samples" / "cliente.xlsx").read_bytes())
    closed.chmod(0)
    as_owner = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    if as_owner and not shutil.which(as_owner[0]):
        pytest.skip("the superuser may read every file")
    done = subprocess.run(
        [*as_owner, sys.executable, "-m", "xlbridge", "validate", closed, "samples/cliente.xlsx"],
        cwd=ROOT,
        env=clean_environment(home),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "closed.xlsx cannot be read: permission denied" in done.stdout
    assert "✓ samples/cliente.xlsx" in done.stdout
