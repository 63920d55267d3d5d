"""Uploads, faults, outages, delays and decisions in any order keep the guarantees."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest
from change_machine import ChangeMachine
from identity_machine import IdentityMachine
from key_machine import KeyMachine
from ledger_kills import KilledSheet
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
    machine = type("OfTwoSystems", (kind,), {"other": other_system})
    steps = 0
    while steps < _STEPS[kind]:
        steps += run_machine(machine, system, tmp_path, examples=20, steps=25).steps


def kills_of_sheets(system: SystemUnderTest, folder: Path, seeds: Iterable[int]) -> Iterator[int]:
    """Yield the number of kills of each sheet; its journal is compared after each kill."""
    for seed in seeds:
        sheet = KilledSheet(system, folder / str(seed), Random(seed))
        sheet.live()
        yield sheet.kills


def test_the_journal_agrees_with_the_oracle_of_rows_after_a_few_kills(
    system: SystemUnderTest, tmp_path: Path
) -> None:
    assert sum(kills_of_sheets(system, tmp_path, [1])) > 1


@pytest.mark.slow
def test_the_journal_agrees_with_the_oracle_of_rows_after_500_kills(
    system: SystemUnderTest, tmp_path: Path
) -> None:
    kills = 0
    for number in kills_of_sheets(system, tmp_path, itertools.count(100)):
        kills += number
        if kills >= 500:
            break
