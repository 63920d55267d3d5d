"""The example of the page about custom resources works, from template to rejected line."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from environment import ROOT, Xlbridge, clean_environment, credentials
from sandboxes import sandbox_process

from xlbridge.client import Client, Executed, Target, UploadFile
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.imports import IMPORT_LOG, IMPORT_PROCESS, IMPORT_QUEUE, ImportLog, ImportState

PAGE = ROOT / "docs" / "how-to" / "own-resource.md"
NAME = "centro-de-custo"
GOOD = [["03.001", "Marketing", None, None], ["03.002", "Vendas", None, None]]
REPEATED = ["03.001", "De novo", None, None]


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / f"{NAME}.yaml").write_text(shown, encoding="utf-8")
    return folder


@pytest.fixture
def sandbox(tmp_path: Path, schemas: Path) -> Iterator[RunningSandbox]:
    folder = tmp_path / "sandbox"
    options = ["--seed", "empty", "--schemas", str(schemas), "--db", str(tmp_path / "own.db")]
    with sandbox_process(folder, options, clean_environment(folder), own_process=True) as running:
        yield running


def fill(template: Path, path: Path, rows: list[list[Any]]) -> Path:
    book = openpyxl.load_workbook(template)
    for row, values in enumerate(rows, start=2):
        for column, value in enumerate(values, start=1):
            book[NAME].cell(row, column, value)
    book.save(path)
    return path


def finished(client: Client, log_id: int) -> ImportLog:
    while True:
        log: ImportLog = client.call(IMPORT_LOG, path={"id": log_id})
        if log.situacao == ImportState.FINISHED:
            return log
        time.sleep(0.05)


def test_page_example_works_from_template_to_rejected_line(
    xlbridge: Xlbridge, tmp_path: Path, schemas: Path, sandbox: RunningSandbox
) -> None:
    def run(*arguments: object, **environment: str) -> tuple[int, str]:
        done = xlbridge(*arguments, "--schemas", schemas, **environment)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout

    template = tmp_path / "modelo.xlsx"
    assert run("template", NAME, "-o", template)[0] == 0
    bad = fill(template, tmp_path / "bad.xlsx", [*GOOD, REPEATED])
    code, printed = run("validate", bad, "--format", "json")
    [report] = json.loads(printed)["files"]
    assert (code, report["resource"]) == (1, NAME)
    assert [(f["cell"], f["code"]) for f in report["findings"]] == [("A4", "duplicate-in-sheet")]
    good = fill(template, tmp_path / "good.xlsx", GOOD)
    assert run("validate", good)[0] == 0
    reached = credentials(sandbox)
    code, printed = run("upload", good, "--yes", "--format", "json", **reached)
    assert (code, json.loads(printed)["rows"]["accepted"]) == (0, 2)
    log = sent_past_the_check(sandbox, bad)
    assert (log.registrosImportados, log.registrosRejeitados) == (2, 1)
    [line] = log.linhasRejeitadas
    assert (line.linha, line.coluna) == (4, "codigo")
    with closing(sqlite3.connect(tmp_path / "own.db")) as database:
        [(stored,)] = database.execute("select count(*) from own_records").fetchall()
    assert stored == 4


def sent_past_the_check(sandbox: RunningSandbox, path: Path) -> ImportLog:
    """Send a workbook without validating it, as another program might."""
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as client:
        file = UploadFile(path.name, path.read_bytes())
        queued = client.send(IMPORT_QUEUE, path={"resource": NAME}, file=file)
        assert isinstance(queued, Executed)
        client.send(IMPORT_PROCESS, path={"id": queued.data})
        return finished(client, queued.data)
