"""A home of the first version is opened and continued: nothing is lost or sent twice."""

import gzip
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from environment import Xlbridge, clean_environment
from openpyxl import load_workbook
from sandboxes import sandbox_process

STORED = Path(__file__).parent / "first_version"
DATABASES = ("home/batches.db", "home/profiles/homolog/journal.db")
DONE, REFUSED_ROW, QUEUED = "20261122-113454-85ef", "20261122-113459-26a6", "20261122-113502-72ce"

pytestmark = pytest.mark.one_database


@dataclass(frozen=True)
class FirstVersion:
    """Copy of the home, with the sandbox that received its jobs."""

    folder: Path
    run: Callable[..., tuple[int, str]]

    def clients(self) -> list[str]:
        status, out = self.run("api", "GET", "/v2/cliente")
        assert status == 0
        return sorted(client["nomeComercial"] for client in json.loads(out)["data"])


def move_to(folder: Path) -> None:
    """Update the paths of the files in the databases."""
    for name in DATABASES:
        with sqlite3.connect(folder / name) as connection:
            tables = [
                row[0]
                for row in connection.execute("select name from sqlite_master where type = 'table'")
            ]
            for table in tables:
                for column in connection.execute(f'pragma table_info("{table}")').fetchall():
                    connection.execute(
                        f'update "{table}" set "{column[1]}" = replace("{column[1]}", ?, ?) '
                        f"where typeof(\"{column[1]}\") = 'text'",
                        ("/dados", str(folder)),
                    )
        connection.close()


@pytest.fixture
def first(tmp_path: Path, xlbridge: Xlbridge) -> Iterator[FirstVersion]:
    folder = tmp_path / "dados"
    shutil.copytree(STORED, folder)
    move_to(folder)
    server = tmp_path / "server"
    shutil.copytree(folder / "home" / "schemas", server / "schemas")
    (server / "sandbox.db").write_bytes(gzip.decompress((STORED / "sandbox.db.gz").read_bytes()))
    with sqlite3.connect(server / "sandbox.db") as connection:
        # The account's password is not stored, so the sandbox creates a new account.
        connection.execute("update users set email = 'anterior@aurora.example'")
    connection.close()
    with sandbox_process(server, [], clean_environment(server)) as running:
        profiles = folder / "home" / "profiles.toml"
        text = profiles.read_text("utf-8").replace("http://127.0.0.1:18765", running.base_url)
        profiles.write_text(text, "utf-8")
        environment = {
            "XLBRIDGE_HOME": str(folder / "home"),
            "XLBRIDGE_PASSWORD": running.password,
            "XLBRIDGE_SETTLE": "0",
        }

        def run(*words: str) -> tuple[int, str]:
            in_place = (folder / word if (folder / word).exists() else word for word in words)
            done = xlbridge(*in_place, **environment)
            assert "Traceback" not in done.stderr
            return done.returncode, done.stdout + (done.stderr if done.returncode else "")

        yield FirstVersion(folder, run)


def test_jobs_of_the_first_version_are_listed(first: FirstVersion) -> None:
    status, out = first.run("jobs", "--format", "json")
    assert status == 0
    states = {job["job"]: job["state"] for job in json.loads(out)["jobs"]}
    assert len(states) == 5
    assert (states[DONE], states[REFUSED_ROW], states[QUEUED]) == ("done", "partial", "processing")


def test_queued_job_is_continued(first: FirstVersion) -> None:
    status, out = first.run("resume", QUEUED, "--format", "json")
    assert status == 0
    assert json.loads(out)["rows"]["accepted"] == 3
    assert len([name for name in first.clients() if name.startswith("Livraria")]) == 3


def test_sent_rows_of_the_first_version_are_not_sent_again(first: FirstVersion) -> None:
    before = first.clients()
    status, out = first.run("upload", "books/clientes.xlsx", "--mode", "queue", "--yes")
    assert status == 0
    assert DONE not in out
    assert first.clients() == before


def test_rejected_row_is_corrected_and_sent(first: FirstVersion) -> None:
    rejects = next((first.folder / "books").glob("parcial-rejeitadas-*.xlsx"))
    workbook = load_workbook(rejects)
    sheet = workbook.worksheets[0]
    cells = [cell for row in sheet.iter_rows() for cell in row if cell.value == 999]
    assert len(cells) == 1
    cells[0].value = 1
    workbook.save(rejects)
    status, _ = first.run("retry", REFUSED_ROW, "--yes")
    assert status == 0
    assert [name for name in first.clients() if name.startswith("Oficina")] == [
        "Oficina 1",
        "Oficina 2",
        "Oficina 3",
    ]


def test_finished_batch_stays_finished(first: FirstVersion) -> None:
    before = first.clients()
    status, out = first.run("batch", "run", "plan.yaml", "--month", "2026-10", "--yes")
    assert status == 0
    assert re.search(r"6 accepted", out)
    assert first.clients() == before


@pytest.mark.parametrize("workbook", ["books/clientes.xlsx", "centros/2026-10-a.xlsx"])
def test_filled_templates_of_the_first_version_are_valid(
    first: FirstVersion, workbook: str
) -> None:
    status, out = first.run("validate", workbook, "--format", "json")
    assert status == 0
    (file,) = json.loads(out)["files"]
    assert file["rows"] in (3, 5)
    # A template whose resource has a new column is reported, and stays valid.
    assert {finding["code"] for finding in file["findings"]} <= {"template-outdated"}
