"""Commands that only read write no file, in the home or the folder that they run in."""

import json
import shutil
from pathlib import Path

import pytest
from environment import ROOT, Xlbridge, credentials

from xlbridge.sandbox import RunningSandbox

SAMPLE = "cliente.xlsx"
PLAN = """
version: 1
name: clients
steps:
  clients:
    resource: cliente
    upload: cliente.xlsx
"""

LOCAL = [
    "--version",
    "resources",
    "resources cliente",
    "listings",
    "validate cliente.xlsx",
    "map cliente.xlsx",
    "jobs",
    "jobs --format json",
    "batch status plan.yaml",
    "profiles",
]
REMOTE = ["doctor", "whoami", "api GET /v2/sistema/info", "login"]


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder.

    Tokens of the system are kept, so that commands do not log in again.
    """
    return {
        name: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not (name := str(path.relative_to(folder))).startswith("home/tokens")
    }


def written_by(
    folder: Path, xlbridge: Xlbridge, lines: list[str], environment: dict[str, str]
) -> dict[str, list[str]]:
    """Return the files that each command line changed."""
    found = {}
    for line in lines:
        before = content(folder)
        done = xlbridge(*line.split(), **environment)
        assert done.returncode in (0, 1, 2), done.stderr
        after = content(folder)
        if changed := [name for name in before | after if before.get(name) != after.get(name)]:
            found[line] = changed
    return found


@pytest.fixture
def month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Working folder with a workbook and a plan."""
    shutil.copy(ROOT / "samples" / SAMPLE, tmp_path / SAMPLE)
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reading_commands_write_nothing_in_a_new_home(
    month: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    lines = [*LOCAL, "jobs 20260101-1", *REMOTE]
    assert written_by(month, xlbridge, lines, credentials(empty_sandbox)) == {}


def test_reading_commands_change_nothing_in_a_home_with_jobs(
    month: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    environment = credentials(empty_sandbox)
    xlbridge("batch", "run", "plan.yaml", "--yes", **environment)
    xlbridge("upload", SAMPLE, "--mode", "preview", **environment)
    job, *_ = json.loads(xlbridge("jobs", "--format", "json", **environment).stdout)["jobs"]
    lines = [*LOCAL, "batch status clients", f"jobs {job['job']}", *REMOTE]
    assert written_by(month, xlbridge, lines, environment) == {}
