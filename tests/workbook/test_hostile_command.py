"""Hostile workbooks on the command line: the right exit code, and no traceback."""

from pathlib import Path

import pytest
from environment import Xlbridge
from hostile_files import CASES, SAMPLE, write_hostile

_EXIT_CODES = {"good": 0, "findings": 1, "usage": 2}
_REFUSED = 3


@pytest.mark.parametrize(
    "names", [SAMPLE[4:10], pytest.param(tuple(CASES), marks=pytest.mark.slow)]
)
def test_each_hostile_file_has_its_exit_code(
    tmp_path: Path, xlbridge: Xlbridge, names: tuple[str, ...]
) -> None:
    wrong = {}
    for name, file in write_hostile(tmp_path, names).items():
        done = xlbridge("validate", file, "--resource", "cliente")
        expected = _EXIT_CODES.get(CASES[name][0], _REFUSED)
        output = done.stdout + done.stderr
        if done.returncode != expected or "Traceback" in output or not output:
            wrong[name] = done
    assert wrong == {}
