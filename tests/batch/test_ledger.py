"""A batch belongs to one plan, even if the plan is moved; its ledger keeps what was sent.

Inside: batch.
"""

from contextlib import closing
from pathlib import Path

import pytest

from xlbridge.batch.ledger import JobRecord, Ledger, StepKey
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


def test_what_a_step_has_sent_is_listed_by_environment(tmp_path: Path) -> None:
    with closing(Ledger(tmp_path / "batches.db")) as ledger:
        ledger.begin("month", tmp_path / "a.yaml", {})
        for file, profile in ("1", "here"), ("2", "there"), ("3", "here"):
            key = StepKey("month", "clients", profile)
            ledger.record_job(key, file, JobRecord("", f"job-{file}"))
        assert ledger.sent_by_other_steps("month", {"suppliers"}) == [
            ("clients", "here", "1"),
            ("clients", "here", "3"),
            ("clients", "there", "2"),
        ]
