"""Every kind of fault on every request of every mode: the verdict is what the protocol says."""

from pathlib import Path

import pytest
from fault_trials import PAIRS, fault_trial
from faults import KINDS
from trials import Site

SAMPLE = [
    pair
    for place, pair in enumerate(PAIRS)
    if (not place % 3 if pair[0] == "direct import" else not place % 41)
    # Several that are on their way at once are refused together.
    or pair == ("record", "connection refused")
]


def hold_to_the_protocol(site: Site, folder: Path, spot: str, kind: str) -> None:
    trial = fault_trial(site, folder, spot, kind)
    assert (trial.duplicates, trial.lost) == (0, 0)


def test_there_are_kinds_enough() -> None:
    assert len(KINDS) >= 20


@pytest.mark.parametrize(("spot", "kind"), SAMPLE)
def test_a_fault(site: Site, tmp_path: Path, spot: str, kind: str) -> None:
    hold_to_the_protocol(site, tmp_path, spot, kind)


@pytest.mark.slow
@pytest.mark.parametrize(("spot", "kind"), [pair for pair in PAIRS if pair not in SAMPLE])
def test_every_other_fault(site: Site, tmp_path: Path, spot: str, kind: str) -> None:
    hold_to_the_protocol(site, tmp_path, spot, kind)
