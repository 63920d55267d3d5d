"""Workbooks on standard input, and patterns that a shell has not expanded."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import in_process
import pytest
from environment import ROOT, Xlbridge, clean_environment, credentials

from xlbridge.sandbox import RunningSandbox

SAMPLES = ROOT / "samples"
FOREIGN = b"Nome;Fone;Valor da mensalidade\nPadaria;11 5555-0001;10,00\n"


def piped(
    home: Path, content: bytes, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    home.mkdir(exist_ok=True)
    own = clean_environment(home, **environment)
    return in_process.run_command(home, own, [*arguments], content)


def test_a_piped_workbook_is_checked(home: Path) -> None:
    content = (SAMPLES / "contasreceber-com-erros.xlsx").read_bytes()
    done = piped(home, content, "validate", "-", "--format", "json")
    assert done.returncode == 1
    (report,) = json.loads(done.stdout)["files"]
    assert (report["file"], report["resource"], report["errors"]) == ("-", "contasreceber", 18)


def test_a_piped_workbook_that_passes_names_a_command_that_works(home: Path) -> None:
    done = piped(home, (SAMPLES / "cliente.xlsx").read_bytes(), "validate", "-")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "Next: xlbridge upload -"
    assert list(home.rglob("stdin*")) == []


def test_a_piped_csv_is_mapped(home: Path) -> None:
    done = piped(home, FOREIGN, "map", "-", "--resource", "cliente")
    assert done.returncode == 0, done.stderr
    assert "nomeComercial: {from: Nome}" in done.stdout


@pytest.mark.processes
def test_a_piped_workbook_is_sent_once(home: Path, empty_sandbox: RunningSandbox) -> None:
    """The first time through a real pipe."""
    content = (SAMPLES / "tipocliente.xlsx").read_bytes()
    system = credentials(empty_sandbox)
    arguments = ("upload", "-", "--yes", "--format", "json", "-q")
    first = subprocess.run(
        [sys.executable, "-m", "xlbridge", *arguments],
        env=clean_environment(home, **system),
        input=content,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (first.returncode, first.stderr) == (0, b"")
    again = json.loads(piped(home, content, *arguments, **system).stdout)
    sent = json.loads(first.stdout)
    assert sent["rows"]["read"] == again["rows"]["unchanged"] > 0


@pytest.mark.parametrize("command", ["validate", "map", "upload"])
def test_an_empty_standard_input_is_wrong_usage(xlbridge: Xlbridge, command: str) -> None:
    done = xlbridge(command, "-")
    assert done.returncode == 2
    assert "Standard input has nothing." in done.stderr


def test_a_pattern_that_the_shell_has_left_is_expanded(xlbridge: Xlbridge, tmp_path: Path) -> None:
    for name in ("um [1].xlsx", "dois.xlsx", "três.XLSX"):
        shutil.copy(SAMPLES / "tipocliente.xlsx", tmp_path / name)
    done = xlbridge("validate", "*.xlsx", "--format", "json")
    assert done.returncode == 0, done.stderr
    names = [report["file"] for report in json.loads(done.stdout)["files"]]
    assert names == ["dois.xlsx", "três.XLSX", "um [1].xlsx"]
    one = xlbridge("validate", "um [1].xlsx", "--format", "json")
    assert [report["file"] for report in json.loads(one.stdout)["files"]] == ["um [1].xlsx"]
    nothing = xlbridge("validate", "*.csv")
    assert nothing.returncode == 2
    assert "*.csv does not exist" in nothing.stderr
