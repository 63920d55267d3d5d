"""A workbook that is read in advance is ready once it has been read."""

from pathlib import Path

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
