"""A batch that is killed again and again, or mended, ends as one that nobody disturbed."""

from dataclasses import replace

import pytest
from batch_kills import MONTH, SMALL, Left, Workshop
from forked import Zygote
from make_month import Month, all_rows

AT_MOST = 20


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, forks: Zygote) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("batch-kills"), forks)


@pytest.fixture(scope="module")
def undisturbed(workshop: Workshop) -> Left:
    return workshop.undisturbed(SMALL)


def test_an_undisturbed_batch_sends_every_row(undisturbed: Left) -> None:
    rows = sum(found["accepted"] for _, found in undisturbed.steps.values())
    assert rows == SMALL.workbooks * SMALL.rows
    months = [
        item for item in undisturbed.records["sales_order_items"] if item[-1].startswith("P202610")
    ]
    assert len(months) == sum(len(row.get("produtos", ())) for row in all_rows(SMALL))


def kill_batches(
    workshop: Workshop, undisturbed: Left, month: Month, kills: int, seed: int, longest: float
) -> None:
    """Kill as many batches as it takes for so many kills; each must end as the undisturbed one."""
    done = 0
    while done < kills:
        left = workshop.killed(month, seed, min(AT_MOST, kills - done), longest)
        assert (left.steps, left.records) == (undisturbed.steps, undisturbed.records)
        assert left.kills
        done, seed = done + left.kills, seed + 1


def test_killed_batches_end_as_an_undisturbed_one(workshop: Workshop, undisturbed: Left) -> None:
    kill_batches(workshop, undisturbed, SMALL, kills=2, seed=1, longest=0.75)


@pytest.mark.slow
def test_many_killed_batches_end_as_an_undisturbed_one(workshop: Workshop) -> None:
    undisturbed = workshop.undisturbed(MONTH)
    kill_batches(workshop, undisturbed, MONTH, kills=200, seed=100, longest=1.5)


def planted(month: Month, bad: float) -> int:
    """Return how many rows of a month are bad."""
    return sum(
        good != row
        for good, row in zip(all_rows(month), all_rows(replace(month, bad=bad)), strict=True)
    )


@pytest.mark.slow  # in few rows: batch/test_corrected_batches.py
def test_a_mended_batch_ends_as_one_that_was_good_at_once(
    workshop: Workshop, undisturbed: Left
) -> None:
    errors, left = workshop.mended(SMALL, bad=0.1)
    assert errors == planted(SMALL, bad=0.1) > 0
    assert (left.steps, left.records) == (undisturbed.steps, undisturbed.records)


@pytest.mark.slow
def test_a_month_of_200_000_rows_is_run_and_mended(workshop: Workshop) -> None:
    month = Month(workbooks=40, rows=5000, seed="large")
    errors, left = workshop.mended(month, bad=0.01)
    assert errors == planted(month, bad=0.01)
    whole = workshop.undisturbed(month)
    assert sum(rows["accepted"] for _, rows in whole.steps.values()) == 200_000
    assert (left.steps, left.records) == (whole.steps, whole.records)
