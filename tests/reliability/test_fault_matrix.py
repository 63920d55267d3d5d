"""Every kind of fault on every request of every mode ends as the protocol says."""

from pathlib import Path

import pytest
from fault_trials import PAIRS, fault_trial
from faults import KINDS
from sampling import sampled
from trials import SystemUnderTest


def in_sample(index: int, pair: tuple[str, str]) -> bool:
    # Several that are on their way at once are refused together.
    return index % (18 if pair[0] == "direct import" else 194) == 0 or pair == (
        "record",
        "connection refused",
    )


def test_there_are_enough_kinds_of_faults() -> None:
    assert len(KINDS) >= 20


@pytest.mark.parametrize(("spot", "kind"), sampled(PAIRS, in_sample))
def test_a_fault_has_the_documented_outcome(
    system: SystemUnderTest, tmp_path: Path, spot: str, kind: str
) -> None:
    trial = fault_trial(system, tmp_path, spot, kind)
    assert (trial.duplicates, trial.lost) == (0, 0)
