"""Every kind of fault on every request of every mode: the verdict is what the protocol says."""

from pathlib import Path

import pytest
from fault_trials import PAIRS, fault_trial
from faults import KINDS
from sampling import sampled
from trials import Site


def in_sample(place: int, pair: tuple[str, str]) -> bool:
    # Several that are on their way at once are refused together.
    return place % (9 if pair[0] == "direct import" else 97) == 0 or pair == (
        "record",
        "connection refused",
    )


def test_there_are_kinds_enough() -> None:
    assert len(KINDS) >= 20


@pytest.mark.parametrize(("spot", "kind"), sampled(PAIRS, in_sample))
def test_a_fault(site: Site, tmp_path: Path, spot: str, kind: str) -> None:
    trial = fault_trial(site, tmp_path, spot, kind)
    assert (trial.duplicates, trial.lost) == (0, 0)
