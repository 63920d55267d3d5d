"""A month is rehearsed by the real command, on a real practice system under real faults."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from rehearsal_parts import ROWS, Month, let_rows_be_lost, let_rows_be_written_twice, make_database
from sheets import GOOD, write_records

ONE = """\
name: month
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
    """A system that is asked for nothing in a rehearsal, and remembers what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            asked.append(str(self.client_address))
            self.close_connection = True

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_month_is_rehearsed_apart_and_every_row_of_it_accounted_for(month: Month) -> None:
    plan = month.plan.read_text("utf-8").replace("name: month", "name: month\nprofile: real")
    month.plan.write_text(plan, "utf-8")
    before = month.files()
    with real_system() as (address, asked):
        month.home.mkdir()
        profile = (
            f'default = "real"\n[profiles.real]\nbase_url = "{address}"\nemail = "a@b.example"\n'
        )
        (month.home / "profiles.toml").write_text(profile, "utf-8")
        month.environment = {"XLBRIDGE_PASSWORD": "secret", "XLBRIDGE_PROFILE": "real"}
        faults = "cut-after@0.15,error-before@0.1,throttle=0@0.1,expire@0.1"
        found = month.report(0, "--faults", faults, "--seed-number", 1, "--stand-ins", "--kill", 1)
        assert asked == []
    assert month.files() == before
    assert [path.name for path in month.home.iterdir()] == ["profiles.toml"]
    assert found["faults"] == f"{faults},seed=1"
    assert (found["copied"], found["runs"]["killed"]) == (5, 1)
    assert found["assertions"] == dict.fromkeys(
        ("none_twice", "none_lost", "verdict_for_every_row"), True
    )
    assert found["rows"] == {
        "read": ROWS, "accepted": ROWS, "rejected": 0, "unknown": 0, "unsent": 0
    }  # fmt: skip
    assert found["stand_ins"] == {
        "clients": 1, "suppliers": 3, "branches": 1, "products": 2, "sections": 1
    }  # fmt: skip
    gained = {t["table"]: (t["after"] - t["before"], t["expected"]) for t in found["tables"]}
    assert gained == {
        "clients": (5, 5), "receivables": (8, 8), "payables": (3, 3), "addressings": (2, 2)
    }  # fmt: skip


def test_breaches_are_found_and_told(month: Month, tmp_path: Path) -> None:
    database = tmp_path / "prepared.db"
    make_database(database, {**GOOD["contasreceber"], "historico": "before"})
    let_rows_be_written_twice(database, "twice")
    let_rows_be_lost(database, "lost")
    content = database.read_bytes()
    told = ["good", "twice", "lost", "good", "before"]
    rows: list[dict[str, Any]] = [{"historico": text} for text in told]
    write_records(
        month.folder / "books" / "one.xlsx",
        "contasreceber",
        [*rows, {"historico": "refused", "codigoDoItemDeLancamento": "9.99.999"}],
    )
    month.plan.write_text(ONE, "utf-8")
    found = month.report(5, "--db", database, "--faults", "error-before@0.1")
    assert database.read_bytes() == content
    assert found["assertions"] == {
        "none_twice": False, "none_lost": False, "verdict_for_every_row": True
    }  # fmt: skip
    breaches = {(breach["kind"], breach["row"]) for breach in found["breaches"]}
    assert breaches == {("twice", 3), ("lost", 4)}
    assert [place["row"] for place in found["there_before"]] == [6]
    assert (found["rows"]["accepted"], found["rows"]["rejected"]) == (5, 1)
    assert [place["row"] for place in found["rejected"]] == [7]
    assert "9.99.999" in found["rejected"][0]["message"]
