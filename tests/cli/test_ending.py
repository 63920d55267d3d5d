"""An interruption ends a command with its exit code, wherever it comes."""

import subprocess
import sys
from pathlib import Path

from environment import clean_environment

INTERRUPTED_IN_AN_IMPORT = """
import sys
from xlbridge.cli.main import run

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.doctor":
            exec("raise KeyboardInterrupt")

sys.meta_path.insert(0, Interrupting())
sys.argv = ["xlbridge", "doctor"]
run()
"""


def test_an_interrupted_import_does_not_end_by_the_signal(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(INTERRUPTED_IN_AN_IMPORT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path],
        env=clean_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted.")
