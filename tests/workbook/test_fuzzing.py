"""Thousands of damaged copies of good workbooks: each is judged or refused."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from environment import ROOT, clean_environment

_FUZZING = Path(__file__).with_name("fuzzing.py")
_OUTCOMES = {"good", "findings", "usage", "truncated", "unreadable", "hostile", "encrypted"} | {
    "not-xlsx",
    "too-large",
}


@pytest.mark.parametrize(
    ("count", "seed"), [(300, 1), pytest.param(10_000, 2026, marks=pytest.mark.slow)]
)
def test_damaged_copies_are_judged_or_refused(count: int, seed: int, tmp_path: Path) -> None:
    sources = [*(ROOT / "templates").glob("*.xlsx"), *(ROOT / "samples").glob("*.xlsx")]
    *crashes, outcomes = fuzzed(tmp_path, count, seed, sorted(sources))
    assert crashes == []
    assert outcomes.keys() <= _OUTCOMES
    assert sum(outcomes.values()) == count


def fuzzed(folder: Path, count: int, seed: int, sources: Sequence[Path]) -> list[dict[str, object]]:
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
