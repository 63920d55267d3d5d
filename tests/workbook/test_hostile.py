"""Hostile workbooks: every file is validated or refused, without harm."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from environment import ROOT, clean_environment, without_coverage
from hostile_files import CASES, LONG, SAMPLE, write_hostile
from hostile_kinds import FILES, LONG as LONG_KINDS, write_kinds

pytestmark = pytest.mark.processes

_SCRIPT = Path(__file__).with_name("validate_files.py")
_MAX_MEGABYTES = 512


def validate_files(paths: Sequence[Path], home: Path) -> list[dict[str, Any]]:
    """Validate files in a separate process; return their outcomes, then its peak memory."""
    done = subprocess.run(
        [sys.executable, _SCRIPT],
        input="".join(f"{path}\n" for path in paths),
        capture_output=True,
        encoding="utf-8",
        # Measured, the command would be stopped as one that takes too long.
        env=without_coverage(clean_environment(home)),
        cwd=ROOT,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


LONG_CASES = LONG | LONG_KINDS
OUTCOMES = {name: outcome for name, (outcome, _) in CASES.items()} | {
    name: outcome for name, (_, outcome, _) in FILES.items()
}
SHORT_CASES = sorted(OUTCOMES.keys() - LONG_CASES)
ONE_OF_EACH_OUTCOME = {OUTCOMES[name]: name for name in SHORT_CASES}
SAMPLE_CASES = {*SAMPLE, *ONE_OF_EACH_OUTCOME.values(), *SHORT_CASES[::12]}


def test_the_sample_covers_every_outcome() -> None:
    assert len(CASES) >= 60
    assert CASES.keys() >= LONG
    assert not CASES.keys() & FILES.keys()
    assert {OUTCOMES[name] for name in SAMPLE_CASES} == {*OUTCOMES.values()}


@pytest.mark.parametrize(
    "names", [SAMPLE_CASES, pytest.param({*OUTCOMES} - SAMPLE_CASES, marks=pytest.mark.slow)]
)
def test_each_hostile_file_has_its_outcome(names: set[str], tmp_path: Path, home: Path) -> None:
    files = {**write_hostile(tmp_path, sorted(names & CASES.keys()))}
    (kinds := tmp_path / "kinds").mkdir()
    files |= write_kinds(kinds, sorted(names & FILES.keys()))
    *results, peak = validate_files(list(files.values()), home)
    outcomes = {name: one["outcome"] for name, one in zip(files, results, strict=True)}
    assert outcomes == {name: OUTCOMES[name] for name in files}
    assert peak["megabytes"] < _MAX_MEGABYTES
