"""No value changes silently: every case is right or reported."""

import pytest
from truth import Outcome
from truth_table import GROUPS, evaluate_group, table

pytestmark = pytest.mark.one_database

MIN_CASES = {
    "cell": 550, "structure": 100, "rules": 100, "raw XML": 100, "file": 120, "LibreOffice": 75,
    "round trip": 250, "export": 400,
}  # fmt: skip


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "group",
    [pytest.param(one, marks=[pytest.mark.programs] * (one == "LibreOffice")) for one in GROUPS],
)
def test_no_case_of_a_group_changes_silently(group: str, every: int) -> None:
    outcomes = evaluate_group(group, every)
    print(*table({group: outcomes}), sep="\n")
    assert len(outcomes) >= MIN_CASES[group] // every
    assert [name for name, outcome in outcomes.items() if outcome is Outcome.SILENT] == []
