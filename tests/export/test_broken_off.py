"""Failed runs leave no output, and their finished windows are reused by the next run.

Inside: export.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from environment import clean_environment, credentials, without_coverage
from exporting import export
from forked import Zygote
from sandboxes import sandbox_process

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.client.listings import Window
from xlbridge.errors import TransportError
from xlbridge.export import ExportProgress, ExportResult
from xlbridge.export.part_store import PartStore, ResumeStore
from xlbridge.export.parts import FINISHED_FILE
from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.one_database

LEFT = f"exports/unfinished/*/*/{FINISHED_FILE}"


@contextmanager
def sandbox(home: Path, *options: str) -> Iterator[RunningSandbox]:
    """A sandbox with some orders, in a process that a test may kill."""
    environment = clean_environment(home)
    with sandbox_process(home, ["--seed", "demo", *options], environment, few=True) as running:
        yield running


def exported(
    running: RunningSandbox,
    output: Path,
    unfinished: ResumeStore | None,
    at_once: int = 2,
    **run: Any,
) -> tuple[ExportResult, list[dict[str, Any]]]:
    target = Target("t", running.base_url, running.email, running.password)
    with Client(target, retry_policy=RetryPolicy(tries=1)) as client:
        done = export(client, "pedidos", output, run={"resume": unfinished, **run}, at_once=at_once)
    return done, [json.loads(line) for line in output.read_text("utf-8").splitlines()]


def touch_oldest_order(home: Path) -> int:
    """Change an order of a fetched window; return its number."""
    (path,) = home.glob("*.db")
    with sqlite3.connect(path) as base:
        (number,) = base.execute(
            "SELECT numeroDoPedido FROM sales_orders ORDER BY updated LIMIT 1"
        ).fetchone()
        base.execute(
            "UPDATE sales_orders SET observacao = 'mudou', updated = ? WHERE numeroDoPedido = ?",
            (datetime.now().isoformat(" ", "microseconds"), number),
        )
    base.close()
    return int(number)


def test_after_a_killed_server_the_next_run_goes_on_and_nothing_is_stale(tmp_path: Path) -> None:
    home, output = tmp_path / "server", tmp_path / "p.jsonl"
    unfinished = ResumeStore(tmp_path / "unfinished", ["pedidos"])
    with sandbox(home) as running:
        port = running.base_url.rpartition(":")[2]

        def kill(advance: ExportProgress) -> None:
            if advance.records > 50:
                os.kill(running.pid, signal.SIGKILL)

        with pytest.raises(TransportError):
            exported(running, output, unfinished, on_progress=kill, at_once=1)
    assert not output.exists()
    kept = unfinished.window_count()
    assert kept > 3
    number = touch_oldest_order(home)
    with sandbox(home, "--port", port) as running:
        done, orders = exported(running, output, unfinished)
        whole, expected = exported(running, tmp_path / "whole.jsonl", None)
    assert done.reused == kept
    assert done.calls == whole.calls - kept
    assert (done.records, done.sheets) == (whole.records, whole.sheets)
    (changed,) = [order for order in orders if order["numeroDoPedido"] == number]
    assert changed["observacao"] == "mudou"

    def by_number(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(lines, key=lambda order: int(order["numeroDoPedido"]))

    assert by_number(orders) == by_number(expected)
    assert [total.totals for total in done.totals] == [total.totals for total in whole.totals]
    assert not any(unfinished.folder.glob("*/*"))


def export_command(output: Path) -> list[str]:
    return [sys.executable, "-m", "xlbridge", "export", "pedidos", "-o", str(output)]


def broken_off(running: RunningSandbox, home: Path, output: Path, ending: signal.Signals) -> str:
    """End an export by a signal after three windows; return its output. No file is left."""
    with subprocess.Popen(
        export_command(output),
        env=without_coverage(clean_environment(home, **credentials(running))),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while len(list(home.glob(LEFT))) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(ending)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    assert list(output.parent.iterdir()) == []
    return told


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_closed_terminal_and_a_time_limit_leave_no_file(tmp_path: Path) -> None:
    output = tmp_path / "out" / "p.xlsx"
    output.parent.mkdir()
    with sandbox(tmp_path / "server", "--faults", "delay=0.15") as running:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            broken_off(running, tmp_path / ending.name, output, ending)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_no_file_and_the_next_run_goes_on(tmp_path: Path, forks: Zygote) -> None:
    home, output = tmp_path / "own", tmp_path / "out" / "p.xlsx"
    output.parent.mkdir()
    manifest = tmp_path / "m.json"
    with sandbox(tmp_path / "server", "--faults", "delay=0.15") as running:
        told = broken_off(running, home, output, signal.SIGINT)
        assert "continues from there" in told
        environment = clean_environment(home, **credentials(running))
        kept = len(list(home.glob(LEFT)))
        command = ["export", "pedidos", "-o", str(output), "--manifest", str(manifest), "--force"]
        fresh, again = (
            forks.run(tmp_path, environment, [*command, *option])
            for option in (["--from", "01/10/2026", "--fresh"], [])
        )
    assert fresh.returncode == again.returncode == 0
    assert "interrupted run" not in fresh.stderr
    assert f"{kept} windows are from an interrupted run" in again.stderr
    assert json.loads(manifest.read_text())["reused"] == kept >= 3
    assert list(home.glob(LEFT)) == []


def test_what_is_too_old_or_not_wanted_is_not_used(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 12)
    store = ResumeStore(tmp_path, ["a"])
    fresh = ResumeStore(tmp_path, ["a"], fresh=True)
    leave_a_window(store, now)
    with ResumeStore(tmp_path, ["b"]).open(now) as other:
        assert finished_in(other) == 0
    for unfinished, later, found in (
        (store, timedelta(minutes=1), 1),
        (store, ResumeStore.MAX_AGE + timedelta(minutes=1), 0),
        (fresh, timedelta(minutes=1), 0),
        (store, -timedelta(minutes=1), 0),
    ):
        leave_a_window(store, now)
        with unfinished.open(now + later) as folder:
            assert finished_in(folder) == found


@pytest.mark.parametrize("name", ["0.lines", "keys", "sizes"])
def test_a_window_that_lost_some_of_its_files_is_not_used(tmp_path: Path, name: str) -> None:
    now, store = datetime(2026, 11, 21, 12), ResumeStore(tmp_path, ["a"])
    leave_a_window(store, now)
    (file,) = tmp_path.glob(f"*/*/{name}")
    file.write_bytes(file.read_bytes()[:-1])
    with store.open(now) as folder:
        assert finished_in(folder) == 0


def test_two_runs_at_once_do_not_share_a_folder(tmp_path: Path) -> None:
    now, store = datetime(2026, 11, 21, 12), ResumeStore(tmp_path, ["a"])
    leave_a_window(store, now)
    with store.open(now) as first, store.open(now) as second:
        assert (finished_in(first), finished_in(second)) == (1, 0)


def test_runs_that_clear_up_at_once_do_not_disturb_one_another(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}" / "half").mkdir(parents=True)
    now = datetime.now() + 2 * ResumeStore.MAX_AGE
    ready = Barrier(3)

    def clear_up(asked: int) -> bool:
        ready.wait()
        with ResumeStore(tmp_path, [asked]).open(now) as folder:
            return folder.is_dir()

    with ThreadPoolExecutor(3) as runs:
        assert all(runs.map(clear_up, range(3)))
    assert list(tmp_path.iterdir()) == []


def leave_a_window(store: ResumeStore, now: datetime) -> None:
    """Leave a finished window and half of another, like a failed run."""
    with suppress(KeyboardInterrupt), store.open(now) as folder:
        for path in folder.glob("part-*"):
            shutil.rmtree(path)
        parts = PartStore(folder, 1)
        for rows in (["{}\n"], []):
            with parts.new_part() as part:
                part.add([[1]], [([row.encode() for row in rows], [len(rows)])])
            if rows:
                part.save(Window(now, now), now)
        raise KeyboardInterrupt


def finished_in(folder: Path) -> int:
    """Count the reusable windows; only the lock may be there besides."""
    parts = [path for path in folder.iterdir() if path.is_dir()]
    assert all((path / FINISHED_FILE).exists() for path in parts)
    return len(parts)
