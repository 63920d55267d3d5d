"""Any order of uploads, faults, absences, hours and decisions keeps the promises."""

from pathlib import Path

import pytest
from change_machine import ChangeMachine
from courses import Courses, run_courses
from key_machine import KeyMachine
from subjects import DIRECT
from trials import Site
from upload_machine import UploadMachine

_STEPS = {UploadMachine: 3000, KeyMachine: 2000, ChangeMachine: 2000}


@pytest.mark.parametrize("kind", [UploadMachine, KeyMachine, ChangeMachine])
def test_a_few_courses(kind: type[Courses], site: Site, tmp_path: Path) -> None:
    assert run_courses(kind, site, tmp_path, examples=2, steps=8, same=True).steps > 10


def test_a_job_that_is_over_asks_for_no_system(site: Site, tmp_path: Path) -> None:
    course = type("Machine", (UploadMachine,), {"site": site, "folder": tmp_path, "ended": []})()
    course.new_sheet(DIRECT, None)
    course.run(0)
    course.go_away()
    course.run(0)
    course.teardown()
    assert [trial.lost for trial in course.ended] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [UploadMachine, KeyMachine, ChangeMachine])
def test_many_courses(kind: type[Courses], site: Site, tmp_path: Path) -> None:
    made = 0
    while made < _STEPS[kind]:
        made += run_courses(kind, site, tmp_path, examples=20, steps=25).steps
