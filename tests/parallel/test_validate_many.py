"""``xlbridge validate`` with several processes: byte for byte the report of one process."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from bad_sheet import write_sheet
from child_processes import busy_workers, is_alive, wait_until, workers_of
from environment import Xlbridge, clean_environment, without_coverage

pytestmark = pytest.mark.processes

_BUSY = 0.5
"""Processor seconds after which a worker is validating, or about to, on any machine."""


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook that takes a while to validate."""
    return write_sheet(tmp_path_factory.mktemp("long") / "long.xlsx", 6_000, 0.01).path


@pytest.fixture
def every_kind(samples: Path, tmp_path: Path) -> list[Path]:
    """Good and bad workbooks, and refused ones."""
    text, cut = tmp_path / "text.xlsx", tmp_path / "cut.xlsx"
    text.write_text("no workbook", encoding="utf-8")
    cut.write_bytes((samples / "cliente.xlsx").read_bytes()[:2000])
    return [samples / "cliente-com-erros.xlsx", text, samples / "contaspagar.xlsx", cut]


@contextmanager
def running(home: Path, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "xlbridge", "validate", *map(str, arguments)]
    with subprocess.Popen(
        command,
        env=without_coverage(clean_environment(home)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        yield process


@pytest.mark.slow
def test_the_report_is_the_same_to_the_byte_though_a_worker_is_killed(
    xlbridge: Xlbridge, home: Path, every_kind: Sequence[Path], long_file: Path
) -> None:
    files = [*every_kind, *[long_file] * 2]
    options = ["--format", "json", "--dates", "dmy"]
    single = xlbridge("validate", *files, *options, "--workers", "1")
    with running(home, *files, *options, "--workers", "2") as process:
        worker, *_ = wait_until(lambda: busy_workers(process.pid, _BUSY))
        os.kill(worker, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, single.returncode) == (3, 3)
    assert stdout == single.stdout
    assert stderr == single.stderr


def test_a_file_that_loses_every_worker_is_refused(home: Path, samples: Path) -> None:
    files = [samples / "cliente.xlsx", samples / "contasreceber.xlsx"]
    with running(home, *files, "--format", "json", "--workers", "2") as process:
        while process.poll() is None:
            for worker in workers_of(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            time.sleep(0.01)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (3, "")
    reports = json.loads(stdout)["files"]
    assert [item["refused"]["code"] for item in reports] == ["worker-lost"] * 2
    assert "twice" in reports[0]["refused"]["message"]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_worker_is_left_behind(
    home: Path, long_file: Path, sent: signal.Signals, code: int
) -> None:
    with running(home, *[long_file] * 20, "--workers", "2") as process:
        wait_until(lambda: busy_workers(process.pid, _BUSY))
        workers = workers_of(process.pid)
        process.send_signal(sent)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    assert stdout == ""
    assert stderr.strip() == ("Interrupted." if sent is signal.SIGINT else "")
    assert workers
    assert wait_until(lambda: not any(map(is_alive, workers)))
