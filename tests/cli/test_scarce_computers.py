"""Commands on a computer without a home folder, or with little memory, name what is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from environment import ROOT, clean_environment

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="limits and users of Linux"),
]

WITHOUT_HOME = """
import os, pwd, sys
os.environ.pop("HOME", None)
os.environ.pop("XLBRIDGE_HOME", None)
def unknown(user):
    raise KeyError(user)
pwd.getpwuid = unknown
from xlbridge.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""A user whom the computer does not know, as in a container."""


def run(home: Path, *command: object, megabytes: int = 0) -> "subprocess.CompletedProcess[str]":
    limit = f"ulimit -v {megabytes * 1024}; " if megabytes else ""
    return subprocess.run(
        ["sh", "-c", f'{limit}exec "$@"', "sh", sys.executable, *map(str, command)],
        env=clean_environment(home) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_a_user_without_a_home_is_told_to_name_one(home: Path) -> None:
    done = run(home, "-c", WITHOUT_HOME, "jobs")
    assert (done.returncode, "XLBRIDGE_HOME" in done.stderr) == (2, True), done.stderr
    assert "defect" not in done.stderr


@pytest.mark.parametrize(
    ("megabytes", "command"),
    [(120, "validate"), (120, "map"), (200, "upload"), (360, "validate")],
)
def test_too_little_memory_is_a_failure_of_the_computer(
    home: Path, megabytes: int, command: str
) -> None:
    """With least memory, a library of numpy would end the process; with a little more, Python
    fails to load modules."""
    arguments = ("-m", "xlbridge", command, "samples/cliente.xlsx")
    done = run(home, *arguments, megabytes=megabytes)
    assert done.returncode in {0, 6}, done.stderr
    assert done.returncode == 0 or "not have enough memory" in done.stderr
    assert run(home, "-m", "xlbridge", "jobs", megabytes=megabytes).returncode == 0
