"""No value changes in silence: every case is right or named, but for those known to be neither."""

from pathlib import Path

import pytest
from known_silent import KNOWN_SILENT
from truth import Outcome
from truth_table import GROUPS, judge_alone, judge_group, table

pytestmark = pytest.mark.one_database

FEWEST = {
    "cell": 500, "structure": 75, "raw XML": 100, "LibreOffice": 75,
    "round trip": 250, "export": 400,
}  # fmt: skip
KNOWN = {name: reason for reason, names in KNOWN_SILENT.items() for name in names}


@pytest.mark.parametrize("group", GROUPS)
def test_no_case_of_a_group_is_silent(group: str) -> None:
    outcomes = judge_group(group)
    print(*table({group: outcomes}), sep="\n")
    assert len(outcomes) >= FEWEST[group]
    silent = {name for name, outcome in outcomes.items() if outcome is Outcome.SILENT}
    assert silent - KNOWN.keys() == set()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=reason))
        for name, reason in KNOWN.items()
    ],
)
def test_what_is_known_to_be_silent_is_mended(name: str, tmp_path: Path) -> None:
    assert judge_alone(name, tmp_path) is not Outcome.SILENT
