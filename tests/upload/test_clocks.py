"""A clock that is set, or was ahead, neither voids the settle time nor prolongs it for ever."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_clock import FakeClock
from lossy_proxy import LossyProxy
from upload_parts import QUICK, MakeClients, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.upload import Journal, State, UploadContext, Uploads

DIRECT = ("--mode", "direct", "--yes", "--no-preview")


@pytest.fixture
def resume(
    xlbridge: Xlbridge, proxy_environment: dict[str, str]
) -> Callable[..., tuple[int, dict[str, Any]]]:
    def resume(*arguments: object, settle: int = 600) -> tuple[int, dict[str, Any]]:
        environment = proxy_environment | {"XLBRIDGE_SETTLE": str(settle)}
        ended = xlbridge(*(arguments or ("resume",)), "--format", "json", **environment)
        return ended.returncode, json.loads(ended.stdout)

    return resume


def change_events(home: Path, moved: timedelta, boot: str | None = None) -> None:
    """Move the times of all events, as if the clock had been set; ``boot``: by another start."""
    with closing(sqlite3.connect(home / "journal.db")) as db, db:
        for row, at in db.execute("SELECT rowid, at FROM events").fetchall():
            then = datetime.fromisoformat(at) + moved
            db.execute("UPDATE events SET at = ? WHERE rowid = ?", (then.isoformat(), row))
        if boot is not None:
            db.execute("UPDATE events SET boot = ?", (boot,))


def count_imports(proxy: LossyProxy) -> int:
    return sum("importacao" in path for method, path in proxy.seen if method == "POST")


@pytest.mark.parametrize("boot", [None, ""])
def test_an_hour_forward_does_not_end_the_settle_time(
    proxy: LossyProxy, resume: Callable[..., Any], make_clients: MakeClients, home: Path,
    boot: str | None,
) -> None:  # fmt: skip
    proxy.fail_once("lose request", "importacao/cliente")
    code, report = resume("upload", make_clients(new_cnpj()), *DIRECT)
    assert (code, report["state"]) == (5, "in_doubt")
    change_events(home, -timedelta(hours=1), boot)
    code, report = resume()
    assert (code, report["state"], count_imports(proxy)) == (5, "in_doubt", 1)
    with closing(sqlite3.connect(home / "journal.db")) as db:
        newest = db.execute("SELECT state FROM events ORDER BY rowid DESC").fetchone()
    assert newest == ("in_doubt",)


@pytest.mark.parametrize("boot", [None, "", "another"])
def test_a_doubt_from_the_future_ends(
    proxy: LossyProxy, resume: Callable[..., Any], make_clients: MakeClients, home: Path,
    boot: str | None,
) -> None:  # fmt: skip
    """Its rows can be resolved by a person at the latest one settle time after it was seen."""
    proxy.fail_once("lose request", "importacao/cliente")
    _, report = resume("upload", make_clients(new_cnpj()), *DIRECT)
    change_events(home, timedelta(days=365), boot)
    code, ended = resume(settle=1)
    assert (code, ended["state"]) == (5, "in_doubt")
    with closing(sqlite3.connect(home / "journal.db")) as db:
        newest = db.execute("SELECT state FROM events ORDER BY rowid DESC").fetchone()
    assert newest == ("needs_person",)
    resolve = ("resolve", report["job"], "--as", "not-applied", "--reason", "looked")
    code, _ = resume(*resolve, settle=1)
    assert code == 0


def test_rows_that_are_there_are_seen_under_any_clock(
    proxy: LossyProxy, resume: Callable[..., Any], make_clients: MakeClients, home: Path
) -> None:
    proxy.decide = lambda method, path: (
        "lose answer" if "importacao" in path else "lose request" if method == "GET" and
        any("importacao" in seen for _, seen in proxy.seen) else "pass"
    )  # fmt: skip
    code, _ = resume("upload", make_clients(new_cnpj()), *DIRECT)
    assert code == 5
    proxy.decide = lambda _method, _path: "pass"
    change_events(home, timedelta(days=365), "another")
    code, report = resume()
    assert (code, report["state"]) == (0, "done")


def test_the_longer_wait_counts_after_the_computer_was_started_again(
    context: UploadContext, client: Client, proxy: LossyProxy, make_clients: MakeClients
) -> None:
    clock = FakeClock()
    with closing(Journal(context.settings.journal, now=clock)) as journal:
        timed = UploadContext(context.settings, context.catalogue, journal)
        proxy.fail_once("lose request", "importacao/cliente?preview=false")
        job = write_job(timed, client, make_clients(new_cnpj()), "direct")

        def state() -> State:
            return Uploads(timed, client).run(journal.job(job.id), QUICK).state

        assert state() is State.IN_DOUBT
        clock.advance(60)
        clock.start_again()
        clock.set_by(3600)
        assert state() is State.IN_DOUBT
        clock.advance(889)
        assert state() is State.IN_DOUBT
        clock.advance(1)
        assert state() is State.NEEDS_PERSON


def test_the_order_of_uploads_is_that_of_the_journal(
    context: UploadContext, client: Client, make_clients: MakeClients
) -> None:
    clock = FakeClock()
    with closing(Journal(context.settings.journal, now=clock)) as journal:
        timed = UploadContext(context.settings, context.catalogue, journal)
        first = write_job(timed, client, make_clients(new_cnpj(), name="a.xlsx"), "direct")
        clock.set_by(-3600)
        second = write_job(timed, client, make_clients(new_cnpj(), name="b.xlsx"), "direct")
        assert [job.id for job in journal.jobs()] == [second.id, first.id]
