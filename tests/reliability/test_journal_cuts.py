"""An upload whose journal has lost its last entries writes no row twice."""

from pathlib import Path

import pytest
from journal_cuts import Cut, cut_trial, random_cuts
from trials import Figures, SystemUnderTest

_DEFAULT = 8
_MANY = 400


@pytest.mark.parametrize("cut", list(random_cuts(_DEFAULT, seed=1)), ids=str)
def test_a_cut_journal_sends_nothing_twice(
    system: SystemUnderTest, tmp_path: Path, cut: Cut
) -> None:
    trial = cut_trial(system, tmp_path / "trial", cut)
    assert (trial.duplicates, trial.lost) == (0, 0)


@pytest.mark.slow
def test_many_cut_journals_send_nothing_twice(system: SystemUnderTest, tmp_path: Path) -> None:
    cuts = random_cuts(_MANY, seed=2)
    figures = Figures().add(cut_trial(system, tmp_path / "trial", cut) for cut in cuts)
    assert figures.failed == []
