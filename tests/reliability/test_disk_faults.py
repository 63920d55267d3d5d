"""A disk that fails at a write of an upload: no row is lost or sent twice, and it is reported."""

import subprocess

import pytest
from disk_driver import Failure
from disk_trials import FAILURES, all_disk_faults, disk_trial
from kill_scenarios import Scenario, TrialSetup
from kill_trials import new_scenario
from subjects import DIRECT, PAYABLE
from trials import Figures


def test_uploads_survive_a_disk_that_fails_at_some_writes(setup: TrialSetup) -> None:
    found = list(all_disk_faults(setup, [(DIRECT, ())]))
    sample = [
        fault
        for place, failure in enumerate(FAILURES)
        for fault in [s for s in found if s.failure is failure][place::20]
    ]
    assert len(sample) >= 7
    figures = Figures().add(disk_trial(setup, fault) for fault in sample)
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


@pytest.mark.slow
def test_uploads_survive_a_disk_that_fails_at_any_write(setup: TrialSetup) -> None:
    found = list(all_disk_faults(setup))
    assert len(found) >= 300
    figures = Figures().add(disk_trial(setup, fault) for fault in found)
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


def run_on_failing_disk(
    scenario: Scenario, *command: str, number: int = 0, failure: Failure
) -> "subprocess.CompletedProcess[str]":
    """Run a command whose disk fails from its ``number``-th write on."""
    return scenario.run(str(number), failure, "0", *command, module="disk_driver")


FULL_OR_FORBIDDEN = (Failure.FULL, Failure.NO_PERMISSION)

PLAN = """\
name: fechamento
steps:
  titulos:
    upload: sheet.xlsx
    resource: contasreceber
"""


@pytest.mark.parametrize("failure", FULL_OR_FORBIDDEN)
@pytest.mark.parametrize(
    "command",
    [
        "validate sheet.xlsx --format json -o report.json",
        "validate sheet.xlsx --annotate marked.xlsx",
        "template cliente -o cliente.xlsx",
        "export clientes -o clientes.xlsx",
        "upload sheet.xlsx --yes",
        "batch run plan.yaml --yes",
    ],
)
def test_commands_report_a_failing_disk(setup: TrialSetup, command: str, failure: Failure) -> None:
    scenario = new_scenario(setup, DIRECT)
    (setup.folder / "plan.yaml").write_text(PLAN, encoding="utf-8")
    ended = run_on_failing_disk(scenario, *command.split(), failure=failure)
    assert ended.returncode == 6, ended.stderr
    assert any(word in ended.stderr for word in ("disk", "permission")), ended.stderr
    assert setup.system.counts(DIRECT, scenario.keys) == [0, 0, 0, 0]


def test_commands_about_a_job_report_a_failing_disk(setup: TrialSetup) -> None:
    scenario = new_scenario(setup, PAYABLE)
    assert scenario.upload().returncode == 0
    job = scenario.job()
    assert job is not None
    assert job["state"] == "done"
    undone = run_on_failing_disk(scenario, "undo", job["job"], "--yes", failure=Failure.FULL)
    assert undone.returncode == 6, undone.stderr
    assert setup.system.counts(PAYABLE, scenario.keys) == [1, 1, 1, 1]


def test_a_job_stays_in_doubt_while_the_disk_is_full(setup: TrialSetup) -> None:
    """The outcome of a sent request cannot be stored: exit code 5, until the disk works."""
    last = max(fault.number for fault in all_disk_faults(setup, [(DIRECT, ())]))
    scenario = new_scenario(setup, DIRECT)
    upload = ["upload", str(scenario.path), "--mode", "direct", "--yes"]
    failed = run_on_failing_disk(scenario, *upload, number=last, failure=Failure.FULL)
    assert failed.returncode == 5, failed.stderr
    job = scenario.job()
    assert job is not None
    again = run_on_failing_disk(scenario, "resume", job["job"], number=2, failure=Failure.FULL)
    assert again.returncode == 5, again.stderr
    assert scenario.run("resume", job["job"]).returncode == 0
    assert setup.system.counts(DIRECT, scenario.keys) == [1, 1, 1, 1]
