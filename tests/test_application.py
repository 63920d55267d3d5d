"""The application for people without Python: built, then run with no Python on the path.

Slow: ``make app`` takes minutes. XLBRIDGE_APPLICATION is the path of an existing one.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, clean_environment
from hostile_files import CASES, LONG, write_hostile
from openpyxl import load_workbook

pytestmark = pytest.mark.slow

_REFUSED = 3
_MOST_SECONDS = 600


@pytest.fixture(scope="module")
def program() -> Path:
    """The application."""
    if made := os.environ.get("XLBRIDGE_APPLICATION"):
        return Path(made)
    subprocess.run(["make", "app"], cwd=ROOT, check=True)
    return ROOT / "dist" / "xlbridge" / "xlbridge"


def without_python(home: Path) -> dict[str, str]:
    """Environment of a user without Python on the path."""
    environment = clean_environment(home, PATH=str(home))
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        environment.pop(name, None)
    return environment


def run(program: Path, home: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a command of the application, and return its JSON."""
    return subprocess.run(
        [program, *map(str, arguments), "--format", "json"],
        # No progress lines, however long the command takes.
        env=without_python(home) | {"XLBRIDGE_PROGRESS_SECONDS": str(_MOST_SECONDS)},
        capture_output=True,
        encoding="utf-8",
        timeout=_MOST_SECONDS,
        check=False,
    )


def test_demo_runs_without_python(program: Path) -> None:
    out = ROOT / "out"
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / "demo.py", program],
        env=without_python(out / "home") | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Rejected: the row that was sent was not written; unchanged: 23." in done.stdout
    orders = load_workbook(out / "pedidos.xlsx", read_only=True)
    assert orders.sheetnames == ["Export cover", "pedidos", "parcelas", "produtos"]
    orders.close()


def test_licences_are_there_and_parts_under_the_lgpl_are_files(program: Path) -> None:
    parts = program.parent / "_internal"
    assert (parts / "LICENSE").is_file()
    assert {"pandas", "python_stdnum", "lxml"} <= {
        folder.name.partition("-")[0]
        for folder in parts.glob("*.dist-info")
        if any("LICEN" in file.name or file.name == "COPYING" for file in folder.rglob("*"))
    }
    assert (parts / "stdnum" / "br" / "cnpj.py").is_file()


def test_every_hostile_workbook_is_validated_or_refused(program: Path, tmp_path: Path) -> None:
    names = sorted(name for name in CASES.keys() - LONG if CASES[name][0] != "usage")
    files = write_hostile(tmp_path, names)
    done = run(program, tmp_path, "validate", *files.values(), "--resource", "cliente")
    assert (done.returncode, done.stderr) == (_REFUSED, "")
    reports = {file["file"]: file for file in json.loads(done.stdout)["files"]}
    outcomes = {name: _outcome(reports[str(file)]) for name, file in files.items()}
    assert outcomes == {name: CASES[name][0] for name in names}


def _outcome(file: dict[str, Any]) -> str:
    if "refused" in file:
        return str(file["refused"]["code"])
    return "findings" if file["errors"] else "good"


def test_validation_runs_with_two_workers(program: Path, tmp_path: Path) -> None:
    samples = [ROOT / "samples" / name for name in ("cliente.xlsx", "fornecedor.xlsx")]
    done = run(program, tmp_path, "validate", *samples, "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["files"]) == len(samples)


def test_starting_without_arguments_serves_the_page(program: Path, tmp_path: Path) -> None:
    environment = without_python(tmp_path) | {"BROWSER": "true"}
    with (tmp_path / "log").open("w+") as log:
        page = subprocess.Popen([program], env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + _MOST_SECONDS
            while time.monotonic() < deadline and page.poll() is None:
                if re.search(r"http://127\.0\.0\.1:\d+/", (tmp_path / "log").read_text("utf-8")):
                    break
                time.sleep(0.2)
            else:
                pytest.fail((tmp_path / "log").read_text("utf-8"))
        finally:
            page.terminate()
            page.wait(_MOST_SECONDS)
