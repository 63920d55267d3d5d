"""A hostile workbook among good ones, validated concurrently: each has its outcome."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from environment import clean_environment
from hostile_sheets import SHEETS
from packing import good_parts, packed

pytestmark = pytest.mark.processes

_CASE = "far cells"
_MAX_MEGABYTES = 512

_SCRIPT = """
import re, sys
from xlbridge.cli.main import main
code = main(["validate", *sys.argv[1:], "--workers", "2", "--format", "json"])
status = open("/proc/self/status", encoding="ascii").read()
print(code, int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)
"""


@pytest.mark.slow
def test_others_are_validated_in_little_memory(home: Path, tmp_path: Path) -> None:
    good = good_parts(tmp_path)
    files = []
    for content in (packed(good), SHEETS[_CASE][1](good), packed(good)):
        files.append(tmp_path / f"{len(files)}.xlsx")
        files[-1].write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *map(str, files)],
        env=clean_environment(home),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    report, figures = done.stdout.splitlines()
    code, megabytes = map(int, figures.split())
    assert (code, done.stderr) == (3, "")
    outcomes = [
        item["refused"]["code"]
        if "refused" in item
        else "good"
        if not item["errors"]
        else "findings"
        for item in json.loads(report)["files"]
    ]
    assert outcomes == ["good", SHEETS[_CASE][0], "good"]
    assert megabytes < _MAX_MEGABYTES
