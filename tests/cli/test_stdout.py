"""Commands whose output cannot be written.

Inside: cli.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest
from environment import ROOT, Xlbridge, clean_environment, credentials
from sampling import across, every
from sheets import write_records

from xlbridge.cli.main import main
from xlbridge.cli.output import show_progress
from xlbridge.errors import ConfigError
from xlbridge.i18n import Text
from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.processes

PYTHON = shlex.quote(sys.executable)
COMMANDS = [("listings",), ("resources", "--format", "json"), ("--help",), ("listings", "--help")]


def run(
    home: Path, stdout: int | IO[bytes], *arguments: str, unbuffered: str = "", **more: str
) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "xlbridge", *arguments],
        env=clean_environment(home, PYTHONUNBUFFERED=unbuffered, **more),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is an error of its own elsewhere")
@pytest.mark.parametrize("command", every(2, [(command,) for command in COMMANDS]))
def test_a_closed_pipe_ends_it_quietly(home: Path, command: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert run(home, writing, *command) == (141, "")
    finally:
        os.close(writing)


@pytest.mark.skipif(os.name != "posix", reason="a closed pipe is an error of its own elsewhere")
def test_files_are_written_before_a_closed_pipe_ends_a_command(
    xlbridge: Xlbridge, home: Path, tmp_path: Path, empty_sandbox: RunningSandbox
) -> None:
    home.mkdir(exist_ok=True)
    reading, writing = os.pipe()
    os.close(reading)
    marked, sent, again = (tmp_path / f"{name}.xlsx" for name in ("marked", "sent", "again"))
    sample, system = ROOT / "samples/tipocliente.xlsx", credentials(empty_sandbox)
    try:
        code, _ = run(home, writing, "validate", sample, "--annotate", marked)
        assert (code, marked.is_file()) == (141, True)
        code, _ = run(home, writing, "upload", sample, "--yes", "--annotate", sent, **system)
        assert (code, sent.is_file()) == (141, True)
        listed = json.loads(xlbridge("jobs", "--format", "json", **system).stdout)
        job = listed["jobs"][0]["job"]
        code, _ = run(home, writing, "jobs", job, "--annotate", again, **system)
        assert (code, again.is_file()) == (141, True)
    finally:
        os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("command", "unbuffered"), across(COMMANDS, ("", "1")))
def test_a_full_disk_is_reported_and_not_a_defect(
    home: Path, command: tuple[str, ...], unbuffered: str
) -> None:
    with Path("/dev/full").open("wb") as full:
        code, message = run(home, full, *command, unbuffered=unbuffered)
    assert code == 6
    assert message.startswith("Error: cannot write to standard output: ")
    assert len(message.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ("validate", ROOT / "samples/cliente.xlsx", "-o", "r.json", "--format", "json")),
        (2, ("validate", "--unknown")),
    ],
)
def test_a_full_log_changes_nothing(home: Path, code: int, arguments: tuple[str, ...]) -> None:
    home.mkdir(exist_ok=True)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "xlbridge", *arguments],
            cwd=home,
            env=clean_environment(home),
            stdout=subprocess.DEVNULL,
            stderr=full,
            timeout=60,
            check=False,
        )
    assert done.returncode == code


@pytest.mark.skipif(os.name != "posix", reason="a closed stream is of the shell")
@pytest.mark.parametrize("closed", ["1>&-", "2>&-"])
def test_a_closed_stream_changes_no_exit_code(home: Path, closed: str) -> None:
    command = f"{PYTHON} -m xlbridge validate samples/contasreceber-com-erros.xlsx {closed}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=clean_environment(home),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "defect" not in done.stderr
    assert ("Data de vencimento" in done.stdout) is (closed == "2>&-")


@pytest.mark.skipif(os.name != "posix", reason="a closed stream is of the shell")
def test_an_upload_with_a_closed_stdout_tells_by_its_code_that_all_was_written(
    home: Path, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    path = write_records(tmp_path / "clientes.xlsx", "cliente", [{"nomeComercial": "Ana"}])
    done = subprocess.run(
        f"{PYTHON} -m xlbridge upload {path} --yes --again test 1>&-",
        shell=True,
        cwd=ROOT,
        env=clean_environment(home, **credentials(empty_sandbox)),
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a closed stream is of the shell")
def test_without_a_terminal_to_ask_on_nothing_is_sent(
    home: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    """The document is that of the planned job; in a file, it leaves stdout to the failure."""
    # Other tests may have sent the same sheet to the same sandbox.
    command = ("upload", ROOT / "samples/cliente.xlsx", "--again", "test", "--format", "json")
    done = subprocess.run(
        f"{PYTHON} -m xlbridge {shlex.join(map(str, command))} <&-",
        shell=True,
        env=clean_environment(home, **credentials(empty_sandbox)),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    file = tmp_path / "job.json"
    in_file = xlbridge(*command, "-o", file, **credentials(empty_sandbox))
    assert json.loads(in_file.stdout)["error"]["type"] == "UsageError"
    for ended, document in ((done, done.stdout), (in_file, file.read_text("utf-8"))):
        assert (ended.returncode, "no terminal to ask on" in ended.stderr) == (2, True)
        job = json.loads(document)
        assert (job["state"], job["rows"]["accepted"]) == ("previewed", 0)
        assert job["confirm"] in ended.stderr


def test_a_written_result_keeps_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listings"]) == 0
    assert capsys.readouterr().out


def test_progress_is_shown_as_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XLBRIDGE_PROGRESS_SECONDS", "0.01")
    message, deadline = "", time.monotonic() + 60
    with show_progress(Text(pt="Conferindo", en="Checking"), total=3) as display:
        display.advance()
        display.show(Text(pt="Enviando · 5/s", en="Sending · 5/s"))
        while "Sending" not in message and time.monotonic() < deadline:
            message += capsys.readouterr().err
        with display.paused():
            pass
    assert re.search(r"^… Sending · 5/s · 1 of 3 \(0:[0-9:]+ so far\)$", message, re.MULTILINE)
    monkeypatch.setenv("XLBRIDGE_PROGRESS_SECONDS", "often")
    with pytest.raises(ConfigError), show_progress(Text(pt="Conferindo", en="Checking")):
        pass
