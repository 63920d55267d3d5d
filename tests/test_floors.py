"""Imports point down the floors."""

import subprocess
import sys
from pathlib import Path

from environment import ROOT, unmeasured_environment


def test_imports_point_down_the_floors() -> None:
    checker = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [checker, "--no-cache"],
        cwd=ROOT,
        env=unmeasured_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
