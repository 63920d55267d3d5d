"""Uploads, faults, outages, delays and decisions in any order keep the guarantees."""

from pathlib import Path

import pytest
from change_machine import ChangeMachine
from crashing_journal import CrashingJournal
from identity_machine import IdentityMachine
from key_machine import KeyMachine
from state_machines import StateMachine, run_machine
from subjects import DIRECT
from trials import SystemUnderTest
from upload_machine import UploadMachine

_STEPS = {UploadMachine: 3000, KeyMachine: 2000, ChangeMachine: 2000, IdentityMachine: 2000}


@pytest.mark.parametrize("kind", [UploadMachine, KeyMachine, ChangeMachine])
def test_a_few_random_scenarios_keep_the_guarantees(
    kind: type[StateMachine], system: SystemUnderTest, tmp_path: Path
) -> None:
    assert run_machine(kind, system, tmp_path, examples=2, steps=8, same=True).steps > 10


def test_a_few_random_identities_keep_the_guarantees(
    system: SystemUnderTest, other_system: SystemUnderTest, tmp_path: Path
) -> None:
    kind = type("OfTwoSystems", (IdentityMachine,), {"other": other_system})
    assert run_machine(kind, system, tmp_path, examples=2, steps=10, same=True).steps > 10


def test_a_finished_job_needs_no_system(system: SystemUnderTest, tmp_path: Path) -> None:
    scenario = type(
        "Machine", (UploadMachine,), {"system": system, "folder": tmp_path, "trials": []}
    )()
    scenario.new_sheet(DIRECT, None)
    scenario.run(0)
    scenario.disconnect()
    scenario.run(0)
    scenario.teardown()
    assert [trial.lost for trial in scenario.trials] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", _STEPS)
def test_many_random_scenarios_keep_the_guarantees(
    kind: type[StateMachine],
    system: SystemUnderTest,
    other_system: SystemUnderTest,
    tmp_path: Path,
) -> None:
    """After each step, also one cut off by a kill, the journal agrees with the oracle of rows."""
    machine = type("OfTwoSystems", (kind,), {"other": other_system})
    steps, kills = 0, CrashingJournal.kills
    while steps < _STEPS[kind]:
        steps += run_machine(machine, system, tmp_path, examples=20, steps=25).steps
    counted = kind not in (UploadMachine, IdentityMachine)
    assert not counted or CrashingJournal.kills > kills + 100
