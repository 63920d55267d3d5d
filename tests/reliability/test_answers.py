"""The client concludes from an answer what the page says, and no row is lost or sent twice."""

from pathlib import Path

import pytest
from answers import PAGE, TRIALS, page
from fault_trials import answer_trial
from sampling import every
from trials import SystemUnderTest


def test_the_page_has_every_answer() -> None:
    assert len(TRIALS) >= 400
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(("mode", "answer"), every(122, TRIALS), ids=str)
def test_an_answer_has_the_documented_outcome(
    system: SystemUnderTest, tmp_path: Path, mode: str, answer: tuple[str, str, str]
) -> None:
    trial = answer_trial(system, tmp_path, mode, answer)
    assert (trial.duplicates, trial.lost) == (0, 0)
