"""What the client concludes from an answer is what its page says, and no row is lost or twice."""

from pathlib import Path

import pytest
from answers import PAGE, TRIALS, page
from fault_trials import answer_trial
from sampling import every
from trials import Site


def test_there_are_answers_enough_and_the_page_has_them_all() -> None:
    assert len(TRIALS) >= 400
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(("mode", "answer"), every(61, TRIALS), ids=str)
def test_an_answer(site: Site, tmp_path: Path, mode: str, answer: tuple[str, str, str]) -> None:
    trial = answer_trial(site, tmp_path, mode, answer)
    assert (trial.duplicates, trial.lost) == (0, 0)
