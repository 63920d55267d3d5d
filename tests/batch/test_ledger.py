"""A batch belongs to one plan, even if the plan is moved.

Inside: batch.
"""

from pathlib import Path

import pytest

from xlbridge.batch.ledger import Ledger
from xlbridge.errors import UsageError


def test_another_plan_of_the_same_name_is_refused_and_a_moved_one_is_not(tmp_path: Path) -> None:
    here, there = tmp_path / "a.yaml", tmp_path / "b.yaml"
    here.touch()
    there.touch()
    ledger = Ledger(tmp_path / "batches.db")
    ledger.begin("month", here, {})
    with pytest.raises(
        UsageError, match=r"belongs to the plan .*a\.yaml; give this one another name"
    ):
        ledger.begin("month", there, {})
    here.unlink()
    assert ledger.begin("month", there, {}).plan == there
    ledger.close()
