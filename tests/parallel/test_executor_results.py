"""Many workbooks on an executor: the results equal those of this process."""

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
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms

pytestmark = pytest.mark.processes

_NAMES = (
    "contasreceber-com-erros.xlsx",
    "none.xlsx",
    "cliente.xlsx",
    "contasreceber-com-erros.xlsx",
)


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    """Two processes for all tests of the module: each takes most of a second to start."""
    with executor_for([Path(name) for name in _NAMES], 2, None) as started:
        assert started is not None
        yield started


@pytest.fixture
def workbooks(samples: Path) -> list[ValidationRequest]:
    return [
        ValidationRequest(file=samples / name, all_sheets=index == 3)
        for index, name in enumerate(_NAMES)
    ]


def validated(
    workbooks: list[ValidationRequest], executor: Executor | None, home: Path, *, with_frames: bool
) -> list[ValidatedSheet]:
    results = list(validate_files(workbooks, home, executor=executor, with_frames=with_frames))
    assert len(results) == len(workbooks)
    (missing,) = results.pop(1)
    assert isinstance(missing, RefusedFile)
    assert isinstance(missing.refusal, UsageError)
    assert missing.file == workbooks[1].file
    sheets = [item for items in results for item in items if isinstance(item, ValidatedSheet)]
    assert [sheet.file for sheet in sheets] == [workbooks[index].file for index in (0, 2, 3)]
    return sheets


def test_sheets_arrive_whole(
    workbooks: list[ValidationRequest], workers: Executor, home: Path, catalogue: Catalogue
) -> None:
    here = validated(workbooks, None, home, with_frames=True)
    there = validated(workbooks, workers, home, with_frames=True)
    lean = validated(workbooks, workers, home, with_frames=False)
    assert here[0].errors > 0
    for local, remote, frameless in zip(here, there, lean, strict=True):
        assert remote.findings == frameless.findings == local.findings
        assert list(remote.rows) == list(frameless.rows) == list(local.rows)
        assert remote.columns == frameless.columns == local.columns
        pd.testing.assert_frame_equal(remote.frame, local.frame)
        assert frameless.frame.empty
        assert remote.resource is not None
        assert remote.resource.by_name == catalogue[remote.resource.name].by_name
        for one, other in zip(remote.findings, local.findings, strict=True):
            assert one.kind is other.kind
            assert str(one.message) == str(other.message)


def test_options_of_requests_reach_the_workers(
    workers: Executor, samples: Path, tmp_path: Path
) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    shipped = (ROOT / "schemas" / "cliente.yaml").read_text(encoding="utf-8")
    custom = shipped.replace("resource: cliente", "resource: fregues", 1)
    (schemas / "fregues.yaml").write_text(custom, encoding="utf-8")
    names = ("cliente-com-erros.xlsx", "cliente.xlsx")
    requests = [
        ValidationRequest(
            file=samples / name, resource="fregues", reading=ParseOptions(dates="mdy")
        )
        for name in names
    ]
    limits = WorkbookLimits(cells=300)
    here = list(validate_files(requests, schemas, limits))
    there = list(validate_files(requests, schemas, limits, workers))
    json_there, json_here = (
        report_forms(Report([*chain(*results)])).render("json") for results in (there, here)
    )
    assert "".join(json_there) == "".join(json_here)
    sheet, refused = (items[0] for items in there)
    assert isinstance(refused, RefusedFile)
    assert refused.refusal.to_json()["code"] == "hostile"
    assert isinstance(sheet, ValidatedSheet)
    assert sheet.resource is not None
    assert sheet.resource.name == "fregues"


def test_progress_names_files_and_columns(workbooks: list[ValidationRequest], home: Path) -> None:
    progress: list[ValidationProgress] = []
    list(validate_files(workbooks, home, on_progress=progress.append))
    started = [each.file for each in progress if not each.finished and each.column is None]
    finished = [(each.file, each.done, each.total) for each in progress if each.finished]
    files = [request.file for request in workbooks]
    assert started == files
    assert finished == [(file, number, len(files)) for number, file in enumerate(files, start=1)]
    columns = {each.file: each.column.name for each in progress if each.column is not None}
    assert columns.keys() == set(files) - {workbooks[1].file}


def test_an_executor_reports_each_file_once(
    workbooks: list[ValidationRequest], workers: Executor, home: Path
) -> None:
    progress: list[ValidationProgress] = []
    list(validate_files(workbooks, home, executor=workers, on_progress=progress.append))
    assert sorted(each.file for each in progress) == sorted(request.file for request in workbooks)
    assert [each.done for each in progress if each.finished] == [1, 2, 3, 4]
