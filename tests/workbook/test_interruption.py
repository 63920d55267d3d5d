"""Ctrl-C while a workbook is being parsed leaves no process and no file."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import xlsxwriter
from environment import clean_environment, without_coverage

from xlbridge.workbook.edit import edit_package

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc"),
    pytest.mark.processes,
]

_TIMEOUT = 60


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Workbook large enough for a parser process."""
    path = tmp_path / "grande.xlsx"
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["nomeComercial"])
        for row in range(1, 30_000):
            page.write_string(row, 0, f"Padaria {row}")
    return path


@pytest.fixture
def command(tmp_path: Path, large: Path) -> "Iterator[subprocess.Popen[str]]":
    """Command in its own process group, like one started from a terminal."""
    outputs = ["-o", "r.json", "--annotate", "marcada.xlsx", "--fix", "corrigida.xlsx"]
    with subprocess.Popen(
        [sys.executable, "-m", "xlbridge", "validate", large, "--format", "json", *outputs],
        cwd=tmp_path,
        env=without_coverage(clean_environment(tmp_path / "home")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def suspend_parser(pid: int) -> int:
    """Wait until the parser process of a command has started, and suspend it."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                if _has_started(child):
                    os.kill(child, signal.SIGSTOP)
                    return child
        time.sleep(0.002)
    raise AssertionError("no parsing process began")


def _has_started(child: int) -> bool:
    if b"read.parsing" not in Path(f"/proc/{child}/cmdline").read_bytes():
        return False
    limits = Path(f"/proc/{child}/limits").read_text().splitlines()
    return any(line.startswith("Max cpu time") and "unlimited" not in line for line in limits)


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("whole_group", [True, False], ids=["terminal", "command-only"])
def test_ctrl_c_leaves_no_process_and_no_file(
    tmp_path: Path, large: Path, command: "subprocess.Popen[str]", whole_group: bool
) -> None:
    child = suspend_parser(command.pid)
    if whole_group:
        os.killpg(command.pid, signal.SIGINT)
    else:
        command.send_signal(signal.SIGINT)
    out, stderr = command.communicate(timeout=_TIMEOUT)
    assert command.returncode == 130
    assert out == ""
    assert "Traceback" not in stderr
    assert is_gone(child)
    assert {path.name for path in tmp_path.iterdir()} - {"home"} == {large.name}


def test_the_parsing_process_does_not_outlive_a_killed_command(
    tmp_path: Path, large: Path, command: "subprocess.Popen[str]"
) -> None:
    child = suspend_parser(command.pid)
    command.kill()
    command.communicate(timeout=_TIMEOUT)
    assert is_gone(child)
    assert {path.name for path in tmp_path.iterdir()} - {"home"} == {large.name}


_INTERRUPTED_IMPORT = """
import threading
from xlbridge.processes import treat_signals_as_interrupts

treat_signals_as_interrupts()
held = threading.Lock()
held.acquire()
import interrupted
held.acquire()
"""


def test_an_interrupt_during_an_import_ends_the_following_wait(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_IMPORT],
        cwd=tmp_path,
        env=without_coverage(clean_environment(tmp_path / "home")),
        capture_output=True,
        encoding="utf-8",
        timeout=_TIMEOUT,
        check=False,
    )
    assert "KeyboardInterrupt" in ended.stderr


def interrupt_while_closing(workbook: Path) -> None:
    with edit_package(workbook):
        try:
            raise KeyboardInterrupt
        finally:
            raise ValueError("Can't close the ZIP file")


def test_an_interrupt_that_leaves_a_copy_unclosed_is_raised(large: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_while_closing(large)
