"""The page on scale shows the results of its script."""

import subprocess
import sys

from environment import ROOT


def test_tables_of_the_page_match_the_script() -> None:
    script = ROOT / "benchmarks" / "scale.py"
    printed = subprocess.run([sys.executable, script], capture_output=True, check=True, text=True)
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    tables = printed.stdout.strip().split("\n\n")
    assert len(tables) == 3
    assert [table for table in tables if table not in page] == []
