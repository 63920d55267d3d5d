"""A batch that is killed repeatedly, or corrected, ends like an uninterrupted one."""

from dataclasses import replace

import pytest
from batch_kills import MONTH, SMALL, BatchResult, BatchTrials
from forked import Zygote
from make_month import Month, all_rows

MAX_KILLS = 20


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory, forks: Zygote) -> BatchTrials:
    return BatchTrials(tmp_path_factory.mktemp("batch-kills"), forks)


@pytest.fixture(scope="module")
def uninterrupted(trials: BatchTrials) -> BatchResult:
    return trials.uninterrupted(SMALL)


def test_an_uninterrupted_batch_sends_every_row(uninterrupted: BatchResult) -> None:
    rows = sum(found["accepted"] for _, found in uninterrupted.steps.values())
    assert rows == SMALL.workbooks * SMALL.rows
    items = [
        item
        for item in uninterrupted.records["sales_order_items"]
        if item[-1].startswith("P202610")
    ]
    assert len(items) == sum(len(row.get("produtos", ())) for row in all_rows(SMALL))


def kill_batches(
    trials: BatchTrials,
    uninterrupted: BatchResult,
    month: Month,
    kills: int,
    seed: int,
    longest: float,
) -> None:
    """Kill batches until there were ``kills``; each must end like the uninterrupted one."""
    done = 0
    while done < kills:
        result = trials.killed(month, seed, min(MAX_KILLS, kills - done), longest)
        assert (result.steps, result.records) == (uninterrupted.steps, uninterrupted.records)
        assert result.kills
        done, seed = done + result.kills, seed + 1


def test_killed_batches_end_like_an_uninterrupted_one(
    trials: BatchTrials, uninterrupted: BatchResult
) -> None:
    kill_batches(trials, uninterrupted, SMALL, kills=2, seed=1, longest=0.75)


@pytest.mark.slow
def test_many_killed_batches_end_like_an_uninterrupted_one(trials: BatchTrials) -> None:
    uninterrupted = trials.uninterrupted(MONTH)
    kill_batches(trials, uninterrupted, MONTH, kills=200, seed=100, longest=1.5)


def count_bad_rows(month: Month, bad: float) -> int:
    """Return the number of bad rows of a month."""
    return sum(
        good != row
        for good, row in zip(all_rows(month), all_rows(replace(month, bad=bad)), strict=True)
    )


@pytest.mark.slow  # in few rows: batch/test_corrected_batches.py
def test_a_corrected_batch_ends_like_one_without_errors(
    trials: BatchTrials, uninterrupted: BatchResult
) -> None:
    errors, result = trials.corrected(SMALL, bad=0.1)
    assert errors == count_bad_rows(SMALL, bad=0.1) > 0
    assert (result.steps, result.records) == (uninterrupted.steps, uninterrupted.records)


@pytest.mark.slow
def test_a_month_of_200_000_rows_is_run_and_corrected(trials: BatchTrials) -> None:
    month = Month(workbooks=40, rows=5000, seed="large")
    errors, result = trials.corrected(month, bad=0.01)
    assert errors == count_bad_rows(month, bad=0.01)
    uninterrupted = trials.uninterrupted(month)
    assert sum(rows["accepted"] for _, rows in uninterrupted.steps.values()) == 200_000
    assert (result.steps, result.records) == (uninterrupted.steps, uninterrupted.records)
