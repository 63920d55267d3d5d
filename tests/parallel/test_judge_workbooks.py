"""Many workbooks over a carrier: what comes back is what would have been judged here."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
from environment import ROOT

from xlbridge.errors import UsageError
from xlbridge.parallel import Executor, ValidationProgress, executor_for, validate_files
from xlbridge.resources import Catalogue
from xlbridge.settings import ParseOptions, WorkbookLimits
from xlbridge.validation import RefusedFile, ValidatedSheet, ValidationRequest
from xlbridge.validation.reports import Report, report_forms

_NAMES = (
    "contasreceber-com-erros.xlsx",
    "none.xlsx",
    "cliente.xlsx",
    "contasreceber-com-erros.xlsx",
)


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    """Two processes for all tests here: each takes most of a second to start."""
    with executor_for([Path(name) for name in _NAMES], 2, None) as started:
        assert started is not None
        yield started


@pytest.fixture
def workbooks(samples: Path) -> list[ValidationRequest]:
    return [
        ValidationRequest(file=samples / name, all_sheets=place == 3)
        for place, name in enumerate(_NAMES)
    ]


def judged(
    workbooks: list[ValidationRequest], carrier: Executor | None, home: Path, *, with_frames: bool
) -> list[ValidatedSheet]:
    found = list(validate_files(workbooks, home, executor=carrier, with_frames=with_frames))
    assert len(found) == len(workbooks)
    (missing,) = found.pop(1)
    assert isinstance(missing, RefusedFile)
    assert isinstance(missing.refusal, UsageError)
    assert missing.file == workbooks[1].file
    sheets = [item for items in found for item in items if isinstance(item, ValidatedSheet)]
    assert [sheet.file for sheet in sheets] == [workbooks[place].file for place in (0, 2, 3)]
    return sheets


def test_sheets_arrive_whole(
    workbooks: list[ValidationRequest], workers: Executor, home: Path, catalogue: Catalogue
) -> None:
    here = judged(workbooks, None, home, with_frames=True)
    there = judged(workbooks, workers, home, with_frames=True)
    lean = judged(workbooks, workers, home, with_frames=False)
    assert here[0].errors > 0
    for mine, theirs, without in zip(here, there, lean, strict=True):
        assert theirs.findings == without.findings == mine.findings
        assert list(theirs.rows) == list(without.rows) == list(mine.rows)
        assert theirs.columns == without.columns == mine.columns
        pd.testing.assert_frame_equal(theirs.frame, mine.frame)
        assert without.frame.empty
        assert theirs.resource is not None
        assert theirs.resource.by_name == catalogue[theirs.resource.name].by_name
        for one, other in zip(theirs.findings, mine.findings, strict=True):
            assert one.kind is other.kind
            assert str(one.message) == str(other.message)


def test_what_is_asked_for_holds_for_workers(
    workers: Executor, samples: Path, tmp_path: Path
) -> None:
    own = tmp_path / "schemas"
    own.mkdir()
    shipped = (ROOT / "schemas" / "cliente.yaml").read_text(encoding="utf-8")
    ours = shipped.replace("resource: cliente", "resource: fregues", 1)
    (own / "fregues.yaml").write_text(ours, encoding="utf-8")
    names = ("cliente-com-erros.xlsx", "cliente.xlsx")
    asked = [
        ValidationRequest(
            file=samples / name, resource="fregues", reading=ParseOptions(dates="mdy")
        )
        for name in names
    ]
    limits = WorkbookLimits(cells=300)
    here = list(validate_files(asked, own, limits))
    there = list(validate_files(asked, own, limits, workers))
    told_there, told_here = (
        report_forms(Report.of(chain(*found))).render("json") for found in (there, here)
    )
    assert "".join(told_there) == "".join(told_here)
    judged, refused = (items[0] for items in there)
    assert isinstance(refused, RefusedFile)
    assert refused.code == "hostile"
    assert isinstance(judged, ValidatedSheet)
    assert judged.resource is not None
    assert judged.resource.name == "fregues"


def test_progress_names_files_and_columns(workbooks: list[ValidationRequest], home: Path) -> None:
    told: list[ValidationProgress] = []
    list(validate_files(workbooks, home, on_progress=told.append))
    begun = [each.file for each in told if not each.finished and each.column is None]
    finished = [(each.file, each.done, each.total) for each in told if each.finished]
    files = [request.file for request in workbooks]
    assert begun == files
    assert finished == [(file, place, len(files)) for place, file in enumerate(files, start=1)]
    columns = {each.file: each.column.name for each in told if each.column is not None}
    assert columns.keys() == set(files) - {workbooks[1].file}


def test_an_executor_tells_each_file_once(
    workbooks: list[ValidationRequest], workers: Executor, home: Path
) -> None:
    told: list[ValidationProgress] = []
    list(validate_files(workbooks, home, executor=workers, on_progress=told.append))
    assert sorted(each.file for each in told) == sorted(request.file for request in workbooks)
    assert [each.done for each in told if each.finished] == [1, 2, 3, 4]
