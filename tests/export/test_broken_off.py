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
from xlbridge.client.time_windows import Window
from xlbridge.errors import TransportError
from xlbridge.export import ExportProgress, ExportResult
from xlbridge.export.part_store import FINISHED_FILE, PartStore, ResumeStore
from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.one_database

UNFINISHED = f"exports/unfinished/*/*/{FINISHED_FILE}"


@contextmanager
def sandbox(home: Path, *options: str) -> Iterator[RunningSandbox]:
    """Sandbox with some orders, in a process that a test may kill."""
    environment = clean_environment(home)
    with sandbox_process(
        home, ["--seed", "demo", *options], environment, few=True, own_process=True
    ) as running:
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


def change_oldest_order(home: Path) -> int:
    """Change an order of a fetched window; return its number."""
    (path,) = home.glob("*.db")
    with sqlite3.connect(path) as base:
        (number,) = base.execute(
            "SELECT numeroDoPedido FROM sales_orders ORDER BY ultimaAtualizacao LIMIT 1"
        ).fetchone()
        base.execute(
            "UPDATE sales_orders SET observacao = 'mudou', ultimaAtualizacao = ? "
            "WHERE numeroDoPedido = ?",
            (datetime.now().isoformat(" ", "microseconds"), number),
        )
    base.close()
    return int(number)


def test_a_run_after_a_killed_server_resumes_and_nothing_is_stale(tmp_path: Path) -> None:
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
    number = change_oldest_order(home)
    with sandbox(home, "--port", port) as running:
        done, orders = exported(running, output, unfinished)
        complete, expected = exported(running, tmp_path / "whole.jsonl", None)
    assert done.reused == kept
    assert done.calls == complete.calls - kept
    assert (done.records, done.sheets) == (complete.records, complete.sheets)
    (changed,) = [order for order in orders if order["numeroDoPedido"] == number]
    assert changed["observacao"] == "mudou"

    def by_number(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(lines, key=lambda order: int(order["numeroDoPedido"]))

    assert by_number(orders) == by_number(expected)
    assert [total.sums for total in done.totals] == [total.sums for total in complete.totals]
    assert not any(unfinished.folder.glob("*/*"))


def export_command(output: Path) -> list[str]:
    return [sys.executable, "-m", "xlbridge", "export", "pedidos", "-o", str(output)]


def interrupt_export(
    running: RunningSandbox, home: Path, output: Path, signal_sent: signal.Signals
) -> str:
    """Send a signal to an export after three windows; return its stderr. No file is left."""
    with subprocess.Popen(
        export_command(output),
        env=without_coverage(clean_environment(home, **credentials(running))),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while len(list(home.glob(UNFINISHED))) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal_sent)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert list(output.parent.iterdir()) == []
    return stderr


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_terminated_export_leaves_no_file(tmp_path: Path) -> None:
    output = tmp_path / "out" / "p.xlsx"
    output.parent.mkdir()
    with sandbox(tmp_path / "server", "--faults", "delay=0.15") as running:
        for signal_sent in (signal.SIGTERM, signal.SIGHUP):
            interrupt_export(running, tmp_path / signal_sent.name, output, signal_sent)


@pytest.mark.processes
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_no_file_and_the_next_run_resumes(tmp_path: Path, forks: Zygote) -> None:
    home, output = tmp_path / "own", tmp_path / "out" / "p.xlsx"
    output.parent.mkdir()
    manifest = tmp_path / "m.json"
    with sandbox(tmp_path / "server", "--faults", "delay=0.15") as running:
        stderr = interrupt_export(running, home, output, signal.SIGINT)
        assert "continues from there" in stderr
        environment = clean_environment(home, **credentials(running))
        kept = len(list(home.glob(UNFINISHED)))
        command = ["export", "pedidos", "-o", str(output), "--manifest", str(manifest), "--force"]
        fresh, again = (
            forks.run(tmp_path, environment, [*command, *option])
            for option in (["--from", "01/10/2026", "--fresh"], [])
        )
    assert fresh.returncode == again.returncode == 0
    assert "interrupted run" not in fresh.stderr
    assert f"{kept} windows are from an interrupted run" in again.stderr
    assert json.loads(manifest.read_text())["reused"] == kept >= 3
    assert list(home.glob(UNFINISHED)) == []


def test_windows_that_are_too_old_or_unwanted_are_not_reused(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 12)
    store = ResumeStore(tmp_path, ["a"])
    fresh = ResumeStore(tmp_path, ["a"], fresh=True)
    leave_window(store, now)
    with ResumeStore(tmp_path, ["b"]).open(now) as other:
        assert count_finished(other) == 0
    for unfinished, later, found in (
        (store, timedelta(minutes=1), 1),
        (store, ResumeStore.MAX_AGE + timedelta(minutes=1), 0),
        (fresh, timedelta(minutes=1), 0),
        (store, -timedelta(minutes=1), 0),
    ):
        leave_window(store, now)
        with unfinished.open(now + later) as folder:
            assert count_finished(folder) == found


@pytest.mark.parametrize("name", ["0.lines", "keys", "sizes"])
def test_a_damaged_window_is_not_reused(tmp_path: Path, name: str) -> None:
    now, store = datetime(2026, 11, 21, 12), ResumeStore(tmp_path, ["a"])
    leave_window(store, now)
    (file,) = tmp_path.glob(f"*/*/{name}")
    file.write_bytes(file.read_bytes()[:-1])
    with store.open(now) as folder:
        assert count_finished(folder) == 0


def test_concurrent_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    now, store = datetime(2026, 11, 21, 12), ResumeStore(tmp_path, ["a"])
    leave_window(store, now)
    with store.open(now) as first, store.open(now) as second:
        assert (count_finished(first), count_finished(second)) == (1, 0)


def test_concurrent_runs_can_clean_up_old_folders(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}" / "half").mkdir(parents=True)
    now = datetime.now() + 2 * ResumeStore.MAX_AGE
    ready = Barrier(3)

    def clean_up(number: int) -> bool:
        ready.wait()
        with ResumeStore(tmp_path, [number]).open(now) as folder:
            return folder.is_dir()

    with ThreadPoolExecutor(3) as runs:
        assert all(runs.map(clean_up, range(3)))
    assert list(tmp_path.iterdir()) == []


def leave_window(store: ResumeStore, now: datetime) -> None:
    """Leave a finished window and an unfinished one, like a failed run."""
    with suppress(KeyboardInterrupt), store.open(now) as folder:
        for path in folder.glob("part-*"):
            shutil.rmtree(path)
        parts = PartStore(folder, 1)
        for rows in (["{}\n"], []):
            with parts.new_part() as part:
                part.add([[1]], [([row.encode() for row in rows], [len(rows)], [])])
            if rows:
                part.save(Window(now, now), now)
        raise KeyboardInterrupt


def count_finished(folder: Path) -> int:
    """Return the number of reusable windows; the folder has nothing else except the lock."""
    parts = [path for path in folder.iterdir() if path.is_dir()]
    assert all((path / FINISHED_FILE).exists() for path in parts)
    return len(parts)
