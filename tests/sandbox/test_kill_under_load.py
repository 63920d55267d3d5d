"""Killing the sandbox under load loses and duplicates nothing."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from databases import connected
from load_audit import discrepancies, waiting_files
from load_clerks import CLERKS, Clerk, Ground, Ledger, prepare, work_until
from servers import log_in, sandbox_on

from xlbridge.sandbox import RunningSandbox

_QUEUE_SECONDS, _WRITING_SECONDS = 300, 120


def kill_again_and_again(home: Path, rounds: int, seconds: float, writes: int) -> Ledger:
    """Run the clerks, kill the sandbox and audit its records, repeatedly.

    Each round lasts for so long, and until so many writes more are acknowledged.
    """
    ledger = Ledger()
    ground: Ground | None = None
    for life in range(rounds + 1):
        with sandbox_on(home, "--seed", "empty", own_process=True) as server:
            with log_in(server) as http:
                ground = ground or prepare(http)
            _wait_for_the_queue(home)
            with connected(home) as connection:
                assert discrepancies(connection, ledger) == []
            print(f"life {life}: {ledger.acknowledged} writes acknowledged")
            if life < rounds:
                clerks = [Clerk(f"{life}.{n}", ground, ledger) for n in range(CLERKS)]
                enough = ledger.acknowledged + writes
                work_until(server, clerks, partial(_kill, server, ledger, seconds, enough))
    return ledger


def _kill(server: RunningSandbox, ledger: Ledger, seconds: float, enough: int) -> None:
    time.sleep(seconds)
    deadline = time.monotonic() + _WRITING_SECONDS
    while not _has(ledger, enough) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(server.pid, signal.SIGKILL)


def _has(ledger: Ledger, writes: int) -> bool:
    filed = ledger.created["clients"] and ledger.moved["started"]
    return bool(filed) and ledger.acknowledged >= writes


def _wait_for_the_queue(home: Path) -> None:
    deadline = time.monotonic() + _QUEUE_SECONDS
    with connected(home) as connection:
        waiting = waiting_files(connection)
    while waiting and time.monotonic() < deadline:
        time.sleep(0.5)
        with connected(home) as connection:
            waiting = waiting_files(connection)
    assert waiting == 0


def test_what_is_acknowledged_survives_a_kill_under_load(tmp_path: Path) -> None:
    ledger = kill_again_and_again(tmp_path, rounds=2, seconds=0, writes=50)
    assert ledger.acknowledged >= 100
    assert ledger.created["clients"]
    assert ledger.moved["started"]


@pytest.mark.slow
def test_what_is_acknowledged_survives_twenty_kills_under_load(tmp_path: Path) -> None:
    ledger = kill_again_and_again(tmp_path, rounds=20, seconds=60, writes=1_000)
    assert set(ledger.created) >= {"title", "order", "entry", "output", "clients", "titles"}
    assert set(ledger.moved) >= {"processed", "emitted", "adjusted", "started"}
