"""Hostile workbooks: whatever a file is, it is judged or refused, and harms nobody."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, clean_environment, without_coverage
from hostile_files import CASES, LONG, write_hostile
from hostile_kinds import FILES, LONG as LONG_KINDS, write_kinds

_JUDGING = Path(__file__).with_name("judging.py")
_MOST_SECONDS = 10
_MOST_MEGABYTES = 512


def judged(paths: Sequence[Path], home: Path) -> list[dict[str, Any]]:
    """Judge files in one process of their own; return what each did to it, then its peak."""
    done = subprocess.run(
        [sys.executable, _JUDGING],
        input="".join(f"{path}\n" for path in paths),
        capture_output=True,
        encoding="utf-8",
        # Measured, a command would need the time that a hostile file is not allowed.
        env=without_coverage(clean_environment(home)),
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_there_are_cases_enough() -> None:
    assert len(CASES) >= 60
    assert CASES.keys() >= LONG


@pytest.mark.parametrize("names", [CASES.keys() - LONG, pytest.param(LONG, marks=pytest.mark.slow)])
def test_each_hostile_file_has_its_outcome(
    names: frozenset[str], tmp_path: Path, home: Path
) -> None:
    files = write_hostile(tmp_path, sorted(names))
    *told, peak = judged(list(files.values()), home)
    outcomes = dict(zip(files, told, strict=True))
    wrong = {
        name: (told["outcome"], expected)
        for name, told in outcomes.items()
        if told["outcome"] != (expected := CASES[name][0])
    }
    assert wrong == {}
    slow = {name: told for name, told in outcomes.items() if told["seconds"] > _MOST_SECONDS}
    assert slow == {}
    assert peak["megabytes"] < _MOST_MEGABYTES


@pytest.mark.parametrize(
    "names", [FILES.keys() - LONG_KINDS, pytest.param(LONG_KINDS, marks=pytest.mark.slow)]
)
def test_each_hostile_file_of_another_kind_has_its_outcome(
    names: frozenset[str], tmp_path: Path, home: Path
) -> None:
    files = write_kinds(tmp_path, sorted(names))
    *told, peak = judged(list(files.values()), home)
    outcomes = dict(zip(files, told, strict=True))
    wrong = {
        name: (told["outcome"], expected)
        for name, told in outcomes.items()
        if told["outcome"] != (expected := FILES[name][1])
    }
    assert wrong == {}
    slow = {name: told for name, told in outcomes.items() if told["seconds"] > _MOST_SECONDS}
    assert slow == {}
    assert peak["megabytes"] < _MOST_MEGABYTES
