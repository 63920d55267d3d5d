"""Rehearsals of a month by the real command, on a sandbox with faults."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT
from rehearsal_parts import (
    ROWS,
    Month,
    let_payables_fail,
    let_rows_be_lost,
    let_rows_be_written_twice,
    make_database,
    stored_rows,
)
from sheets import GOOD, write_records

PASSWORD = "canary-password-4711"
PLANTED = """\
name: month
steps:
  one:
    upload: ../books/one.xlsx
    resource: contasreceber
  failing:
    upload: ../books/failing.xlsx
    resource: contaspagar
    mode: direct
"""

ONE_STEP = """\
name: month
parameters: {month: 2026-10}
steps:
  one:
    upload: ../books/one.xlsx
    resource: contasreceber
"""


@pytest.fixture
def month(tmp_path: Path) -> Month:
    return Month(tmp_path / "month", tmp_path / "home").write()


@contextmanager
def real_system() -> Iterator[tuple[str, list[str]]]:
    """A system that must not be called in a rehearsal, and records requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            asked.append(str(self.client_address))
            self.close_connection = True

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


QUIRKS = sorted((ROOT / "samples/quirks").glob("*.quirks.yaml"))


def set_quirks(month: Month, profile: str, quirks: Path) -> None:
    file = month.home / f"profiles.d/{profile}.quirks.yaml"
    file.parent.mkdir(parents=True)
    shutil.copyfile(quirks, file)


def test_a_month_is_rehearsed_in_isolation_and_every_row_accounted_for(month: Month) -> None:
    """With the faults that a command asks for, and the quirks of the profile."""
    plan = month.plan.read_text("utf-8").replace("name: month", "name: month\nprofile: real")
    month.plan.write_text(plan, "utf-8")
    before = month.files()
    with real_system() as (address, asked):
        set_quirks(month, "real", ROOT / "samples/quirks/other-words.quirks.yaml")
        profile = (
            f'default = "real"\n[profiles.real]\nbase_url = "{address}"\nemail = "a@b.example"\n'
        )
        (month.home / "profiles.toml").write_text(profile, "utf-8")
        month.environment = {"XLBRIDGE_PASSWORD": PASSWORD, "XLBRIDGE_PROFILE": "real"}
        # None of these leaves a doubt that nothing can settle, whichever requests they strike.
        faults = "cut-after@0.15,throttle=0@0.1,expire@0.1,seed=1"
        options = ["--faults", faults, "--stand-ins"]
        done = month.rehearse("--format", "json", *options)
        assert asked == []
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert month.files() == before
    assert {path.name for path in month.home.iterdir()} == {"profiles.toml", "profiles.d"}
    assert found["faults"] == faults
    assert (found["copied"], found["runs"]["faulty"] > 0) == (5, True)
    require_whole_month(found)


def require_whole_month(found: dict[str, Any]) -> None:
    """Require what a rehearsal of the month finds under any faults and quirks."""
    assert (found["state"], found["assertions"]) == (
        "passed",
        dict.fromkeys(("none_twice", "none_lost", "verdict_for_every_row"), True),
    )
    assert found["rows"] == {
        "read": ROWS, "accepted": ROWS, "rejected": 0, "unknown": 0, "unsent": 0,
        "unchanged": 0, "held": 0, "undone": 0
    }  # fmt: skip
    assert found["stand_ins"] == {
        "clients": 1, "suppliers": 3, "branches": 1, "products": 2, "sections": 1
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("quirks", QUIRKS)
def test_a_month_is_rehearsed_with_the_quirks_of_the_profile(month: Month, quirks: Path) -> None:
    set_quirks(month, "sandbox", quirks)
    require_whole_month(month.report(0, "--stand-ins"))


@pytest.mark.slow
def test_breaches_are_detected_and_reported(month: Month, tmp_path: Path) -> None:
    database = tmp_path / "prepared.db"
    make_database(database, {**GOOD["contasreceber"], "historico": "before"})
    let_rows_be_written_twice(database, "twice")
    let_rows_be_lost(database, "lost")
    let_payables_fail(database)
    content = database.read_bytes()
    rows: list[dict[str, Any]] = [
        {"historico": text, "numeroDoDocumento": f"D-{number}"}
        for number, text in enumerate(["good", "twice", "lost", "good", "refused"])
    ]
    rows[-1]["codigoDoItemDeLancamento"] = "9.99.999"
    write_records(month.folder / "books" / "one.xlsx", "contasreceber", rows)
    write_records(month.folder / "books" / "failing.xlsx", "contaspagar", [{}])
    month.plan.write_text(PLANTED, "utf-8")
    found = month.report(5, "--db", database)
    assert database.read_bytes() == content
    assert (found["state"], found["verdict"][:25]) == ("broken", "✗✗ Do not run this batch:")
    assert found["assertions"] == {
        "none_twice": False, "none_lost": True, "verdict_for_every_row": True
    }  # fmt: skip
    breaches = {(breach["kind"], breach["row"]) for breach in found["breaches"]}
    assert breaches == {("twice", 3)}
    # The upload missed the lost row itself, and then believes no answer about the others.
    assert found["rows"] == {
        "read": 6, "accepted": 3, "rejected": 0, "unknown": 3, "unsent": 0,
        "unchanged": 0, "held": 0, "undone": 0
    }  # fmt: skip
    doubts = {(place["step"], place["row"], place["there"]) for place in found["in_doubt"]}
    assert doubts == {("one", 4, False), ("one", 6, False), ("failing", 2, None)}
    assert {step["step"] for step in found["steps"] if step["state"] != "done"} == {
        "one",
        "failing",
    }


@pytest.mark.slow
def test_the_last_lines_are_the_verdict_and_the_next_step(tmp_path: Path) -> None:
    month = Month(tmp_path / "month", tmp_path / "home")
    for folder in ("plans", "books"):
        (month.folder / folder).mkdir(parents=True)
    write_records(month.folder / "books" / "one.xlsx", "contasreceber", [{"historico": "one"}])
    month.plan.write_text(ONE_STEP, "utf-8")
    calm = month.rehearse("--stand-ins")
    assert calm.returncode == 0, calm.stderr
    assert [line[:35] for line in calm.stdout.splitlines()[-3:-1]] == [
        "! No faults were requested: only th",
        "✓ Rehearsal passed: 1 row accepted;",
    ]
    assert calm.stdout.endswith("plan.yaml --set month=2026-10\n")
    assert "batch run" in calm.stdout.splitlines()[-1]


@pytest.mark.slow
def test_a_workbook_that_is_held_as_a_whole_is_rehearsed_to_the_verdict(tmp_path: Path) -> None:
    month = Month(tmp_path / "month", tmp_path / "home")
    for folder in ("plans", "books"):
        (month.folder / folder).mkdir(parents=True)
    title = {"numeroDoDocumento": "HELD-1", "historico": "one"}
    write_records(month.folder / "books" / "one.xlsx", "contasreceber", [title])
    write_records(
        month.folder / "books" / "two.xlsx", "contasreceber", [{**title, "historico": "other"}]
    )
    second = "  two:\n    upload: ../books/two.xlsx\n    resource: contasreceber\n    after: one\n"
    month.plan.write_text(ONE_STEP + second, "utf-8")
    page = tmp_path / "rehearsal.html"
    done = month.rehearse("--stand-ins", "--format", "html", "-o", page)
    assert done.returncode == 1, done.stderr
    lines = done.stderr.splitlines()[-3:]
    assert lines[0].startswith("✗ The batch is not ready yet: fix the problems")
    assert lines[1].startswith("Next: xlbridge batch plan ")
    assert lines[2] == f"Report in {page}"
    report = page.read_text("utf-8")
    assert all(line in report for line in ("✗ The batch is not ready yet", lines[1]))
    assert re.search(
        '<td[^>]*data-label="Details"[^>]*>1 workbook, 1 row: 1 waiting for you', report
    )
    assert "<script" not in report
    assert "No faults were requested" in report


def test_a_folder_that_is_not_empty_is_refused(month: Month, tmp_path: Path) -> None:
    before = month.files()
    done = month.rehearse("--keep", month.folder)
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)
    assert month.files() == before
    assert [path.name for path in tmp_path.iterdir()] == ["month"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "faults",
    [
        "cut-after@0.2,error-before@0.1",
        "error-after@0.2,delay=0.3@0.2",
        "cut-before@0.3,throttle=1@0.2",
        "expire@0.4,slow-queue=0.5,cut-after@0.1",
    ],
)
def test_faults_lose_and_duplicate_nothing(
    month: Month, tmp_path: Path, faults: str, seed: int
) -> None:
    kept = tmp_path / "kept"
    asked = ("--faults", f"{faults},seed={seed}", "--stand-ins", "--keep", kept)
    done = month.rehearse("--format", "json", *asked)
    found = json.loads(done.stdout)
    assert found["breaches"] == []
    assert all(found["assertions"].values())
    rows = found["rows"]
    assert rows["read"] == ROWS == sum(rows.values()) - rows["read"]
    assert len(found["in_doubt"]) == rows["unknown"]
    assert rows["rejected"] == 0
    # Not only what the proof reads back: the sandbox has each of these rows once.
    tables = ("clients", "receivables", "payables", "addressings")
    stored = stored_rows(kept / "sandbox.db", *tables) - found["stand_ins"]["clients"]
    assert rows["accepted"] <= stored <= rows["accepted"] + rows["unknown"]
    assert done.returncode == (5 if rows["unknown"] else 0)
