"""A batch that is killed again and again ends as one that nobody disturbed."""

import pytest
from batch_kills import MONTH, Left, Workshop
from forked import Zygote

KILLS = 20
LONGEST = 1.5


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, forks: Zygote) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("batch-kills"), forks)


@pytest.fixture(scope="module")
def undisturbed(workshop: Workshop) -> Left:
    return workshop.undisturbed()


def test_an_undisturbed_batch_sends_every_row(undisturbed: Left) -> None:
    rows = sum(found["accepted"] for _, found in undisturbed.steps.values())
    assert rows == MONTH.workbooks * MONTH.rows
    assert len(undisturbed.records["own_records"]) == 3 * 2 * MONTH.rows


def test_a_killed_batch_ends_as_an_undisturbed_one(workshop: Workshop, undisturbed: Left) -> None:
    left = workshop.killed(seed=1, kills=KILLS, longest=LONGEST)
    assert left.kills >= KILLS // 2
    assert left.steps == undisturbed.steps
    assert left.records == undisturbed.records


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_killed_batches_end_as_an_undisturbed_one(
    workshop: Workshop, undisturbed: Left, seed: int
) -> None:
    left = workshop.killed(seed=seed, kills=KILLS, longest=LONGEST)
    assert left.steps == undisturbed.steps
    assert left.records == undisturbed.records
