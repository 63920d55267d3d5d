"""Thousands of damaged copies of good workbooks: each is validated or refused."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from environment import ROOT, clean_environment
from hostile_kinds import FILES

pytestmark = pytest.mark.processes

_FUZZING = Path(__file__).with_name("fuzzing.py")
_OUTCOMES = {"good", "findings", "usage", "truncated", "unreadable", "hostile", "encrypted"} | {
    "not-xlsx",
    "too-large",
}


@pytest.mark.parametrize(
    ("count", "seed"), [(16, 1), pytest.param(10_000, 2026, marks=pytest.mark.slow)]
)
def test_damaged_copies_are_validated_or_refused(count: int, seed: int, tmp_path: Path) -> None:
    sources = [*(ROOT / "templates").glob("*.xlsx"), *(ROOT / "samples").glob("*.xlsx")]
    *crashes, outcomes = run_fuzzing(tmp_path, count, seed, sorted(sources))
    assert crashes == []
    assert outcomes.keys() <= _OUTCOMES
    assert sum(outcomes.values()) == count


@pytest.mark.parametrize(
    ("count", "seed"), [(4, 3), pytest.param(4_000, 2027, marks=pytest.mark.slow)]
)
def test_damaged_files_of_other_kinds_are_validated_or_refused(
    count: int, seed: int, tmp_path: Path
) -> None:
    sources = []
    for kind in ("csv", "xls", "xlsb", "ods"):
        sources.append(tmp_path / f"good.{kind}")
        sources[-1].write_bytes(FILES[f"good {kind}"][2](tmp_path))
    *crashes, outcomes = run_fuzzing(tmp_path, count, seed, sources)
    assert crashes == []
    assert outcomes.keys() <= _OUTCOMES | {"csv-unclear", "legacy-xls"}
    assert sum(outcomes.values()) == count


def run_fuzzing(
    folder: Path, count: int, seed: int, sources: Sequence[Path]
) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, _FUZZING, folder, str(count), str(seed), *sources],
        capture_output=True,
        encoding="utf-8",
        env=clean_environment(folder),
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]
