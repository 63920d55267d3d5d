"""A disk that fails at a write of an upload: no row lost, none twice, and the command says so."""

import subprocess

import pytest
from disk_driver import Failure
from disk_trials import FAILURES, disk_trial, strikes
from kill_courses import Course, Laboratory
from kill_trials import begin
from subjects import DIRECT
from trials import Figures


def test_a_disk_that_fails_at_some_writes(laboratory: Laboratory) -> None:
    found = list(strikes(laboratory, [(DIRECT, ())]))
    sample = [
        strike
        for place, failure in enumerate(FAILURES)
        for strike in [s for s in found if s.failure is failure][place::20]
    ]
    assert len(sample) >= 7
    figures = Figures().add(disk_trial(laboratory, strike) for strike in sample)
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


@pytest.mark.slow
def test_a_disk_that_fails_at_every_write(laboratory: Laboratory) -> None:
    found = list(strikes(laboratory))
    assert len(found) >= 300
    figures = Figures().add(disk_trial(laboratory, strike) for strike in found)
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


def on_failing_disk(
    course: Course, *command: str, number: int = 0, failure: Failure
) -> "subprocess.CompletedProcess[str]":
    """Run a command whose disk fails from its ``number``-th write on."""
    return course.run(str(number), failure, "0", *command, module="disk_driver")


FULL_OR_CLOSED = (Failure.FULL, Failure.NO_PERMISSION)

PLAN = """\
name: fechamento
steps:
  titulos:
    upload: sheet.xlsx
    resource: contasreceber
"""


@pytest.mark.parametrize("failure", FULL_OR_CLOSED)
@pytest.mark.parametrize(
    "command",
    [
        "validate sheet.xlsx --format json -o report.json",
        "validate sheet.xlsx --annotate marked.xlsx",
        "template cliente -o cliente.xlsx",
        "export clientes -o clientes.xlsx",
        "upload sheet.xlsx --yes",
        "batch run plan.yaml --yes",
        "jobs",
    ],
)
def test_commands_tell_of_a_disk_that_fails(
    laboratory: Laboratory, command: str, failure: Failure
) -> None:
    course = begin(laboratory, DIRECT)
    (laboratory.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    ended = on_failing_disk(course, *command.split(), failure=failure)
    assert ended.returncode == 6, ended.stderr
    assert any(word in ended.stderr for word in ("disk", "permission")), ended.stderr
    assert laboratory.site.counts(DIRECT, course.known) == [0, 0, 0, 0]


def test_commands_about_a_job_tell_of_a_disk_that_fails(laboratory: Laboratory) -> None:
    course = begin(laboratory, DIRECT)
    writes = course.run("-1", Failure.FULL, "0", "jobs", module="disk_driver")
    assert "journal: INSERT" in writes.stdout
    assert course.upload().returncode == 0
    job = course.job()
    assert job is not None
    assert job["state"] == "done"
    undone = on_failing_disk(course, "undo", job["job"], "--yes", failure=Failure.FULL)
    assert undone.returncode == 6, undone.stderr
    assert laboratory.site.counts(DIRECT, course.known) == [1, 1, 1, 1]


def test_a_doubt_stays_one_while_the_disk_is_full(laboratory: Laboratory) -> None:
    """A request had left whose outcome cannot be written down: 5, until the disk is well."""
    last = max(strike.number for strike in strikes(laboratory, [(DIRECT, ())]))
    course = begin(laboratory, DIRECT)
    upload = ["upload", str(course.path), "--mode", "direct", "--yes"]
    struck = on_failing_disk(course, *upload, number=last, failure=Failure.FULL)
    assert struck.returncode == 5, struck.stderr
    job = course.job()
    assert job is not None
    again = on_failing_disk(course, "resume", job["job"], number=2, failure=Failure.FULL)
    assert again.returncode == 5, again.stderr
    assert course.run("resume", job["job"]).returncode == 0
    assert laboratory.site.counts(DIRECT, course.known) == [1, 1, 1, 1]
