"""The scan beside the parser gives way to others, and not less than its process does."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment import unmeasured_environment
from sheets import write_records

PARSING = """
import io, os, sys
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.reader import assemble_workbook
from xlbridge.workbook.read.parsing import parse_workbook

def name_of_sheet():
    return assemble_workbook(parse_workbook(workbook, None, WorkbookLimits())).sheets[0].name

workbook = io.BytesIO(sys.stdin.buffer.read())
# Whom root becomes may not import all that this needs, nor write down what was covered.
name_of_sheet()
os.nice(19)
if os.getuid() == 0:
    os.setuid(65534)
print(name_of_sheet())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="priorities are of another kind there")
def test_a_process_that_gives_way_already_goes_on_doing_so(tmp_path: Path) -> None:
    path = write_records(tmp_path / "small.xlsx", "cliente", [{}])
    done = subprocess.run(
        [sys.executable, "-c", PARSING],
        env=unmeasured_environment(),
        input=path.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"Plan1\n", b"")
