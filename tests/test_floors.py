"""Imports point down the floors, and help needs none of the heavy libraries."""

import subprocess
import sys
from pathlib import Path

from environment import ROOT

HEAVY = ("pandas", "pandera", "numpy", "openpyxl", "httpx", "pydantic", "sqlalchemy", "starlette")


def test_imports_point_down_the_floors() -> None:
    checker = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [checker, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys; from xlbridge.cli.main import main; main(['--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "validate" in done.stdout
