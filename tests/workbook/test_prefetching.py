"""A workbook that is read in advance is ready once it has been read."""

import subprocess
import sys
from pathlib import Path

from environment import unmeasured_environment
from sheets import write_records

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import prefetch_workbook

MANY = 3_000


def test_small_workbook_is_ready_immediately(samples: Path) -> None:
    with prefetch_workbook(samples / "cliente.xlsx", WorkbookLimits(), None) as workbook:
        assert workbook.done()
        assert workbook.result().sheets


def test_large_workbook_reports_when_it_is_ready(tmp_path: Path) -> None:
    path = write_records(tmp_path / "large.xlsx", "cliente", [{}] * MANY)
    with prefetch_workbook(path, WorkbookLimits(), None) as workbook:
        assert not workbook.done()
        assert workbook.result().sheets[0].height == MANY + 1
        assert workbook.done()


_NAMES_OF_THREADS = """
import sys, threading
from importlib.abc import MetaPathFinder
from pathlib import Path

class Recorder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if threading.current_thread() is not threading.main_thread():
            print(name)

sys.meta_path.insert(0, Recorder())
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import prefetch_workbook

with prefetch_workbook(Path(sys.argv[1]), WorkbookLimits(), None) as workbook:
    assert workbook.result().sheets
"""


def test_the_thread_that_reads_a_workbook_imports_nothing(tmp_path: Path) -> None:
    """Two threads that import one package may wait for each other (``_DeadlockError``)."""
    path = write_records(tmp_path / "large.xlsx", "cliente", [{}] * MANY)
    done = subprocess.run(
        [sys.executable, "-c", _NAMES_OF_THREADS, path],
        env=unmeasured_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
